#!/bin/bash
# made by supercloud VERSION from the spec superpod; edits are lost
#
# accounts.sh: tells the accounting database of priorities, tenants and users, and says what it changed.
#
# Run it where sacctmgr works, as root or the slurm user, after slurmdbd has started and after every change of the spec.
# It removes nothing: users and accounts that are not in the spec stay as they are.
set -euo pipefail
PATH=$PATH:/usr/sbin:/usr/bin
cluster=superpod
changed=

tell() {
    local answer
    answer=$(sacctmgr -i "$@" 2>&1) || { printf '%s\nsacctmgr %s: failed\n' "$answer" "$*" >&2; exit 1; }
    echo "$*"
    changed=yes
}

sorted() { tr , '\n' <<<"$1" | sed '/^$/d' | sort | paste -sd, -; }

# Each is compared in the form in which sacctmgr shows it.
declare -A qos_now account_now user_now
read_database() {
    local rows name who share tres jobs submitted wall qos default flags
    rows=$(sacctmgr -n -P show qos format=Name,Priority,Preempt,Flags)
    while IFS='|' read -r name share qos flags; do
        [ -z "$name" ] || qos_now[$name]="$share|$(sorted "$qos")|$flags"
    done <<<"$rows"
    rows=$(sacctmgr -n -P show assoc where cluster="$cluster" \
        format=Account,User,Share,GrpTRES,GrpJobs,GrpSubmit,MaxWall,QOS,DefaultQOS)
    while IFS='|' read -r name who share tres jobs submitted wall qos default; do
        if [ -z "$name" ]; then continue; fi
        if [ -n "$who" ]; then
            user_now[$name/$who]=yes
        else
            account_now[$name]="$share|$(sorted "$tres")|$jobs|$submitted|$wall|$(sorted "$qos")|$default"
        fi
    done <<<"$rows"
}

cluster() {
    [ -n "$(sacctmgr -n -P show cluster where cluster="$cluster" format=Cluster)" ] || tell add cluster "$cluster"
}

# Slurm counts accelerators from the first start of slurmctld on; limits on them cannot be set before.
counted=$(sacctmgr -n -P show tres format=Type,Name | tr '|' /)
tres_limits() { # what stands in the spec; the rest is lifted
    local kind value limits=
    for kind in gres/gpu node; do
        grep -qx "${kind}/\?" <<<"$counted" || continue
        value=$(tr , '\n' <<<"$1" | sed -n "s|^$kind=||p")
        limits=$limits,$kind=${value:--1}
    done
    echo "${limits#,}"
}

qos() { # NAME PRIORITY PREEMPTS
    local priority had flags
    if [ -z "${qos_now[$1]:-}" ]; then tell add qos "$1"; qos_now[$1]="||"; fi
    IFS='|' read -r priority had flags <<<"${qos_now[$1]}"
    [ "$priority" = "$2" ] || tell modify qos where name="$1" set priority="$2"
    # a job that is beyond its tenant's limits all by itself is refused: it would wait for ever
    [[ ,$flags, == *,DenyOnLimit,* ]] || tell modify qos where name="$1" set flags+=DenyOnLimit
    [ "$had" = "$(sorted "$3")" ] && return
    # an empty "preempt=" leaves behind a set that Slurm then takes for a loop
    if [ -n "$3" ]; then tell modify qos where name="$1" set preempt="$3"
    else tell modify qos where name="$1" set preempt-="$had"; fi
}

account() { # NAME SHARE TRES JOBS SUBMITTED WALL QOS DEFAULT_QOS
    local tres=$3
    if [[ $tres == *gres/gpu=* ]] && ! grep -qx gres/gpu <<<"$counted"; then
        tres=$(tr , '\n' <<<"$tres" | sed '/^gres/d' | paste -sd, -)
        echo "$1: the limit on accelerators has to wait: run this again when slurmctld has been started" >&2
    fi
    [ -n "${account_now[$1]:-}" ] || tell add account "$1" cluster="$cluster" description="$1" organization="$1"
    [ "${account_now[$1]:-}" = "$2|$(sorted "$tres")|$4|$5|$6|$(sorted "$7")|$8" ] ||
        tell modify account where name="$1" cluster="$cluster" set fairshare="$2" grptres="$(tres_limits "$tres")" \
            grpjobs="${4:--1}" grpsubmitjobs="${5:--1}" maxwall="${6:--1}" qos="$7" defaultqos="$8"
}

user() { # NAME ACCOUNT
    [ -n "${user_now[$2/$1]:-}" ] || tell add user "$1" account="$2" cluster="$cluster"
}

cluster
read_database
qos low 0 ''
qos normal 500 'low'
qos high 1000 'low,normal'
account llm 70 '' '' '' '' high,low,normal normal
user lab llm
account vision 30 'gres/gpu=256' '100' '' '' low,normal normal
user lab vision
[ -n "$changed" ] || echo "nothing changed"
