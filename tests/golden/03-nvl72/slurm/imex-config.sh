#!/bin/bash
# made by supercloud VERSION from the spec nvl72; do not edit
#
# nodes_config.cfg of the IMEX service: the addresses of all nodes of this node's NVLink domain, in the same order on each.
#   imex-config.sh show [HOST]   print it
#   imex-config.sh install       as root: write /etc/nvidia-imex/nodes_config.cfg
set -euo pipefail
shopt -s extglob

how=${1:-show}
name=${2:-$(hostname -s)}
# first, last: numbers of the pool's hosts; nodes: of a domain; base, turn: its block of addresses and the offset in it
case $name in
train-+([0-9])) prefix=train- first=1 last=72 nodes=18 base=167837696 turn=0 ;;
*) echo "$name is not in a multi-node NVLink domain" >&2; exit 2 ;;
esac
number=$((10#${name#"$prefix"}))
if ((number < first || number > last)); then
    echo "$name is not a node of the plan: the last one is $prefix$last" >&2
    exit 2
fi

show() {
    local index end block address
    index=$(((number - first) / nodes * nodes))
    end=$((index + nodes <= last - first + 1 ? index + nodes : last - first + 1))
    for (( ; index < end; index++)); do
        block=$(((turn + index) / 250))
        address=$((base + block * 256 + (turn + index) % 250 + 1))
        echo "$((address >> 24 & 255)).$((address >> 16 & 255)).$((address >> 8 & 255)).$((address & 255))"
    done
}

case $how in
show) show ;;
install)
    folder=${DESTDIR:-}/etc/nvidia-imex
    mkdir -p "$folder"
    show >"$folder/nodes_config.cfg.new"
    mv "$folder/nodes_config.cfg.new" "$folder/nodes_config.cfg"
    ;;
*) echo "unknown command '$how': use show or install" >&2; exit 2 ;;
esac
