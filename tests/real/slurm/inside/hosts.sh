#!/bin/bash
# hosts.sh: sets up all machines of the cluster before Slurm starts: names, addresses, users, folders, devices, keys.
# Reads /lab/settings (from the rendered files) and /lab/hosts ("address name..." lines).
set -euo pipefail
# shellcheck source=/dev/null
source /lab/settings

hostname "$CONTROLLER"
{ echo '127.0.0.1 localhost'; cat /lab/hosts; } >/etc/hosts
printf '%s: files\n' passwd group hosts >/etc/nsswitch.conf   # no name is resolved outside the lab
echo 'lab:x:2000:2000::/home/lab:/bin/bash' >>/etc/passwd
echo 'lab:x:2000:' >>/etc/group
mkdir -p /home/lab /etc/slurm
chown lab:lab /home/lab

# systemd creates the folders under /run on a real machine; slurmdbd of 26.05 does not start without its folder
for folder in "${SLURM_FOLDERS[@]}" /run/slurmctld /run/slurmdbd; do
    mkdir -p "$folder"
    [ "$folder" = /run ] || chown "$SLURM_USER": "$folder"
done
mkdir -p "${HOST_FOLDERS[@]}"
if [ -e /etc/slurm/slurmdbd.conf ]; then
    chown "$SLURM_USER": /etc/slurm/slurmdbd.conf
    chmod 600 /etc/slurm/slurmdbd.conf
fi

# slurmd only checks that a GPU's device file exists; without a driver, opening it fails with ENXIO, and with EPERM if
# the job's cgroup does not allow it
minor=0
for device in "${DEVICES[@]}"; do
    mkdir -p "$(dirname "$device")"
    mknod -m 666 "$device" c 195 $minor
    minor=$((minor + 1))
done

# The health check looks for mount points: a directory that is mounted on itself is one.
for folder in "${MOUNTS[@]}"; do
    mkdir -p "$folder"
    mount --bind "$folder" "$folder"
done

# A node of the lab must never reboot the machine it runs on.
for program in "${REBOOT_PROGRAMS[@]}"; do
    rm -f "$program"
    printf '#!/bin/sh\ndate >>/lab/log/reboot\n' >"$program"
    chmod 755 "$program"
done

# Slurm opens libpmix.so, which Debian ships in the -dev package only.
for library in /usr/lib/*/pmix2/lib/libpmix.so.2; do
    [ ! -e "$library" ] || [ -e "${library%.2}" ] || ln -s libpmix.so.2 "${library%.2}"
done

for key in "${KEYS[@]}"; do
    dd if=/dev/urandom of="$key" bs=1024 count=1 status=none
    chown "$SLURM_USER": "$key"
    chmod 600 "$key"
done
if [ "$AUTH" = auth/munge ]; then
    mkdir -p /etc/munge /var/log/munge /run/munge
    dd if=/dev/urandom of=/etc/munge/munge.key bs=128 count=1 status=none
    chmod 400 /etc/munge/munge.key
    chown -R munge: /etc/munge /var/lib/munge /var/log/munge /run/munge
    setpriv --reuid=munge --regid=munge --clear-groups munged
fi

mkdir -p /run/netns
ip addr add "$CONTROLLER_ADDRESS/32" dev lo
echo 1 >/proc/sys/net/ipv4/ip_forward   # of this network namespace

# A backup controller's host exists even if its daemon does not run. Its address must not be on the primary's host:
# the primary would then request the control from itself, and give it up.
/lab/bin/host-up.sh "${BACKUPS[@]}"
