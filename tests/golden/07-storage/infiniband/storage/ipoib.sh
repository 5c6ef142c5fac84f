#!/bin/bash
# storage, storage: made from the spec; edits are lost
# Addresses of this host on storage (IPoIB), worked out of its number.
#   ipoib.sh show [HOST]   print them
#   ipoib.sh networkd      write them for systemd-networkd, and load them
set -euo pipefail
shopt -s extglob

how=${1:-show}
name=${2:-$(hostname -s)}
# A port a line: RDMA device, first address of its block, hosts of the block before those of this port, prefix length.
case $name in
train-+([0-9]))
    prefix=train- first=1 last=32 before=0
    ports=(
        "- 2886860800 0 16"
        "- 2886926336 0 16"
    ) ;;
scratch-mds-+([0-9]))
    prefix=scratch-mds- first=1 last=2 before=0
    ports=(
        "- 2886925312 0 16"
        "- 2886990848 0 16"
    ) ;;
scratch-oss-+([0-9]))
    prefix=scratch-oss- first=1 last=6 before=0
    ports=(
        "- 2886924288 0 16"
        "- 2886989824 0 16"
    ) ;;
fast-backend-+([0-9]))
    prefix=fast-backend- first=1 last=8 before=0
    ports=(
        "- 2886923264 0 16"
        "- 2886988800 0 16"
    ) ;;
proj-nsd-+([0-9]))
    prefix=proj-nsd- first=1 last=3 before=0
    ports=(
        "- 2886922240 0 16"
        "- 2886987776 0 16"
    ) ;;
*) echo "$name is no host of storage" >&2; exit 2 ;;
esac
number=$((10#${name#"$prefix"}))
if ((number < first || number > last)); then
    echo "$name is no host of storage: they end at $prefix$last" >&2
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
