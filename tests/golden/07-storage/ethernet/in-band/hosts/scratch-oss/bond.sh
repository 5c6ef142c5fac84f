#!/bin/bash
# in-band on scratch-oss: made by supercloud VERSION; edits are lost
# 2 links to in-band as one (active-backup).
# The address comes by DHCP, as of one link.
#   bond.sh show       print it
#   bond.sh networkd   write it for systemd-networkd, and load it
#   bond.sh ip         set it now, until the next boot
set -euo pipefail

how=${1:-show}
bond=bond2
# A link a line: interface, RDMA device. The interface is that of the device, where there is one; where the catalog does not
# know the device ("-"), the interface must have this name already (systemd.link).
links=(
    "in-band0 -"
    "in-band1 -"
)

system=${DESTDIR:-}

interface_of() { # planned name, RDMA device: the interface of the device, the planned name where the device has none
    local found
    for found in "$system/sys/class/infiniband/$2"/device/net/*; do
        if [ -e "$found" ]; then
            basename "$found"
            return
        fi
    done
    echo "$1"
}

check_interfaces() { # lines of planned name and RDMA device: 1, and what to do, where an interface is not on this host
    local name device lacking=0
    while read -r name device; do
        if [ -e "$system/sys/class/net/$(interface_of "$name" "$device")" ]; then
            continue
        fi
        lacking=1
        if [ "$device" = - ]; then
            echo "no interface is called $name, and the catalog does not know the RDMA devices of flash-24:" \
                "name it (systemd.link), or set adapters[].devices in a catalog overlay" >&2
        else
            echo "$device has no interface, and none is called $name: load the driver, and see 'rdma link'" >&2
        fi
    done
    return $lacking
}

if [ "$how" != show ]; then # nothing is changed unless all of them are here
    printf '%s\n' "${links[@]}" | check_interfaces
fi
folder=${NETWORKD_FOLDER:-$system/etc/systemd/network}
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
