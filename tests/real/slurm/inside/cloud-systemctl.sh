#!/bin/bash
# systemctl of a machine of the lab: starts the programs of the machine's units, and reports whether they run.
set -euo pipefail
# shellcheck source=/dev/null
source /lab/bin/spawn.sh
verb=$1
shift
while [[ ${1:-} == -* ]]; do shift; done
pid=/run/unit-${1:-none}
alive() { [ -e "$pid" ] && kill -0 "$(cat "$pid")" 2>/dev/null; }

# Type= of the unit: that of the package, unless a drop-in sets another one. Used for daemons that run
# with the command of their unit.
type_of() {
    sed -n 's/^Type=//p' "/usr/lib/systemd/system/$1.service" "/etc/systemd/system/$1.service.d/"*.conf 2>/dev/null | tail -n 1
}

# A service of Type=notify has started when it sends READY=1, and is ended if it does not within 90 s.
begin_notifying() { # NAME UNIT COMMAND...
    local name=$1 socket=/run/notify-$2 heard=/run/notified-$2
    shift 2
    rm -f "$socket" "$heard"
    spawn "notified-$name" python3 /lab/bin/listen-notify.py "$socket" "$heard"
    until [ "$(stat -c %a "$socket" 2>/dev/null)" = 777 ]; do sleep 0.05; done
    NOTIFY_SOCKET=$socket spawn "$name" "$@"
    for ((try = 0; try < 900; try++)); do
        ! grep -qx READY=1 "$heard" 2>/dev/null || return 0
        kill -0 "$(cat "/lab/pid/$name")" 2>/dev/null || { echo "$name ended before it sent READY=1" >&2; return 1; }
        sleep 0.1
    done
    kill "$(cat "/lab/pid/$name")"
    echo "$name did not send READY=1" >&2
    return 1
}

case $verb in
is-active) alive ;;
stop)
    ! alive || { kill "$(cat "$pid")" && tail --pid="$(cat "$pid")" -f /dev/null; }
    [ "$1" != sackd ] || rm -rf /run/slurm   # systemd removes what RuntimeDirectory= names
    ;;
start) [ "$1" != supercloud-metadata ] || /opt/supercloud/metadata.sh ;;
restart)
    ! alive || { kill "$(cat "$pid")" && tail --pid="$(cat "$pid")" -f /dev/null; }
    name=${LAB_UNIT:-}$1
    case $1 in
    munge) command=(setpriv --reuid=munge --regid=munge --clear-groups munged --foreground --force) ;;
    slurmd) command=("$(sed -n 's/^ExecStart=\(..*\)/\1/p' /etc/systemd/system/slurmd.service.d/supercloud.conf)") ;;
    sackd)
        # shellcheck source=/dev/null
        [ ! -e /etc/supercloud/sackd ] || source /etc/supercloud/sackd
        # shellcheck disable=SC2206  # words of a command
        command=(setpriv --reuid=slurm --regid=slurm --clear-groups /usr/sbin/sackd --systemd ${SACKD_OPTIONS:-})
        install -d -o slurm -g slurm /run/slurm   # RuntimeDirectory= of its unit
        ;;
    slurmctld) command=(slurmctld -D) ;;
    slurmdbd) command=(slurmdbd -D) ;;
    mariadb)
        /lab/bin/service.sh mariadb
        cp /lab/pid/mariadb "$pid"
        exit
        ;;
    supercloud-keys)
        # shellcheck disable=SC2207  # words of a command
        command=($(sed -n 's/^ExecStart=\(..*\)/\1/p' /etc/systemd/system/supercloud-keys.service))
        ;;
    supercloud-scaler)
        command=(setpriv --reuid=slurm --regid=slurm --clear-groups python3 /opt/supercloud/boot/scaler loop)
        ;;
    *) exit 5 ;;
    esac
    if [[ $1 == slurmd || $1 == sackd ]] && [ "$(type_of "$1")" = notify ]; then
        begin_notifying "$name" "$1" "${command[@]}"
    else
        spawn "$name" "${command[@]}"
    fi
    cp "/lab/pid/$name" "$pid"
    if [ "$1" = munge ]; then until [ -S /run/munge/munge.socket.2 ]; do sleep 0.05; done; fi
    ;;
esac
