#!/bin/bash
# compute on train: made by supercloud VERSION; edits are lost
# Addresses and routes of this node's links to compute, worked out of its number.
#   roce-rails.sh show       print them
#   roce-rails.sh networkd   write them for systemd-networkd, and load them
#   roce-rails.sh ip         set them now, until the next boot
# Each link has a route table of its own: what leaves from its address leaves over it, to the rails of its plane, and
# over no other where it does not work.
# What leaves from no address in particular is spread over all links of the plane, by the main table.
set -euo pipefail
shopt -s extglob

how=${1:-show}
name=${2:-$(hostname -s)}
case $name in
train-+([0-9])) number=$((10#${name#train-})) ;;
*) echo "$name is no node of train: they are called train-[0001-0016]" >&2; exit 2 ;;
esac
if ((number < 1 || number > 16)); then
    echo "$name is no node of train: they are called train-[0001-0016]" >&2
    exit 2
fi
node=$((number - 1 + 0))

# A link a line: plane, NIC, interface, RDMA device. The interface is that of the device, where there is one.
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

dotted() { echo "$(($1 >> 24 & 255)).$(($1 >> 16 & 255)).$(($1 >> 8 & 255)).$(($1 & 255))"; }

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
            echo "no interface is called $name, and the catalog does not know the RDMA devices of dgx-b300:" \
                "name it (systemd.link), or set adapters[].devices in a catalog overlay" >&2
        else
            echo "$device has no interface, and none is called $name: load the driver, and see 'rdma link'" >&2
        fi
    done
    return $lacking
}

if [ "$how" != show ]; then # nothing is changed unless all of them are here
    for link in "${links[@]}"; do
        read -r _ _ name device _ <<<"$link"
        echo "$name $device"
    done | check_interfaces
    for link in "${links[@]}"; do # names that the kernel does not change, by which file systems are told where to go
        read -r _ _ name device _ <<<"$link"
        interface=$(interface_of "$name" "$device")
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
    gateway=$(dotted $((base + leaf * 32 + 2 * port)))
    address=$(dotted $((base + leaf * 32 + 2 * port + 1)))
    interface=$(interface_of "$name" "$device")
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
                # systemd-networkd sets the route over all links only while all of them work
                printf '\n[Route]\nDestination=%s\nGateway=%s\nPreferredSource=%s\nMetric=%s\n' "$block" "$gateway" "$address" $table
            done
        } >"$folder/50-roce-$interface.network"
        ;;
    *) echo "show, networkd or ip, not '$how'" >&2; exit 2 ;;
    esac
    case $how in
    ip) hops[plane]+="nexthop via $gateway dev $interface " ;;
    networkd) hops[plane]+="MultiPathRoute=$gateway@$interface " ;;
    esac
    used[plane]+="$interface "
    if [ "$how" != show ]; then
        # several interfaces, one kernel: each answers for its own addresses only, routes need not be symmetric, and a
        # link without a carrier carries no share of a route over several
        echo 1 >"$system"/proc/sys/net/ipv4/conf/"$interface"/arp_ignore
        echo 2 >"$system"/proc/sys/net/ipv4/conf/"$interface"/arp_announce
        echo 2 >"$system"/proc/sys/net/ipv4/conf/"$interface"/rp_filter
        echo 1 >"$system"/proc/sys/net/ipv4/conf/"$interface"/ignore_routes_with_linkdown
    fi
    table=$((table + 1))
done
# Programs that bind no address, such as clients of storage, look in the main table: a route over all links of a plane.
for plane in "${!hops[@]}"; do
    read -ra words <<<"${hops[$plane]}"
    for block in ${reached[$plane]}; do
        case $how in
        ip) ip route replace "$block" "${words[@]}" ;;
        networkd) # in the file of each link: the route goes with any of them, and comes back with it
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
