# shellcheck shell=bash
# Sourced. spawn NAME COMMAND...: starts a daemon that continues after this shell, in the cgroups of the lab.
# Its output goes to /lab/log/NAME and its PID to /lab/pid/NAME.
spawn() {
    local name=$1
    shift
    (
        for procs in /sys/fs/cgroup/*/cgroup.procs; do echo "$BASHPID" >"$procs"; done
        exec setsid "$@" </dev/null >>"/lab/log/$name" 2>&1
    ) &
    echo $! >"/lab/pid/$name"
}
