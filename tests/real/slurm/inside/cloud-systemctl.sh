#!/bin/bash
# systemctl of a machine of the lab: starts what the units of this machine would start, and knows whether it runs.
set -euo pipefail
# shellcheck source=/dev/null
source /lab/bin/spawn.sh
verb=$1
shift
while [[ ${1:-} == -* ]]; do shift; done
pid=/run/unit-${1:-none}
alive() { [ -e "$pid" ] && kill -0 "$(cat "$pid")" 2>/dev/null; }

case $verb in
is-active) alive ;;
start) [ "$1" != supercloud-metadata ] || /opt/supercloud/metadata.sh ;;
restart)
    ! alive || { kill "$(cat "$pid")" && tail --pid="$(cat "$pid")" -f /dev/null; }
    name=${LAB_UNIT:-}$1
    case $1 in
    munge) command=(setpriv --reuid=munge --regid=munge --clear-groups munged --foreground --force) ;;
    slurmd) command=("$(sed -n 's/^ExecStart=\(..*\)/\1/p' /etc/systemd/system/slurmd.service.d/supercloud.conf)") ;;
    slurmctld) command=(slurmctld -D) ;;
    slurmdbd) command=(slurmdbd -D) ;;
    mariadb) exec /lab/bin/service.sh mariadb ;;
    supercloud-keys)
        # shellcheck disable=SC2207  # words of a command
        command=($(sed -n 's/^ExecStart=\(..*\)/\1/p' /etc/systemd/system/supercloud-keys.service))
        ;;
    supercloud-scaler)
        command=(setpriv --reuid=slurm --regid=slurm --clear-groups /opt/supercloud/boot/scale.sh loop)
        ;;
    *) exit 5 ;;
    esac
    spawn "$name" "${command[@]}"
    cp "/lab/pid/$name" "$pid"
    if [ "$1" = munge ]; then until [ -S /run/munge/munge.socket.2 ]; do sleep 0.05; done; fi
    ;;
esac
