#!/bin/bash
# made by supercloud VERSION from the spec ultra; do not edit
#
# build-slurm.sh SOURCE SHA256 [FOLDER]: builds Debian packages of Slurm 25.11 as root, as slurm.schedmd.com/quickstart_admin.html
# describes (Building Debian packages), and writes FOLDER/packages.tar.gz (default: the current folder): the file that install.sh
# of the images takes, and machines from packages/packages.tar.gz in the cluster's bucket.
#
# SOURCE: the file or the https address of slurm-25.11.N.tar.bz2; SHA256: its digest, from a place that you trust. Run it on a
# machine with the distribution and the architecture of the images: packages are built for those of the machine.
set -euo pipefail
umask 022
release=25.11
packages=(slurm-smd slurm-smd-client slurm-smd-slurmctld slurm-smd-slurmdbd slurm-smd-slurmd slurm-smd-libpam-slurm-adopt)

step=begin died=''
report() { echo "$(date -u +%FT%TZ) $*"; }
log() { report "$step: $*"; }
die() { died=yes; report "FAILED $step: $*" >&2; exit 1; }
trap 'die "line $LINENO: $BASH_COMMAND exited with $?"' ERR
work=$(mktemp -d)
report_exit() { # errors of the shell itself, such as an unset variable, do not trigger ERR
    local code=$?
    rm -rf "$work"
    [ "$code" -eq 0 ] || [ -n "$died" ] || report "FAILED $step: exited with $code, see the line above" >&2
}
trap report_exit EXIT
set -E

retry() { # TRIES COMMAND...: repeat with pauses until it succeeds; $output has its last output
    local left=$1
    shift
    until output=$("$@" 2>&1); do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        log "${output:-$1 failed}; trying again"
        sleep "${BOOT_PAUSE:-10}"
    done
}

install_packages() { # PACKAGE...: new machines have no lists, and another program may hold the lock; $output has the output; LEAN: only
    # what they require
    local lean=()
    if command -v apt-get >/dev/null; then
        [ -z "${LEAN:-}" ] || lean=(--no-install-recommends)
        retry 5 apt-get update -q &&
            retry 3 env DEBIAN_FRONTEND=noninteractive apt-get install -y -q -o DPkg::Lock::Timeout=600 "${lean[@]}" "$@"
    else
        [ -z "${LEAN:-}" ] || lean=(--setopt=install_weak_deps=False)
        retry 3 dnf install -y -q "${lean[@]}" "$@"
    fi
}

[ $# -ge 2 ] || die "usage: build-slurm.sh SOURCE SHA256 [FOLDER], such as build-slurm.sh slurm-$release.0.tar.bz2 DIGEST"
source=$1 digest=$2 output=''
[[ $digest =~ ^[0-9a-f]{64}$ ]] || die "'$digest' is not a SHA-256 digest: 64 characters of 0-9 and a-f"
folder=$(readlink -f "${3:-.}")
[ -d "$folder" ] || die "the folder $folder does not exist"

step=source
case $source in
https://*)
    log "fetching $source"
    retry 3 curl --fail --silent --show-error --location --proto '=https' --output "$work/source" "$source" || die "$source cannot be fetched: $output"
    ;;
*) [ -f "$source" ] || die "the file $source does not exist"; cp "$source" "$work/source" ;;
esac
found=$(sha256sum "$work/source" | cut -d' ' -f1)
[ "$found" = "$digest" ] || die "the SHA-256 digest of $source is $found, not $digest: nothing was built"
if [ "$(head -c 3 "$work/source")" = BZh ] && ! command -v bzip2 >/dev/null; then # a bare Debian does not have it
    install_packages bzip2 || die "bzip2 cannot be installed: $output"
fi
mkdir "$work/slurm"
tar -xf "$work/source" -C "$work/slurm" --strip-components=1 || die "$source is not an archive"
found=$(sed -n 's/^[[:space:]]*Version:[[:space:]]*\([0-9]*\.[0-9]*\).*/\1/p' "$work/slurm/META")
[ "$found" = "$release" ] || die "$source is Slurm ${found:-of an unknown release}, the cluster has $release"

step=tools
install_packages build-essential fakeroot devscripts equivs || die "the tools cannot be installed: $output"
step=dependencies
cd "$work/slurm"
DEBIAN_FRONTEND=noninteractive mk-build-deps -i -t 'apt-get -y --no-install-recommends' debian/control >/dev/null ||
    die "the packages that the build needs cannot be installed"
step=build
log "building, which takes some minutes"
debuild --no-lintian -b -uc -us >"$work/build.log" 2>&1 || { cp "$work/build.log" "$folder/build-slurm.log"; die "debuild failed, see $folder/build-slurm.log"; }

step=packages
mkdir "$work/out"
for name in "${packages[@]}"; do
    file=("$work/${name}_$release."*.deb)
    [ -e "${file[0]}" ] || die "the build has no package $name of $release"
    cp "${file[0]}" "$work/out/"
done
cd "$work/out"
sha256sum -- *.deb >SHA256SUMS
tar --sort=name --owner=0 --group=0 -czf "$work/packages.tar.gz" .
mv -f "$work/packages.tar.gz" "$folder/packages.tar.gz"
log "$folder/packages.tar.gz has ${packages[*]}"
