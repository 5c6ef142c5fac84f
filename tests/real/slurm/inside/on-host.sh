#!/bin/bash
# on-host.sh NAME COMMAND...: executes COMMAND on this host: its network, name, /tmp, /run, spool and logs.
set -euo pipefail

if [ "${LAB_HOST:-}" != "$1" ]; then
    # These must not be shared: daemons signal the PID in a PID file, and PMIx creates folders with fixed names in /tmp.
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
if [ -e "$own/configless" ]; then   # only files that configless Slurm does not send: programs and keys
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
