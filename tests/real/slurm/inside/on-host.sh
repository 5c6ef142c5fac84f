#!/bin/bash
# on-host.sh NAME COMMAND...: becomes COMMAND on that host: its network, its name, its own /tmp, /run, spool and logs.
set -euo pipefail

if [ "${LAB_HOST:-}" != "$1" ]; then
    # None of this may be shared: daemons signal the pid in the file they find, PMIx makes folders of one name in /tmp.
    LAB_HOST=$1 exec nsenter --net="/run/netns/$1" unshare -m -u --propagation slave -- "$0" "$@"
fi
# shellcheck source=/dev/null
source /lab/settings
own=/lab/node/$1
shift
hostname "${own##*/}"

for folder in "${HOST_FOLDERS[@]}"; do
    mkdir -p "$own$folder"
    mount --bind "$own$folder" "$folder"
done
if [ -e "$own/configless" ]; then   # only what configless Slurm does not send: programs and keys
    mkdir -p "$own/etc"
    (cd /etc/slurm && find . -type f ! -name '*.conf' ! -name '*.yaml' -exec cp -p --parents -t "$own/etc" {} +)
    mount --bind "$own/etc" /etc/slurm
fi
mkdir -p "$own/run/munge"
[ ! -d /run/munge ] || mount --bind /run/munge "$own/run/munge"
mount --rbind "$own/run" /run
mount -t tmpfs -o mode=1777 tmp /tmp
unset LAB_HOST
exec "$@"
