#!/bin/bash
# made by supercloud VERSION from storage; do not edit
# backend.sh: run on each of the 8 backends, with WEKA installed and resources_generator.py of weka/tools in the same folder.
# 24 cores for drives, 1 for the front end, 38 to compute, core 0 left to the system; 121 GiB of huge pages.
set -euo pipefail

weka local stop default || true
weka local rm default --force || true
# a private directory of root: write access to it would allow changing what the containers run with
folder=$(mktemp -d /root/weka-resources.XXXXXX)
trap 'rm -rf "$folder"' EXIT
./resources_generator.py -f --path "$folder" --net storage0 storage1 --drive-dedicated-cores 24 --frontend-dedicated-cores 1 --compute-dedicated-cores 38
# more than 19 cores of a kind create further containers: drives1, compute1 ...
for file in "$folder"/drives[0-9]*.json "$folder"/compute[0-9]*.json "$folder"/frontend[0-9]*.json; do
    [ ! -e "$file" ] || weka local setup container --resources-path "$file"
done
