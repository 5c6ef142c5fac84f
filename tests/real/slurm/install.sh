#!/bin/bash
# install.sh: installs Debian's Slurm and the packages that the lab needs. Idempotent; starts no service.
set -euo pipefail

packages=(
    slurmctld slurmd slurm-client slurmdbd slurmrestd slurm-wlm-jwt-plugin munge mariadb-server
    libpmix2                       # MpiDefault=pmix fails every srun without it
    iproute2 procps util-linux     # namespaces, veth pairs, pgrep
    nftables iptables curl openssl  # machines of a cloud block the metadata service and get their key
    debootstrap debian-archive-keyring
    gcc libc6-dev                  # a plugin of Slurm, for jobs in images
)
exec "$(dirname "$(realpath "$0")")/../packages.sh" "${packages[@]}"
