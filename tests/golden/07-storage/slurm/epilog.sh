#!/bin/bash
# made by supercloud VERSION from the spec storage; edits are lost
#
# epilog.sh: runs as root on every node of a job after its last process.
#
# Takes the job's folder away, ends what the user left running outside of any job, and looks whether all accelerators
# are still there. When this fails, Slurm drains the node.
set -u
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
here=$(dirname "$(readlink -f "$0")")
scratch=/var/spool/slurmd/scratch
job=${SLURM_JOB_ID:?} user=${SLURM_JOB_UID:?}

# Whether a process is in a cgroup that slurmd made for a job: slurmstepd.scope/job_N (version 2) or slurm/uid_N/job_N
# (version 1; slurm_NODE where several slurmd share a host). Users may make cgroups of any name, but only below user.slice.
in_a_job() {
    local groups
    groups=$(grep -v ':/user\.slice/' "/proc/$1/cgroup" 2>/dev/null)
    grep -qE '[:/]([^/]*_)?slurmstepd\.scope/job_[0-9]+(/|$)|:/(.*/)?slurm(_[^/]+)?/uid_[0-9]+/job_[0-9]+(/|$)' <<<"$groups"
}

# Processes of the user: as `pgrep -u` lists them, which is a package of its own (procps) that not every host has.
processes_of() { grep -slE "^Uid:[[:space:]]+[0-9]+[[:space:]]+$1[[:space:]]" /proc/[0-9]*/status | tr -dc '0-9\n'; }

# Processes of the user on this host that belong to no job. slurmstepd ends those of a job, of this or another, itself.
leftovers() {
    local process
    for process in $(processes_of "$user"); do
        ! in_a_job "$process" || continue
        [ "$(readlink "/proc/$process/ns/net")" = "$(readlink /proc/self/ns/net)" ] && echo "$process"
    done
}

other_jobs() {
    local jobs
    # the controller does not answer: better leave a process than end one that may stay
    jobs=$(squeue -h -o %A -u "$user" -w "${SLURMD_NODENAME:-$(hostname -s)}") || return 0
    [ -n "$jobs" ] && grep -qvx "$job" <<<"$jobs"
}

end() {
    local pids
    mapfile -t pids < <(leftovers)
    [ -n "${pids[*]}" ] || return 0
    ! other_jobs || return 0
    kill -TERM "${pids[@]}" 2>/dev/null
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        mapfile -t pids < <(leftovers)
        [ -n "${pids[*]}" ] || return 0
        sleep 0.5
    done
    kill -KILL "${pids[@]}" 2>/dev/null
    sleep 1
    mapfile -t pids < <(leftovers)
    [ -z "${pids[*]}" ] || { echo "processes of user $user do not end: ${pids[*]}" >&2; return 1; }
}

case $job in
*[!0-9]*) ;;
*) rm -rf --one-file-system "${scratch:?}/$job" ;;
esac
status=0
[ "$user" -lt 1000 ] || end || status=1
[ ! -x "$here/health-check.sh" ] || "$here/health-check.sh" quick || status=1
exit $status
