#!/bin/bash
# made by supercloud VERSION from the spec trainer; edits are lost
#
# slurmd.sh: slurmd as a dynamic node, under the name and with the line that boot.sh wrote down.
set -euo pipefail
root=${BOOT_ROOT:-}
# shellcheck source=/dev/null
source "$root/etc/supercloud/node"
# systemd sets NOTIFY_SOCKET for a unit of Type=notify, as Slurm's later releases bring it, and ends a service that does not
# report there; older releases know no --systemd, and their units are of Type=simple
mode=-D
[ -z "${NOTIFY_SOCKET:-}" ] || mode=--systemd
# -b: this start counts as a boot, also where an instance is used again
exec slurmd "$mode" -b -Z -N "${NODE:?}" --conf-server "${SERVERS:?}" --conf "${LINE:?}"
