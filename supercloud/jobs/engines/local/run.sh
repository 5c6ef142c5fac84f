#!/bin/sh
# One task of a job. Usage: run.sh FOLDER LOG WORKDIR NAMESPACE PROGRAM [ARGUMENT...]
#
# Standard input is a file that is locked while this shell has it open.
# Claims FOLDER so that no other process starts this task, runs the program, writes its exit code to FOLDER/exit. It does
# not depend on the submitter or the agent. No text of a job is parsed by the shell: it is only passed through "$@".

folder=$1
log=$2
workdir=$3
namespace=$4
shift 4

start_time() { # the 22nd field of stat; the second one, a name in parentheses, may contain any character
    set -f
    # shellcheck disable=SC2086
    set -- ${1##*) }
    started=${20}
    set +f
}
read -r stat <"/proc/$$/stat"
start_time "$stat"
read -r boot </proc/sys/kernel/random/boot_id

mask=$(umask) # of the program; files of this shell are readable only by its user
umask 077

# The claim is a hard link: created atomically, with its content, by exactly one process.
printf '%s %s %s %s\n' "$$" "$started" "$boot" "$namespace" >"$folder/claim.$$" || exit 125
ln "$folder/claim.$$" "$folder/started" 2>/dev/null || exit 0

# Space for the exit code, allocated now: when the program ends the disk may be full.
printf '    \n' >"$folder/exit.new"

# Signals are for the program; this shell continues, to record its exit code. Unlike ignored signals, a handler is not inherited.
trap : HUP INT TERM

(
    exec </dev/null >>"$log" 2>&1
    umask "$mask"
    cd "$workdir" || exit 126
    exec "$@"
)
code=$?
printf '%-4s\n' "$code" 1<>"$folder/exit.new" && mv "$folder/exit.new" "$folder/exit"
exit "$code"
