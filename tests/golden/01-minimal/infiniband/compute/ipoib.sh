#!/bin/bash
# minimal, compute: made from the spec; do not edit
# Names and addresses of this host's interfaces on compute (IPoIB): file systems are addressed by them.
#   ipoib.sh show [HOST]   print them
#   ipoib.sh networkd      at boot, as root: name the interfaces, write their files for systemd-networkd, and reload
set -euo pipefail
shopt -s extglob

how=${1:-show}
name=${2:-$(hostname -s)}
system=${DESTDIR:-}
# One port per line: interface, RDMA device, first address of its block, hosts of the block before the first of these, prefix
# length. "-": the device is not in the catalog; then the interface must already have its name.
case $name in
train-+([0-9]))
    prefix=train- first=1 last=16
    machine=dgx-h100
    ports=(
        "rail0 mlx5_11 2886729728 0 18"
        "rail1 mlx5_6 2886746112 0 18"
        "rail2 mlx5_10 2886762496 0 18"
        "rail3 mlx5_9 2886778880 0 18"
        "rail4 mlx5_4 2886795264 0 18"
        "rail5 mlx5_3 2886811648 0 18"
        "rail6 mlx5_5 2886828032 0 18"
        "rail7 mlx5_0 2886844416 0 18"
    ) ;;
*) echo "$name is not a host of compute" >&2; exit 2 ;;
esac
number=$((10#${name#"$prefix"}))
if ((number < first || number > last)); then
    echo "$name is not a host of compute: the last one is $prefix$last" >&2
    exit 2
fi

find_interface() { # interface of the plan, RDMA device: current name of the interface; empty if it does not exist
    local found
    if [ "$2" = - ] && [ -e "$system/sys/class/net/$1" ]; then
        echo "$1"
    fi
    for found in "$system/sys/class/infiniband/$2"/device/net/*; do
        if [ -e "$found" ] && [ ! -e "$found/parent" ]; then # a child interface has a parent
            basename "$found"
            return
        fi
    done
}

if [ "$how" = networkd ]; then # no changes unless all interfaces are found
    lacking=0
    for line in "${ports[@]}"; do
        read -r interface device _ <<<"$line"
        if [ -n "$(find_interface "$interface" "$device")" ]; then
            continue
        fi
        lacking=1
        if [ "$device" = - ]; then
            echo "unknown interface $interface, and the catalog has no RDMA devices of $machine on compute:" \
                "name it (systemd.link), or set adapters.devices in a catalog overlay" >&2
        else
            echo "$device has no interface: load ib_ipoib and check ibstat $device" >&2
        fi
    done
    if ((lacking)); then
        exit 1
    fi
fi

folder=$system/etc/systemd/network
for line in "${ports[@]}"; do
    read -r interface device base turn length <<<"$line"
    place=$((turn + number - first))
    whole=$((place / 250))
    address=$((base + whole * 256 + place % 250 + 1))
    text="$((address >> 24 & 255)).$((address >> 16 & 255)).$((address >> 8 & 255)).$((address & 255))/$length"
    addressed=$interface
    case $how in
    show) echo "$addressed $device $text" ;;
    networkd)
        current=$(find_interface "$interface" "$device")
        if [ "$current" != "$interface" ]; then
            ip link set dev "$current" down
            ip link set dev "$current" name "$interface"
        fi
        printf '[Match]\nName=%s\n\n[Network]\nAddress=%s\nIPv6AcceptRA=no\n' "$addressed" "$text" >"$folder/50-ipoib-$addressed.network"
        ip link set dev "$interface" up
        ;;
    *) echo "unknown command '$how': use show or networkd" >&2; exit 2 ;;
    esac
done
if [ "$how" = networkd ]; then
    # several interfaces on one host: each must answer ARP for its own addresses only
    settings=$system/etc/sysctl.d/90-ipoib-compute.conf
    for line in "${ports[@]}"; do
        read -r interface _ <<<"$line"
        printf 'net/ipv4/conf/%s/arp_ignore = 1\nnet/ipv4/conf/%s/arp_announce = 2\n' "$interface" "$interface"
    done >"$settings"
    networkctl reload
    sysctl -q -e -p "$settings"
fi
