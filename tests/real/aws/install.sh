#!/usr/bin/env bash
# The emulated AWS: an environment with moto and boto3 in the cache, created once. Further packages (Pulumi's SDK) come
# from the environment of the tests, whose Python is the first argument. The last line of the output is its folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$1
hash=$({ cat "$here/requirements.txt"; "$python" -VV; echo "$python"; } | sha256sum | cut -c1-16)
folder=${SUPERCLOUD_CACHE:-$HOME/.cache/supercloud}/aws/$hash
mkdir -p "$folder"
exec 9>"$folder.lock"
flock 9   # another run may be creating it
if [ ! -e "$folder/.ready" ]; then
    rm -rf "$folder"
    "$python" "$here/../../../.ci/bootstrap.py" "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
    "$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tests.pth"
    touch "$folder/.ready"
fi
echo "$folder"
