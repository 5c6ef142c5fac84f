#!/bin/bash
# cloud-daemon.sh: the cloud, as long as the lab runs: groups have as many instances as their size, if there is capacity;
# an instance that is terminated ends at once with all its processes, as after a loss of power.
set -euo pipefail
# shellcheck source=/dev/null
source /lab/bin/spawn.sh
cd /lab/cloud
umask 000
number=0

begin() { # GROUP
    local id address folder
    number=$((number + 1))
    id=i-$number address=10.201.0.$number folder=groups/$1/instances/$id
    mkdir -p "$folder"
    {
        printf 'id=%s\ntype=lab\nzone=lab-1a\naddress=%s\n' "$id" "$address"
        [ ! -e "groups/$1/network" ] || echo "network=$(cat "groups/$1/network") rack-$(((number + 1) / 2))"
    } >"metadata/$address"
    # name and address of every host are in this file of the lab
    echo "$address $id" >>/lab/hosts
    /lab/bin/host-up.sh "$id"
    [ -e "groups/$1/lame" ] || spawn "$id" /lab/bin/on-host.sh "$id" /lab/bin/cloud-instance.sh "$id" "bucket/user-data/$1.sh"
    echo "$id domain-$(((number + 1) / 2))" >>"groups/$1/domains"
    echo "$address" >"$folder/address"
    echo "$(date +%T) $id of $1 begins" >>/lab/log/cloud
}

end() { # FOLDER
    local id=${1##*/} pids
    pids=$(ip netns pids "$id")
    # shellcheck disable=SC2086  # one word per process
    [ -z "$pids" ] || kill -KILL $pids || true
    ip netns del "$id"
    rm -r "$1"
    echo "$(date +%T) $id ends" >>/lab/log/cloud
}

while :; do
    for group in groups/*; do
        for folder in "$group"/instances/*; do [ ! -e "$folder/end" ] || end "$folder"; done
        size=$(cat "$group/size") there=$(find "$group/instances" -mindepth 1 -maxdepth 1 | wc -l)
        if [ "${size:-0}" -gt "$there" ]; then
            if [ -e "$group/empty" ]; then echo "no capacity of this kind in lab-1a" >"$group/refused"; else begin "${group##*/}"; fi
        fi
    done
    sleep 0.2
done
