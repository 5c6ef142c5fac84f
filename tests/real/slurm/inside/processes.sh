#!/bin/bash
# processes.sh: one line "HOST COMMAND PID" for every process of the lab; the network namespace identifies the host.
set -euo pipefail
# shellcheck source=/dev/null
source /lab/settings
{
    stat -Lc '%i %n' /run/netns/* /proc/[0-9]*/ns/net 2>/dev/null || true   # processes may end meanwhile
    ps -e -o pid=,comm= | sed 's/^/process /'
} | awk -v primary="$CONTROLLER" '
    $1 == "process"        { if ($2 in host) print host[$2], $3, $2; next }
    $2 ~ /^\/run\/netns\// { sub(".*/", "", $2); name[$1] = $2; next }
    { split($2, path, "/"); host[path[3]] = ($1 in name) ? name[$1] : primary }'
