#!/bin/bash
# Installs OpenSM and ibsim, a simulated InfiniBand network, from Debian's packages if they are missing.
set -euo pipefail
if command -v opensm >/dev/null && command -v ibsim >/dev/null && command -v ibnetdiscover >/dev/null; then
    exit 0
fi
exec "$(dirname "$(realpath "$0")")/../packages.sh" ibsim-utils opensm infiniband-diags
