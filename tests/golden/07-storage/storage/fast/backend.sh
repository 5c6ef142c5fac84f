#!/bin/bash
# made by supercloud VERSION from storage; edits are lost
# backend.sh: on each of the 8 backends, with WEKA installed and resources_generator.py of weka/tools beside it.
# 24 cores for drives, 1 for the front end, 38 to compute, core 0 left to the system; 89 GiB of huge pages.
set -euo pipefail

weka local stop default || true
weka local rm default --force || true
./resources_generator.py -f --path /tmp --net ib0 --drive-dedicated-cores 24 --frontend-dedicated-cores 1 --compute-dedicated-cores 38
for container in drives0 compute0 frontend0; do
    [ ! -e "/tmp/$container.json" ] || weka local setup container --resources-path "/tmp/$container.json"
done
