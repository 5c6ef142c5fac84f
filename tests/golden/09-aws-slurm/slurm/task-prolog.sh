#!/bin/bash
# made by supercloud VERSION from the spec trainer; edits are lost
#
# task-prolog.sh: runs as the user before each task; what it prints as "export NAME=value" the task gets.
scratch=/var/spool/slurmd/scratch/${SLURM_JOB_ID:-none}
[ ! -w "$scratch" ] || echo "export TMPDIR=$scratch"
