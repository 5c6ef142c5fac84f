#!/bin/sh
# Fenced checkpoints: only the latest attempt of a job can commit. Part of supercloud; in Python: supercloud.jobs.runtime.fencing.
#
#   "$SUPERCLOUD_COMMIT" latest             print the checkpoint to continue from, if any
#   "$SUPERCLOUD_COMMIT" commit NAME PATH   commit PATH, a file or folder, as checkpoint NAME
#
# SUPERCLOUD_CHECKPOINT is the folder, SUPERCLOUD_EPOCH the number of this attempt. Both commands first claim the epoch:
# from then on commits of earlier attempts are refused, and late ones are never read. Exit code 76: a later attempt has
# taken over.
#
# FOLDER/.epochs/EPOCH is created once, by link(2), with the checkpoint that the attempt of that epoch continues from.
# A checkpoint is FOLDER/EPOCH-NUMBER-NAME, moved there by rename(2). No locks: a node that hangs blocks no other.
set -u
folder=${SUPERCLOUD_CHECKPOINT:?is not set: this job declares no checkpoint path}
epoch=$(printf %010d "${SUPERCLOUD_EPOCH:?is not set: this is not a job}")
epochs=$folder/.epochs

current() { # the highest claimed epoch
    highest=
    for file in "$epochs"/[0-9]*; do [ ! -f "$file" ] || highest=${file##*/}; done
    printf %s "$highest"
}

guard() {
    if [ "$(current)" != "$epoch" ]; then
        echo "supercloud: epoch ${epoch} of this job was superseded by epoch $(current)" >&2
        exit 76
    fi
}

last_of() { # the last checkpoint of an epoch
    last=
    for found in "$folder/$1"-[0-9]*; do [ ! -e "$found" ] || last=${found##*/}; done
    printf %s "$last"
}

latest() { # the last of the current epoch, or the one it continued from: never one committed later by an earlier epoch
    mine=$(last_of "$(current)")
    [ -n "$mine" ] || mine=$(cat "$epochs/$(current)")
    printf %s "$mine"
}

claim() {
    mkdir -p "$epochs" || exit 73
    if [ ! -e "$epochs/$epoch" ]; then
        from=
        [ -z "$(current)" ] || from=$(latest)
        note=$epochs/.claim.$(uname -n).$$
        printf %s "$from" >"$note" || exit 73
        ln "$note" "$epochs/$epoch" 2>/dev/null # the first task decides, for all tasks of this attempt
        rm -f "$note"
    fi
    guard
}

case ${1-} in
latest)
    claim
    name=$(latest)
    [ -z "$name" ] || printf '%s\n' "$folder/$name"
    ;;
commit)
    name=${2:?NAME is missing} source=${3:?PATH is missing}
    case $name in *[!A-Za-z0-9._-]* | '')
        echo "supercloud: $name is not a valid checkpoint name: use letters, digits, dots and dashes" >&2
        exit 64
        ;;
    esac
    claim
    number=$(last_of "$epoch")
    number=${number#"$epoch"-}
    number=${number%%-*}
    number=${number#"${number%%[!0]*}"} # no leading zeros: they would make it octal
    target=$folder/$epoch-$(printf %08d $((${number:-0} + 1)))-$name
    if [ "$(stat -c %d "$source")" != "$(stat -c %d "$folder")" ]; then # what comes from elsewhere does not come at once
        cp -a "$source" "$folder/.writing-$epoch.$(uname -n).$$" || exit 73
        source=$folder/.writing-$epoch.$(uname -n).$$
    fi
    sync "$source" 2>/dev/null || sync
    guard
    mv -T "$source" "$target" || exit 73
    printf '%s\n' "$target"
    ;;
*)
    echo "usage: $0 latest | commit NAME PATH" >&2
    exit 64
    ;;
esac
