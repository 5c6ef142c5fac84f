# shellcheck shell=bash
# made by supercloud VERSION from the spec ultra; do not edit
#
# The steps of boot.sh, each an idempotent function. Sourced by boot.sh, after the environment and the provider's functions.

# shellcheck disable=SC2154  # root, here, etc: set by boot.sh; names in capitals: by /etc/supercloud/env

declare -A own=()

step_identity() { # metadata of the instance: id, type, zone, address, node, network, domain
    local key value
    declare -gA own=()
    mkdir -p "$root/run/supercloud"
    cloud_metadata >"$root/run/supercloud/metadata" || die "the metadata service does not respond"
    while IFS='=' read -r key value; do [ -z "$key" ] || own[$key]=$value; done <"$root/run/supercloud/metadata"
    [ -n "${own[id]:-}" ] || die "the metadata service returned no instance id"
    log "instance ${own[id]}, ${own[type]:-unknown type}, zone ${own[zone]:-unknown}, address ${own[address]:-unknown}"
}

step_names() { # service hosts have the host name that Slurm uses
    [ -z "$HOST" ] || [ "$(hostname)" = "$HOST" ] || hostnamectl set-hostname "$HOST" || die "the host name cannot be set to $HOST"
}

step_slurm_user() { # the daemons' user, created before packages and files: with the same UID on every machine
    local number=${SLURM_USER:-} has
    [ -n "$number" ] || { id slurm >/dev/null 2>&1 || useradd --system --no-create-home slurm || die "user slurm cannot be created"; return; }
    getent group slurm >/dev/null || groupadd --system --gid "$number" slurm || die "group slurm with GID $number cannot be created"
    getent passwd slurm >/dev/null || useradd --system --uid "$number" --gid "$number" --no-create-home \
        --home-dir /nonexistent --shell /usr/sbin/nologin slurm || die "user slurm with UID $number cannot be created"
    has=$(getent passwd slurm | cut -d: -f3,4)
    [ "$has" = "$number:$number" ] ||
        die "UID:GID of slurm is $has, on the other machines $number:$number: daemons reject requests from" \
            "a different UID; run in the image: groupmod -g $number slurm && usermod -u $number -g $number slurm"
}

step_state() { # the disk that outlives the machine: identified by its label, formatted only if it is blank
    local device found where=$root/srv/supercloud
    [ -n "$STATE_DISK" ] || { log "no state disk"; return; }
    if ! device=$(blkid -L "$STATE_LABEL"); then
        attempt "${BOOT_TRIES:-300}" cloud_disk "$STATE_DISK" || die "the disk $STATE_DISK is not attached"
        device=$(cloud_disk "$STATE_DISK")
        # wipefs lists every known signature; an unreadable disk must not be treated as blank
        found=$(wipefs --no-act --noheadings "$device") || die "cannot read $device"
        [ -z "$found" ] || die "$device has no label $STATE_LABEL but is not blank: $found"
        log "formatting $device: it is blank"
        mkfs.ext4 -q -L "$STATE_LABEL" "$device" || die "$device cannot be formatted"
    fi
    mkdir -p "$where"
    mountpoint -q "$where" || systemctl stop slurmctld slurmdbd mariadb 2>/dev/null || true
    mountpoint -q "$where" || mount "$device" "$where" || die "$device cannot be mounted"
    share slurmctld "$root/var/spool/slurmctld" slurm 755
    [ "$DATABASE" != here ] || share mysql "$root/var/lib/mysql" mysql 700
}

share() { # NAME PLACE OWNER MODE: mount a directory of the state disk where its daemon expects it
    id "$3" >/dev/null 2>&1 || useradd --system --no-create-home "$3" || die "user $3 cannot be created"
    mkdir -p "$root/srv/supercloud/$1" "$2"
    # the disk may come from a machine on which the user had a different UID
    [ "$(stat -c %U "$root/srv/supercloud/$1")" = "$3" ] || chown -R "$3:" "$root/srv/supercloud/$1"
    chmod "$4" "$root/srv/supercloud/$1"
    mountpoint -q "$2" || mount --bind "$root/srv/supercloud/$1" "$2" || die "$2 cannot be mounted"
}

slurm_version() { # PROGRAM: its release. Commands print it only if they find any slurm.conf; slurmdbd would also need
    # a database, so that sacctmgr of the same packages is queried instead
    local asked=$1 conf
    [ "$1" != slurmdbd ] || { command -v slurmdbd >/dev/null || return 0; asked=sacctmgr; }
    conf=$(mktemp)
    printf '%s\n' ClusterName=none SlurmctldHost=none >"$conf"
    { SLURM_CONF=$conf "$asked" -V 2>/dev/null || true; } | sed -n 's/.* \([0-9]*\.[0-9]*\).*/\1/p'
    rm -f "$conf"
}

