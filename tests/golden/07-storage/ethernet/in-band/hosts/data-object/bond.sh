#!/bin/bash
# in-band on data-object: made by supercloud VERSION; do not edit
# 2 links to in-band as one (active-backup).
# The address comes from DHCP, as with a single link.
#   bond.sh show       print it
#   bond.sh networkd   write it for systemd-networkd and reload
#   bond.sh ip         set it now, until the next boot
set -euo pipefail

how=${1:-show}
bond=bond2
# One link per line: interface, RDMA device. The interface is that of the device, if present; if the device is not in the
# catalog ("-"), the interface must already have this name (systemd.link).
links=(
    "in-band0 -"
    "in-band1 -"
)

system=${DESTDIR:-}

find_interface_of() { # planned name, RDMA device: the device's interface, or the planned name if it has none
    local found
    for found in "$system/sys/class/infiniband/$2"/device/net/*; do
        if [ -e "$found" ]; then
            basename "$found"
            return
        fi
    done
    echo "$1"
}

check_interfaces() { # lines of planned name and RDMA device: returns 1 and prints the fix if an interface is missing
    local name device lacking=0 machine=flash-24
    while read -r name device; do
        if [ "$(cat "$system/sys/class/infiniband/$device/ports/1/link_layer" 2>/dev/null)" = InfiniBand ]; then
            lacking=1
            echo "$device is an InfiniBand port: make it Ethernet, as rdma/check-devices.sh of the target hosts prints" >&2
            continue
        fi
        if [ -e "$system/sys/class/net/$(find_interface_of "$name" "$device")" ]; then
            continue
        fi
        lacking=1
        if [ "$device" = - ]; then
            echo "unknown interface $name, and the catalog has no RDMA devices of $machine:" \
                "name it (systemd.link), or set adapters[].devices in a catalog overlay" >&2
        else
            echo "$device has no interface, and $name does not exist: load the driver and check 'rdma link'" >&2
        fi
    done
    return $lacking
}

if [ "$how" != show ]; then # no changes unless all interfaces exist
    printf '%s\n' "${links[@]}" | check_interfaces
fi
folder=${NETWORKD_FOLDER:-$system/etc/systemd/network}
interfaces=()
for link in "${links[@]}"; do
    read -r name device <<<"$link"
    interfaces+=("$(find_interface_of "$name" "$device")")
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
*) echo "unknown command '$how': use show, networkd or ip" >&2; exit 2 ;;
esac
