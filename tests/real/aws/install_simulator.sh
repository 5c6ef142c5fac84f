#!/usr/bin/env bash
# The simulator of IAM policies: Node.js from Debian where there is none, and the packages of simulator/package-lock.json
# in the cache, created once. The last line of the output is its folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
command -v npm >/dev/null || "$here/../packages.sh" nodejs npm >&2
hash=$({ cat "$here/simulator/package.json" "$here/simulator/package-lock.json"; node --version; } | sha256sum | cut -c1-16)
folder=${SUPERCLOUD_CACHE:-$HOME/.cache/supercloud}/iam-simulator/$hash
mkdir -p "$folder"
exec 9>"$folder.lock"
flock 9   # another run may be creating it
if [ ! -e "$folder/.ready" ]; then
    cp "$here/simulator/package.json" "$here/simulator/package-lock.json" "$folder"
    npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund >&2
    touch "$folder/.ready"
fi
echo "$folder"
