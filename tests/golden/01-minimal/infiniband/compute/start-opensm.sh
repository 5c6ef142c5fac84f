#!/bin/bash
# minimal, compute: made from the spec; do not edit
# Starts the subnet manager of compute on this host's port on compute. OpenSM binds to one port; without a GUID to
# the first active one, which may be on another fabric: that one would then have two managers, and this one none.
# /etc/default/opensm-compute may set what is not in the plan:
#   OPENSM_PORT=     an RDMA device (mlx5_0), a device and the number of its port (mlx5_0/2), or the GUID of a port
#   OPENSM_HOST=     the name of this host in the plan, if it differs
#   OPENSM_CONFIG=   opensm.conf on the master, opensm-standby.conf on others
set -euo pipefail
shopt -s nullglob extglob
umask 077

system=${DESTDIR:-}
here=$(dirname "$(readlink -f "$0")")
name=compute
host=${OPENSM_HOST:-$(hostname -s)}
port=${OPENSM_PORT:-}
config=${OPENSM_CONFIG:-}
refuse() {
    echo "$*" >&2
    exit 1
}

# The planned port of a host: by its GUID if GUIDs are known, else by its RDMA device.
planned=
case $host in
train-+([0-9])) planned=mlx5_11 ;;
*) ;;
esac
case $host in
*) config=${config:-opensm.conf} ;;
esac

# The low half of a port's first GID is its GUID; libibumad and ibstat read it there too.
names=() guids=() count=0
for path in "$system"/sys/class/infiniband/*/ports/*; do
    gid=$(cat "$path/gids/0" 2>/dev/null) || continue
    [ "$(cat "$path/link_layer" 2>/dev/null)" = InfiniBand ] || continue
    gid=${gid//:/}
    path=${path#"$system/sys/class/infiniband/"}
    names+=("${path/\/ports\//\/}")
    guids+=("0x${gid:16}")
    count=$((count + 1))
done
((count)) || refuse "$host has no InfiniBand port: is the driver loaded? (ibstat)"

wanted=${port:-$planned}
if [ -z "$wanted" ]; then
    ((count == 1)) || refuse "$host has $count InfiniBand ports, and the plan does not specify which one is on compute:" \
        "set OPENSM_PORT in /etc/default/opensm-compute to one of ${names[*]}"
    wanted=${guids[0]}
fi
guid=
for index in "${!names[@]}"; do
    case $wanted in
    "${names[index]}" | "${guids[index]}") guid=${guids[index]} ;;
    *) [ "$wanted/1" != "${names[index]}" ] || guid=${guids[index]} ;;
    esac
done
[ -n "$guid" ] || refuse "$host has no InfiniBand port $wanted on compute; it has ${names[*]} (${guids[*]}):" \
    "set OPENSM_PORT in /etc/default/opensm-compute"

version=$(opensm --version 2>/dev/null | sed -n '/^OpenSM/p') || true
case $version in
*MLNX*) ;;
*) echo "$name: ${version:-opensm} is not NVIDIA's: MPI and IPoIB do not work with it on" 'NVIDIA Quantum-2 QM9700' "(see GUIDE.md)" >&2 ;;
esac

# managers of several fabrics on one host must not share the LIDs that opensm caches
export OSM_CACHE_DIR=$system/var/cache/opensm/$name OSM_TMP_DIR=$system/var/log/opensm/$name
mkdir -p "$system/run/opensm" "$OSM_CACHE_DIR" "$OSM_TMP_DIR"
{
    cat "$here/$config"
    printf 'guid %s\n' "$guid"
} >"$system/run/opensm/$name.conf"
exec opensm -F "$system/run/opensm/$name.conf"
