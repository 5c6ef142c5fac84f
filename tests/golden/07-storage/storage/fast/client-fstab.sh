#!/bin/bash
# made by supercloud VERSION from storage; do not edit
# client-fstab.sh: prints the line of fast for /etc/fstab of this node. The client uses 2 cores: those that Slurm
# reserves first (CoreSpecCount), the last core of the last socket, then of the sockets before it, then the next to last ones.
set -euo pipefail

cores=$(lscpu -p=CPU,CORE,SOCKET | awk -F, '
    /^#/ { next }
    !($2 in first) { first[$2] = $1; socket[$2] = $3; order[n++] = $2; size[$3]++ }
    END {
        for (i = 0; i < n; i++) { core = order[i]; place = ++seen[socket[core]]
            printf "%d %d %d\n", size[socket[core]] - place, -socket[core], first[core] }
    }' | sort -n -k1,1 -k2,2 | awk 'NR > 0 && NR <= 2 { print $3 }')
options=
for core in $cores; do
    options+=core=$core,
done
[ -n "$options" ] || { echo "lscpu lists no cores" >&2; exit 1; }
echo "fast-backend-0001-storage,fast-backend-0002-storage/fast /fast wekafs ${options}net=storage0,net=storage1,_netdev 0 0"
