#!/bin/bash
# made by supercloud VERSION from the spec ultra; do not edit
#
# install.sh [check]: installs the software of the machine image slurm-cpu-arm, as root on a machine that was started from the
# published image; with "check" it only verifies what is installed. Packer and the provider's image service run it.
#
# Parts that the published image contains are kept. What the catalog has no address or version for is taken from the environment;
# without it nothing is installed, and the message lists what to set. A failed part ends the run with "FAILED <part>: <reason>" and
# a nonzero status; the run can be repeated. IMAGE_ROOT: alternative root of files, for tests.
# SLURM_PACKAGES: file packages.tar.gz that build-slurm.sh writes
set -euo pipefail
umask 022
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

architecture=aarch64
distribution='ubuntu 24.04'
parts=(clients slurm)
inputs=(SLURM_PACKAGES)
# shellcheck disable=SC2034  # some of these values belong to parts that this image does not have
driver='' release=25.11 daemons=(slurmctld slurmdbd slurmd munge)
packages=(slurm-smd slurm-smd-client slurm-smd-slurmctld slurm-smd-slurmdbd slurm-smd-slurmd slurm-smd-libpam-slurm-adopt) archive=() extra=(munge)
clients='# types, program, module, distribution, version, packages, repository (URL suite component) and key
nfs,nfs4 mount.nfs - debian - nfs-common - - - -
nfs,nfs4 mount.nfs - ubuntu - nfs-common - - - -
nfs,nfs4 mount.nfs - amzn - nfs-utils - - - -
nfs,nfs4 mount.nfs - rhel - nfs-utils - - - -
nfs,nfs4 mount.nfs - rocky - nfs-utils - - - -
nfs,nfs4 mount.nfs - almalinux - nfs-utils - - - -'
root=${IMAGE_ROOT:-} missing=()

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

settings=$work

need() { # VARIABLE WHAT
    [ -n "${!1}" ] || missing+=("$1 ($2)")
}
install_words() { # WORDS: packages whose names or files have spaces between them
    local words output
    read -r -a words <<<"$1"
    install_packages "${words[@]}" || die "${words[*]} cannot be installed: $output"
}

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

has_client() { # PROGRAM MODULE, of which one is -
    if [ "$1" != - ]; then command -v "$1" >/dev/null; else modprobe --dry-run "$2" 2>/dev/null; fi
}

