#!/usr/bin/env bash
# Pulumi's command line: the one on PATH, or one that is built once from its Go modules into a cache. The last line of
# the output is the program's path. Needs Debian's apt only where there is no Go of 1.21 or later.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
say() { echo "pulumi: $*"; }

if found=$(command -v pulumi); then
  say "on PATH, $("$found" version)"
  echo "$found"
  exit 0
fi

cache="${SUPERCLOUD_CACHE:-$HOME/.cache/supercloud}/pulumi"
hash=$(cat "$here/go.mod" "$here/go.sum" | sha256sum | cut -c1-16)
program="$cache/$hash/pulumi"
mkdir -p "$cache/$hash"
exec 9> "$cache/$hash/lock"
flock 9 # another run may be building it: then it is there when we get the lock
if [ -x "$program" ]; then
  say "in the cache"
  echo "$program"
  exit 0
fi

needed=$(sed -n 's/^go //p' "$here/go.mod")
version=$(sed -n 's|.*github.com/pulumi/pulumi/sdk/v3 \(v[^ ]*\).*|\1|p' "$here/go.mod")
work="$cache/$hash/work"
mkdir -p "$work/source"
cp "$here/go.mod" "$here/go.sum" "$work/source/"

export GOFLAGS="-modcacherw -buildvcs=false" GOMODCACHE="$work/modules" GOCACHE="$work/objects" GOPATH="$work/gopath"
export CGO_ENABLED=0 GOTOOLCHAIN=auto
export GOTELEMETRY=off

minor() { "$1" version | sed -n 's/.*go1\.\([0-9]*\).*/\1/p'; }

if command -v go > /dev/null && [ "$(minor go)" -ge 21 ]; then
  go=go # it brings the toolchain that go.mod asks for
else
  say "no Go of 1.21 or later: Debian's fetches the toolchain go$needed, which is a Go module"
  arch=$(dpkg --print-architecture)
  if [ ! -x "$work/debian/usr/lib/go-1.19/bin/go" ]; then
    mkdir -p "$work/debian"
    flock -o /run/supercloud-packages.lock apt-get update -qq # beside another lane's
    (cd "$work/debian" && apt-get download -qq golang-1.19-go golang-1.19-src)
    for package in "$work"/debian/*.deb; do dpkg-deb --extract "$package" "$work/debian"; done
  fi
  old="$work/debian/usr/lib/go-1.19"
  toolchain="golang.org/toolchain@v0.0.1-go$needed.linux-$arch"
  (cd "$work" && GOROOT="$old" GOFLAGS="-modcacherw" "$old/bin/go" mod download "$toolchain")
  root="$GOMODCACHE/$toolchain"
  chmod -R u+w "$root"
  chmod +x "$root"/bin/* "$root"/pkg/tool/*/* # a module's files are extracted as data
  go="$root/bin/go"
fi

say "building $version with $("$go" version | cut -d' ' -f3): some five minutes of two cores"
stamp="github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=$version"
(cd "$work/source" && nice -n 10 "$go" build -trimpath -ldflags "-s -w -X $stamp" -o "$work/pulumi" \
  github.com/pulumi/pulumi/pkg/v3/cmd/pulumi 2>&1 | { grep -v '^go: downloading' || true; })
"$work/pulumi" version
mv "$work/pulumi" "$program"
chmod -R u+w "$work"
rm -rf "$work"
say "built $version"
echo "$program"