step_release() { # the Slurm release of the configuration: from the image, the bucket or the distribution
    local program daemons found files packages=$root/opt/supercloud/packages
    case $ROLE in compute) program=slurmd ;; controller) program=slurmctld ;; database) program=slurmdbd ;; *) program=sinfo ;; esac
    if [ "$(slurm_version $program)" != "$RELEASE" ]; then
        if fetch_folder packages "$packages"; then
            log "installing packages from the bucket"
            if command -v apt-get >/dev/null; then files=("$packages"/*.deb); else files=("$packages"/*.rpm); fi
            install_packages "${files[@]}" || die "packages cannot be installed: $output"
        elif [ -z "$(slurm_version $program)" ] && command -v apt-get >/dev/null; then
            log "installing Slurm from the distribution"
            [ "$AUTH" = munge ] && daemons=munge || daemons=sackd
            install_packages slurmd slurmctld slurm-client slurmdbd libpam-slurm-adopt "$daemons" ||
                die "Slurm cannot be installed, use an image that includes it: $output"
        fi
    fi
    found=$(slurm_version $program)
    [ "$found" = "$RELEASE" ] ||
        die "$program is ${found:-missing}, the cluster has $RELEASE: use an image with it, or upload packages/packages.tar.gz to the bucket"
    # the scaler's user may have just been created, and needs the metadata service
    [ "$ROLE" != controller ] || "$root/opt/supercloud/metadata.sh" || die "the metadata service cannot be blocked for users"
}

random_key() { head -c 1024 /dev/urandom | base64 -w 0; }
random_password() { head -c 24 /dev/urandom | base64 -w 0 | tr -dc A-Za-z0-9; }

secret() { # NAME MAKE: a value from the secret store; the first controller (for the database its host) creates it, others wait for it
    local value code tries=0
    while :; do
        code=0
        value=$(cloud_secret "$1") || code=$?
        [ $code -ne 0 ] || break
        if [ $code -eq 3 ] && { [ "${CONTROLLERS%%,*}" = "$HOST.$DOMAIN" ] || [[ $ROLE == database && $1 == "$SECRET_DATABASE" ]]; }; then
            log "the secret $1 has no value yet: creating one" >&2
            "$2" | cloud_fill "$1" || return 1
            continue
        fi
        tries=$((tries + 1))
        [ $tries -lt "${BOOT_TRIES:-60}" ] || return 1
        sleep "${BOOT_PAUSE:-10}"
    done
    printf %s "$value"
}

key_file() { # path of the daemons' shared key
    if [ "$AUTH" = munge ]; then echo "$root/etc/munge/munge.key"; else echo "$etc/slurm.key"; fi
}

step_auth() { # the shared key: the controller reads it from the secret store, every other machine gets it from the controller, once
    local file owner=munge folder='' had=$root/etc/supercloud/key-of
    file=$(key_file)
    [ "$AUTH" = munge ] || owner=slurm
    [ -n "${own[id]:-}" ] || step_identity
    # an image made of such a machine has the mark of another instance
    if [ "$ROLE" = controller ] || [ ! -s "$file" ] || ! grep -qxE "${own[id]}( unconfirmed)?" "$had" 2>/dev/null; then
        mkdir -p "$(dirname "$file")"
        # boot.sh always removes it at exit
        secret_folder=$(umask 077 && mktemp -d "$(dirname "$file")/.fresh.XXXXXX")
        folder=$secret_folder
        if [ "$ROLE" = controller ]; then
            (umask 077 && secret "$SECRET_AUTH" random_key | base64 -d >"$folder/key") || die "the secret $SECRET_AUTH cannot be read"
        else
            log "requesting the key from the controller"
            openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=join -keyout "$folder/private" -out "$folder/certificate" \
                2>/dev/null || die "openssl cannot create a certificate"
            retry "${BOOT_TRIES:-60}" from_controller key "$folder" || die "the controller did not send the key: $output"
            [ ! -e "$folder/refused" ] || die "the controller did not send the key: $(cat "$folder/answer"); if the disk of this instance is new, remove its line from /var/lib/supercloud/keys-given there"
            openssl cms -decrypt -binary -inform DER -in "$folder/answer" -recip "$folder/certificate" -inkey "$folder/private" \
                -out "$folder/key" || die "the controller's response cannot be decrypted"
        fi
        # munge rejects keys of less than 32 bytes
        [ "$(stat -c %s "$folder/key")" -ge 32 ] || die "the key is shorter than 32 bytes"
        if ! cmp -s "$folder/key" "$file"; then
            chown "$owner:" "$folder/key"
            chmod 400 "$folder/key"
            mv "$folder/key" "$file"
            changed $owner
        fi
        rm -rf "$folder"
        [ "$ROLE" = controller ] || echo "${own[id]} unconfirmed" >"$had"
    fi
    if [ "$ROLE" != controller ] && ! grep -qx "${own[id]}" "$had"; then
        # from now on the controller sends it to this machine no more
        retry "${BOOT_TRIES:-60}" from_controller confirm || die "the key cannot be confirmed to the controller: $output"
        echo "${own[id]}" >"$had"
    fi
    [ "$AUTH" != munge ] || service munge
}

from_controller() { # key FOLDER | confirm: request from a port reserved for root; see keys.py for the other conditions
    local body=() code
    [ "$1" = confirm ] || body=(--data-binary "@$2/certificate" -o "$2/answer")
    [ "$1" = key ] || body=(-d '' -o /dev/null)
    code=$(curl -sS --noproxy '*' --local-port 600-1023 --max-time 330 -w '%{http_code}' "${body[@]}" \
        "http://${CONTROLLERS%%,*}:$KEY_PORT/$1") || { echo "no response from ${CONTROLLERS%%,*}, port $KEY_PORT"; return 1; }
    [ "$code" != 409 ] || { touch "$2/refused"; return 0; }   # a further attempt would fail too
    [ "$code" = 200 ] || { [ "$1" = confirm ] || cat "$2/answer"; echo " ($code)"; return 1; }
}

step_keys() { # the controller sends the key to the other machines; the list of those that have it is on the state disk
    local given=$root/var/lib/supercloud
    mkdir -p "$given" "$root/etc/systemd/system"
    chmod 700 "$given"
    [ -z "$STATE_DISK" ] || share keys "$given" root 700
    cat >"$root/etc/systemd/system/supercloud-keys.service" <<UNIT
[Unit]
Description=Gives machines of the cluster the key of its daemons, once each
After=network.target
[Service]
ExecStart=/usr/bin/env python3 $here/keys.py $KEY_PORT $(key_file) $given/keys-given
Restart=always
RestartSec=5
[Install]
WantedBy=multi-user.target
UNIT
    systemctl daemon-reload
    service supercloud-keys
}

fetch_folder() { # NAME FOLDER: fetch and unpack an archive of the bucket; returns 1 if there is none, ends if it is damaged
    local fresh=$2.fresh
    rm -rf "$fresh"
    mkdir -p "$fresh"
    cloud_fetch "$1/$1.tar.gz" "$fresh.tar.gz" || return 1
    tar -xzf "$fresh.tar.gz" --no-same-owner -C "$fresh" || die "$1/$1.tar.gz is damaged"
    rm -f "$fresh.tar.gz"
    [ -f "$fresh/SHA256SUMS" ] || die "$1/$1.tar.gz has no SHA256SUMS"
    (cd "$fresh" && sha256sum --quiet --strict -c SHA256SUMS) || die "files of $1/$1.tar.gz do not match its SHA256SUMS"
    rm -rf "$2"
    mv "$fresh" "$2"
}

step_bundle() { # configuration and programs of Slurm for this role
    local from=$root/opt/supercloud/slurm path
    fetch_folder slurm "$from" || die "slurm/slurm.tar.gz cannot be fetched"
    mkdir -p "$etc" "$root/var/log/slurm" "$root/var/spool/slurmctld" "$root/var/spool/slurmd"
    chown slurm: "$root/var/log/slurm" "$root/var/spool/slurmctld"
    while read -r _ path; do
        case $ROLE/$path in
        compute/*.sh | compute/node-facts.txt) ;;   # the rest is fetched from the controller (configless mode)
        compute/*) continue ;;
        login/slurmdbd.conf | controller/slurmdbd.conf | database/slurmdbd.conf) continue ;;   # step_database
        esac
        [[ $path != *.sh ]] || chmod 755 "$from/$path"
        cmp -s "$from/$path" "$etc/$path" || { cp -p "$from/$path" "$etc/$path.fresh" && mv "$etc/$path.fresh" "$etc/$path"; changed slurm; }
    done <"$from/SHA256SUMS"
    [ -z "$POOL" ] || echo "$POOL" >"$etc/pool"
}

step_sackd() { # with auth/slurm a daemon of the host signs commands: sackd, until another daemon runs
    local options=$root/etc/supercloud/sackd unit=$root/etc/systemd/system/sackd.service.d
    [ "$AUTH" = slurm ] || { log "not needed: commands use munge"; return; }
    if [ "$ROLE" = compute ] && systemctl is-active -q slurmd; then log "not needed: slurmd runs"; return; fi
    command -v sackd >/dev/null ||
        die "sackd is missing, without which commands cannot reach the controller: use an image with it (package sackd of Debian, slurm-smd-sackd of SchedMD), add it to packages/packages.tar.gz in the bucket, or set scheduler.auth: munge"
    if [ "$ROLE" = compute ]; then   # it has no slurm.conf
        mkdir -p "$unit"
        echo "SACKD_OPTIONS='--conf-server $CONTROLLERS'" >"$options"
        printf '[Unit]\nConditionPathExists=\n[Service]\nEnvironmentFile=%s\n' "$options" >"$unit/supercloud.conf"
        systemctl daemon-reload
    fi
    service sackd
}

step_database() { # MariaDB and slurmdbd; the password is in the secret store only
    local password user=slurm file=$etc/slurmdbd.conf fresh from=$root/opt/supercloud/slurm/slurmdbd.conf
    [ "$DATABASE" != no ] || { log "no database on this host"; return; }
    password=$(secret "$SECRET_DATABASE" random_password) || die "the secret $SECRET_DATABASE cannot be read"
    if [[ $password == \{* ]]; then   # a managed database has user and password in one secret
        user=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["username"])' <<<"$password") || die "the secret $SECRET_DATABASE has no user name"
        password=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["password"])' <<<"$password") || die "the secret $SECRET_DATABASE has no password"
    fi
    [ -n "$password" ] || die "the secret $SECRET_DATABASE is empty"
    fresh=$(umask 077 && mktemp "$file.XXXXXX")
    {
        grep -vE '^Storage(Host|User)=' "$from"
        echo "StorageHost=${DATABASE_HOST:-localhost}"
        echo "StorageUser=$user"
        echo "StoragePass=${password//#/\\#}"   # an unescaped # starts a comment
    } >"$fresh"
    chown slurm: "$fresh"
    chmod 600 "$fresh"
    if cmp -s "$fresh" "$file"; then rm -f "$fresh"; else mv "$fresh" "$file"; changed slurmdbd; fi
    if [ "$DATABASE" = managed ]; then start_slurmdbd; return; fi
    command -v mariadbd >/dev/null || install_packages mariadb-server ||
        die "MariaDB cannot be installed, use an image that includes it: $output"
    service mariadb
    attempt 30 mariadb -e 'select 1' || die "MariaDB does not respond"
    mariadb <<SQL || die "the database cannot be prepared"
create database if not exists slurm_acct_db;
create user if not exists slurm@localhost identified by '$password';
alter user slurm@localhost identified by '$password';
grant all on slurm_acct_db.* to slurm@localhost;
SQL
    start_slurmdbd
}

start_slurmdbd() {
    service slurmdbd
    attempt 60 sacctmgr -n show cluster || die "slurmdbd does not respond"
}

# Mount points that jobs need: a file for each step that mounts some, with lines "MOUNT_POINT" or, if it could not be mounted, "MOUNT_POINT REASON".
# health-check.sh reads them before each job: a node does not run jobs without its file systems.
mount_states=$root/etc/supercloud/mount-state

list_missing_mounts() { { cat "$mount_states-disks" "$mount_states-mounts" 2>/dev/null || true; } | sed -n 's/^\([^ ]*\) \(.*\)/mount \1: \2/p' | paste -sd, | sed 's/,mount /, mount /g'; }

record_mount() { # STEP MOUNT_POINT [REASON]: into the new file of the step; a reason is reported when it is new
    local line="$2${3:+ ${3//[$'\n\t\'\"']/ }}"
    echo "$line" >>"$mount_states-$1.fresh"
    if [ -z "${3:-}" ]; then
        ! has_row "$2" "$mount_states-$1" 2>/dev/null || report "$2 is mounted now"
    elif [ -z "${BOOT_REPEATED:-}" ] || ! grep -qxF "$line" "$mount_states-$1" 2>/dev/null; then
        report "FAILED $step: ${line/ /: }; it is tried again every two minutes" >&2
    fi
}

retry_mounts() { # a timer repeats the steps until all mount points are mounted; it survives a restart of the machine
    if [ -z "$(list_missing_mounts)" ]; then
        systemctl disable -q --now supercloud-mounts.timer 2>/dev/null || true
        release_node
        return
    fi
    # without it the next start of the machine tries again
    repeat_program supercloud-mounts "${BOOT_RETRY:-120}" 'Mounts the file systems of the cluster that could not be mounted before' \
        "$here/boot.sh disks mounts homes" 'Environment=BOOT_REPEATED=yes BOOT_TRIES=1' \
        Standard{Output,Error}=append:/var/log/supercloud/boot.log || log "the timer supercloud-mounts was not started"
}

drain_node() { # NODE: no jobs until all mount points are mounted; a job that it already has fails in its prolog, and is requeued
    local reason
    reason=$(list_missing_mounts)
    [ -n "$reason" ] || { release_node; return; }
    run_scontrol update NodeName="$1" State=DRAIN Reason="${reason:0:240}" || die "$1 cannot be drained without its file systems: $reason"
    log "drained: $reason"
}

release_node() { # resume a node that was drained only because of a file system that was not mounted
    local node reason
    [ "$ROLE" = compute ] && [ -e "$root/etc/supercloud/node" ] || return 0
    node=$(sed -n "s/^NODE='\(.*\)'/\1/p" "$root/etc/supercloud/node")
    reason=$(run_scontrol show node "$node" 2>/dev/null | sed -n 's/^ *Reason=//p') || return 0
    case $reason in *\;*) return ;; "mount /"* | "health-check: mount /"*) ;; *) return 0 ;; esac
    if run_scontrol update NodeName="$node" State=RESUME; then report "$node is resumed"; else log "$node cannot be resumed"; fi
}

step_mounts() { # file systems of the plan; mounts.txt has options and mount points, the environment has the sources
    local name kind mount_point type port options output problem
    mkdir -p "$(dirname "$mount_states")"
    : >"$mount_states-mounts.fresh"
    # not from stdin, which programs below may read
    while read -r -u 3 name kind mount_point type port options; do
        [[ $name != \#* ]] || continue
        problem=''
        mount_storage "$name" "$kind" "$mount_point" "$type" "$port" "$options" || problem=${output:-unknown error}
        record_mount mounts "$mount_point" "$problem"
    done 3<"$settings/mounts.txt"
    mv -f "$mount_states-mounts.fresh" "$mount_states-mounts"
    retry_mounts
}

mount_storage() { # NAME KIND MOUNT_POINT TYPE PORT OPTIONS; returns 1 with the reason in $output
    local name=$1 kind=$2 mount_point=$3 type=$4 port=$5 options=$6 source server client tries=1
    source=$(sed -n "s/^$name=//p" <<<"$STORAGE")
    [ -n "$source" ] || { output="no source is specified for the storage $name"; return 1; }
    mkdir -p "$root$mount_point" 2>/dev/null || true
    if mountpoint -q "$root$mount_point"; then log "$mount_point is already mounted"; return; fi
    case $kind in
    lustre)
        install_client "$type" || return 1
        configure_fabric "$name" || report "FAILED $step: $mount_point: not over the fabric, but over tcp: $output" >&2
        output=$(modprobe lustre 2>&1) || { output="the client of Lustre cannot be loaded: $output"; return 1; }
        ;;
    nfs) install_client "$type" || return 1 ;;
    weka)   # every backend serves the client's installer once its software is installed; the file system exists later
        server=${source%%[,/]*}:$port client=$root/opt/supercloud/weka-client
        # only nodes wait: without it they have nothing to do
        [ "$ROLE" != compute ] || tries=${BOOT_TRIES:-180}
        command -v weka >/dev/null || { retry "$tries" curl -sSf "http://$server/dist/v1/install" -o "$client" &&
            sh "$client" </dev/null; } || { output="the client of $server cannot be installed: $output"; return 1; }
        ;;
    *) output="mounting storage of kind $kind is not supported"; return 1 ;;
    esac
    log "mounting $name at $mount_point"
    retry "$tries" timeout 300 mount -t "$type" -o "$options" "$source" "$root$mount_point" ||
        { output="$source cannot be mounted: $output"; return 1; }
}

has_client() { # PROGRAM MODULE, of which one is -
    if [ "$1" != - ]; then command -v "$1" >/dev/null; else modprobe --dry-run "$2" 2>/dev/null; fi
}

install_client() { # TYPE: the software that mounts it, from the packages of clients.txt; returns 1 with the reason in $output
    local types program module distribution version packages url suite component key system='' ours='' known=''
    # shellcheck source=/dev/null
    [ ! -r "$root/etc/os-release" ] || system=$(. "$root/etc/os-release" && echo "${ID:-} ${VERSION_ID:-}")
    while read -r -u 4 types program module distribution version packages url suite component key; do
        [[ ,$types, == *,$1,* ]] || continue
        known=yes
        ! has_client "$program" "$module" || return 0
        [[ $distribution == "${system% *}" && ($version == - || $version == "${system#* }") ]] || continue
        ours=$program/$module
        packages=${packages//\{kernel\}/$(uname -r)}
        log "installing ${packages//,/ }"
        [ "$url" = - ] || add_repository "$1" "$url $suite $component" "$key" || return 1
        # shellcheck disable=SC2086  # one word per package
        install_packages ${packages//,/ } || { output="${packages//,/ } cannot be installed: $output"; break; }
        has_client "$program" "$module" || { output="${packages//,/ } is installed, but has no client for the kernel $(uname -r)"; break; }
        return 0
    done 4< <(grep -v '^#' "$settings/clients.txt")
    [ -n "$known" ] || return 0   # the type needs nothing
    if [ -z "$ours" ]; then
        output="this image has no client for $1 and ${system:-its distribution} is not known to have a package of one: use an image that has it"
    else # a source that fails would also fail later installations
        rm -f "$root/etc/apt/sources.list.d/supercloud-$1.list"
    fi
    return 1
}

add_repository() { # NAME SOURCE KEY: packages of it must be signed with this key
    local keys=$root/usr/share/keyrings list=$root/etc/apt/sources.list.d
    mkdir -p "$keys" "$list"
    retry 3 curl --fail --silent --show-error --proto '=https' --output "$keys/supercloud-$1.asc" "$3" ||
        { output="the key of the repository of the client for $1 cannot be fetched: $output"; return 1; }
    echo "deb [signed-by=$keys/supercloud-$1.asc] $2" >"$list/supercloud-$1.list"
}

list_adapters() { # DRIVER: RDMA devices that it serves
    local device
    for device in "$root"/sys/class/infiniband/*; do
        [ ! -e "$device/device/driver" ] || [ "$(basename "$(readlink -f "$device/device/driver")")" != "$1" ] || echo "${device##*/}"
    done
}

