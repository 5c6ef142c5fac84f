#!/bin/bash
# packages.sh PACKAGE...: installs packages of Debian that are missing. Idempotent; starts no service. One run at a time:
# the two lanes of `make test-real` run in parallel, and apt does not wait for lists that another process fetches.
set -euo pipefail
[ "${PACKAGES_LOCKED:-}" ] || PACKAGES_LOCKED=yes exec flock -o /run/supercloud-packages.lock "$0" "$@"

missing=()
for package in "$@"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

# Debian starts a daemon when its package is installed, unless this program exits with 101.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    trap 'rm -f $policy' EXIT
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod 755 $policy
fi

export DEBIAN_FRONTEND=noninteractive
apt-get update -q -o Acquire::Retries=5
apt-get install -y -q --no-install-recommends -o Acquire::Retries=5 -o DPkg::Lock::Timeout=600 "${missing[@]}"
