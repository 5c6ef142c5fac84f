# shellcheck shell=bash
# Sourced. spawn NAME COMMAND...: a daemon that outlives this shell, in the lab's own cgroups.
# Its output goes to /lab/log/NAME and its pid to /lab/pid/NAME.
spawn() {
    local name=$1
    shift
    (
        for procs in /sys/fs/cgroup/*/cgroup.procs; do echo "$BASHPID" >"$procs"; done
        exec setsid "$@" </dev/null >>"/lab/log/$name" 2>&1
    ) &
    echo $! >"/lab/pid/$name"
}
