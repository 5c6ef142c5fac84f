#!/usr/bin/env bash
# made by supercloud VERSION from the spec k8s; do not edit
# Names the interfaces of a node's compute adapters by their rails: the device plugins identify the rails by these names.
# It writes udev rules by PCI address, which also apply whenever the driver is loaded again, and renames the present
# interfaces. Run it as root before the node joins, and again if an adapter was missing or moved to another slot.
set -euo pipefail

rules=/etc/udev/rules.d/70-rail-names.rules
missing=0
found=()
while read -r device name; do
    port=/sys/class/infiniband/$device/device
    if [ -d "$port" ]; then
        found+=("$name $(readlink -f "$port")")
    else
        echo "$device does not exist: $name is missing (see RDMA devices in INSTALL.md of the target hosts)" >&2
        missing=1
    fi
done <<'RAILS'
mlx5_11 rail0
mlx5_6 rail1
mlx5_10 rail2
mlx5_9 rail3
mlx5_4 rail4
mlx5_3 rail5
mlx5_5 rail6
mlx5_0 rail7
RAILS

for entry in "${found[@]}"; do
    read -r name port <<< "$entry"
    # partitions of InfiniBand are interfaces of the same PCI device; only they have a parent
    echo "ACTION==\"add\", SUBSYSTEM==\"net\", DRIVERS==\"?*\", KERNELS==\"${port##*/}\", TEST!=\"parent\", NAME=\"$name\""
done > "$rules"
udevadm control --reload

for entry in "${found[@]}"; do
    read -r name port <<< "$entry"
    for folder in "$port"/net/*; do
        current=${folder##*/}
        if [ ! -d "$folder" ] || [ -e "$folder/parent" ] || [ "$current" = "$name" ]; then continue; fi
        ip link set "$current" down
        ip link set "$current" name "$name"
        ip link set "$name" up
    done
done
exit "$missing"
