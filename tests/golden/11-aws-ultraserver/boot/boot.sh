#!/bin/bash
# made by supercloud VERSION from the spec ultra; do not edit
#
# boot.sh [STEP...]: configures an instance as a machine of the cluster, at its first and at every later start; runs only the
# given steps if there are any ("boot.sh apply" applies a configuration that was published again).
#
# Reads /etc/supercloud/env (role, group, names of secrets) and the provider's functions in /opt/supercloud/cloud.sh. Each
# step logs its name to /var/log/supercloud/boot.log; a failed step ends the run with "FAILED <step>: <reason>" and a nonzero
# status, and is repeated every two minutes. A file system that cannot be mounted is reported with FAILED too, but does not end
# the run: a timer tries it again, and a node takes no jobs before. The run is idempotent. BOOT_ROOT: alternative root of files,
# for tests.
set -euo pipefail
umask 022
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

root=${BOOT_ROOT:-}
here=$(dirname "$(readlink -f "$0")")
# timers run steps too: one run at a time. The lock is held by flock alone (-o), not by daemons that steps start
mkdir -p "$root/run"
[ -n "${BOOT_LOCKED:-}" ] || BOOT_LOCKED=yes exec flock -o "$root/run/supercloud-boot.lock" "$here/boot.sh" "$@"
# shellcheck disable=SC2034  # for the steps
etc=$root/etc/slurm settings=$root/opt/supercloud/settings
step=begin
# shellcheck source=/dev/null
source "$root/etc/supercloud/env"
# shellcheck source=/dev/null
source "$root/opt/supercloud/cloud.sh"
# shellcheck source=/dev/null
source "$here/steps.sh"
# shellcheck source=/dev/null
source "$here/install.sh"

report() { echo "$(date -u +%FT%TZ) $*"; }
log() { [ -n "${BOOT_REPEATED:-}" ] || report "$step: $*"; }   # a timer repeats steps: only changes are logged
die() { died=yes; echo "$(date -u +%FT%TZ) FAILED $step: $*" >&2; exit 1; }
trap 'die "line $LINENO: $BASH_COMMAND exited with $?"' ERR
died='' secret_folder='' all_steps=''
report_exit() { # errors of the shell itself, such as an unset variable, do not trigger ERR
    local code=$?
    [ -z "$secret_folder" ] || rm -rf "$secret_folder"
    [ "$code" -ne 0 ] || return 0
    [ -n "$died" ] || echo "$(date -u +%FT%TZ) FAILED $step: exited with $code, see the line above" >&2
    # cloud-init runs this program once, the unit repeats it
    [ -z "$all_steps" ] || [ -n "${BOOT_UNIT:-}" ] || systemctl start --no-block supercloud-boot || true
}
trap report_exit EXIT
set -E
run() { step=$1; log started; "step_$1"; log finished; }

case $ROLE in
# users have accounts on a node only after `ssh` has restricted who may log in; again when the packages are there, for the module of Slurm
compute)    steps=(identity names restart slurm_user settings before ssh logins release auth bundle sackd disks mounts homes users devices renewal ssh after join place update) ;;
controller) steps=(identity names restart slurm_user settings before logins state release auth keys bundle database mounts homes accounts control scaler accounts renewal after update) ;;
database)   steps=(identity names restart slurm_user settings before state release auth bundle database after update) ;;
login)      steps=(identity names restart slurm_user settings before release auth logins bundle sackd mounts homes users renewal after update) ;;
storage)    steps=(identity names restart install) ;;   # the program runs again if it failed or restarted the machine
system)     steps=(identity names restart) ;;
*)          die "unknown role '$ROLE'" ;;
esac
case $ROLE in   # of a running machine: users' jobs go on; accounts first, as slurmctld looks up the IDs of new users once
compute)    apply=(settings changes bundle mounts homes) ;;
controller) apply=(settings changes bundle database mounts homes accounts control reconfigure scaler accounts) ;;
database)   apply=(settings bundle database) ;;
login)      apply=(settings changes bundle sackd mounts homes) ;;
*)          apply=() ;;
esac

log "role $ROLE of $CLUSTER${GROUP:+, group $GROUP}"
if [ $# -eq 0 ]; then all_steps=yes; else steps=("$@"); fi
[ "$*" != apply ] || steps=("${apply[@]}")
for name in "${steps[@]}"; do run "$name"; done
step=end
left=$(list_missing_mounts)
log "this machine is ready${left:+, but $left}"
