#!/bin/bash
# world.sh ROOTFS [BIND...]: PID 1 of a lab. Mounts a memory file system over ROOTFS, so that no change is kept, mounts
# each BIND read-only at the same path, and keeps the namespaces open.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
rootfs=$1
shift
read -r pid _ </proc/self/stat   # /proc is still the outer one: this is the PID for the driver

# One folder for all labs: each mounts on it in a separate mount namespace.
work=/run/supercloud-lab
mkdir -p $work
mount -t tmpfs -o size=8g,mode=755 lab $work
mkdir $work/upper $work/scratch $work/root
mount -t overlay -o "lowerdir=$rootfs,upperdir=$work/upper,workdir=$work/scratch" lab $work/root
root=$work/root

mount -t proc proc $root/proc
mount -t sysfs sysfs $root/sys
mount -t tmpfs -o mode=755 cgroups $root/sys/fs/cgroup
while read -r _ path type options _; do
    case $type in cgroup | cgroup2) ;; *) continue ;; esac
    mkdir "$root$path"
    mount -t "$type" -o "${options/,release_agent=*,name=/,name=}" "$type" "$root$path"
done < <(grep ' /sys/fs/cgroup/' /proc/mounts)

mount -t tmpfs -o mode=755 dev $root/dev
for device in null zero full random urandom tty; do
    touch $root/dev/$device
    mount --bind /dev/$device $root/dev/$device
done
mkdir $root/dev/pts $root/dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts $root/dev/pts
mount -t tmpfs -o mode=1777 shm $root/dev/shm
ln -s pts/ptmx $root/dev/ptmx
ln -s /proc/self/fd $root/dev/fd
ln -s fd/0 $root/dev/stdin
ln -s fd/1 $root/dev/stdout
ln -s fd/2 $root/dev/stderr
mount -t tmpfs -o mode=755 run $root/run
mount -t tmpfs -o mode=1777 tmp $root/tmp

for bind in "$@"; do
    parent=$(dirname "$bind")
    mkdir -p "$root$parent"
    if [ -d "$bind" ]; then mkdir -p "$root$bind"; else touch "$root$bind"; fi
    mount --bind "$bind" "$root$bind"
    mount -o remount,bind,ro "$root$bind"
    while [ "$parent" != / ]; do   # user lab needs access to the path, even through /root
        chmod a+x "$root$parent" 2>/dev/null || true
        parent=$(dirname "$parent")
    done
done

mkdir -p $root/lab/bin $root/lab/log $root/lab/pid $root/lab/node
cp "$here"/inside/* $root/lab/bin/
ip link set lo up

# Not chroot: a process that enters an inner mount namespace, as slurmstepd for a job's /tmp, would leave it.
cd $root
pivot_root . .
umount -l .
# shellcheck disable=SC2016  # for the shell inside
exec chroot . /bin/bash -c 'echo "ready $1"; exec >/dev/null 2>&1; while read -r; do :; done' pid1 "$pid"
