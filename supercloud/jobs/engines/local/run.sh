#!/bin/sh
# One task of a job. Usage: run.sh FOLDER LOG WORKDIR NAMESPACE PROGRAM [ARGUMENT...]
#
# Standard input is a file that is locked as long as this shell has it open.
# Claims FOLDER so that nobody else starts this task, runs the program, leaves its exit code in FOLDER/exit. It lives on
# its own: neither the submitter nor the agent has to. No text of a job is ever read as shell: it only passes through "$@".

folder=$1
log=$2
workdir=$3
namespace=$4
shift 4

start_time() { # the 22nd field of stat; the second one, a name in parentheses, may hold anything
    set -f
    # shellcheck disable=SC2086
    set -- ${1##*) }
    started=${20}
    set +f
}
read -r stat <"/proc/$$/stat"
start_time "$stat"
read -r boot </proc/sys/kernel/random/boot_id

mask=$(umask) # of the program; what this shell writes is for its user alone
umask 077

# The claim is a hard link: there at once, with its content, for exactly one process.
printf '%s %s %s %s\n' "$$" "$started" "$boot" "$namespace" >"$folder/claim.$$" || exit 125
ln "$folder/claim.$$" "$folder/started" 2>/dev/null || exit 0

# Space for the exit code, taken now: when the program ends the disk may be full.
printf '    \n' >"$folder/exit.new"

# Signals are for the program; this shell stays to write down how it ended. A handler, unlike ignoring, is not inherited.
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
