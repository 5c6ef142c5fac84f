#!/usr/bin/env bash
# made by supercloud VERSION from the spec k8s; edits are lost
# Renames the interfaces of a node's compute adapters to the names of their rails, before the kubelet starts: the device
# plugins identify the rails by these names. Run it at boot as root.
set -euo pipefail

while read -r device name; do
    folder=/sys/class/infiniband/$device/device/net
    [ -d "$folder" ] || { echo "$device does not exist: $name is missing" >&2; continue; }
    current=$(ls "$folder")
    [ "$current" = "$name" ] && continue
    ip link set "$current" down
    ip link set "$current" name "$name"
    ip link set "$name" up
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
