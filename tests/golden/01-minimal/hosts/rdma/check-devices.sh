#!/bin/bash
# minimal: made from the spec; do not edit
# check-devices.sh [HOST]: checks that this host has the RDMA devices that the files of this cluster name. Exit status 0: it has
# all of them; 1: some are missing; 2: the host is not in the plan.
set -euo pipefail
shopt -s extglob nullglob

name=${1:-$(hostname -s)}
system=${DESTDIR:-}
case $name in
train-+([0-9])) expected=(mlx5_11 mlx5_6 mlx5_10 mlx5_9 mlx5_4 mlx5_3 mlx5_5 mlx5_0) ;;
*) echo "the plan has no RDMA devices of $name" >&2; exit 2 ;;
esac

missing=()
for device in "${expected[@]}"; do
    [ -e "$system/sys/class/infiniband/$device" ] || missing+=("$device")
done
[ -n "${missing[*]}" ] || exit 0

present=("$system"/sys/class/infiniband/*)
present=("${present[@]##*/}")
echo "$name has no ${missing[*]}; its RDMA devices are: ${present[*]:-none}" >&2
if [ -z "${present[*]}" ]; then
    echo "load the driver of the adapters" >&2
else
    echo "if udev renamed them, install the rule as described in hosts/INSTALL.md and restart the host; if the machine has other devices," \
        "set adapters[].devices in a catalog overlay and render again" >&2
fi
exit 1
