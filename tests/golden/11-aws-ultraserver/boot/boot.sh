#!/bin/bash
# made by supercloud VERSION from the spec ultra; edits are lost
#
# boot.sh [STEP...]: makes a machine of the cluster out of an instance, at its first start and at every later one; only some
# steps where they are named ("boot.sh bundle control" takes over a configuration that was published anew).
#
# Reads /etc/supercloud/env (role, group, names of secrets) and the provider's functions in /opt/supercloud/cloud.sh. Each
# step says its name in /var/log/supercloud/boot.log; one that fails ends everything with "FAILED <step>: <why>" and a code
# other than 0. A second run changes nothing that is right already. BOOT_ROOT is another root for files: for tests.
set -euo pipefail
umask 022
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

root=${BOOT_ROOT:-}
here=$(dirname "$(readlink -f "$0")")
# shellcheck disable=SC2034  # for the steps
etc=$root/etc/slurm
step=begin
# shellcheck source=/dev/null
source "$root/etc/supercloud/env"
# shellcheck source=/dev/null
source "$root/opt/supercloud/cloud.sh"
# shellcheck source=/dev/null
source "$here/steps.sh"
# shellcheck source=/dev/null
source "$here/install.sh"

log() { echo "$(date -u +%FT%TZ) $step: $*"; }
die() { died=yes; echo "$(date -u +%FT%TZ) FAILED $step: $*" >&2; exit 1; }
trap 'die "line $LINENO: $BASH_COMMAND gave $?"' ERR
died='' secret_folder=''
ended() { # what the shell itself ends with, an unset variable, is no failed command
    local code=$?
    [ -z "$secret_folder" ] || rm -rf "$secret_folder"
    [ "$code" -eq 0 ] || [ -n "$died" ] || echo "$(date -u +%FT%TZ) FAILED $step: ended with code $code, see the line before" >&2
}
trap ended EXIT
set -E
run() { step=$1; log begins; "step_$1"; log ended; }

case $ROLE in
compute)    steps=(identity names slurm_user release auth bundle sackd mounts users devices ssh join place restart) ;;
controller) steps=(identity names slurm_user state release auth keys bundle database mounts accounts control scaler accounts restart) ;;
database)   steps=(identity names slurm_user state release auth bundle database restart) ;;
login)      steps=(identity names slurm_user release auth bundle sackd mounts users restart) ;;
storage)    steps=(identity names restart install) ;;   # a program that fails, or restarts the machine, is run again
system)     steps=(identity names restart) ;;
*)          die "there is no role $ROLE" ;;
esac

log "role $ROLE of $CLUSTER${GROUP:+, group $GROUP}"
[ $# -eq 0 ] || steps=("$@")
for name in "${steps[@]}"; do run "$name"; done
step=end
log "this machine is ready"