configure_fabric() { # STORAGE: LNet uses adapters of the fabric first, and tcp; returns 1 with the reason in $output
    local kind='' count credits adapters=() main number found
    read -r kind count credits < <(awk -v name="$1" -v pool="${POOL:-}" '$1 == name && $2 == pool { print $3, $4, $5 }' "$settings/fabrics.txt") || true
    [ -n "$kind" ] || return 0
    found=$(lnetctl net show --net "$kind" 2>/dev/null) || true
    [[ $found != *"@$kind"* ]] || return 0
    mapfile -t adapters < <(list_adapters "$kind")
    [ -n "${adapters[*]}" ] || { output="this machine has no $kind adapter"; return 1; }
    [ "$count" -le ${#adapters[@]} ] || count=${#adapters[@]}
    found=$(ip -4 -o route show default) || true
    found=${found%%$'\n'*}
    main=${found#* dev }
    main=${main%% *}
    log "LNet uses $count of ${#adapters[@]} $kind adapters, and $main"
    run_all <<COMMANDS || return 1
modprobe lnet
modprobe k${kind}lnd ipif_name=$main
modprobe ksocklnd
lnetctl lnet configure
COMMANDS
    # LNet may have started with the first interface of the machine
    lnetctl net del --net tcp >/dev/null 2>&1 || true
    run_all <<<"lnetctl net add --net tcp --if $main" || return 1
    # evenly spread over the network cards
    for ((number = 0; number < count; number++)); do
        run_all <<<"lnetctl net add --net $kind --if ${adapters[number * ${#adapters[@]} / count]} --peer-credits $credits" || return 1
    done
    run_all <<COMMANDS
lnetctl set discovery 1
lnetctl udsp add --src $kind --priority 0
COMMANDS
}

run_all() { # commands from stdin, one a line; returns 1 with the reason in $output
    local words
    while read -r -a words; do output=$("${words[@]}" 2>&1 </dev/null) || { output="${words[*]}: $output"; return 1; }; done
}

# shellcheck disable=SC2034  # for the steps
disk_label=sc-local

step_disks() { # internal disks; jobs' files on them are deleted by the epilog
    local output problem=''
    mkdir -p "$(dirname "$mount_states")"
    : >"$mount_states-disks.fresh"
    if [ -n "${LOCAL_MOUNT:-}" ]; then
        mount_disks "$LOCAL_MOUNT" || problem=${output:-unknown error}
        record_mount disks "$LOCAL_MOUNT" "$problem"
    fi
    mv -f "$mount_states-disks.fresh" "$mount_states-disks"
}

list_disks() { # devices of the internal disks
    local model links found
    model=$(sed -n 's/^model //p' "$settings/disks.txt")
    links=$(sed -n 's/^links //p' "$settings/disks.txt")
    for found in "$root"/sys/block/*; do
        [[ -z $model || $(cat "$found/device/model" 2>/dev/null) != "$model"* ]] || echo "$root/dev/${found##*/}"
    done
    for found in "$root/dev/disk/by-id/${links:-none}"*; do
        [[ -z $links || ! -e $found || $found == *-part* ]] || readlink -f "$found"
    done
}

mount_disks() { # MOUNT_POINT; returns 1 with the reason in $output
    local mount_point=$root$1 unit='' ready='' expected disks=() device
    mkdir -p "$mount_point"
    if mountpoint -q "$mount_point"; then log "$1 is already mounted"; return; fi
    read -r unit ready < <(sed -n 's/^prepared //p' "$settings/disks.txt") || true
    # an image may have a service that has joined them already
    if [ -n "$unit" ] && systemctl cat "$unit" >/dev/null 2>&1; then
        systemctl start "$unit" || log "$unit failed"
        if mountpoint -q "$root$ready"; then
            log "$unit has mounted the disks at $ready"
            output=$(mount --bind "$root$ready" "$mount_point" 2>&1) || return 1
            chmod 1777 "$mount_point"
            return
        fi
    fi
    mapfile -t disks < <(list_disks | sort -u)
    [ -n "${disks[*]}" ] || { output="no internal disks were found ($(grep -m 1 -e '^model ' -e '^links ' "$settings/disks.txt"))"; return 1; }
    expected=$(awk -v pool="$POOL" '$1 == "count" && $2 == pool { print $3 }' "$settings/disks.txt")
    [[ ${expected:--} == - || ${#disks[@]} -eq $expected ]] ||
        { output="${#disks[@]} of $expected internal disks were found: ${disks[*]}"; return 1; }
    command -v mkfs.xfs >/dev/null || LEAN=yes install_packages xfsprogs || { output="xfsprogs cannot be installed: $output"; return 1; }
    join_disks "${disks[@]}" || return 1
    format_disk || return 1
    log "mounting $device at $1"
    output=$(mount -t xfs -o noatime "$device" "$mount_point" 2>&1) || { output="$device cannot be mounted: $output"; return 1; }
    chmod 1777 "$mount_point"
}

disk_contents() { # DEVICE: lines "TYPE LABEL" of all signatures: file systems, partition tables, members of arrays and volumes
    wipefs --no-act --noheadings --output TYPE,LABEL "$1" | sed 's/  */ /g; s/ $//'
}

join_disks() { # DISK...: sets $device; several disks are one array without redundancy
    local disk found blank=() ours=()
    for disk; do
        found=$(disk_contents "$disk") || { output="$disk cannot be read"; return 1; }
        case $found in
        '') blank+=("$disk") ;;
        *$'\n'*) output="$disk is neither blank nor was formatted here, and is left as it is: ${found//$'\n'/, }"; return 1 ;;
        "xfs $disk_label" | "linux_raid_member any:$disk_label") ours+=("$disk") ;;
        *) output="$disk is neither blank nor was formatted here, and is left as it is: $found"; return 1 ;;
        esac
    done
    device=$1
    [ $# -gt 1 ] || return 0
    command -v mdadm >/dev/null || LEAN=yes install_packages mdadm || { output="mdadm cannot be installed: $output"; return 1; }
    if [ -z "${blank[*]}" ]; then # the array of before a restart, which the system may have started by itself
        device=$(find "$root/sys/block/${1##*/}/holders" -name 'md*' -printf "$root/dev/%f\n" 2>/dev/null) || true
        device=${device%%$'\n'*}
        [ -z "$device" ] || return 0
        device=/dev/md/$disk_label
        output=$(mdadm --assemble "$device" "$@" 2>&1) || { output="the disks cannot be joined again: $output"; return 1; }
        return
    fi
    # the provider replaces disks by blank ones: then nothing is left of an array without redundancy
    for disk in "${ours[@]}"; do mdadm --stop --scan 2>/dev/null || true; wipefs -q --all "$disk" || { output="$disk is in use"; return 1; }; done
    device=/dev/md/$disk_label
    log "joining $# disks"
    output=$(mdadm --create "$device" --run --level=0 --raid-devices=$# --homehost=any --name="$disk_label" "$@" 2>&1) ||
        { output="$* cannot be joined: $output"; return 1; }
}

format_disk() { # $device, if it is blank
    local found
    found=$(disk_contents "$device") || { output="$device cannot be read"; return 1; }
    case $found in
    '')
        log "formatting $device: it is blank"
        output=$(mkfs.xfs -q -K -L "$disk_label" "$device" 2>&1) || { output="$device cannot be formatted: $output"; return 1; }
        ;;
    "xfs $disk_label") ;;
    *) output="$device is neither blank nor was formatted here, and is left as it is: $found"; return 1 ;;
    esac
}

