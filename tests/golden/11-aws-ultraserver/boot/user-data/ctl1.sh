#!/bin/bash
# made by supercloud VERSION from the spec ultra; do not edit
#
# First program at every start of a machine: blocks the metadata service for users, fetches boot/ from the bucket unless this
# version is present, verifies the digest below, and executes boot.sh. "guard": only the first of these, before
# logins are possible.
set -euo pipefail
umask 022
root=${BOOT_ROOT:-}
mkdir -p "$root/etc/supercloud" "$root/opt/supercloud" "$root/var/log/supercloud"
log=$root/var/log/supercloud/boot.log
[ -e "$log" ] || (umask 077 && : >"$log")
exec > >(tee -a "$log") 2>&1

cat >"$root/etc/supercloud/env" <<'ENV'
ROLE='controller'
CLUSTER='@{cluster}'
REGION='@{region}'
BUCKET='@{bucket}'
HOST='ctl1'
GROUP=''
POOL=''
RELEASE='25.11'
SLURM_USER='64030'
AUTH='munge'
DOMAIN='ultra.internal'
SECRET_AUTH='@{secret_auth}'
KEY_PORT='329'
CONTROLLERS='ctl1.ultra.internal'
ACCOUNTING='yes'
DATABASE='here'
DATABASE_HOST=''
SECRET_DATABASE='@{secret_database}'
STATE_DISK='@{state_device}'
STATE_LABEL='sc-ctl1'
TOPOLOGY='network'
STORAGE='scratch=@{source_scratch}
home=@{source_home}'
LOCAL_MOUNT=''
LOGINS='administrators'
DIGEST=b3e41f8b4d93f690341c71742478722c2bd3d467e7e4494b16e1a00eeb6ae38d
ENV
cat >"$root/opt/supercloud/cloud.sh" <<'CLOUD'
# shellcheck shell=bash
# made by supercloud VERSION from the spec ultra; do not edit
# Functions for Amazon Web Services.
# docs.aws.amazon.com: EC2 user guide (instance metadata, instance topology), Auto Scaling and Secrets Manager references.
PATH=$PATH:/snap/bin
cloud_ready() { # Amazon's images include the AWS CLI, Canonical's do not
    command -v aws >/dev/null || snap install aws-cli --classic || dnf install -y -q awscli ||
        { apt-get update -q && apt-get install -y -q awscli; }   # new machines have no package lists
}
cloud_imds() { # PATH
    local token
    token=$(curl -sf --retry 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' http://169.254.169.254/latest/api/token) &&
        curl -sf --retry 2 -H "X-aws-ec2-metadata-token: $token" "http://169.254.169.254/latest/meta-data/$1"
}
cloud_fetch() { aws s3 cp --only-show-errors --region "$REGION" "s3://$BUCKET/$1" "$2"; }
cloud_secret() { # returns 3 if there is no value yet
    local output
    if output=$(aws secretsmanager get-secret-value --region "$REGION" --secret-id "$1" --query SecretString --output text 2>&1); then
        printf '%s\n' "$output"
    elif [[ $output == *ResourceNotFoundException* && $output == *AWSCURRENT* ]]; then return 3
    else printf '%s\n' "$output" >&2; return 1; fi
}
cloud_fill() { # the value is read from stdin
    local file
    file=$(umask 077 && mktemp) && cat >"$file" &&
        aws secretsmanager put-secret-value --region "$REGION" --secret-id "$1" --secret-string "file://$file" >/dev/null
    local code=$?
    rm -f "$file"
    return $code
}
cloud_metadata() {
    local id
    id=$(cloud_imds instance-id) || return 1
    echo "id=$id"
    echo "type=$(cloud_imds instance-type)"
    echo "zone=$(cloud_imds placement/availability-zone)"
    echo "address=$(cloud_imds local-ipv4)"
    # nearest last; some instance types have none, and new instances have it only after a while
    echo "network=$(aws ec2 describe-instance-topology --region "$REGION" --instance-ids "$id" \
        --query 'Instances[0].NetworkNodes' --output text 2>/dev/null | sed '/^None$/d' | tr '\t' ' ')"
}
cloud_disk() { # DEVICE it was attached as; on Nitro it appears as an NVMe device with a different name
    local link disk system found=()
    [ ! -b "$1" ] || { readlink -f "$1"; return; }
    system=$(lsblk -nso KNAME,TYPE "$(findmnt -no SOURCE /)" | awk '$2 == "disk" { print "/dev/" $1 }')
    for link in /dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol*; do
        [[ -e $link && ! $link =~ -part|_[0-9]+$ ]] || continue
        disk=$(readlink -f "$link")
        [ "$disk" = "$system" ] || found+=("$disk")
    done
    [ "${found[*]:-}" ] && [ -z "${found[1]:-}" ] && echo "${found[0]}"
}
cloud_group() { # KEY QUERY
    aws autoscaling describe-auto-scaling-groups --region "$REGION" --output text --query "AutoScalingGroups[].$2" --filters \
        "Name=tag:supercloud:cluster,Values=$CLUSTER" "Name=tag:supercloud:group,Values=$1"
}
cloud_size() { cloud_group "$1" DesiredCapacity; }
cloud_resize() {
    local name output
    name=$(cloud_group "$1" AutoScalingGroupName) && [ -n "$name" ] || return 1
    output=$(aws autoscaling set-desired-capacity --region "$REGION" --auto-scaling-group-name "$name" --desired-capacity "$2" 2>&1) && return
    echo "$output"
    [[ ! $output =~ InsufficientInstanceCapacity|MaxSpotInstanceCountExceeded|VcpuLimitExceeded ]] || return 3
    return 1
}
cloud_instances() {
    aws ec2 describe-instances --region "$REGION" --output text --filters "Name=tag:supercloud:cluster,Values=$CLUSTER" \
        "Name=tag:supercloud:group,Values=$1" Name=instance-state-name,Values=pending,running \
        --query 'Reservations[].Instances[].[InstanceId,PrivateIpAddress]' |
        awk -F'\t' '{ print $1, ($2 == "None" ? "-" : $2) }'
}
cloud_domains() { # machines of an UltraServer share a CapacityBlockId (EC2 API, InstanceTopology)
    local ids
    ids=$(cloud_instances "$1" | cut -d' ' -f1) || return 1
    [ -n "$ids" ] || return 0
    # the service accepts 100 at a time
    xargs -n 100 aws ec2 describe-instance-topology --region "$REGION" --output text \
        --query 'Instances[?CapacityBlockId].[InstanceId,CapacityBlockId]' --instance-ids <<<"$ids" | tr '\t' ' '
}
cloud_refused() { cloud_failures "$@" | grep -E '[Cc]apacity|LimitExceeded|Unsupported' | sed -n 1p | grep .; }
cloud_failed() { cloud_failures "$@" | sed -n 1p | grep .; }
cloud_failures() { # GROUP SINCE
    local name
    name=$(cloud_group "$1" AutoScalingGroupName) && [ -n "$name" ] || return 1
    aws autoscaling describe-scaling-activities --region "$REGION" --auto-scaling-group-name "$name" --max-items 20 --output text \
        --query "Activities[?StatusCode=='Failed'].[StartTime,StatusMessage]" | while IFS=$'\t' read -r began message; do
        if [ "$(date -d "$began" +%s)" -ge "$2" ]; then echo "$message"; fi
    done
}
cloud_terminate() { # GROUP INSTANCE: shrinks the group too, so that it is not replaced; at the minimum size it is replaced
    local output end=(aws autoscaling terminate-instance-in-auto-scaling-group --region "$REGION" --instance-id "$2")
    output=$("${end[@]}" --should-decrement-desired-capacity 2>&1) && return
    if [[ $output == *"min size"* ]] && output=$("${end[@]}" --no-should-decrement-desired-capacity 2>&1); then return; fi
    [[ $output == *"not found"* ]] || { echo "$output" >&2; return 1; }
}
cloud_credentials() { # TENANT USER: in the format of credential_process; the tag selects the data (sts:TagSession)
    local tags=() form='AccessKeyId: AccessKeyId, SecretAccessKey: SecretAccessKey, SessionToken: SessionToken, Expiration: Expiration'
    [ -z "$1" ] || tags=(--tags "Key=tenant,Value=$1")
    aws sts assume-role --region "$REGION" --role-arn "$USERS" --role-session-name "$2" "${tags[@]}" --output json \
        --query "Credentials.{Version: to_number('1'), $form}"
}
cloud_users() { # PROGRAM: configuration of users' SDKs and AWS CLI, unless they have their own
    printf '[default]\nregion = %s\ncredential_process = sudo -n %s\n' "$REGION" "$1" >"${root:-}/etc/supercloud/aws-config"
    echo '[ -e ~/.aws/config ] || export AWS_CONFIG_FILE=/etc/supercloud/aws-config' >"${root:-}/etc/profile.d/supercloud.sh"
}
CLOUD
cat >"$root/opt/supercloud/metadata.sh" <<'METADATA'
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
METADATA

chmod 755 "$root/opt/supercloud/metadata.sh"
if ! "$root/opt/supercloud/metadata.sh" install; then
    echo "$(date -u +%FT%TZ) FAILED start: users can reach the metadata service of the cloud, and the permissions of this machine's role"
    exit 1
fi
[ "${1:-}" != guard ] || exit 0
# shellcheck source=/dev/null
for file in etc/supercloud/env opt/supercloud/cloud.sh; do source "$root/$file"; done
self=$root/opt/supercloud/start.sh   # for later starts
[ "$0" -ef "$self" ] || install -m 755 "$0" "$self"
here=$root/opt/supercloud/boot

is_intact() { # is FOLDER the expected version, and undamaged?
    [ -f "$1/SHA256SUMS" ] && echo "$DIGEST  $1/SHA256SUMS" | sha256sum --status -c - &&
        (cd "$1" && sha256sum --status --strict -c SHA256SUMS)
}

fetch() {
    local fresh=$here.fresh
    cloud_ready || { problem='the command line of the cloud is missing and cannot be installed: use an image that has it'; return 1; }
    rm -rf "$fresh"
    mkdir -p "$fresh"
    cloud_fetch boot/boot.tar.gz "$fresh.tar.gz" || { problem='boot/boot.tar.gz cannot be fetched'; return 1; }
    tar -xzf "$fresh.tar.gz" --no-same-owner -C "$fresh" || { problem='boot/boot.tar.gz is damaged'; return 1; }
    rm -f "$fresh.tar.gz"
    is_intact "$fresh" ||
        { problem="boot/boot.tar.gz is not the version with the checksum $DIGEST: changed since this machine was created, or damaged"; return 1; }
    find "$fresh" -name '*.sh' -exec chmod 755 {} +
    rm -rf "$here"
    mv "$fresh" "$here"
}

tries=0
until is_intact "$here" || fetch; do
    tries=$((tries + 1))
    if [ "$tries" -ge "${BOOT_TRIES:-20}" ]; then
        echo "$(date -u +%FT%TZ) FAILED start: $problem"
        exit 1
    fi
    echo "$(date -u +%FT%TZ) start: $problem; trying again"
    sleep "${BOOT_PAUSE:-15}"
done
exec "$here/boot.sh"
