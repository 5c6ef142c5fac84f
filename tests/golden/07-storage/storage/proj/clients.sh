#!/bin/bash
# made by supercloud VERSION from storage; do not edit
# clients.sh: run once, on the first server: adds the nodes as clients, by their names on storage, like the servers:
# a node is identified by the name of its daemon's address. Initial values, not measured.
set -euo pipefail

printf '%s\n' train-{0001..0031}-storage >train.clients
mmaddnode -N train.clients
mmchlicense client --accept -N train.clients
mmchconfig pagepool=16G -N train.clients
mmchconfig 'verbsRdma=enable,verbsRdmaSend=yes,verbsPorts=mlx5_7/1 mlx5_1/1' -N train.clients
mmstartup -a
mmmount proj -a
