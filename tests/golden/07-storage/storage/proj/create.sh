#!/bin/bash
# made by supercloud VERSION from storage; do not edit
# create.sh: run once, on the first server, with Storage Scale installed on all servers and ssh between them.
set -euo pipefail
cd "$(dirname "$0")"

mmcrcluster -N nodes.txt -C proj.storage.internal -r /usr/bin/ssh -R /usr/bin/scp
mmchlicense server --accept -N all
mmchconfig pagepool=16G -N all # initial value, not measured
# without RDMA: the devices of the servers on the network of the storage are unknown (adapters[].devices)
mmstartup -a
mmcrnsd -F disks.stanza
mmcrfs proj -F disks.stanza -B 4M -m 2 -M 2 -r 2 -R 2 -n 34 -T /proj -A yes
mmmount proj -a