step_users() { # users get cloud credentials from a program that identifies them, not from the machine's role
    local rule=$root/etc/sudoers.d/supercloud program=/opt/supercloud/boot/credentials.sh
    [ -n "${USERS:-}" ] || { log "users get no credentials on this cloud"; return; }
    command -v visudo >/dev/null || { log "this image has no sudo: users get no cloud credentials"; return; }
    mkdir -p "$root/etc/sudoers.d" "$root/etc/profile.d"
    (umask 337 && printf 'Defaults!%s env_reset, !env_keep, !requiretty\nALL ALL=(root:root) NOPASSWD: %s\n' "$program" "$program" >"$rule.fresh")
    visudo -cqf "$rule.fresh" || die "sudo rejects $rule.fresh"
    mv -f "$rule.fresh" "$rule"
    cloud_users "$program"
}

step_devices() { # an instance that lacks an accelerator must not join
    local pool prefix digits count devices first _adapters number missing=()
    while read -r pool prefix digits count devices first _adapters; do [ "$pool" = "$POOL" ] && break; done <"$etc/node-facts.txt"
    [ "$pool" = "$POOL" ] || die "node-facts.txt has no pool $POOL"
    log "host names are ${prefix} and $digits digits"
    if [ "$devices" = /dev/nvidia ] && command -v nvidia-smi >/dev/null; then nvidia-smi >/dev/null || true; fi   # creates the device files
    for ((number = first; number < first + count; number++)); do
        [ -e "$root$devices$number" ] || missing+=("$devices$number")
    done
    [ -z "${missing[*]}" ] || die "missing devices of $count accelerators: ${missing[*]}"
}

