#!/bin/bash
# made by supercloud VERSION from storage; do not edit
# format.sh: formats the targets of this server of scratch; run it once on each. A device that holds a target is left unchanged.
# Device names: /dev/mapper/scratch-mgt, -mdt0000, -ost0000 (multipath aliases or volumes),
# seen by both servers of a pair.
# An object target is 8 + 2 drives of 15.36 TB; a metadata target has at least 6524 GiB.
set -euo pipefail

net=o2ib0
host=$(hostname -s)
number=$((10#${host##*-}))
if [ $((number % 2)) = 1 ]; then partner=$((number + 1)); else partner=$((number - 1)); fi

format_nid() { printf '%s%04d-storage@%s' "$1" "$2" "$net"; }

make_target() { # device, arguments of mkfs.lustre
    local device=$1
    shift
    if tunefs.lustre --dryrun "$device" >/dev/null 2>&1; then
        echo "$device is already formatted"
        return
    fi
    mkfs.lustre "$@" --backfstype=ldiskfs "$device"
}

managers=(--mgsnode=scratch-mds-0001-storage@o2ib0 --mgsnode=scratch-mds-0002-storage@o2ib0)
case $host in
scratch-mds-*)
    service=(--servicenode="$(format_nid scratch-mds- "$number")")
    [ "$partner" -gt 2 ] || service+=(--servicenode="$(format_nid scratch-mds- "$partner")")
    if [ "$number" = 1 ]; then
        make_target /dev/mapper/scratch-mgt --mgs "${service[@]}"
    fi
    index=$((number - 1))
    make_target "$(printf '/dev/mapper/scratch-mdt%04x' "$index")" \
        --mdt --fsname=scratch --index="$index" "${managers[@]}" "${service[@]}"
    ;;
scratch-oss-*)
    service=(--servicenode="$(format_nid scratch-oss- "$number")")
    [ "$partner" -gt 6 ] || service+=(--servicenode="$(format_nid scratch-oss- "$partner")")
    for target in 0 1; do
        index=$(((number - 1) * 2 + target))
        make_target "$(printf '/dev/mapper/scratch-ost%04x' "$index")" \
            --ost --fsname=scratch --index="$index" "${managers[@]}" "${service[@]}"
    done
    ;;
*)
    echo "$host is not a server of scratch" >&2
    exit 1
    ;;
esac
