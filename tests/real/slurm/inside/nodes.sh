#!/bin/bash
# nodes.sh ARGUMENTS NAME...: starts a real slurmd with ARGUMENTS on each host.
set -euo pipefail
# shellcheck source=/dev/null
source /lab/bin/spawn.sh
read -ra arguments <<<"$1"
shift
/lab/bin/host-up.sh "$@"
for name in "$@"; do
    spawn "$name" /lab/bin/on-host.sh "$name" slurmd -D "${arguments[@]}"
done
