#!/bin/bash
# made by supercloud VERSION from the spec minimal; do not edit
#
# epilog.sh: runs as root on every node of a job after its last process.
#
# Removes the job's directory, ends processes that the user left running outside of any job, deletes the user's files on internal
# disks after the last job of the user here, and checks that all accelerators are present. If it fails, Slurm drains the node.
set -u
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
here=$(dirname "$(readlink -f "$0")")
root=${HEALTH_ROOT:-}   # of the tables and disks, for tests
scratch=/var/spool/slurmd/scratch
job=${SLURM_JOB_ID:?} user=${SLURM_JOB_UID:?}

# Whether a process is in a cgroup that slurmd created for a job: slurmstepd.scope/job_N (version 2) or slurm/uid_N/job_N
# (version 1; slurm_NODE where several slurmd share a host). Users can create cgroups of any name, but only below user.slice.
in_a_job() {
    local groups
    groups=$(grep -v ':/user\.slice/' "/proc/$1/cgroup" 2>/dev/null)
    grep -qE '[:/]([^/]*_)?slurmstepd\.scope/job_[0-9]+(/|$)|:/(.*/)?slurm(_[^/]+)?/uid_[0-9]+/job_[0-9]+(/|$)' <<<"$groups"
}

# The IDs of the user as FIRST-LAST: also the subordinate ones, which processes and files of rootless containers have.
list_ids() {
    local owner first count name
    echo "$user-$user"
    name=$(id -nu "$user" 2>/dev/null)
    while IFS=: read -r owner first count; do
        [ "$owner" = "$user" ] || [ "$owner" = "${name:-$user}" ] || continue
        case "$first:$count" in *[!0-9:]* | :* | *:) continue ;; esac
        [ "$first" -lt 1000 ] || echo "$first-$((first + count - 1))"   # never those of the system
    done < <(cat "$root/etc/subuid" 2>/dev/null)
}

# Processes with these effective IDs, from /proc: pgrep is in a separate package (procps) that some hosts lack.
list_processes() { # FIRST-LAST...
    grep -sE '^Uid:' /proc/[0-9]*/status | awk -v ranges="$*" '
        BEGIN { count = split(ranges, range, " ") }
        {
            for (i = 1; i <= count; i++) {
                split(range[i], ends, "-")
                if ($3 + 0 >= ends[1] + 0 && $3 + 0 <= ends[2] + 0) { split($1, path, "/"); print path[3]; next }
            }
        }'
}

# Whether root placed a process in a network namespace for another system on this host. A user who creates one (unshare) needs a user
# namespace for it, which the process cannot leave (setns(2)).
is_of_another_system() {
    [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ] && [ "$(readlink "/proc/$1/ns/user")" = "$(readlink /proc/self/ns/user)" ]
}

# Processes of the user on this host that belong to no job. slurmstepd ends the processes of jobs.
list_stray_processes() {
    local process ids
    mapfile -t ids < <(list_ids)
    for process in $(list_processes "${ids[@]}"); do
        in_a_job "$process" || is_of_another_system "$process" || echo "$process"
    done
}

other_jobs() { # [OPTION...]: of squeue
    local jobs
    # if the controller does not respond, keep the processes: another job may need them
    jobs=$(squeue -h -o %A "$@" -u "$user" -w "${SLURMD_NODENAME:-$(hostname -s)}") || return 0
    [ -n "$jobs" ] && grep -qvx "$job" <<<"$jobs"
}

end_stray_processes() {
    local pids
    mapfile -t pids < <(list_stray_processes)
    [ -n "${pids[*]}" ] || return 0
    ! other_jobs || return 0
    kill -TERM "${pids[@]}" 2>/dev/null
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        mapfile -t pids < <(list_stray_processes)
        [ -n "${pids[*]}" ] || return 0
        sleep 0.5
    done
    kill -KILL "${pids[@]}" 2>/dev/null
    sleep 1
    mapfile -t pids < <(list_stray_processes)
    [ -z "${pids[*]}" ] || { echo "processes of user $user could not be ended: ${pids[*]}" >&2; return 1; }
}

# Internal disks of a node of a cloud; the boot lists their mount point. Jobs that are ending at the same time do not count: each would
# leave it to the other. Only what belongs to the user is deleted, also in directories of others.
clean_disks() {
    local mount_point first last
    mount_point=$(sed -n '1{s/ .*//;s,/$,,;p}' "$root/etc/supercloud/mount-state-disks" 2>/dev/null)
    [ -n "$mount_point" ] && awk -v mount_point="$mount_point" '$2 == mount_point { found = 1 } END { exit !found }' "$root/proc/mounts" || return 0
    ! other_jobs -t RUNNING,SUSPENDED,CONFIGURING,STOPPED || return 0
    while IFS=- read -r first last; do
        find "${root}$mount_point" -xdev -mindepth 1 -uid "+$((first - 1))" -uid "-$((last + 1))" -delete 2>/dev/null
    done < <(list_ids)
}

case $job in
*[!0-9]*) ;;
*) rm -rf --one-file-system "${scratch:?}/$job" ;;
esac
status=0
[ "$user" -lt 1000 ] || { end_stray_processes || status=1; clean_disks; }
[ ! -x "$here/health-check.sh" ] || "$here/health-check.sh" quick || status=1
exit $status
