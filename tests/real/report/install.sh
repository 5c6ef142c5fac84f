#!/bin/bash
# install.sh: puts Debian's Chromium and its driver on this machine. Idempotent; starts nothing.
set -euo pipefail

packages=(chromium chromium-driver fonts-dejavu-core poppler-utils)

missing=()
for package in "${packages[@]}"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

export DEBIAN_FRONTEND=noninteractive
apt-get update -q -o Acquire::Retries=5
apt-get install -y -q --no-install-recommends -o Acquire::Retries=5 -o DPkg::Lock::Timeout=600 "${missing[@]}"
