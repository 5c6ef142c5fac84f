#!/bin/bash
# made by supercloud VERSION from the spec minimal; do not edit
#
# task-prolog.sh: runs as the user before each task; its lines "export NAME=value" set the task's environment.
scratch=/var/spool/slurmd/scratch/${SLURM_JOB_ID:-none}
[ ! -w "$scratch" ] || echo "export TMPDIR=$scratch"
