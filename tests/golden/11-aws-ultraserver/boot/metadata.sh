#!/bin/bash
# made by supercloud VERSION from the spec ultra; do not edit
#
# metadata.sh [install]: blocks the cloud's metadata service for all users except root and, on the controller, the scaler's
# user: access to it grants the permissions of the machine's role. "install" applies this at every start, before user sessions
# and jobs; if it fails, neither starts. Packets forwarded for containers are rejected too.
set -euo pipefail
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
root=${BOOT_ROOT:-}
# address, and the TCP ports to block: - blocks all
services='169.254.169.254 -
fd00:ec2::254 -'

owners() { # UIDs that have access
    echo 0
    # shellcheck source=/dev/null
    [ "$(source "$root/etc/supercloud/env" && echo "$ROLE")" != controller ] || id -u slurm 2>/dev/null || true
}

nft_rules() { # VERDICT: a line an address
    local address ports family
    while read -r address ports; do
        family=ip
        [[ $address != *:* ]] || family=ip6
        [ "$ports" = - ] && ports='' || ports="tcp dport { $ports }"
        echo "$family daddr $address $ports $1"
    done <<<"$services"
}

with_nft() { # one transaction, so that the rules are never absent. A packet without a socket has no owner and is rejected
    nft -f - <<NFT
table inet supercloud_metadata
delete table inet supercloud_metadata
table inet supercloud_metadata {
chain owned { meta skuid { $(owners | paste -sd,) } return; counter reject; }
chain output { type filter hook output priority -10; policy accept;
$(nft_rules 'jump owned')
}
chain forward { type filter hook forward priority -10; policy accept;
$(nft_rules 'counter reject')
}
}
NFT
}

with_iptables() { # COMMAND ADDRESSES
    local address ports rule to
    "$1-restore" -w --noflush <<RULES
*filter
:SUPERCLOUD-METADATA - [0:0]
$(owners | sed 's/.*/-A SUPERCLOUD-METADATA -m owner --uid-owner & -j RETURN/')
-A SUPERCLOUD-METADATA -j REJECT
COMMIT
RULES
    while read -r address ports; do
        rule=(-d "$address")
        [ "$ports" = - ] || rule+=(-p tcp -m multiport --dports "$ports")
        for to in "OUTPUT -j SUPERCLOUD-METADATA" "FORWARD -j REJECT"; do
            read -ra to <<<"$to"
            "$1" -w -C "${to[@]}" "${rule[@]}" 2>/dev/null || "$1" -w -I "${to[@]}" "${rule[@]}"
        done
    done <<<"$2"
}

guard() {
    local six
    if command -v nft >/dev/null; then with_nft; return; fi
    command -v iptables >/dev/null || { echo "neither nft nor iptables: use an image that has one" >&2; return 1; }
    with_iptables iptables "$(grep -v : <<<"$services")"
    six=$(grep : <<<"$services") || return 0
    [ ! -e /proc/net/if_inet6 ] || with_iptables ip6tables "$six"
}

persist() { # before name resolution and logins; again after any service that loads other rules
    local units=$root/etc/systemd/system
    # these services replace whole rule sets. PartOf= is limited to stop and restart: a reload (Debian's of nftables begins with "flush
    # ruleset") and a start after a stop need ReloadPropagatedFrom= and WantedBy=
    local loaders="nftables.service iptables.service ip6tables.service netfilter-persistent.service"
    mkdir -p "$units"
    cat >"$units/supercloud-metadata.service" <<UNIT
[Unit]
Description=The metadata service of the cloud is for root
DefaultDependencies=no
After=local-fs.target $loaders firewalld.service ufw.service
Before=ssh.service sshd.service systemd-user-sessions.service slurmd.service shutdown.target
Conflicts=shutdown.target
PartOf=$loaders
ReloadPropagatedFrom=$loaders
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=$root/opt/supercloud/metadata.sh
ExecReload=$root/opt/supercloud/metadata.sh
[Install]
WantedBy=multi-user.target $loaders
RequiredBy=systemd-user-sessions.service slurmd.service
UNIT
    systemctl daemon-reload
    systemctl enable -q supercloud-metadata
    # a start, restart or reload of other rule sets runs this again; waiting for them could block the boot
    systemctl start --no-block supercloud-metadata
}

guard
[ "${1:-}" != install ] || persist
