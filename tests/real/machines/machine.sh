#!/bin/bash
# Bare Debian machines that boot with systemd, on a separate bridge, with access to the package archives.
#   machine.sh up NAME N          boot machine NAME with address 10.77.SLOT.N      (root; N from 2 to 250), or with address N
#   machine.sh run NAME COMMAND…  run a command in it, with an almost empty environment
#   machine.sh down NAME          stop it and delete its disk
#   machine.sh clean              stop all machines of the slot, remove its bridge and its rule
#   machine.sh lower              create the root folder of machines of SUITE; once
# SLOT is a number from 0 to 199: the bridge and the network of a group of machines (machines.py claims a free one; by hand: 199).
# CIDR is the network, by default 10.77.SLOT.0/24: its first address is the gateway. RESOLVER is the name server of the
# machine, by default those of this host. IMAGE is a folder of changes on top of the root folder (machine.sh keep).
# BOOT_STATE is a further state (systemctl is-system-running) at which a machine counts as booted.
#   machine.sh keep NAME FOLDER   stop a machine and keep its changes as an image
# SUITE is Debian's release: bookworm (12), trixie (13) or sid. BIND lists folders of the host to mount inside, as FOLDER or
# FOLDER:PLACE.
# Machines are in the cache folder: overlays over one root folder per suite, created once by debootstrap.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
cache=${SUPERCLOUD_CACHE:-$HOME/.cache/supercloud}/machines
suite=${SUITE:-bookworm}
slot=${SLOT:-199}
bridge=sc-mach$slot
slot_folder=$cache/slots/$slot
cidr=${CIDR:-$(cat "$slot_folder/cidr" 2>/dev/null || echo "10.77.$slot.0/24")}
network=${cidr%.*}
prefix=${cidr#*/}
limit=${BOOT_LIMIT:-300}   # seconds; bookworm boots in 5 on an idle host

# Every machine has separate cgroups: otherwise all would use /system.slice, where equal units have equal names.
cgroups_of() { awk -v name="supercloud-machine-$slot-$1" '$3 ~ /^cgroup2?$/ { print $2 "/" name }' /proc/mounts; }

enter_cgroups() {   # NAME; moves the calling shell into them
    local cgroup file
    for cgroup in $(cgroups_of "$1"); do
        mkdir -p "$cgroup"
        for file in cpuset.cpus cpuset.mems; do   # a new cpuset is empty, and rejects processes until it is set
            if [ -e "$cgroup/$file" ] && [ -z "$(cat "$cgroup/$file")" ]; then cat "${cgroup%/*}/$file" >"$cgroup/$file"; fi
        done
        echo "$BASHPID" >"$cgroup/cgroup.procs"
    done
}

lower() {
    mkdir -p "$cache"
    [ ! -e "$cache/$suite/.ready" ] || return 0
    exec {lock}>"$cache/$suite.lock"
    flock "$lock"
    if [ ! -e "$cache/$suite/.ready" ]; then
        "$here/../packages.sh" debootstrap systemd-container iptables iproute2 >/dev/null
        rm -rf "${cache:?}/$suite"
        if ! debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,iproute2 "$suite" "$cache/$suite" >"$cache/$suite.log" 2>&1; then
            tail -n 20 "$cache/$suite.log" >&2
            return 1
        fi
        # a proxy between this host and the archives is also between them and the machines
        mkdir -p "$cache/$suite/etc/ssl/certs" "$cache/$suite/usr/local/share/ca-certificates"
        [ ! -e /etc/ssl/certs/ca-certificates.crt ] || cp -L /etc/ssl/certs/ca-certificates.crt "$cache/$suite/etc/ssl/certs/"
        for certificate in /usr/local/share/ca-certificates/*.crt; do
            [ ! -e "$certificate" ] || cp -L "$certificate" "$cache/$suite/usr/local/share/ca-certificates/"
        done
        touch "$cache/$suite/.ready"
    fi
    exec {lock}>&-
}

plug() {   # the slot's bridge, and its access to other networks
    mkdir -p "$slot_folder"
    echo "$cidr" >"$slot_folder/cidr"
    exec {lock}>"$slot_folder/bridge.lock"
    flock "$lock"
    command -v systemd-nspawn iptables >/dev/null || "$here/../packages.sh" systemd-container iptables >/dev/null
    if ! ip link show "$bridge" >/dev/null 2>&1; then
        ip link add "$bridge" type bridge
        ip addr add "$network.1/$prefix" dev "$bridge"
        # the host answers ARP for this address only: machines of other groups may have any other address of the host
        echo 1 >"/proc/sys/net/ipv4/conf/$bridge/arp_ignore"
        ip link set "$bridge" up
    fi
    echo 1 >/proc/sys/net/ipv4/ip_forward
    iptables -w -t nat -C POSTROUTING -s "$cidr" ! -d "$cidr" -j MASQUERADE 2>/dev/null ||
        iptables -w -t nat -A POSTROUTING -s "$cidr" ! -d "$cidr" -j MASQUERADE
    exec {lock}>&-
}

unplug() {
    local rule
    # rules that a killed run set for the bridge
    iptables -w -t nat -S PREROUTING 2>/dev/null | grep -e " -i $bridge " | while read -r _ rule; do
        # shellcheck disable=SC2086  # words of a rule
        iptables -w -t nat -D $rule
    done || true
    iptables -w -t nat -D POSTROUTING -s "$cidr" ! -d "$cidr" -j MASQUERADE 2>/dev/null || true
    ip link del "$bridge" 2>/dev/null || true
}

init_of() {   # the process that is PID 1 inside; empty if the machine does not run
    local pid
    pid=$(cat "$slot_folder/$1/pid" 2>/dev/null) || return 0
    grep -qs systemd-nspawn "/proc/$pid/comm" || return 0
    tr ' ' '\n' <"/proc/$pid/task/$pid/children" | head -n 1
}

# nspawn mounts cgroup v1 read-only; these hierarchies belong to the machine, where slurmd or a container runtime creates groups.
writable_cgroups() {
    # shellcheck disable=SC2016  # for the shell inside
    nsenter -t "$1" -a sh -c 'awk "\$3 == \"cgroup\" { print \$2 }" /proc/mounts | while read -r place; do mount -o remount,bind,rw "$place"; done'
}

up() {
    local name=$1 address=$2 machine=$slot_folder/$1 root=$slot_folder/$1/root init state='' bind binds=() unified='' resolution=copy-host
    [[ $address == *.* ]] || address=$network.$address
    [ "$(id -u)" = 0 ] || { echo 'machine.sh: machines need root' >&2; return 1; }
    [ ! -d "$machine" ] || down "$name"
    lower
    plug
    mkdir -p "$machine"/{upper,work,root}
    # volatile: the disk is deleted later, so that nothing has to be synced
    mount -t overlay overlay -o "volatile,lowerdir=${IMAGE:+$IMAGE:}$cache/$suite,upperdir=$machine/upper,workdir=$machine/work" "$root"
    mkdir -p "$root/etc/systemd/network" "$root/etc/systemd/system/multi-user.target.wants"
    # systemd-networkd uses the first matching file: that of Debian begins with 80
    printf '[Match]\nName=host0\n[Network]\nAddress=%s\nGateway=%s\n' "$address/$prefix" "$network.1" >"$root/etc/systemd/network/10-host0.network"
    ln -sf /lib/systemd/system/systemd-networkd.service "$root/etc/systemd/system/multi-user.target.wants/"
    echo "$name" >"$root/etc/hostname"
    printf '127.0.0.1 localhost\n::1 localhost ip6-localhost\n' >"$root/etc/hosts"
    : >"$root/etc/machine-id"   # empty: the machine creates its ID, and does not ask for a time zone as at a first boot
    for bind in ${BIND:-}; do binds+=("--bind=$bind"); done
    if [ -n "${RESOLVER:-}" ]; then echo "nameserver $RESOLVER" >"$root/etc/resolv.conf"; resolution=off; fi
    [ "$suite" = bookworm ] || unified=1   # later releases of systemd boot with the unified hierarchy only
    (
        enter_cgroups "$name"
        cd /
        [ -z "$unified" ] || export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1
        exec setsid systemd-nspawn -D "$root" --register=no --keep-unit -M "sc$slot-$name" --hostname="$name" --network-bridge="$bridge" \
            --resolv-conf="$resolution" --link-journal=no -b --console=pipe "${binds[@]}"
    ) </dev/null >"$machine/log" 2>&1 &
    echo $! >"$machine/pid"
    for _ in $(seq $((limit * 2))); do
        sleep 0.5
        kill -0 "$(cat "$machine/pid")" 2>/dev/null || break
        init=$(init_of "$name")
        [ -n "$init" ] || continue
        state=$(timeout 20 nsenter -t "$init" -a systemctl is-system-running 2>&1) || true
        # degraded: a unit failed; the caller checks that
        case $state in running | degraded | "${BOOT_STATE:-running}") writable_cgroups "$init"; return 0 ;; esac
    done
    echo "machine.sh: $name did not boot; the last seen state: ${state:-none}; the end of its console:" >&2
    tail -n 30 "$machine/log" >&2
    return 1
}

run() {
    local name=$1 init variable kept=()
    shift
    init=$(init_of "$name")
    [ -n "$init" ] || { echo "machine.sh: $name does not run" >&2; return 125; }
    while read -r variable; do kept+=("$variable=${!variable}"); done < <(compgen -e | grep -E '^(PIP_|SSL_CERT_FILE$)')
    ( enter_cgroups "$name"; exec nsenter -t "$init" -a env -i -C /root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root USER=root LOGNAME=root LANG=C.UTF-8 "${kept[@]}" "$@" )
}

down() {
    local machine=$slot_folder/$1 pid init cgroup
    pid=$(cat "$machine/pid" 2>/dev/null || true)
    if [ -n "$pid" ] && grep -qs -e systemd-nspawn -e setsid -e bash "/proc/$pid/comm" && grep -qs "supercloud-machine-$slot-$1" "/proc/$pid/cgroup"; then
        init=$(init_of "$1")
        [ -z "$init" ] || kill -KILL "$init" 2>/dev/null || true   # this ends all processes inside
        for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
        kill -KILL "$pid" 2>/dev/null || true
    fi
    # processes that entered and are still running
    for cgroup in $(cgroups_of "$1"); do
        [ -d "$cgroup" ] || continue
        for _ in $(seq 100); do
            find "$cgroup" -name cgroup.procs -exec cat {} + 2>/dev/null | grep -vx 0 | xargs -r kill -KILL 2>/dev/null || true
            find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || true
            [ -e "$cgroup" ] || break
            sleep 0.1   # the kernel releases the last tasks a moment after their end
        done
    done
    while mountpoint -q "$machine/root" 2>/dev/null; do umount "$machine/root" 2>/dev/null || umount -l "$machine/root"; done
    rm -rf "${machine:?}"
}

keep() {   # NAME FOLDER
    local machine=$slot_folder/$1 init
    init=$(init_of "$1")
    nsenter -t "$init" -a sync
    kill -KILL "$init"
    rm -rf "$2.partial"
    cp -a "$machine/upper" "$2.partial"
    rm -rf "$2.partial"/{etc/hostname,etc/hosts,etc/machine-id,etc/resolv.conf,etc/systemd/network,run,tmp,var/log/journal}
    mv "$2.partial" "$2"
    down "$1"
}

clean() {
    local machine
    for machine in "$slot_folder"/*/; do
        [ ! -d "$machine/root" ] || down "$(basename "$machine")"
    done
    unplug
    rm -rf "${slot_folder:?}"
}

# Waits until the lock of the slot is free, then removes the remains of a test run that was killed.
guard() {
    flock "$cache/slot-$slot.lock" "$here/machine.sh" clean
}

case ${1:-} in
    up | run | down | keep | plug | clean | lower | guard) "$@" ;;
    *) sed -n '2,16s/^# \?//p' "$0"; exit 2 ;;
esac