# by default, the module admits everyone if it cannot find out which jobs run on the node
adopt_rule='account required pam_slurm_adopt.so action_generic_failure=deny'

name_adopting_node() { # NODE: the module finds only names of slurm.conf, which dynamic nodes have not; until then it admits nobody
    local pam=$root/etc/pam.d/sshd
    [ ! -e "$pam" ] || sed -i "s|^$adopt_rule.*# supercloud\$|$adopt_rule nodename=$1 # supercloud|" "$pam"
}

step_ssh() { # users can log in only to nodes where one of their jobs runs; without the module for that, only administrators can
    local module='' directory before pam=$root/etc/pam.d/sshd conf=$root/etc/ssh/sshd_config.d/00-supercloud.conf setting
    local settings
    command -v sshd >/dev/null || { log "this image has no sshd"; return; }
    mkdir -p "$root/run/sshd"   # sshd -T needs it, and sshd may not have started yet
    before=$(cat "$conf" 2>/dev/null || true)
    for directory in "$root"/{lib,lib64,usr/lib,usr/lib64}/{,*-linux-gnu/}security; do
        [ ! -e "$directory/pam_slurm_adopt.so" ] || module=$directory/pam_slurm_adopt.so
    done
    # read completely before matching: with pipefail, a command whose output `grep -q` no longer reads fails
    settings=$(sshd -T 2>/dev/null) || settings=''
    if [ -n "$module" ] && [ -e "$pam" ] && grep -qix 'usepam yes' <<<"$settings"; then
        log "sshd uses $module"
        # pam_systemd would move processes out of the job's cgroup
        if command -v pam-auth-update >/dev/null; then pam-auth-update --package --remove systemd || die "pam_systemd cannot be disabled"; fi
        [ ! -e "$root/etc/pam.d/password-auth" ] || sed -i '/pam_systemd/d' "$root/etc/pam.d/password-auth"
        sed -i '/pam_slurm_adopt\|# supercloud/d' "$pam"
        # the last account rules; these groups may use sudo in Debian and Red Hat
        printf '%s\n' 'account sufficient pam_succeed_if.so quiet user ingroup sudo # supercloud' \
            'account sufficient pam_succeed_if.so quiet user ingroup wheel # supercloud' \
            "$adopt_rule # supercloud" >>"$pam"
        rm -f "$conf"
    else
        log "this image has no pam_slurm_adopt, or sshd does not use PAM: only root and members of sudo and wheel may log in"
        mkdir -p "$(dirname "$conf")"
        echo 'AllowGroups root sudo wheel' >"$conf"
        setting=$(sshd -T 2>/dev/null | grep -i '^allowgroups ') || die "sshd does not read $conf: add an Include of its folder to sshd_config in the image"
        log "sshd: $setting"
    fi
    # the unit has one of these names
    [ "$before" = "$(cat "$conf" 2>/dev/null || true)" ] || systemctl try-reload-or-restart ssh sshd 2>/dev/null || true
}

people=$root/opt/supercloud/users                  # the list of users, as published
accounts_made=$root/etc/supercloud/logins          # names and UIDs of the accounts that are made here; removed users stay in it
accounts_applied=$root/etc/supercloud/logins-sums  # the list that was applied last
people_changed=''
key_folder=$root/etc/ssh/authorized_keys.d         # outside of homes: a file system at /home would hide keys, and users cannot change it

step_logins() { # accounts and keys at every start, before file systems are mounted
    keep_image_key
    fetch_users || return 0
    apply_users
}

step_changes() { # by timers: accounts and keys if the list has changed
    fetch_users || return 0
    cmp -s "$people/SHA256SUMS" "$accounts_applied" || apply_users
}

fetch_users() {
    retry 3 fetch_folder users "$people" || { log "users/users.tar.gz cannot be fetched, accounts stay as they are: $output"; return 1; }
}

