#!/bin/bash
# made by supercloud VERSION from the spec trainer; edits are lost
#
# scale.sh resume|suspend|fail NODES, scale.sh pass, scale.sh loop: makes the groups of the cloud what Slurm wants them to be.
#
# Nothing is remembered but which instance has which node's name (a file a node on the protected disk): every pass compares
# the states of Slurm's nodes with the instances that are there, and does what is missing. So a pass can be cut short, run
# twice, or run after a restart of slurmctld or of this machine. Slurm calls it when nodes are to come or go; the loop looks
# again every few seconds, because instances come, fail and vanish at times of their own. Log: /var/log/slurm/scale.log.
set -euo pipefail
umask 022
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

root=${BOOT_ROOT:-}
here=$(dirname "$(readlink -f "$0")")
state=$root/var/spool/slurmctld/cloud
# seconds between passes; that a group without capacity is left alone; that a node which did not come stays down
every=${SCALE_EVERY:-15} rest=${SCALE_REST:-300} pardon=${SCALE_PARDON:-600}
# shellcheck source=/dev/null
source "$root/etc/supercloud/env"
# shellcheck source=/dev/null
source "$root/opt/supercloud/cloud.sh"

log() { echo "$(date -u +%FT%TZ) $*" >>"$root/var/log/slurm/scale.log"; }
age() { echo $(($(date +%s) - $(stat -c %Y "$1"))); }

declare -A pool_of block_of features_of place_of state_of topology_of node_of instances_of size_of record_instance record_group
declare -a nodes=() groups=()

