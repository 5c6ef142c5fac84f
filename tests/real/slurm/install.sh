#!/bin/bash
# install.sh: puts Debian's own Slurm and what the lab needs on this machine. Idempotent; starts no service.
set -euo pipefail

packages=(
    slurmctld slurmd slurm-client slurmdbd munge mariadb-server
    libpmix2                       # MpiDefault=pmix fails every srun without it
    iproute2 procps util-linux     # namespaces, veth pairs, pgrep
    debootstrap debian-archive-keyring
    gcc libc6-dev                  # a plugin of Slurm, for jobs in images
)

missing=()
for package in "${packages[@]}"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

# Debian starts a daemon when its package is installed, unless this program says 101.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    trap 'rm -f $policy' EXIT
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod 755 $policy
fi

export DEBIAN_FRONTEND=noninteractive
apt-get update -q -o Acquire::Retries=5
apt-get install -y -q --no-install-recommends -o Acquire::Retries=5 "${missing[@]}"
