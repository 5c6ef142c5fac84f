#!/bin/bash
# layer.sh ROOTFS CACHE PACKAGE...: a folder with the files of these packages that ROOTFS lacks, to be copied over it;
# prints its path. Nothing is installed in ROOTFS: missing packages are fetched and unpacked.
set -euo pipefail
root=$1 cache=$2
shift 2
release=$(sed -n 's/^VERSION_CODENAME=//p' "$root/etc/os-release")   # the release of ROOTFS, not of this machine
layer=$cache/layer-${release:?}-$1
mkdir -p "$cache"
exec 9>"$layer.lock"
flock 9

if [ ! -e "$layer/complete" ]; then
    rm -rf --one-file-system "$layer"
    mkdir -p "$layer/packages" "$layer/root"
    # apt in a mount namespace: its cache goes into the layer
    # shellcheck disable=SC2016  # for the shell inside
    # the lock of packages.sh: if ROOTFS is that of this machine, another run may be installing
    flock -o /run/supercloud-packages.lock unshare -m --propagation private -- bash -euc '
        root=$1 packages=$2
        shift 2
        [ "$root" = / ] || { mount -t proc proc "$root/proc"; mount --bind /dev "$root/dev"; }
        mount --bind "$packages" "$root/var/cache/apt/archives"
        mkdir -p "$packages/partial"
        chroot "$root" apt-get install -y -q --download-only --no-install-recommends -o Acquire::Retries=5 \
            -o DPkg::Lock::Timeout=600 \
            "$@"
    ' inner "$root" "$layer/packages" "$@" >&2
    for package in "$layer"/packages/*.deb; do dpkg-deb -x "$package" "$layer/root"; done
    # if /lib and /sbin are links into /usr, as usual, a folder instead of the link would hide all files there
    for folder in lib sbin bin lib64; do
        if [ -d "$layer/root/$folder" ] && [ ! -L "$layer/root/$folder" ]; then
            mkdir -p "$layer/root/usr/$folder"
            cp -a "$layer/root/$folder/." "$layer/root/usr/$folder/"
            rm -r "${layer:?}/root/$folder"
        fi
    done
    touch "$layer/complete"
fi
echo "$layer/root"
