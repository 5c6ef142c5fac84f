#!/bin/bash
# made by supercloud VERSION from the spec trainer; edits are lost
#
# prolog.sh: runs as root on every node of a job before its first process.
#
# Gives the job a folder of its own, and refuses a node that lost an accelerator: Slurm then drains the node and puts
# the job back into the queue.
set -u
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
here=$(dirname "$(readlink -f "$0")")
scratch=/var/spool/slurmd/scratch
job=${SLURM_JOB_ID:?} user=${SLURM_JOB_UID:?}

umask 022
mkdir -p "$scratch/$job" && chmod 700 "$scratch/$job" && chown "$user" "$scratch/$job" || exit 1
[ -z "${SLURM_JOB_GID:-}" ] || chgrp "$SLURM_JOB_GID" "$scratch/$job"

[ ! -x "$here/health-check.sh" ] || exec "$here/health-check.sh" quick
