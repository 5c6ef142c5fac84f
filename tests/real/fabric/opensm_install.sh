#!/bin/sh
# The open subnet manager and a simulated InfiniBand network, from Debian's packages; does nothing where they are.
set -eu
if command -v opensm >/dev/null && command -v ibsim >/dev/null && command -v ibnetdiscover >/dev/null; then
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends ibsim-utils opensm infiniband-diags
