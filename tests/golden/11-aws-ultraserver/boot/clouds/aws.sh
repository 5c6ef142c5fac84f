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
