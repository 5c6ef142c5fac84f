#!/bin/bash
# in-band on home-nfs: made by supercloud VERSION; edits are lost
# 2 links to in-band as one (active-backup); the address comes by DHCP, as of one link.
#   bond.sh show       print it
#   bond.sh networkd   write it for systemd-networkd, and load it
#   bond.sh ip         set it now, until the next boot
set -euo pipefail

how=${1:-show}
bond=bond2
# A link a line: interface, RDMA device. The interface is that of the device, where there is one; others are to be called so
# (systemd.link).
links=(
    "in-band0 -"
    "in-band1 -"
)

interface_of() {
    local found
    for found in /sys/class/infiniband/"$2"/device/net/*; do
        if [ -e "$found" ]; then
            basename "$found"
            return
        fi
    done
    echo "$1"
}

folder=${NETWORKD_FOLDER:-/etc/systemd/network}
interfaces=()
for link in "${links[@]}"; do
    read -r name device <<<"$link"
    interfaces+=("$(interface_of "$name" "$device")")
done

case $how in
show) echo "$bond active-backup ${interfaces[*]}" ;;
ip)
    ip link show dev $bond >/dev/null 2>&1 || ip link add name $bond type bond mode active-backup miimon 100
    for interface in "${interfaces[@]}"; do
        ip link set dev "$interface" down
        ip link set dev "$interface" master $bond
    done
    ip link set dev $bond up
    ;;
networkd)
    {
        printf '[NetDev]\nName=%s\nKind=bond\n\n[Bond]\n' $bond
        printf 'Mode=active-backup\nMIIMonitorSec=100ms\n'
    } >"$folder/40-$bond.netdev"
    printf '[Match]\nName=%s\n\n[Network]\nBond=%s\nLLDP=yes\nEmitLLDP=yes\n' "${interfaces[*]}" $bond >"$folder/40-$bond-links.network"
    printf '[Match]\nName=%s\n\n[Network]\nDHCP=ipv4\n' $bond >"$folder/40-$bond.network"
    chmod 0644 "$folder/40-$bond.netdev" "$folder/40-$bond-links.network" "$folder/40-$bond.network"
    [ "$folder" != /etc/systemd/network ] || networkctl reload
    ;;
*) echo "show, networkd or ip, not '$how'" >&2; exit 2 ;;
esac