folded() { # NODE...: host lists of up to a thousand: 12,500 names are longer than one argument of a program may be
    while [ $# -gt 0 ]; do
        (IFS=, && scontrol show hostlist "${*:1:1000}")
        shift $(($# < 1000 ? $# : 1000))
    done
}

wanted_nodes() { # cloud-nodes.conf: what Slurm is to know, whatever happened to its state
    local line range name features place missing=() parts=()
    while read -r line; do
        [[ $line == NodeName=* ]] || continue
        range=${line%% *}
        range=${range#NodeName=}
        features=${line##*Features=}
        features=${features%% *}
        place=
        [[ $line != *Topology=* ]] || { place=${line##*Topology=}; place=${place%% *}; }
        missing=()
        for name in $(scontrol show hostnames "$range"); do
            nodes+=("$name")
            pool_of[$name]=${features%%,*} features_of[$name]=$features place_of[$name]=$place block_of[$name]=
            [[ $place != *,* ]] || block_of[$name]=${place##*:}
            [ -n "${state_of[$name]:-}" ] || missing+=("$name")
        done
        [ -n "${missing[*]}" ] || continue
        log "nodes ${missing[0]}...: told to Slurm"
        mapfile -t parts < <(folded "${missing[@]}")
        for name in "${parts[@]}"; do
            # shellcheck disable=SC2086  # the rest of the line is a list of words
            scontrol create NodeName="$name" ${line#* } >>"$root/var/log/slurm/scale.log" 2>&1 || log "Slurm refuses nodes $name"
        done
        for name in "${missing[@]}"; do state_of[$name]=IDLE+CLOUD+POWERED_DOWN topology_of[$name]=$place; done
    done <"$root/etc/slurm/cloud-nodes.conf"
    for name in "${!state_of[@]}"; do   # no longer in the spec: gone as soon as it is off
        [[ -z ${pool_of[$name]:-} && ${state_of[$name]} == *POWERED_DOWN* ]] || continue
        scontrol delete NodeName="$name" >/dev/null && log "$name: no longer wanted, taken from Slurm" || true
    done
}

read_slurm() {
    local name value place text
    text=$(scontrol -o show nodes 2>&1) || case $text in *"not found"* | *"No nodes"*) text= ;; *) log "slurmctld does not answer: $text"; return 1 ;; esac
    state_of=() topology_of=()
    while read -r name value place; do
        state_of[$name]=$value topology_of[$name]=$place
    done < <(awk '/^NodeName=/ {
        state = place = ""
        for (word = 2; word <= NF; word++)
            if ($word ~ /^State=/ && state == "") state = substr($word, 7)
            else if ($word ~ /^Topology=/) place = substr($word, 10)
        print substr($1, 10), state, place
    }' <<<"$text")
    nodes=()
    wanted_nodes
}

read_records() {
    local file name
    node_of=() record_instance=() record_group=()
    for file in "$state"/nodes/*; do
        [ -e "$file" ] || continue
        name=${file##*/}
        read -r "record_group[$name]" "record_instance[$name]" <"$file" || continue
        node_of[${record_instance[$name]}]=$name
    done
}

read_cloud() { # instances_of: "id address domain" a line
    local key text
    groups=() instances_of=() size_of=()
    while read -r key _; do
        [[ $key != \#* ]] || continue
        groups+=("$key")
        text=$(cloud_instances "$key") || { log "$key: the cloud does not answer"; return 1; }
        instances_of[$key]=$text
        size_of[$key]=$(cloud_size "$key") || { log "$key: the cloud does not answer"; return 1; }
    done <"$here/groups.txt"
}

field() { awk -v key="$1" -v column="$2" '$1 == key { print $column }' "$here/groups.txt"; }
count() { sed '/^$/d' <<<"$1" | wc -l; }
there() { local key; for key in "${groups[@]}"; do grep -q "^$1 " <<<"${instances_of[$key]}" && return 0; done; return 1; }

forget() { rm -f "$state/nodes/$1"; unset "record_instance[$1]" "record_group[$1]"; }

vanished() { # instances that are gone although Slurm did not ask for it: taken back, replaced, ended by hand
    local node instance
    for node in "${!record_instance[@]}"; do
        instance=${record_instance[$node]}
        there "$instance" && continue
        unset "node_of[$instance]"
        forget "$node"
        case ${state_of[$node]:-} in
        *POWERING_UP*) log "$node: its instance $instance is gone before it joined" ;;
        '') ;;
        *POWERED_DOWN* | *POWERING_DOWN*) nowhere "$node" ;;
        *)
            log "$node: its instance $instance is gone; what ran there is put back into the queue"
            scontrol update NodeName="$node" State=DOWN Reason="instance $instance is gone" || continue
            scontrol update NodeName="$node" State=POWER_DOWN_FORCE || true
            state_of[$node]=DOWN+POWERED_DOWN
            nowhere "$node"
            ;;
        esac
    done
}

leave() { # exactly the instances of nodes that Slurm has suspended, or that did not come
    local node instance group
    for node in "${!record_instance[@]}"; do
        [[ ${state_of[$node]:-} =~ POWERED_DOWN|POWERING_DOWN|^$ && ! ${state_of[$node]:-} =~ POWERING_UP ]] || continue
        instance=${record_instance[$node]} group=${record_group[$node]}
        # Slurm sets down what did not come and calls resume-fail.sh; where a pass is first, it leaves word of the instance
        [[ ${state_of[$node]:-} != DOWN* || -e $state/failed/$node ]] || echo "$instance of $group" >"$state/failed/$node"
        if cloud_terminate "$group" "$instance"; then
            log "$node: instance $instance of $group ended"
            forget "$node"
            instances_of[$group]=$(sed "/^$instance /d" <<<"${instances_of[$group]}")
            size_of[$group]=$((size_of[$group] - 1))
            nowhere "$node"
        else
            log "$node: instance $instance of $group cannot be ended; trying again"
        fi
    done
}

nowhere() { # NODE: what is off is nowhere, and its address may soon be another's
    local own=(NodeAddr="$1") features=${features_of[$1]:-}
    if [ -n "${place_of[$1]:-}" ]; then own+=(Topology="${place_of[$1]}"); topology_of[$1]=${place_of[$1]}
    elif [ -n "$features" ]; then own+=(AvailableFeatures="$features" ActiveFeatures="$features"); fi
    scontrol update NodeName="$1" "${own[@]}" || log "$1: Slurm keeps its old place"
}

astray() { # nodes that are off and have lost their place, as after a change of their features by hand (see step_place)
    local node place parts=()
    local -A lost=()
    for node in "${nodes[@]}"; do
        place=${place_of[$node]}
        [[ -n $place && ${topology_of[$node]:-} != "$place" && ${state_of[$node]} == *POWERED_DOWN* ]] || continue
        lost[$place]+="$node "
    done
    for place in "${!lost[@]}"; do
        # shellcheck disable=SC2086  # names of nodes are words
        mapfile -t parts < <(folded ${lost[$place]})
        for node in "${parts[@]}"; do
            if scontrol update NodeName="$node" Topology="$place"; then log "$node: put back to $place"
            else log "$node: Slurm refuses the place $place"; fi
        done
    done
}

keep() { # the first nodes of a pool that always has some: Slurm does not switch them off, in releases that can be told so
    local pool least name now wanted='' kept=()
    while read -r pool least; do
        for name in "${nodes[@]}"; do
            [ "$least" -gt 0 ] || break
            [ "${pool_of[$name]}" = "$pool" ] || continue
            kept+=("$name") least=$((least - 1))
        done
    done < <(awk '!/^#/ { least[$2] += $6 } END { for (pool in least) print pool, least[pool] }' "$here/groups.txt" | sort)
    [ -z "${kept[*]}" ] || wanted=$(folded "${kept[@]}" | paste -sd,)
    now=$(scontrol show config | sed -n 's/^SuspendExcNodes *= *//p') || return 0
    [ "${now/(null)/}" != "$wanted" ] || return 0
    if scontrol update SuspendExcNodes="$wanted" >/dev/null 2>&1; then log "never switched off: ${wanted:-none}"
    elif [ "$(cat "$state/kept" 2>/dev/null)" != "$wanted" ]; then
        log "this release of Slurm switches off $wanted too: it cannot be told not to"
        echo "$wanted" >"$state/kept"
    fi
}

pardon() { # a node that did not come is down with a reason; after a while it may be tried again
    local file node
    for file in "$state"/failed/*; do
        [ -e "$file" ] && [ "$(age "$file")" -ge "$pardon" ] || continue
        node=${file##*/}
        rm -f "$file"
        [[ ${state_of[$node]:-} == *DOWN+*POWERED_DOWN* ]] || continue
        scontrol update NodeName="$node" State=RESUME && log "$node: may be tried again" || true
    done
}

waiting() { # POOL [BLOCK]: nodes that Slurm wants and that have no instance
    local node
    for node in "${nodes[@]}"; do
        [[ ${pool_of[$node]} == "$1" && ($# -eq 1 || ${block_of[$node]} == "$2") && ${state_of[$node]} == *POWERING_UP* && -z ${record_instance[$node]:-} ]] && echo "$node"
    done
    return 0
}

give() { # NODE GROUP INSTANCE ADDRESS: the instance is this node from now on; it finds its name by its address
    echo "$2 $3" >"$state/nodes/.$1" && mv "$state/nodes/.$1" "$state/nodes/$1"
    rm -f "$state/failed/$1"
    record_instance[$1]=$3 record_group[$1]=$2 node_of[$3]=$1
    if scontrol update NodeName="$1" NodeAddr="$4"; then log "$1: is instance $3 of $2 at $4"
    else log "$1: Slurm refuses the address $4"; forget "$1"; unset "node_of[$3]"; fi
}

names() { # every instance that runs becomes a node that Slurm waits for; where none waits, one that is off is switched on
    local key pool id address node slot
    local -A wanted=() first_off=() domain_of=() block_for=()
    for key in "${groups[@]}"; do
        pool=$(field "$key" 2)
        domains "$key" || continue
        while read -r id address _; do
            [ -n "$id" ] && [ -z "${node_of[$id]:-}" ] && [ "$address" != - ] || continue
            block "$key" "$pool" "$id" || continue
            slot="$pool ${block_for[${domain_of[$id]:-none}]:-}"
            [ -n "${wanted[$slot]+yes}" ] || wanted[$slot]=$(waiting "$pool" "${slot#* }")
            read -r node <<<"${wanted[$slot]}" || true
            if [ -n "$node" ]; then
                give "$node" "$key" "$id" "$address"
                wanted[$slot]=$(sed 1d <<<"${wanted[$slot]}")
                continue
            fi
            [ -n "${first_off[$slot]+yes}" ] || first_off[$slot]=$(off "$pool" "${slot#* }")
            read -r node <<<"${first_off[$slot]}" || true
            if [ -z "$node" ]; then
                log "$key: no name is left for instance $id: ended"
                cloud_terminate "$key" "$id" || true
                continue
            fi
            first_off[$slot]=$(sed 1d <<<"${first_off[$slot]}")
            # Slurm calls resume.sh for it, and that pass gives the name
            log "$node: nobody waits for instance $id of $key: the node is switched on"
            scontrol update NodeName="$node" State=POWER_UP || true
        done <<<"${instances_of[$key]}"
    done
}

domains() { # GROUP: which scale-up domain its instances are in, and which block of names each domain has
    local id domain text node
    [ "$(field "$1" 5)" -gt 1 ] || return 0
    text=$(cloud_domains "$1") || { log "$1: the cloud does not say which domain instances are in"; return 1; }
    while read -r id domain; do [ -z "$domain" ] || domain_of[$id]=$domain; done <<<"$text"
    for node in "${!record_instance[@]}"; do
        domain=${domain_of[${record_instance[$node]}]:-}
        [ -z "$domain" ] || block_for[$domain]=${block_of[$node]}
    done
}

block() { # GROUP POOL INSTANCE: the names of one block are for the instances of one domain
    local node used domain=${domain_of[$3]:-}
    [ "$(field "$1" 5)" -gt 1 ] || return 0
    [ -n "$domain" ] || { log "$1: the domain of instance $3 is not known yet"; return 1; }
    [ -z "${block_for[$domain]:-}" ] || return 0
    used=" ${block_for[*]} "
    for node in "${!record_instance[@]}"; do used+="${block_of[$node]:-} "; done
    while read -r node; do
        [ -n "$node" ] && [[ $used != *" ${block_of[$node]} "* ]] || continue
        block_for[$domain]=${block_of[$node]}
        return 0
    done < <(waiting "$2"; printf '%s\n' "${nodes[@]}" | while read -r node; do [ "${pool_of[$node]}" != "$2" ] || echo "$node"; done)
    log "$1: no block of names is left for the domain $domain"
    return 1
}

off() { # POOL BLOCK: nodes that could be switched on
    local node
    for node in "${nodes[@]}"; do
        [[ ${pool_of[$node]} == "$1" && ${block_of[$node]} == "$2" && ${state_of[$node]} == IDLE*POWERED_DOWN* && -z ${record_instance[$node]:-} ]] && echo "$node"
    done
    return 0
}

refusals() { # groups whose instances do not come because the cloud has none: shrunk to what they have, and left alone for a while
    local key have reason
    for key in "${groups[@]}"; do
        have=$(count "${instances_of[$key]}")
        [ "${size_of[$key]}" -gt "$have" ] || continue
        # the size it was made with, or was given by hand: what is refused counts from now on
        [ -e "$state/asked/$key" ] || touch "$state/asked/$key"
        reason=$(cloud_refused "$key" "$(stat -c %Y "$state/asked/$key")") || continue
        refused "$key" "$reason"
        if cloud_resize "$key" "$have" >/dev/null; then size_of[$key]=$have; else log "$key: cannot be shrunk to $have"; fi
    done
}

refused() { log "$1: no capacity: ${2:-the cloud gives no reason}; left alone for $rest s"; touch "$state/full/$1"; }

ask() { # groups of each pool, in their order, until every node that is wanted has an instance on its way
    local pool key missing pending more step code reason
    # shellcheck disable=SC2013  # names of pools and groups are words
    for pool in $(awk '!/^#/ { print $2 }' "$here/groups.txt" | sort -u); do
        missing=$(waiting "$pool" | wc -l)
        pending=0
        for key in "${groups[@]}"; do
            [ "$(field "$key" 2)" = "$pool" ] || continue
            pending=$((pending + size_of[$key] - $(count "${instances_of[$key]}")))
            # those that run but have no address yet
            pending=$((pending + $(awk '$2 == "-"' <<<"${instances_of[$key]}" | wc -l)))
        done
        missing=$((missing - pending))
        # shellcheck disable=SC2013
        for key in $(awk -v pool="$pool" '!/^#/ && $2 == pool { print $3, $1 }' "$here/groups.txt" | sort -n | cut -d' ' -f2); do
            [ "$missing" -gt 0 ] || break
            if [ -e "$state/full/$key" ]; then
                [ "$(age "$state/full/$key")" -ge "$rest" ] || continue
                rm -f "$state/full/$key"
            fi
            step=$(field "$key" 5)
            more=$(((missing + step - 1) / step * step))
            [ $((size_of[$key] + more)) -le "$(field "$key" 4)" ] || more=$(($(field "$key" 4) - size_of[$key]))
            [ "$more" -gt 0 ] || continue
            code=0
            touch "$state/asked/$key"
            reason=$(cloud_resize "$key" $((size_of[$key] + more)) 2>&1) || code=$?
            case $code in
            0) log "$key: $more more, $((size_of[$key] + more)) in all"; missing=$((missing - more)) size_of[$key]=$((size_of[$key] + more)) ;;
            3) refused "$key" "$reason" ;;
            *) log "$key: cannot be resized: $reason" ;;
            esac
        done
        [ "$missing" -le 0 ] || log "$pool: $missing nodes are wanted that no group can give now"
    done
}

pass() {
    mkdir -p "$state"/{nodes,asked,full,failed}
    read_slurm && read_records && read_cloud || return 0
    vanished
    leave
    astray
    keep
    pardon
    names
    refusals
    ask
}

failed() { # NODES: they did not join in time; Slurm has set them down
    local node instance
    mkdir -p "$state/failed"
    for node in $(scontrol show hostnames "$1"); do
        instance=$(awk '{ print $2 " of " $1 }' "$state/nodes/$node" 2>/dev/null || cat "$state/failed/$node" 2>/dev/null || true)
        if [ -n "$instance" ]; then reason="instance $instance did not join in time: see its boot.log"
        else reason="the cloud gave no instance in time"; fi
        log "$node: $reason"
        scontrol update NodeName="$node" State=DOWN Reason="$reason" || true
        : >"$state/failed/$node"
    done
}

locked() { # one at a time, whoever calls
    mkdir -p "$state"
    ( flock 9; "$@" ) 9>"$state/lock"
}

case ${1:-} in
resume | suspend) log "Slurm: $1 $2"; locked pass ;;
fail) log "Slurm: these did not come: $2"; locked failed "$2"; locked pass ;;
pass) locked pass ;;
loop) while :; do locked pass; sleep "$every"; done ;;
*) echo "usage: $0 resume|suspend|fail NODES | pass | loop" >&2; exit 2 ;;
esac
