# shellcheck shell=bash
# The functions of a provider whose cloud is the folder /lab/cloud: bucket/, secrets/, metadata/<address>, and groups/<key>/
# with size, instances/<id>/address. cloud-daemon.sh starts and ends what they ask for.
cloud_ready() { :; }
cloud_fetch() { cp "/lab/cloud/bucket/$1" "$2"; }
cloud_secret() {
    [ -e "/lab/cloud/secrets/$1" ] || { echo "no secret $1" >&2; return 1; }
    [ -s "/lab/cloud/secrets/$1" ] || return 3
    cat "/lab/cloud/secrets/$1"
}
cloud_fill() { cat >"/lab/cloud/secrets/$1"; }
cloud_metadata() {
    local address
    address=$(ip -4 -o addr show scope global | awk '{ sub("/.*", "", $4); print $4; exit }')
    cat "/lab/cloud/metadata/$address"
}
cloud_disk() { return 1; }
cloud_size() { cat "/lab/cloud/groups/$1/size"; }
cloud_resize() {
    [ ! -e "/lab/cloud/groups/$1/refuses" ] || { echo "nothing left of this kind"; return 3; }
    (flock 8; echo "$2" >"/lab/cloud/groups/$1/size") 8>>/lab/cloud/lock
}
cloud_instances() {
    local folder
    for folder in "/lab/cloud/groups/$1/instances"/*; do
        [ ! -e "$folder/address" ] || [ -e "$folder/end" ] || echo "${folder##*/} $(cat "$folder/address")"
    done
}
cloud_domains() { cat "/lab/cloud/groups/$1/domains"; }
cloud_refused() { # GROUP SINCE
    [ -e "/lab/cloud/groups/$1/refused" ] && [ "$(stat -c %Y "/lab/cloud/groups/$1/refused")" -ge "$2" ] || return 1
    cat "/lab/cloud/groups/$1/refused"
}
cloud_failed() { cloud_refused "$@"; }
cloud_terminate() { # GROUP INSTANCE
    (
        flock 8
        [ -d "/lab/cloud/groups/$1/instances/$2" ] && [ ! -e "/lab/cloud/groups/$1/instances/$2/end" ] || exit 0
        touch "/lab/cloud/groups/$1/instances/$2/end"
        echo $(($(cat "/lab/cloud/groups/$1/size") - 1)) >"/lab/cloud/groups/$1/size"
    ) 8>>/lab/cloud/lock
}
