#!/bin/bash
# made by supercloud VERSION from storage; do not edit
# mount-targets.sh: mounts the targets of this server, which starts their services; managers first, then metadata, then objects.
set -euo pipefail

host=$(hostname -s)
number=$((10#${host##*-}))

start() { # name of the target
    mkdir -p "/lustre/$1"
    mountpoint -q "/lustre/$1" || mount -t lustre "/dev/mapper/$1" "/lustre/$1"
}

case $host in
scratch-mds-*)
    [ "$number" != 1 ] || start scratch-mgt
    start "$(printf 'scratch-mdt%04x' $((number - 1)))"
    ;;
scratch-oss-*)
    for target in 0 1; do
        start "$(printf 'scratch-ost%04x' $(((number - 1) * 2 + target)))"
    done
    # request size in MiB; clients read it when they connect, so that it is set before they mount
    lctl set_param 'obdfilter.scratch-OST*.brw_size=16'
    ;;
esac
