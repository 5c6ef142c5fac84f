#!/bin/bash
# made by supercloud VERSION from the spec ultra; do not edit
#
# slurmd.sh: slurmd as a dynamic node, with the node name and configuration line that boot.sh stored.
set -euo pipefail
root=${BOOT_ROOT:-}
# shellcheck source=/dev/null
source "$root/etc/supercloud/node"
# systemd sets NOTIFY_SOCKET for a unit of Type=notify, as in later releases of Slurm, and stops a service that does not
# notify it; older releases do not support --systemd, and their units are of Type=simple
mode=-D
[ -z "${NOTIFY_SOCKET:-}" ] || mode=--systemd
# -b: report this start as a boot, also for a reused instance
exec slurmd "$mode" -b -Z -N "${NODE:?}" --conf-server "${SERVERS:?}" --conf "${LINE:?}"
