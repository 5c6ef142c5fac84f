#!/bin/bash
# compute on train: made by supercloud VERSION; do not edit
# QoS settings that match those of the switches: DSCP 26 on priority 3, paused by PFC; DSCP 48 on priority 6 for
# congestion notifications. Needs mlnx_qos and cma_roce_mode of DOCA-OFED (profile doca-ofed of DOCA-Host).
set -euo pipefail

# the catalog has no RDMA devices of this machine: use those whose interface is named rail…
devices=()
for found in /sys/class/infiniband/*/device/net/rail*; do
    if [ -e "$found" ]; then
        devices+=("$(basename "$(dirname "$(dirname "$(dirname "$found")")")")")
    fi
done
if [ -z "${devices[*]}" ]; then
    echo "no RDMA device has an interface named rail…: name them (systemd.link), or set adapters.devices in a catalog overlay" >&2
    exit 1
fi

if systemctl is-active --quiet lldpad; then
    systemctl disable --now lldpad  # it would override DCB settings
fi
for device in "${devices[@]}"; do
    for found in /sys/class/infiniband/"$device"/device/net/*; do
        interface=$(basename "$found")
        mlnx_qos -i "$interface" --dcbx=os --trust=dscp
        mlnx_qos -i "$interface" --dscp2prio=set,26,3
        mlnx_qos -i "$interface" --dscp2prio=set,48,6
        mlnx_qos -i "$interface" -f 0,0,0,1,0,0,0,0
        mlnx_qos -i "$interface" -s ets,ets,ets,ets,ets,ets,strict,ets -t 10,6,6,60,6,6,0,6
        ip link set dev "$interface" mtu 9000
        echo 1 >/sys/class/net/"$interface"/ecn/roce_np/enable/3
        echo 1 >/sys/class/net/"$interface"/ecn/roce_rp/enable/3
        echo 48 >/sys/class/net/"$interface"/ecn/roce_np/cnp_dscp
        echo 6 >/sys/class/net/"$interface"/ecn/roce_np/cnp_802p_prio
    done
    cma_roce_mode -d "$device" -p 1 -m 2
    cma_roce_tos -d "$device" -t 104
    echo 104 >/sys/class/infiniband/"$device"/tc/1/traffic_class
done
