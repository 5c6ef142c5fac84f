#!/bin/bash
# made by supercloud VERSION from the spec ultra; edits are lost
#
# slurmd.sh: slurmd as a dynamic node, under the name and with the line that boot.sh wrote down.
set -euo pipefail
root=${BOOT_ROOT:-}
# shellcheck source=/dev/null
source "$root/etc/supercloud/node"
# -b: this start counts as a boot, also where an instance is used again
exec slurmd -D -b -Z -N "${NODE:?}" --conf-server "${SERVERS:?}" --conf "${LINE:?}"
