#!/bin/bash
# superpod, compute: made from the spec; edits are lost
# Addresses of this host on compute (IPoIB), worked out of its number.
#   ipoib.sh show [HOST]   print them
#   ipoib.sh networkd      write them for systemd-networkd, and load them
set -euo pipefail
shopt -s extglob

how=${1:-show}
name=${2:-$(hostname -s)}
# A port a line: RDMA device, first address of its block, hosts of the block before those of this port, prefix length.
case $name in
train-+([0-9]))
    prefix=train- first=1 last=127 before=0
    ports=(
        "mlx5_11 2886729728 0 18"
        "mlx5_6 2886746112 0 18"
        "mlx5_10 2886762496 0 18"
        "mlx5_9 2886778880 0 18"
        "mlx5_4 2886795264 0 18"
        "mlx5_3 2886811648 0 18"
        "mlx5_5 2886828032 0 18"
        "mlx5_0 2886844416 0 18"
    ) ;;
*) echo "$name is no host of compute" >&2; exit 2 ;;
esac
number=$((10#${name#"$prefix"}))
if ((number < first || number > last)); then
    echo "$name is no host of compute: they end at $prefix$last" >&2
    exit 2
fi

interface_of() { # number of the port, RDMA device
    local found
    for found in /sys/class/infiniband/"$2"/device/net/*; do
        if [ -e "$found" ]; then
            basename "$found"
            return
        fi
    done
    echo "ib$1"
}

port=0
for line in "${ports[@]}"; do
    read -r device base turn length <<<"$line"
    place=$((turn + before + number - first))
    whole=$((place / 250))
    address=$((base + whole * 256 + place % 250 + 1))
    text="$((address >> 24 & 255)).$((address >> 16 & 255)).$((address >> 8 & 255)).$((address & 255))/$length"
    interface=$(interface_of "$port" "$device")
    case $how in
    show) echo "$port $interface $text" ;;
    networkd)
        printf '[Match]\nName=%s\n\n[Network]\nAddress=%s\nIPv6AcceptRA=no\n' "$interface" "$text" \
            >"/etc/systemd/network/50-ipoib-$interface.network"
        # several interfaces, one kernel: each answers for its own addresses only
        echo 1 >/proc/sys/net/ipv4/conf/"$interface"/arp_ignore
        echo 2 >/proc/sys/net/ipv4/conf/"$interface"/arp_announce
        ;;
    *) echo "show or networkd, not '$how'" >&2; exit 2 ;;
    esac
    port=$((port + 1))
done
if [ "$how" = networkd ]; then
    networkctl reload
fi
