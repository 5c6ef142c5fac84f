#!/bin/bash
# cloud-instance.sh NAME USER-DATA: boots an instance: separate folders, a separate munged, and its user-data.
set -euo pipefail
own=/lab/node/$1
# folders that boot.sh writes to are not shared with the controller
for folder in /etc/slurm /etc/supercloud /opt/supercloud /var/log/supercloud /etc/munge /etc/systemd /var/lib/munge /var/log/munge; do
    mkdir -p "$own$folder" "$folder"
    mount --bind "$own$folder" "$folder"
done
umount /run/munge 2>/dev/null || true   # that of the controller's host
mkdir -p /run/munge
chown -R munge: /run/munge /var/lib/munge /var/log/munge /etc/munge
export PATH=/lab/machine:$PATH BOOT_PAUSE=1 BOOT_TRIES=15 BOOT_WAIT=${BOOT_WAIT:-60} LAB_UNIT=$1.
install -m 755 "/lab/cloud/$2" /run/user-data
exec /run/user-data
