#!/bin/bash
# host-up.sh NAME...: connects hosts to the lab: each is a network namespace whose eth0 has the host's address.
# The controller's host routes between them, with static neighbor entries: on one shared link, 127 hosts would query
# each other's hardware addresses and overflow the neighbor table, which the kernel has once for all namespaces.
set -euo pipefail
# shellcheck source=/dev/null
source /lab/settings
here=02:00:00:00:00:01   # the same two on every link: links are isolated
there=02:00:00:00:00:02

declare -A address_of
while read -r address name _; do address_of[$name]=$address; done </lab/hosts

for name in "$@"; do
    [ ! -e "/run/netns/$name" ] || continue
    address=${address_of[$name]}
    # shellcheck disable=SC2046,SC2086  # the address is split into its four numbers
    wire=$(IFS=. && printf 'w%02x%02x%02x%02x' $address)
    ip netns add "$name"
    ip -batch - <<BATCH
link add $wire address $here up type veth peer name eth0 address $there netns $name
neigh add $address lladdr $there nud permanent dev $wire
route add $address/32 dev $wire src $CONTROLLER_ADDRESS
BATCH
    ip -n "$name" -batch - <<BATCH
link set lo up
link set eth0 up
addr add $address/32 dev eth0
neigh add $CONTROLLER_ADDRESS lladdr $here nud permanent dev eth0
route add default via $CONTROLLER_ADDRESS dev eth0 onlink
BATCH
done
