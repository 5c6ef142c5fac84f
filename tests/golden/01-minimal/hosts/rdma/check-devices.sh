#!/bin/bash
# minimal: made from the spec; do not edit
# check-devices.sh [HOST]: checks that this host has the RDMA devices that the files of this cluster name, and that their ports have
# the link layer of their network. Exit status 0: they do; 1: some do not; 2: the host is not in the plan.
set -euo pipefail
shopt -s extglob nullglob

name=${1:-$(hostname -s)}
system=${DESTDIR:-}
case $name in
train-+([0-9])) expected=(mlx5_11 mlx5_6 mlx5_10 mlx5_9 mlx5_4 mlx5_3 mlx5_5 mlx5_0) ethernet=() ;;
*) echo "the plan has no RDMA devices of $name" >&2; exit 2 ;;
esac

missing=() code=0
for device in "${expected[@]}"; do
    folder=$system/sys/class/infiniband/$device planned=InfiniBand
    [ -e "$folder" ] || { missing+=("$device"); continue; }
    [[ " ${ethernet[*]} " != *" $device "* ]] || planned=Ethernet
    layer=$(cat "$folder/ports/1/link_layer" 2>/dev/null) || continue
    [ "$layer" != "$planned" ] || continue
    # the firmware of an adapter has a setting for each port, and a function for each port
    address=$(basename "$(readlink -f "$folder/device")")
    value=IB port=${address##*.}
    [ "$planned" = InfiniBand ] || value=ETH
    [[ $port == [01] ]] || port=0
    echo "$name: the port of $device is $layer, in the plan it is $planned. Run 'mstconfig -d $address set LINK_TYPE_P$((port + 1))=$value'" \
        "(package mstflint), then power-cycle the host" >&2
    code=1
done
[ -n "${missing[*]}" ] || exit $code

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
