#!/bin/bash
# made by supercloud VERSION from storage; edits are lost
# clients.sh: once, on the first server: the nodes join as clients, by their names on storage as the servers did:
# a node is known by the name that its daemon is reached by. Values to begin with, not measured here.
set -euo pipefail

printf '%s\n' train-{0001..0031}-storage >train.clients
mmaddnode -N train.clients
mmchlicense client --accept -N train.clients
mmchconfig pagepool=16G,verbsRdma=enable,verbsRdmaSend=yes -N train.clients
mmstartup -a
mmmount proj -a
