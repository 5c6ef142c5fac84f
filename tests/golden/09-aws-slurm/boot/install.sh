# shellcheck shell=bash
# made by supercloud VERSION from the spec trainer; edits are lost
#
# Storage servers: the program that brings the software which only its maker gives. Sourced by boot.sh.

# shellcheck disable=SC2154  # root: set by boot.sh; names in capitals: by /etc/supercloud/env

step_install() { # fetched and run once as root; a source of another name is another program
    local program=$root/opt/supercloud/install marker=$root/etc/supercloud/installed why=$root/run/supercloud/why token='' code said
    [ -n "${INSTALL_SOURCE:-}" ] || { log "nothing to install: the image has the software"; return; }
    if cmp -s - "$marker" <<<"$INSTALL_SOURCE"; then log "done before, from $INSTALL_SOURCE"; return; fi
    mkdir -p "$root/run/supercloud"
    log "fetching $INSTALL_SOURCE"
    again "${BOOT_TRIES:-20}" fetch_program "$INSTALL_SOURCE" "$program" || die "$INSTALL_SOURCE cannot be fetched: $said"
    [ -s "$program" ] || die "$INSTALL_SOURCE is empty"
    chmod 700 "$program"
    if [ -n "$INSTALL_TOKEN" ]; then
        log "reading the secret $INSTALL_TOKEN"
        token=$(secret "$INSTALL_TOKEN" false 2>"$why") ||
            die "the secret $INSTALL_TOKEN cannot be read: $(grep . "$why" | tail -n 1 || echo 'it has no value')"
        [ -n "$token" ] || die "the secret $INSTALL_TOKEN is empty"
    fi
    log "running it for the file system $FILE_SYSTEM on $SERVERS servers"
    watched "$program" "$token"
    [ "$code" -eq 0 ] || die "the program of $INSTALL_SOURCE ended with code $code: ${said:-it said nothing}"
    rm -f "$program"
    echo "$INSTALL_SOURCE" >"$marker"
}

fetch_program() { # SOURCE FILE
    local place=${1#s3://}
    rm -f "$2"
    case $1 in
    s3://*) BUCKET=${place%%/*} cloud_fetch "${place#*/}" "$2" ;;
    https://*) curl --fail --silent --show-error --location --proto '=https' --output "$2" "$1" ;;
    *) echo "it is neither https:// nor s3://"; return 1 ;;
    esac
}

watched() { # PROGRAM TOKEN: runs it, its lines go to the log without the token; the last one is in $said, its code in $code
    local line piece end="-- $BASHPID $RANDOM ended with" pieces=()
    mapfile -t pieces <<<"$2"
    code=1 said=''
    # its end is a line, not the end of the pipe: servers that it starts may keep that open
    while IFS= read -r line; do
        if [[ $line == "$end "* ]]; then code=${line##* }; break; fi
        for piece in "${pieces[@]}"; do [ -z "$piece" ] || line=${line//"$piece"/***}; done
        [ -n "$line" ] || continue
        said=$line
        log "$line"
    done < <(
        ended=0
        with_token "$2" "$1" </dev/null 2>&1 || ended=$?
        printf '\n%s %s\n' "$end" "$ended"
    )
}

with_token() { # TOKEN PROGRAM: no argument, for others see those
    (
        [ -z "$1" ] || export SUPERCLOUD_TOKEN=$1
        export SUPERCLOUD_STORAGE=$STORAGE_NAME SUPERCLOUD_TAG=supercloud:storage=$STORAGE_NAME SUPERCLOUD_COUNT=$SERVERS
        export SUPERCLOUD_FILE_SYSTEM=$FILE_SYSTEM SUPERCLOUD_CLUSTER=$CLUSTER SUPERCLOUD_REGION=$REGION
        exec "$2"
    )
}