apply_users() {
    local name uid gid shell is_administrator administrators=() others=()
    people_changed=yes
    touch "$accounts_made"
    mkdir -p "$key_folder"
    chmod 755 "$key_folder"
    while read -r gid name; do
        [[ $gid == \#* ]] || make_group "$gid" "$name"
    done <"$people/groups.txt"
    while read -r name uid gid shell is_administrator; do
        [[ $name != \#* ]] || continue
        make_login "$name" "$uid" "$gid" "$shell" || continue
        if [ "$is_administrator" = yes ]; then administrators+=("$name"); else others+=("$name"); fi
        set_administrator "$name" "$is_administrator"
        set_keys "$name" "$is_administrator"
    done <"$people/users.txt"
    while read -r name uid; do
        has_row "$name" "$people/users.txt" || lock_login "$name" "$uid"
    done <"$accounts_made"
    write_sudo_rules "${administrators[@]}"
    write_sshd_rules "${others[@]}"
    cp "$people/SHA256SUMS" "$accounts_applied"
}

find_account() { getent passwd "$1" | cut -d: -f"$2" || true; } # NAME|UID FIELD

make_group() { # GID NAME
    local has
    [ -z "$(getent group "$1" || true)" ] || return 0
    has=$(getent group "$2" | cut -d: -f3 || true)
    if [ -n "$has" ]; then log "the group $2 has the GID $has on this machine, not $1: left unchanged"; return 0; fi
    groupadd --gid "$1" "$2" || die "the group $2 with GID $1 cannot be created"
}

make_login() { # NAME UID GID SHELL: create or change the account; returns 1 if the name or the UID belongs to someone else
    local name=$1 uid=$2 gid=$3 shell=$4 has owner
    has=$(find_account "$name" 3)
    owner=$(find_account "$uid" 1)
    if [ -n "$owner" ] && [ "$owner" != "$name" ]; then
        # Slurm starts processes of jobs by their UID
        [ "$ROLE" != compute ] || die "the UID $uid of $name belongs to $owner on this machine, as which jobs of $name would run:" \
            "give $name another UID in users, or remove $owner from the image"
        log "$name: not created: the UID $uid belongs to $owner on this machine; give $name another UID in users, or remove $owner from the image"
        return 1
    fi
    if [ -n "$has" ] && [ "$has" != "$uid" ]; then
        log "$name: left unchanged: it has the UID $has on this machine, not $uid; UIDs are never changed, because files keep their owner's number"
        return 1
    fi
    if [ -z "$(getent group "$gid" || true)" ]; then log "$name: not created: no group has the GID $gid"; return 1; fi
    if [ ! -x "$root$shell" ]; then log "$name: this machine has no $shell, using /bin/bash"; shell=/bin/bash; fi
    if [ -z "$has" ]; then
        log "creating $name with UID $uid"
        # no password matches *; unlike ! it is not a locked account, for which sshd rejects keys too
        useradd --uid "$uid" --gid "$gid" --shell "$shell" --home-dir "/home/$name" --no-create-home --password '*' "$name" ||
            die "$name with UID $uid cannot be created"
    else
        [ "$(find_account "$name" 4):$(find_account "$name" 7)" = "$gid:$shell" ] ||
            usermod --gid "$gid" --shell "$shell" "$name" || die "$name cannot be changed"
        if is_locked "$name"; then
            log "$name is in the list again: unlocking it"
            usermod --unlock --expiredate '' "$name" || die "$name cannot be unlocked"
        fi
    fi
    grep -qxF "$name $uid" "$accounts_made" || echo "$name $uid" >>"$accounts_made"
}

is_locked() { [ "$(getent shadow "$1" | cut -d: -f8 || true)" = 1 ]; }

lock_login() { # NAME UID: a user that is not in the list any more; files and jobs are kept
    rm -f "$key_folder/$1"
    if [ "$(find_account "$1" 3)" != "$2" ] || is_locked "$1"; then return 0; fi
    log "$1 is not in the list of users any more: locking it"
    # an expired account is also rejected with a key in its home
    usermod --lock --expiredate 1 "$1" || die "$1 cannot be locked"
    set_administrator "$1" no
    [ "$ROLE" = compute ] || loginctl terminate-user "$1" 2>/dev/null || true
}

set_administrator() { # NAME yes|no: the group that may use sudo in Debian or Red Hat
    local group=sudo
    [ -n "$(getent group sudo || true)" ] || group=wheel
    if [[ " $(id -nG "$1") " == *" $group "* ]]; then
        [ "$2" = yes ] || gpasswd --delete "$1" "$group" >/dev/null || die "$1 cannot be removed from the group $group"
    elif [ "$2" = yes ]; then usermod --append --groups "$group" "$1" || die "$1 cannot be added to the group $group"; fi
}

set_keys() { # NAME ADMINISTRATOR: with login hosts, only administrators log in to the controller
    if [ "${LOGINS:-users}:$2" = administrators:no ]; then rm -f "$key_folder/$1"; return; fi
    replace_file "$people/keys/$1" "$key_folder/$1" 644 || true
}

replace_file() { # NEW FILE MODE: returns 1 if it has this content already
    if cmp -s "$1" "$2"; then return 1; fi
    mkdir -p "$(dirname "$2")"
    install -m "$3" "$1" "$2.fresh"
    mv -f "$2.fresh" "$2"
}

write_sudo_rules() { # ADMINISTRATOR...: they have no password that sudo could ask for
    local rule=$root/etc/sudoers.d/supercloud-administrators fresh
    fresh=$(mktemp)
    if [ -z "$*" ]; then rm -f "$rule"
    elif ! command -v visudo >/dev/null; then log "this image has no sudo: administrators cannot become root"
    else
        printf '%s ALL=(ALL:ALL) NOPASSWD: ALL\n' "$@" >"$fresh"
        visudo -cqf "$fresh" || die "sudo rejects the rules of administrators"
        replace_file "$fresh" "$rule" 440 || true
    fi
    rm -f "$fresh"
}

write_sshd_rules() { # USER...: users that are not administrators
    local conf=$root/etc/ssh/sshd_config.d/01-supercloud-users.conf fresh settings
    command -v sshd >/dev/null || { log "this image has no sshd"; return; }
    fresh=$(mktemp)
    echo 'AuthorizedKeysFile .ssh/authorized_keys /etc/ssh/authorized_keys.d/%u' >"$fresh"
    # a key in a home that machines share would be accepted here too
    [ "${LOGINS:-users}" != administrators ] || [ -z "$*" ] || printf 'DenyUsers %s\n' "$@" >>"$fresh"
    if replace_file "$fresh" "$conf" 644; then
        mkdir -p "$root/run/sshd"   # sshd -T needs it, and sshd may not have started yet
        settings=$(sshd -T 2>/dev/null) || settings=''
        [[ $settings == *authorized_keys.d/* ]] ||
            log "sshd does not read $conf, users cannot log in: add an Include of its folder to sshd_config in the image"
        systemctl try-reload-or-restart ssh sshd 2>/dev/null || true
    fi
    rm -f "$fresh"
}

image_user() { # the user that cloud-init gives the key pair of the instance
    cat "$root/etc/cloud/cloud.cfg" "$root"/etc/cloud/cloud.cfg.d/*.cfg 2>/dev/null |
        sed -n "/default_user:/,/name:/s/^ *name: *[\"']\?\([a-z_][a-z0-9_.-]*\)[\"']\? *$/\1/p" | tail -n 1 || true
}

keep_image_key() {
    local name file
    name=$(image_user)
    file=$root/home/$name/.ssh/authorized_keys
    if [ -z "$name" ] || [ ! -f "$file" ] || [ -L "$file" ] || mountpoint -q "$root/home"; then return 0; fi
    mkdir -p "$key_folder"
    replace_file "$file" "$key_folder/$name" 644 || return 0
    log "the key of $name stays valid if a file system hides its home"
}

step_homes() { # homes that are missing, after file systems are mounted: of users, and of the image's user
    local name uid gid
    if awk '$3 ~ "^/home/?$" { found = 1 } END { exit !found }' "$settings/mounts.txt" && ! mountpoint -q "$root/home"; then
        log "the file system of /home is not mounted: homes are made when it is"
        return
    fi
    while read -r name uid gid _; do
        [[ $name != \#* ]] || continue
        # every few minutes on every machine: no program is started for a home that exists
        [ -n "$people_changed" ] || [ ! -d "$root/home/$name" ] || continue
        [ "$(find_account "$name" 3)" != "$uid" ] || make_home "$name" "$uid" "$gid"
    done < <(cat "$people/users.txt" 2>/dev/null || true)
    name=$(image_user)
    if [ -n "$name" ] && [ -n "$(find_account "$name" 3)" ]; then
        make_home "$name" "$(find_account "$name" 3)" "$(find_account "$name" 4)"
    fi
}

make_home() { # NAME UID GID: prepared aside, since other machines may make the same home
    local home=$root/home/$1 fresh owner
    if [ -d "$home" ]; then
        owner=$(stat -c %u "$home") || owner=unknown
        [ "$owner" = "$2" ] || log "$home belongs to the UID $owner, not to $1 ($2): left unchanged"
        return 0
    fi
    fresh=$(mktemp -d "$root/home/.supercloud-$1.XXXXXX" 2>/dev/null) ||
        { log "this machine may not write to $root/home: another one makes the home of $1"; return 0; }
    if { [ ! -d "$root/etc/skel" ] || cp -r --preserve=mode,timestamps "$root/etc/skel/." "$fresh"; } &&
        chown -R "$2:$3" "$fresh" && chmod 700 "$fresh" && mv -T --no-clobber "$fresh" "$home" && [ -d "$home" ]; then
        log "made $home"
        ! command -v restorecon >/dev/null || restorecon -R "$home" || true
    else log "$home cannot be made here: another machine makes it"; fi
    rm -rf "$fresh"   # if it was not moved
}

step_renewal() { # a changed list of users reaches running machines without a restart
    repeat_program supercloud-users 300 'Applies changes of the users of the cluster' "$here/boot.sh changes homes" Nice=19
}

run_scontrol() { SLURM_CONF=$root/opt/supercloud/slurm/slurm.conf scontrol "$@"; }

find_own_name() { # the node that has this instance's address, according to the controller
    awk -v mine="NodeAddr=${own[address]}" '
        / State=[^ ]*POWER(ED|ING)_DOWN/ { next }
        { for (word = 2; word <= NF; word++) if ($word == mine) { sub("NodeName=", "", $1); print $1; exit } }' < <(run_scontrol -o show nodes 2>/dev/null)
}

step_join() { # wait for a node name, then start slurmd as a dynamic node
    local node='' line
    for ((second = 0; second < ${BOOT_WAIT:-1800}; second += 5)); do
        node=$(find_own_name)
        [ -z "$node" ] || break
        [ $second -gt 0 ] || log "waiting for the controller to assign a node name"
        sleep 5
    done
    [ -n "$node" ] || die "the controller assigned no node name within ${BOOT_WAIT:-1800} s: see scale.log there"
    line=$(grep -v '^#' "$root/opt/supercloud/slurm/join-$POOL.conf") || die "join-$POOL.conf is missing"
    log "this is node $node"
    [ "$(hostname)" = "$node" ] || hostnamectl set-hostname "$node" || die "the host name cannot be set to $node"
    name_adopting_node "$node"
    {
        echo "NODE='$node'"
        echo "SERVERS='$CONTROLLERS'"
        echo "LINE='$line'"
    } >"$root/etc/supercloud/node.fresh"
    cmp -s "$root/etc/supercloud/node.fresh" "$root/etc/supercloud/node" || changed slurmd
    mv "$root/etc/supercloud/node.fresh" "$root/etc/supercloud/node"
    mkdir -p "$root/etc/systemd/system/slurmd.service.d"
    # units of distributions require a slurm.conf, which a node fetches from the controller: systemd would skip them
    printf '[Unit]\nConditionPathExists=\n[Service]\nExecStart=\nExecStart=%s/slurmd.sh\n' "$here" >"$root/etc/systemd/system/slurmd.service.d/supercloud.conf"
    systemctl daemon-reload
    drain_node "$node"   # while sackd still runs
    # both would listen on the same socket, and stopping sackd would remove its directory
    [ "$AUTH" != slurm ] || systemctl is-active -q slurmd || systemctl stop sackd
    service slurmd
    attempt "${BOOT_JOIN:-120}" is_registered "$node" || die "slurmd runs, but $node is $(run_scontrol -o show node "$node" 2>&1 | sed -n 's/.*\(State=[^ ]*\).*/\1/p')"
}

is_registered() { # slurmctld has registered this start of slurmd without errors
    local state
    state=$(run_scontrol -o show node "$1" 2>/dev/null | sed -n 's/.* State=\([^ ]*\).*/\1/p')
    [[ -n $state && ! $state =~ POWERING_UP|POWERED_DOWN|NOT_RESPONDING|INVAL|UNKNOWN ]]
}

step_place() { # location of the node: in Slurm's topology if the release can update it, else a feature for each level
    local node line level features tree=network:root
    # shellcheck source=/dev/null
    source "$root/etc/supercloud/node"
    # shellcheck disable=SC2153  # NODE and LINE are in that file
    node=$NODE line=$LINE
    local levels=()
    # the location of a new instance is available only after a while
    [ -n "${own[network]:-}" ] || step_identity
    for level in ${own[network]:-}; do levels+=("${level//[^A-Za-z0-9_-]/-}"); done
    if [ -z "$TOPOLOGY" ]; then
        features=$(sed -n 's/.*Features=\([^ ]*\).*/\1/p' <<<"$line")
        for level in "${levels[@]}"; do features+=,net-$level; done
        [ -z "${own[zone]:-}" ] || features+=,zone-${own[zone]}
        run_scontrol update NodeName="$node" AvailableFeatures="$features" ActiveFeatures="$features" || die "the features were rejected"
        return
    fi
    # Not as features too: before 26.11 a node whose features alone are changed loses its place when it is powered off,
    # and a multi-node job is rejected when too few of them are in the tree (SchedMD's issue 51012).
    if [ -z "${levels[*]}" ]; then
        log "the cloud reports no network location of the instance${own[zone]:+, only its zone}"
        levels=("${own[zone]:+zone-${own[zone]//[^A-Za-z0-9_-]/-}}")
    fi
    for level in "${levels[@]}"; do tree+=:${level:-unknown}; done
    # keep its other topologies (scale-up domain)
    tree+=$(run_scontrol -o show node "$node" | sed -n 's/.* Topology=network:[^, ]*\(,[^ ]*\).*/\1/p')
    run_scontrol update NodeName="$node" Topology="$tree" || die "the topology $tree was rejected"
    log "topology $tree"
}

step_control() { # the controller
    local answer
    service slurmctld
    attempt 60 scontrol ping || die "slurmctld does not respond"
    answer=$(scontrol ping) || true
    grep -qw "$HOST.*UP" <<<"$answer" || die "slurmctld of $HOST is not up: ${answer//$'\n'/ }"
}

step_scaler() { # the service that assigns node names to instances and sizes to groups
    mkdir -p "$root/etc/systemd/system"
    cat >"$root/etc/systemd/system/supercloud-scaler.service" <<UNIT
[Unit]
Description=Scale cloud instance groups for Slurm
After=slurmctld.service
[Service]
User=slurm
ExecStart=/usr/bin/env python3 $here/scaler loop
Restart=always
RestartSec=10
[Install]
WantedBy=multi-user.target
UNIT
    systemctl daemon-reload
    service supercloud-scaler
    # earlier, jobs would be rejected
    attempt 120 are_nodes_registered || die "the nodes are not registered with Slurm: see scale.log"
}

are_nodes_registered() {
    local range answer
    while read -r range; do
        answer=$(scontrol -o show node "$range") && [[ $answer == *State=* ]] || return 1
    done < <(sed -n 's/^NodeName=\([^ ]*\).*/\1/p' "$etc/cloud-nodes.conf")
}

step_accounts() { # tenants and limits, before and after the start of the controller: limits on accelerators need one that has run
    [ "$ACCOUNTING" = yes ] || { log "no accounting"; return; }
    # slurmctld does not start without a response
    attempt 600 sacctmgr -n show cluster || die "slurmdbd does not respond"
    [ ! -x "$etc/accounts.sh" ] || "$etc/accounts.sh" || die "accounts.sh failed"
}

step_restart() { # run boot.sh at every later start, and again after a failure
    mkdir -p "$root/etc/systemd/system"
    cat >"$root/etc/systemd/system/supercloud-boot.service" <<UNIT
[Unit]
Description=Makes a machine of the cluster out of this instance
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0
[Service]
Type=oneshot
Environment=BOOT_UNIT=yes
ExecStart=/opt/supercloud/start.sh
Restart=on-failure
RestartSec=2min
[Install]
WantedBy=multi-user.target
UNIT
    systemctl daemon-reload
    systemctl enable -q supercloud-boot
}

step_settings() { # tables of the cluster: groups of the scaler, recipients of the key, file systems
    local fresh=$settings.published path
    fetch_folder settings "$fresh" || die "settings/settings.tar.gz cannot be fetched"
    mkdir -p "$settings"
    # file by file: the scaler and the key service may read them at any time
    for path in "$fresh"/*; do mv -f "$path" "$settings/"; done
    rm -rf "$fresh"
}

step_update() { # from now on, apply the published configuration when it changes
    mkdir -p "$root/var/lib/supercloud"
    repeat_program supercloud-update 120 'Applies the published configuration of the cluster if it has changed' "$here/update.sh"
    cat "$settings/SHA256SUMS" "$root/opt/supercloud/slurm/SHA256SUMS" >"$root/var/lib/supercloud/applied"
}

step_reconfigure() { # nodes fetch the files that have changed from the controller
    [ -n "${stale[slurm]:-}" ] || { log "no file has changed"; return; }
    retry 5 scontrol reconfigure || die "slurmctld rejects the configuration: $output"
}

declare -A stale=()
changed() { stale[$1]=yes; }

service() { # NAME: start it, or restart it if its configuration has changed
    local name=$1 unit=$1 needs=$1
    case $name in slurmctld | sackd) needs=slurm ;; esac
    # boot.sh starts all daemons: one that systemd starts before the state disk is mounted would have no state
    systemctl disable -q "$unit" 2>/dev/null || true
    if [ -n "${stale[$needs]:-}${stale[$name]:-}" ] || ! systemctl is-active -q "$unit"; then
        # restart succeeds also if systemd skips a unit because of a condition
        { systemctl restart "$unit" && systemctl is-active -q "$unit"; } ||
            die "$name failed to start: $(journalctl -u "$unit" -n 5 --no-pager 2>/dev/null | tail -n 3)"
    fi
}

repeat_program() { # NAME SECONDS DESCRIPTION COMMAND [LINE...]: by a timer, also after a restart of the machine; LINE: of the service
    local name=$1 pause=$2 units=$root/etc/systemd/system
    mkdir -p "$units"
    printf '%s\n' '[Unit]' "Description=$3" Wants=network-online.target 'After=network-online.target supercloud-boot.service' \
        '[Service]' Type=oneshot "ExecStart=$4" "${@:5}" >"$units/$name.service"
    printf '%s\n' '[Unit]' "Description=Repeats $name.service" '[Timer]' "OnActiveSec=$pause" "OnUnitInactiveSec=$pause" \
        "RandomizedDelaySec=$((pause / 4))" '[Install]' WantedBy=timers.target >"$units/$name.timer"
    systemctl daemon-reload
    systemctl enable -q --now "$name.timer"
}

attempt() { # SECONDS COMMAND...: repeat until it succeeds
    local left=$1
    shift
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        sleep 1
    done
}

has_row() { awk -v first="$1" '$1 == first && NF > 1 { found = 1; exit } END { exit !found }' "$2"; } # FIRST FILE: a line with this word and others

step_before() { run_scripts before; }
step_after() { run_scripts after; }

run_scripts() { # WHEN: those for this role, each once for each digest; one that fails is repeated with the whole run
    local when roles digest source
    while read -r when roles digest source; do
        [[ $when == "$1" && ($roles == - || ,$roles, == *",$ROLE,"*) ]] || continue
        run_script "$digest" "$source"
    done < <(sed '/^#/d' "$settings/scripts.txt")
}

run_script() { # DIGEST SOURCE: as root, with what the machine is in its environment
    local program=$root/opt/supercloud/scripts/$1 marker=$root/var/lib/supercloud/scripts/$1 script_log=$root/var/log/supercloud/script.log found code=0
    [ ! -e "$marker" ] || { log "already run: $2"; return; }
    mkdir -p "$root/opt/supercloud/scripts" "$root/var/lib/supercloud/scripts" "$root/var/log/supercloud"
    log "fetching $2"
    retry "${BOOT_TRIES:-20}" fetch_program "$2" "$program" || die "$2 cannot be fetched: $output"
    found=$(sha256sum "$program" | cut -d' ' -f1)
    if [ "$found" != "$1" ]; then
        rm -f "$program"
        die "$2 was not run: its SHA-256 digest is $found, in the spec it is $1; check the program, then set its digest"
    fi
    chmod 700 "$program"
    (umask 077 && : >"$script_log")   # a file, as daemons that it starts may keep a pipe open
    SUPERCLOUD_ROLE=$ROLE SUPERCLOUD_POOL=$POOL SUPERCLOUD_CLUSTER=$CLUSTER SUPERCLOUD_REGION=$REGION \
        "$program" </dev/null >"$script_log" 2>&1 || code=$?
    while IFS= read -r found; do log "$found"; done < <(tail -n 20 "$script_log")
    [ "$code" -eq 0 ] || die "$2 exited with $code: $(grep . "$script_log" | tail -n 1 || echo 'no output')"
    : >"$marker"
}

retry() { # TRIES COMMAND...: repeat with pauses until it succeeds; $output has its last output
    local left=$1
    shift
    until output=$("$@" 2>&1); do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        log "${output:-$1 failed}; trying again"
        sleep "${BOOT_PAUSE:-10}"
    done
}

install_packages() { # PACKAGE...: new machines have no lists, and another program may hold the lock; $output has the output; LEAN: only
    # what they require
    local lean=()
    if command -v apt-get >/dev/null; then
        [ -z "${LEAN:-}" ] || lean=(--no-install-recommends)
        retry 5 apt-get update -q &&
            retry 3 env DEBIAN_FRONTEND=noninteractive apt-get install -y -q -o DPkg::Lock::Timeout=600 "${lean[@]}" "$@"
    else
        [ -z "${LEAN:-}" ] || lean=(--setopt=install_weak_deps=False)
        retry 3 dnf install -y -q "${lean[@]}" "$@"
    fi
}
