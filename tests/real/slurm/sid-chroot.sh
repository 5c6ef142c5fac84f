#!/bin/bash
# sid-chroot.sh CACHE_DIR: makes CACHE_DIR/slurm-sid, a Debian sid root with the newest packaged Slurm; prints its path.
# Built once and kept; an interrupted build is deleted and repeated. Delete the folder for a newer Slurm.
set -euo pipefail

cache=$1
root=$cache/slurm-sid
partial=$root.partial
packages=(
    slurmctld slurmd slurm-client slurmdbd slurmrestd slurm-wlm-jwt-plugin munge mariadb-server
    libpmix2t64 iproute2 procps curl jq nftables openssl
    python3   # for the shared libraries of the product's own interpreter, which the lab mounts
)

complete() { # the stamp is the last thing written; a changed list of packages makes the old root incomplete
    [ "$(cat "$root/var/lib/supercloud-packages" 2>/dev/null)" = "${packages[*]}" ] &&
        chroot "$root" slurmctld -V >&2
}

build() {
    local mirror
    # shellcheck disable=SC2016  # the $(...) is for apt
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | sort -u |
        grep -v security | head -n 1)
    rm -rf --one-file-system "$partial" "$root"
    nice debootstrap --variant=minbase --include=ca-certificates sid "$partial" \
        "${mirror:-http://deb.debian.org/debian}"
    cp -r /etc/apt/apt.conf.d/. "$partial/etc/apt/apt.conf.d/"   # proxies and the like
    cp -L /etc/resolv.conf /etc/hosts "$partial/etc/"
    printf '#!/bin/sh\nexit 101\n' >"$partial/usr/sbin/policy-rc.d"   # no service starts
    chmod 755 "$partial/usr/sbin/policy-rc.d"
    DEBIAN_FRONTEND=noninteractive nice chroot "$partial" \
        apt-get install -y -q --no-install-recommends -o Acquire::Retries=5 "${packages[@]}"
    chroot "$partial" apt-get clean
    printf '%s' "${packages[*]}" >"$partial/var/lib/supercloud-packages"
    mv "$partial" "$root"
}

if [ "${2:-}" = build ]; then
    build >&2
    exit
fi

mkdir -p "$cache"
exec 9>"$root.lock"
flock 9
for attempt in 1 2 3; do
    complete && echo "$root" && exit 0
    # Separate mount and PID namespaces: mounts and processes of debootstrap end with them.
    unshare -m -p --fork --kill-child --mount-proc -- "$0" "$cache" build 9>&- ||
        echo "attempt $attempt to build $root failed" >&2
done
complete && echo "$root"
