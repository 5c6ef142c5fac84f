#!/bin/bash
# lab.sh ROOTFS [BIND...]: one temporary world. Prints "ready PID"; ends with all its processes when its stdin closes.
# The outer part: it creates the cgroups of the world and removes them afterwards, which is not possible inside.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
name=supercloud-lab-$$
if [ ! -d /sys/fs/cgroup/devices ]; then
    echo 'the lab needs the cgroup v1 hierarchies, each at its own folder in /sys/fs/cgroup'
    exit 1
fi
mapfile -t hierarchies < <(awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/mounts)

for hierarchy in "${hierarchies[@]}"; do
    mkdir "$hierarchy/$name"
    for file in cpuset.cpus cpuset.mems; do   # a new cpuset is empty, and rejects processes until it is set
        [ ! -e "$hierarchy/$name/$file" ] || cat "$hierarchy/$file" >"$hierarchy/$name/$file"
    done
done

# The cgroup namespace makes these directories the roots of the world's hierarchies, so that two labs
# whose nodes have the same names are isolated.
(
    for hierarchy in "${hierarchies[@]}"; do echo "$BASHPID" >"$hierarchy/$name/cgroup.procs"; done
    exec unshare -m -n -u -i -p -C --fork --kill-child --propagation private -- "$here/world.sh" "$@"
) || true

for hierarchy in "${hierarchies[@]}"; do
    for _ in $(seq 50); do   # the kernel releases the last tasks a moment after their end
        find "$hierarchy/$name" -depth -type d -exec rmdir {} + 2>/dev/null || true
        [ -e "$hierarchy/$name" ] || break
        sleep 0.1
    done
done
