#!/bin/bash
# made by supercloud VERSION from the spec minimal; do not edit
#
# health-check.sh [quick]: checks this node, and drains it with a reason if hardware is missing or faulty.
#
# slurmd runs it at every HealthCheckInterval and kills it after 60 s; prolog and epilog run it with "quick", which only
# counts accelerators and looks for mounts. It also runs while jobs run, and only reads. Exit status 0 means healthy. A drained node stays drained
# until an operator resumes it.
# HEALTH_ROOT: alternative root of /dev, /etc/supercloud, /proc, /run and /sys, for tests.
set -u
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
here=$(dirname "$(readlink -f "$0")")
root=${HEALTH_ROOT:-}
node=${SLURMD_NODENAME:-$(hostname -s)}
problems=()
problem() { problems+=("$*"); }

# The row of node-facts.txt for this host; /etc/slurm/pool has the pool where it does not follow from the host name.
count=0 devices=- first=0 step=1 adapters=- imex=- mounts=-
is_between() { # number as in a host name, first and last one with the same digits
    [[ $1 =~ ^[0-9]{1,15}$ ]] && ((10#$1 >= 10#$2 && 10#$1 <= 10#$3)) && [ "$(printf "%0${#2}d" "$((10#$1))")" = "$1" ]
}
find_facts() {
    local pool prefix digits own
    own=$(cat "$here/pool" 2>/dev/null)
    while read -r pool prefix digits count devices first step adapters imex mounts; do
        [[ $pool == \#* ]] && continue
        [ "$pool" = "$own" ] && return
        if [[ $digits == *-* ]]; then
            is_between "${node#"$prefix"}" "${digits%-*}" "${digits#*-}" && [[ $node == "$prefix"* ]] && return
        elif [[ $node =~ ^"$prefix"[0-9]{$digits}$ ]]; then
            return
        fi
    done <"$here/node-facts.txt"
    count=0 devices=- first=0 step=1 adapters=- imex=- mounts=-
}

check_devices() {
    local number seen=0 missing=()
    for ((number = first; number < first + count * step; number += step)); do
        if [ -e "$root$devices$number" ]; then seen=$((seen + 1)); else missing+=("$devices$number"); fi
    done
    [ "$seen" -eq "$count" ] || problem "$seen of $count accelerators: no ${missing[*]}"
}

# File systems that jobs need: node-facts.txt lists the mount points; on a node of a cloud the boot lists them in these files, with a
# reason where it could not mount one. /proc/mounts is read, as a file system whose server does not respond would block this program.
check_mounts() {
    local mount_point reason
    while read -r mount_point reason; do
        awk -v mount_point="${mount_point%/}" '$2 == mount_point { found = 1 } END { exit !found }' "$root/proc/mounts" ||
            problem "mount $mount_point: ${reason:-it is not mounted}"
    done < <(
        [ "${mounts:--}" = - ] || tr , '\n' <<<"$mounts"
        cat "$root"/etc/supercloud/mount-state-mounts "$root"/etc/supercloud/mount-state-disks 2>/dev/null
    )
}

# The driver no longer lists a device that fell off the bus. Skipped if no driver is loaded.
check_driver() {
    local seen
    [ "$devices" = /dev/nvidia ] && [ -d "$root/proc/driver/nvidia/gpus" ] || return
    seen=$(find "$root/proc/driver/nvidia/gpus" -mindepth 1 -maxdepth 1 | wc -l)
    [ "$seen" -ge "$count" ] || problem "the driver sees $seen of $count accelerators"
}

# Errors counted since the driver was loaded: each number is reported once, so that a node resumed by hand stays resumed.
ecc_seen=$root/run/supercloud-ecc-seen
ecc_latest=
check_nvidia_smi() {
    local seen index errors
    [ "$devices" = /dev/nvidia ] && [ -d "$root/proc/driver/nvidia/gpus" ] && command -v nvidia-smi >/dev/null || return
    seen=$(timeout 25 nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
    [ "$seen" -ge "$count" ] || { problem "nvidia-smi sees $seen of $count accelerators"; return; }
    while IFS=', ' read -r index errors; do
        [[ $errors =~ ^[1-9][0-9]*$ ]] || continue
        ecc_latest+="$index $errors"$'\n'
        grep -qx "$index $errors" "$ecc_seen" 2>/dev/null || problem "accelerator $index: $errors uncorrectable memory errors"
    done < <(timeout 15 nvidia-smi --query-gpu=index,ecc.errors.uncorrected.volatile.total \
        --format=csv,noheader,nounits 2>/dev/null)
}

# Errors of NVIDIA's driver (Xid) after which a device is unusable until it is reset or inspected. Each is reported
# once, so that a node resumed by hand stays resumed. Only the driver can write its device at the start of a line: a user can
# give a process that crashes a name, of at most 15 characters, and any name to its file.
fatal_xids=" 46 48 54 62 64 79 95 109 110 119 120 136 140 142 143 150 151 155 156 158 "
xid_seen=$root/run/supercloud-xid-seen
xid_latest=
check_xids() {
    local after stamp code
    after=$(cat "$xid_seen" 2>/dev/null || echo -1)
    while read -r stamp code; do
        [ "$stamp" -gt "$after" ] || continue
        xid_latest=$stamp
        [[ $fatal_xids == *" $code "* ]] && problem "the driver reported Xid $code"
    done < <(timeout 5 dmesg 2>/dev/null |
        sed -n 's/^\[ *\([0-9]*\)\.[0-9]*\] NVRM: Xid (PCI:[0-9A-Fa-f][0-9A-Fa-f:.]*\( GPU-I:[0-9]*\)\{0,1\}): \([0-9]*\).*/\1 \3/p')
}

check_links() {
    local device state found missing=() hint=
    [ "$adapters" != - ] && [ -d "$root/sys/class/infiniband" ] || return
    for device in ${adapters//,/ }; do
        state=$(cat "$root/sys/class/infiniband/$device/ports/1/state" 2>/dev/null)
        case $state in
        *ACTIVE*) ;;
        "") missing+=("$device") ;;
        *) problem "adapter $device: link is ${state##*: }" ;;
        esac
    done
    [ -n "${missing[*]}" ] || return
    for found in "$root"/sys/class/infiniband/{ib,roce}[Ppsox][0-9a-f]*; do # persistent names of rdma-core
        [ ! -e "$found" ] || [[ ,$adapters, == *,${found##*/},* ]] || hint="; udev has renamed ${found##*/}: see hosts/INSTALL.md"
    done
    problem "missing adapters: ${missing[*]}$hint"
}

# Programs that share memory over NVLink between nodes fail unless the fabric is configured, by the controller on the switch trays, and
# without this service, whose channels Slurm assigns.
check_imex() {
    local state
    [ "$imex" = imex ] && [ -d "$root/proc/driver/nvidia/gpus" ] || return
    state=$(timeout 10 nvidia-imex-ctl -q 2>/dev/null)
    [ "$state" = READY ] || problem "nvidia-imex is ${state:-not running}"
    state=$(timeout 25 nvidia-smi -q 2>/dev/null |
        awk '$1 == "Fabric" && NF == 1 { inside = 1 } inside && $1 == "State" { if ($NF != "Completed") print $NF; inside = 0 }' | sort -u)
    [ -z "$state" ] || problem "the NVLink fabric is in state ${state//$'\n'/, }: see the controller of the switch trays"
}

# Processes of slurmstepd are named after their step; the one of slurmd's scope, "slurmstepd infinity", has no job.
# Read from /proc: pgrep is in a separate package (procps) that some hosts lack. Users can give their processes this name.
runs_jobs() {
    local file
    while read -r file; do
        ! grep -qsE '^Uid:[[:space:]]+0[[:space:]]+0[[:space:]]' "${file%/*}/status" || return 0
    done < <(grep -lsa '^slurmstepd: \[' "$root"/proc/[0-9]*/cmdline)
    return 1
}

# Skipped while a job runs, which may fill a disk temporarily.
check_disks() {
    local used mount_point
    ! runs_jobs || return
    while read -r used mount_point; do
        [ "${used%\%}" -lt 98 ] || problem "$mount_point is $used full"
    done < <(df -P / /tmp /var/spool/slurmd 2>/dev/null | awk 'NR > 1 && !seen[$6]++ { print $5, $6 }')
}

drain() {
    local reason
    reason=$(IFS=';'; echo "health-check: ${problems[*]}")
    echo "$node: ${reason:0:240}" >&2
    case $(scontrol -o show node "$node" 2>/dev/null) in
    *State=*DRAIN*) ;;
    *) scontrol update NodeName="$node" State=DRAIN Reason="${reason:0:240}" ;;
    esac
}

find_facts
check_devices
check_driver
check_mounts
if [ "${1:-}" != quick ]; then
    check_nvidia_smi
    check_xids
    check_links
    check_imex
    check_disks
fi
[ -n "${problems[*]}" ] || exit 0
if drain; then
    [ -z "$xid_latest" ] || echo "$xid_latest" >"$xid_seen"
    [ -z "$ecc_latest" ] || printf %s "$ecc_latest" >"$ecc_seen"
fi
exit 1