install_client() { # TYPE: the software that mounts it, from the packages of clients.txt; returns 1 with the reason in $output
    local types program module distribution version packages url suite component key system='' ours='' known=''
    # shellcheck source=/dev/null
    [ ! -r "$root/etc/os-release" ] || system=$(. "$root/etc/os-release" && echo "${ID:-} ${VERSION_ID:-}")
    while read -r -u 4 types program module distribution version packages url suite component key; do
        [[ ,$types, == *,$1,* ]] || continue
        known=yes
        ! has_client "$program" "$module" || return 0
        [[ $distribution == "${system% *}" && ($version == - || $version == "${system#* }") ]] || continue
        ours=$program/$module
        packages=${packages//\{kernel\}/$(uname -r)}
        log "installing ${packages//,/ }"
        [ "$url" = - ] || add_repository "$1" "$url $suite $component" "$key" || return 1
        # shellcheck disable=SC2086  # one word per package
        install_packages ${packages//,/ } || { output="${packages//,/ } cannot be installed: $output"; break; }
        has_client "$program" "$module" || { output="${packages//,/ } is installed, but has no client for the kernel $(uname -r)"; break; }
        return 0
    done 4< <(grep -v '^#' "$settings/clients.txt")
    [ -n "$known" ] || return 0   # the type needs nothing
    if [ -z "$ours" ]; then
        output="this image has no client for $1 and ${system:-its distribution} is not known to have a package of one: use an image that has it"
    else # a source that fails would also fail later installations
        rm -f "$root/etc/apt/sources.list.d/supercloud-$1.list"
    fi
    return 1
}

add_repository() { # NAME SOURCE KEY: packages of it must be signed with this key
    local keys=$root/usr/share/keyrings list=$root/etc/apt/sources.list.d
    mkdir -p "$keys" "$list"
    retry 3 curl --fail --silent --show-error --proto '=https' --output "$keys/supercloud-$1.asc" "$3" ||
        { output="the key of the repository of the client for $1 cannot be fetched: $output"; return 1; }
    echo "deb [signed-by=$keys/supercloud-$1.asc] $2" >"$list/supercloud-$1.list"
}

slurm_version() { # PROGRAM: its release. Commands print it only if they find any slurm.conf; slurmdbd would also need
    # a database, so that sacctmgr of the same packages is queried instead
    local asked=$1 conf
    [ "$1" != slurmdbd ] || { command -v slurmdbd >/dev/null || return 0; asked=sacctmgr; }
    conf=$(mktemp)
    printf '%s\n' ClusterName=none SlurmctldHost=none >"$conf"
    { SLURM_CONF=$conf "$asked" -V 2>/dev/null || true; } | sed -n 's/.* \([0-9]*\.[0-9]*\).*/\1/p'
    rm -f "$conf"
}

has_driver() { modinfo "$driver" >/dev/null 2>&1; }
need_driver() { need DRIVER_PACKAGES "packages of the driver with the kernel module $driver"; }
install_driver() { install_words "$DRIVER_PACKAGES"; }

has_clients() {
    local types program module rest
    while read -r types program module rest; do
        [[ $types == \#* ]] || has_client "$program" "$module" || return 1
    done <"$settings/clients.txt"
}
need_clients() { :; }
install_clients() { # of each type of file system, from the packages of this distribution
    local kind kinds output=''
    mapfile -t kinds < <(sed '/^#/d; s/[ ,].*//' "$settings/clients.txt" | sort -u)
    for kind in "${kinds[@]}"; do install_client "$kind" || die "$output"; done
}

has_slurm() {
    local program
    for program in slurmctld slurmd sinfo; do [ "$(slurm_version "$program")" = "$release" ] || return 1; done
}
need_slurm() {
    if [ -z "${archive[*]:-}" ]; then
        need SLURM_PACKAGES "the file packages.tar.gz with packages of Slurm $release"
        [ -z "$SLURM_PACKAGES" ] || [ -f "$SLURM_PACKAGES" ] || missing+=("SLURM_PACKAGES ($SLURM_PACKAGES does not exist)")
    fi
}
install_slurm() { # from SLURM_PACKAGES, else from the archive of the distribution, which has this release
    local name file files=() folder=$settings/packages output
    if [ -z "${SLURM_PACKAGES:-}" ]; then
        files=("${archive[@]}")
    else
        mkdir -p "$folder"
        tar -xzf "$SLURM_PACKAGES" -C "$folder" || die "$SLURM_PACKAGES cannot be read"
        output=$(cd "$folder" && sha256sum --check --strict --quiet SHA256SUMS 2>&1) || die "the sums of $SLURM_PACKAGES do not match: $output"
        for name in "${packages[@]}"; do
            file=("$folder/${name}_"*.deb)
            [ -e "${file[0]}" ] || die "$SLURM_PACKAGES has no package $name: build it again with build-slurm.sh"
            files+=("${file[0]}")
        done
    fi
    install_packages "${files[@]}" "${extra[@]}" || die "Slurm cannot be installed: $output"
    # boot.sh starts the daemons of a machine's role after it has written their configuration
    for name in "${daemons[@]}"; do systemctl disable -q --now "$name" 2>/dev/null || log "the unit $name was not disabled"; done
    rm -f "$root/etc/munge/munge.key"   # made by the package: all machines of the image would have it
    has_slurm || die "the installed packages are not of the release $release"
}

has_monitoring() { command -v dcgmi >/dev/null; }
need_monitoring() { need MONITORING_PACKAGES "packages of NVIDIA DCGM, which have the program dcgmi"; }
install_monitoring() { install_words "$MONITORING_PACKAGES"; }

has_containers() { command -v enroot >/dev/null || [ -z "$CONTAINER_PACKAGES" ]; }   # nothing to do without packages
need_containers() { :; }
install_containers() { install_words "$CONTAINER_PACKAGES"; }

# in templates of images an empty value is written as "none"
for name in "${inputs[@]}"; do [ "${!name:-none}" != none ] || printf -v "$name" '%s' ''; done
echo "$clients" >"$settings/clients.txt"

# shellcheck source=/dev/null
found=$(. "$root/etc/os-release" 2>/dev/null && echo "${ID:-} ${VERSION_ID:-}") || found=unknown
[ "$found" = "$distribution" ] || die "this machine has the system $found, the image is for $distribution: start it from the published image"
[ "$(uname -m)" = "$architecture" ] || die "this machine has the architecture $(uname -m), the image is for $architecture"

absent=()
for part in "${parts[@]}"; do "has_$part" || absent+=("$part"); done
if [ "${1:-}" = check ]; then
    step=check
    [ -z "${absent[*]:-}" ] || die "not installed: ${absent[*]}"
    log "installed: ${parts[*]}"
    exit 0
fi
for part in "${absent[@]}"; do "need_$part"; done
if [ -n "${missing[*]:-}" ]; then
    step=inputs
    die "set these variables in the environment: $(printf '%s; ' "${missing[@]}")nothing was installed"
fi
for part in "${parts[@]}"; do
    step=$part
    if "has_$part"; then log "already installed"; continue; fi
    log started
    "install_$part"
    "has_$part" || die "it is not usable after its installation, see the lines above"
    log finished
done
step=end
log "this machine is ready to become an image"
