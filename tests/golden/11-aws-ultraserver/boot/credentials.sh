#!/bin/bash
# made by supercloud VERSION from the spec ultra; do not edit
#
# credentials.sh [TENANT]: cloud credentials for the user who calls it through sudo, as a member of TENANT or of the user's
# default tenant. Users cannot reach the metadata service, so that they cannot use the machine's role. The credentials allow
# access to the tenant's data in the cluster's buckets for an hour; SDKs renew them.
#
# All users may call it (/etc/sudoers.d/supercloud): of the caller's environment only the UID set by sudo is trusted.
set -euo pipefail
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

root=${BOOT_ROOT:-}
# shellcheck source=/dev/null
source "$root/etc/supercloud/env"
# shellcheck source=/dev/null
source "$root/opt/supercloud/cloud.sh"
die() { echo "$*" >&2; exit 1; }
export SLURM_CONF=$root/opt/supercloud/slurm/slurm.conf

[[ ${SUDO_UID:-} =~ ^[0-9]+$ ]] || die "call this with sudo, as a user of the cluster"
user=$(id -un "$SUDO_UID") || die "unknown user $SUDO_UID"
tenant=
if [ "$TENANTS" = yes ]; then
    tenant=${1:-$(sacctmgr -n -P show user "$user" format=DefaultAccount)} || die "the accounts of $user cannot be read: slurmdbd does not respond"
    [[ $tenant =~ ^[A-Za-z0-9_-]+$ ]] || die "$user has no tenant: sacctmgr lists no account of this user"
    own=$(sacctmgr -n -P show associations user="$user" format=Account) || die "the accounts of $user cannot be read: slurmdbd does not respond"
    grep -qxF -- "$tenant" <<<"$own" || die "$user is not a member of the tenant $tenant"
fi
cloud_credentials "$tenant" "$user"
