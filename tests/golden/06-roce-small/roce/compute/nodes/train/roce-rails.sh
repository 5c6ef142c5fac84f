#!/bin/bash
# compute on train: made by supercloud VERSION; do not edit
# Addresses and routes of this node's links to compute, computed from its number.
#   roce-rails.sh show       print them
#   roce-rails.sh networkd   write them for systemd-networkd and reload
#   roce-rails.sh ip         set them now, until the next boot
# Each link has its own route table: packets from its address are sent only over it, to the rails of its plane, and
# never over another link, also if it is down.
# Packets of programs that bind no address are spread over all links of the plane by the main table.
set -euo pipefail
shopt -s extglob

how=${1:-show}
name=${2:-$(hostname -s)}
case $name in
train-+([0-9])) number=$((10#${name#train-})) ;;
*) echo "$name is not a node of train (train-[0001-0016])" >&2; exit 2 ;;
esac
if ((number < 1 || number > 16)); then
    echo "$name is not a node of train (train-[0001-0016])" >&2
    exit 2
fi
node=$((number - 1 + 0))

# One link per line: plane, NIC, interface, RDMA device. The interface is that of the device, if present.
links=(
    "0 0 rail0p1 -"
    "0 1 rail1p1 -"
    "0 2 rail2p1 -"
    "0 3 rail3p1 -"
    "0 4 rail4p1 -"
    "0 5 rail5p1 -"
    "0 6 rail6p1 -"
    "0 7 rail7p1 -"
    "1 0 rail0p2 -"
    "1 1 rail1p2 -"
    "1 2 rail2p2 -"
    "1 3 rail3p2 -"
    "1 4 rail4p2 -"
    "1 5 rail5p2 -"
    "1 6 rail6p2 -"
    "1 7 rail7p2 -"
)
bases=(2886729728 2886737920 2886746112 2886754304 2886762496 2886770688 2886778880 2886787072 2886795264 2886803456 2886811648 2886819840 2886828032 2886836224 2886844416 2886852608)
reached=("172.16.0.0/16" "172.17.0.0/16")

format_address() { echo "$(($1 >> 24 & 255)).$(($1 >> 16 & 255)).$(($1 >> 8 & 255)).$(($1 & 255))"; }

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
    local name device lacking=0 machine=dgx-b300
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
    for link in "${links[@]}"; do
        read -r _ _ name device _ <<<"$link"
        echo "$name $device"
    done | check_interfaces
    for link in "${links[@]}"; do # stable names, which the configuration of file systems uses
        read -r _ _ name device _ <<<"$link"
        interface=$(find_interface_of "$name" "$device")
        if [ "$interface" != "$name" ]; then
            ip link set dev "$interface" down
            ip link set dev "$interface" name "$name"
        fi
    done
fi
folder=$system/etc/systemd/network
table=100
hops=()
used=()
for link in "${links[@]}"; do
    read -r plane nic name device <<<"$link"
    unit=$((node / 16))
    place=$((node % 16))
    leaf=$((unit * 1 + place / 16))
    port=$((place % 16 * 1 + nic % 1))
    base=${bases[$((plane * 8 + nic / 1))]}
    gateway=$(format_address $((base + leaf * 32 + 2 * port)))
    address=$(format_address $((base + leaf * 32 + 2 * port + 1)))
    interface=$(find_interface_of "$name" "$device")
    case $how in
    show) echo "$plane $nic $interface $address/31 via $gateway table $table" ;;
    ip)
        ip link set dev "$interface" mtu 9000 up
        ip address replace "$address/31" dev "$interface"
        for block in ${reached[$plane]}; do
            ip route replace "$block" via "$gateway" dev "$interface" src "$address" table $table
        done
        ip route replace unreachable 172.16.0.0/15 table $table metric 1
        ip rule del from "$address" table $table 2>/dev/null || true
        ip rule add from "$address" table $table
        ;;
    networkd)
        {
            printf '[Match]\nName=%s\n\n[Link]\nMTUBytes=9000\n\n' "$interface"
            printf '[Network]\nAddress=%s/31\nIPv6AcceptRA=no\nLLDP=yes\nEmitLLDP=yes\n' "$address"
            printf '\n[RoutingPolicyRule]\nFrom=%s\nTable=%s\n' "$address" $table
            printf '\n[Route]\nType=unreachable\nDestination=172.16.0.0/15\nTable=%s\nMetric=1\n' $table
            for block in ${reached[$plane]}; do
                printf '\n[Route]\nDestination=%s\nGateway=%s\nPreferredSource=%s\nTable=%s\n' "$block" "$gateway" "$address" $table
                # systemd-networkd sets a multipath route only while all its links are up
                printf '\n[Route]\nDestination=%s\nGateway=%s\nPreferredSource=%s\nMetric=%s\n' "$block" "$gateway" "$address" $table
            done
        } >"$folder/50-roce-$interface.network"
        ;;
    *) echo "unknown command '$how': use show, networkd or ip" >&2; exit 2 ;;
    esac
    case $how in
    ip) hops[plane]+="nexthop via $gateway dev $interface " ;;
    networkd) hops[plane]+="MultiPathRoute=$gateway@$interface " ;;
    esac
    used[plane]+="$interface "
    if [ "$how" != show ]; then
        # several interfaces on one host: each answers ARP for its own addresses only, routes may be asymmetric, and a
        # link without a carrier is not used in multipath routes
        echo 1 >"$system"/proc/sys/net/ipv4/conf/"$interface"/arp_ignore
        echo 2 >"$system"/proc/sys/net/ipv4/conf/"$interface"/arp_announce
        echo 2 >"$system"/proc/sys/net/ipv4/conf/"$interface"/rp_filter
        echo 1 >"$system"/proc/sys/net/ipv4/conf/"$interface"/ignore_routes_with_linkdown
    fi
    table=$((table + 1))
done
# Programs that bind no address, such as storage clients, use the main table: a route over all links of a plane.
for plane in "${!hops[@]}"; do
    read -ra words <<<"${hops[$plane]}"
    for block in ${reached[$plane]}; do
        case $how in
        ip) ip route replace "$block" "${words[@]}" ;;
        networkd) # in the file of each link: the route is removed and restored together with the link
            for interface in ${used[$plane]}; do
                {
                    printf '\n[Route]\nDestination=%s\n' "$block"
                    printf '%s\n' "${words[@]}"
                } >>"$folder/50-roce-$interface.network"
            done
            ;;
        esac
    done
done
if [ "$how" = networkd ]; then
    networkctl reload
fi
