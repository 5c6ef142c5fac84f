#!/bin/bash
# made by supercloud VERSION from the spec trainer; edits are lost
#
# credentials.sh [TENANT]: credentials of the cloud for the user who calls it through sudo, as a member of a tenant: the one
# named, else the user's own. Users reach no metadata service: the machine's role is not theirs. What these credentials allow
# is the data of the tenant in the cluster's buckets, for an hour; SDKs ask again.
#
# Everybody may call it (/etc/sudoers.d/supercloud): nothing of the caller is believed but the number of the user, from sudo.
set -euo pipefail
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

root=${BOOT_ROOT:-}
# shellcheck source=/dev/null
source "$root/etc/supercloud/env"
# shellcheck source=/dev/null
source "$root/opt/supercloud/cloud.sh"
die() { echo "$*" >&2; exit 1; }
export SLURM_CONF=$root/opt/supercloud/slurm/slurm.conf

[[ ${SUDO_UID:-} =~ ^[0-9]+$ ]] || die "this is called with sudo, by a user of the cluster"
user=$(id -un "$SUDO_UID") || die "there is no user $SUDO_UID"
tenant=
if [ "$TENANTS" = yes ]; then
    tenant=${1:-$(sacctmgr -n -P show user "$user" format=DefaultAccount)} || die "the accounts of $user are not known: slurmdbd does not answer"
    [[ $tenant =~ ^[A-Za-z0-9_-]+$ ]] || die "$user has no tenant: sacctmgr knows no account of this user"
    own=$(sacctmgr -n -P show associations user="$user" format=Account) || die "the accounts of $user are not known: slurmdbd does not answer"
    grep -qxF -- "$tenant" <<<"$own" || die "$user is no member of the tenant $tenant"
fi
cloud_credentials "$tenant" "$user"
