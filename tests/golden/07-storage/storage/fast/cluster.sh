#!/bin/bash
# made by supercloud VERSION from storage; do not edit
# cluster.sh: run once, on the first backend: 5 + 2 stripes over 8 failure domains, 1 of them spares.
set -euo pipefail

hosts=()
for number in $(seq 1 8); do hosts+=("$(printf 'fast-backend-%04d-storage' "$number")"); done

weka cluster create "${hosts[@]}"

# Every new cluster has the user admin with the password admin, which is changed first. The new password is prompted
# for twice (the second time for the commands below), so that it does not appear in process lists.
for _ in $(seq 1 60); do
    ! weka user login admin admin >/dev/null 2>&1 || break # the cluster responds
    sleep 2
done
if ! weka user passwd --username admin --current-password admin; then
    echo "the password of admin is still the default: change it with 'weka user passwd' now" >&2
    exit 1
fi
weka user login admin

weka cluster update --cluster-name=fast --data-drives=5 --parity-drives=2
weka cluster hot-spare 1
devices=(/dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1 /dev/nvme4n1 /dev/nvme5n1 /dev/nvme6n1 /dev/nvme7n1 /dev/nvme8n1 /dev/nvme9n1 /dev/nvme10n1 /dev/nvme11n1 /dev/nvme12n1 /dev/nvme13n1 /dev/nvme14n1 /dev/nvme15n1 /dev/nvme16n1 /dev/nvme17n1 /dev/nvme18n1 /dev/nvme19n1 /dev/nvme20n1 /dev/nvme21n1 /dev/nvme22n1 /dev/nvme23n1)
declare -A given # a host has a drive container for each 19 drives
weka cluster container --output id,hostname --no-header --role drives | while read -r container host; do
    first=${given[$host]:-0}
    given[$host]=$((first + 19))
    weka cluster drive add "$container" "${devices[@]:first:19}" </dev/null
done
weka cluster start-io
weka fs group create default
weka fs create fast default 1048576GiB
