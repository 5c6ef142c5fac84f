#!/bin/bash
# made by supercloud VERSION from the spec ultra; do not edit
#
# update.sh: applies the published configuration (settings and Slurm) if it is not the one that was applied last. A timer calls
# it. If it cannot be applied, the previous one is restored, and the published one is tried again after half an hour or when
# it changes.
set -euo pipefail
umask 022
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

root=${BOOT_ROOT:-}
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=/dev/null
source "$root/etc/supercloud/env"
# shellcheck source=/dev/null
source "$root/opt/supercloud/cloud.sh"
state=$root/var/lib/supercloud
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for name in settings slurm; do
    cloud_fetch "$name/$name.tar.gz" "$work/$name.tar.gz" >&2 || { echo "$name/$name.tar.gz cannot be fetched" >&2; exit 1; }
    tar -xzOf "$work/$name.tar.gz" SHA256SUMS
done >"$work/sums"
mkdir -p "$state" "$root/var/log/supercloud"

if [ "${DATABASE:-no}" = managed ]; then   # the cloud changes its password from time to time
    before=$(sha256sum "$root/etc/slurm/slurmdbd.conf")
    "$here/boot.sh" database >"$work/log" 2>&1 || problem=yes
    if [ -n "${problem:-}" ] || [ "$before" != "$(sha256sum "$root/etc/slurm/slurmdbd.conf")" ]; then
        tee -a "$root/var/log/supercloud/boot.log" <"$work/log"
    fi
fi
if cmp -s "$work/sums" "$state/applied"; then exit 0; fi
if cmp -s "$work/sums" "$state/rejected" && [ -n "$(find "$state/rejected" -mmin -30)" ]; then exit 0; fi

exec > >(tee -a "$root/var/log/supercloud/boot.log") 2>&1
say() { echo "$(date -u +%FT%TZ) update: $*"; }
say "the published configuration has changed"
for folder in etc/slurm opt/supercloud/settings; do
    mkdir -p "$work/before/$folder" "$root/$folder"
    cp -a "$root/$folder/." "$work/before/$folder/"
done
if "$here/boot.sh" apply; then
    mv -f "$work/sums" "$state/applied"
    rm -f "$state/rejected"
    say "the published configuration is applied"
    exit 0
fi
cp "$work/sums" "$state/rejected"
for folder in etc/slurm opt/supercloud/settings; do
    # an interruption must not leave the folder empty: files of before are restored before new ones are removed
    cp -a "$work/before/$folder/." "$root/$folder/"
    while IFS= read -r path; do
        [ -e "$work/before/$folder/$path" ] || rm -rf "${root:?}/$folder/$path"
    done < <(find "$root/$folder" -mindepth 1 -printf '%P\n')
done
if [ "$ROLE" = controller ]; then systemctl restart slurmctld || true; fi
say "FAILED: the published configuration cannot be applied, for the reason above; the previous one is restored"
exit 1
