#!/bin/bash
# made by supercloud VERSION from the spec minimal; do not edit
#
# prolog.sh: runs as root on every node of a job before its first process.
#
# Creates the job's directory, and fails on a node that lost an accelerator: Slurm then drains the node and requeues
# the job.
set -u
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
here=$(dirname "$(readlink -f "$0")")
scratch=/var/spool/slurmd/scratch
job=${SLURM_JOB_ID:?} user=${SLURM_JOB_UID:?}

umask 022
mkdir -p "$scratch/$job" && chmod 700 "$scratch/$job" && chown "$user" "$scratch/$job" || exit 1
[ -z "${SLURM_JOB_GID:-}" ] || chgrp "$SLURM_JOB_GID" "$scratch/$job"

[ ! -x "$here/health-check.sh" ] || exec "$here/health-check.sh" quick
