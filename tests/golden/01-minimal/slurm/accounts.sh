#!/bin/bash
# made by supercloud VERSION from the spec minimal; do not edit
#
# accounts.sh: sets up priorities, tenants and users in the accounting database, and prints each change.
#
# Run it where sacctmgr works, as root or the slurm user, after slurmdbd has started and after every change of the spec.
# It removes nothing: users and accounts that are not in the spec are left unchanged.
set -euo pipefail
PATH=$PATH:/usr/sbin:/usr/bin
cluster=minimal
changed=

apply() {
    local answer
    answer=$(sacctmgr -i "$@" 2>&1) || { printf '%s\nsacctmgr %s: failed\n' "$answer" "$*" >&2; exit 1; }
    echo "$*"
    changed=yes
}

sorted() { tr , '\n' <<<"$1" | sed '/^$/d' | sort | paste -sd, -; }

# The current values, in the form in which sacctmgr prints them.
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
    [ -n "$(sacctmgr -n -P show cluster where cluster="$cluster" format=Cluster)" ] || apply add cluster "$cluster"
}

# Slurm tracks accelerators after the first start of slurmctld; limits on them cannot be set before.
counted=$(sacctmgr -n -P show tres format=Type,Name | tr '|' /)
tres_limits() { # limits of the spec; others are removed
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
    if [ -z "${qos_now[$1]:-}" ]; then apply add qos "$1"; qos_now[$1]="||"; fi
    IFS='|' read -r priority had flags <<<"${qos_now[$1]}"
    [ "$priority" = "$2" ] || apply modify qos where name="$1" set priority="$2"
    # a job that alone exceeds its tenant's limits is rejected: otherwise it would stay pending forever
    [[ ,$flags, == *,DenyOnLimit,* ]] || apply modify qos where name="$1" set flags+=DenyOnLimit
    [ "$had" = "$(sorted "$3")" ] && return
    # an empty "preempt=" leaves a set that Slurm then reports as a loop
    if [ -n "$3" ]; then apply modify qos where name="$1" set preempt="$3"
    else apply modify qos where name="$1" set preempt-="$had"; fi
}

account() { # NAME SHARE TRES JOBS SUBMITTED WALL QOS DEFAULT_QOS
    local tres=$3
    if [[ $tres == *gres/gpu=* ]] && ! grep -qx gres/gpu <<<"$counted"; then
        tres=$(tr , '\n' <<<"$tres" | sed '/^gres/d' | paste -sd, -)
        echo "$1: the limit on accelerators cannot be set yet: run this again after slurmctld has started" >&2
    fi
    [ -n "${account_now[$1]:-}" ] || apply add account "$1" cluster="$cluster" description="$1" organization="$1"
    [ "${account_now[$1]:-}" = "$2|$(sorted "$tres")|$4|$5|$6|$(sorted "$7")|$8" ] ||
        apply modify account where name="$1" cluster="$cluster" set fairshare="$2" grptres="$(tres_limits "$tres")" \
            grpjobs="${4:--1}" grpsubmitjobs="${5:--1}" maxwall="${6:--1}" qos="$7" defaultqos="$8"
}

user() { # NAME ACCOUNT
    [ -n "${user_now[$2/$1]:-}" ] || apply add user "$1" account="$2" cluster="$cluster"
}

cluster
read_database
qos low 0 ''
qos normal 500 'low'
qos high 1000 'low,normal'
[ -n "$changed" ] || echo "nothing changed"
