# shellcheck shell=bash
# made by supercloud VERSION from the spec ultra; do not edit
#
# Storage servers: run the program that installs software which only its vendor distributes. Sourced by boot.sh.

# shellcheck disable=SC2154  # root: set by boot.sh; names in capitals: by /etc/supercloud/env

step_install() { # fetched and run once as root; a changed source is run again
    local program=$root/opt/supercloud/install marker=$root/etc/supercloud/installed why=$root/run/supercloud/why token='' code found output
    [ -n "${INSTALL_SOURCE:-}" ] || { log "nothing to install: the software is in the image"; return; }
    if cmp -s - "$marker" <<<"$INSTALL_SOURCE${INSTALL_SHA256:+ $INSTALL_SHA256}"; then log "already installed from $INSTALL_SOURCE"; return; fi
    mkdir -p "$root/run/supercloud"
    log "fetching $INSTALL_SOURCE"
    retry "${BOOT_TRIES:-20}" fetch_program "$INSTALL_SOURCE" "$program" || die "$INSTALL_SOURCE cannot be fetched: $output"
    [ -s "$program" ] || die "$INSTALL_SOURCE is empty"
    found=$(sha256sum "$program" | cut -d' ' -f1)
    if [ -n "${INSTALL_SHA256:-}" ] && [ "$found" != "$INSTALL_SHA256" ]; then
        rm -f "$program"
        die "$INSTALL_SOURCE was not run: its SHA-256 digest is $found, in the spec it is $INSTALL_SHA256; check the program, then set its digest"
    fi
    log "its SHA-256 digest is $found"
    chmod 700 "$program"
    if [ -n "$INSTALL_TOKEN" ]; then
        log "reading the secret $INSTALL_TOKEN"
        token=$(secret "$INSTALL_TOKEN" false 2>"$why") ||
            die "the secret $INSTALL_TOKEN cannot be read: $(grep . "$why" | tail -n 1 || echo 'it has no value')"
        [ -n "$token" ] || die "the secret $INSTALL_TOKEN is empty"
    fi
    log "running the program for the file system $FILE_SYSTEM on $SERVERS servers"
    run_logged "$program" "$token"
    [ "$code" -eq 0 ] || die "the program of $INSTALL_SOURCE exited with $code: ${output:-no output}"
    rm -f "$program"
    echo "$INSTALL_SOURCE${INSTALL_SHA256:+ $INSTALL_SHA256}" >"$marker"
}

fetch_program() { # SOURCE FILE
    local place=${1#s3://}
    rm -f "$2"
    case $1 in
    s3://*) BUCKET=${place%%/*} cloud_fetch "${place#*/}" "$2" ;;
    https://*) curl --fail --silent --show-error --location --proto '=https' --output "$2" "$1" ;;
    *) echo "the source is neither https:// nor s3://"; return 1 ;;
    esac
}

run_logged() { # PROGRAM TOKEN: run it and log its lines without the token; sets $output to the last line, $code to the exit status
    local line piece end="-- $BASHPID $RANDOM ended with" pieces=()
    mapfile -t pieces <<<"$2"
    code=1 output=''
    # a line marks its end, not the end of the pipe, which servers that it starts may keep open
    while IFS= read -r line; do
        if [[ $line == "$end "* ]]; then code=${line##* }; break; fi
        for piece in "${pieces[@]}"; do [ -z "$piece" ] || line=${line//"$piece"/***}; done
        [ -n "$line" ] || continue
        output=$line
        log "$line"
    done < <(
        ended=0
        with_token "$2" "$1" </dev/null 2>&1 || ended=$?
        printf '\n%s %s\n' "$end" "$ended"
    )
}

with_token() { # TOKEN PROGRAM: in the environment, as other users can see arguments
    (
        [ -z "$1" ] || export SUPERCLOUD_TOKEN=$1
        export SUPERCLOUD_STORAGE=$STORAGE_NAME SUPERCLOUD_TAG=supercloud:storage=$STORAGE_NAME SUPERCLOUD_COUNT=$SERVERS
        export SUPERCLOUD_FILE_SYSTEM=$FILE_SYSTEM SUPERCLOUD_CLUSTER=$CLUSTER SUPERCLOUD_REGION=$REGION
        exec "$2"
    )
}
