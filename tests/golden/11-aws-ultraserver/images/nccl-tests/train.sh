#!/bin/bash
#SBATCH --job-name=nccl-tests
#SBATCH --partition=train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --exclusive
#SBATCH --time=00:30:00
# made by supercloud VERSION from the spec ultra; do not edit
#
# sbatch train.sh: runs all_reduce_perf of NCCL tests 2.17.6 with a process for each accelerator, on nodes that were
# started from an image with install.sh. sbatch --nodes=N train.sh: on N nodes. The column busbw of its output is the bandwidth
# of the fabric in GB/s; "Out of bounds values : 0 OK" says that the results are right.
set -euo pipefail
program=/opt/nccl-tests/all_reduce_perf mpi=/opt/amazon/openmpi
[ -x "$program" ] || { echo "$program is not installed: this node was not started from an image with the tests" >&2; exit 1; }
mpirun=$mpi/bin/mpirun
[ -x "$mpirun" ] || mpirun=$(command -v mpirun) || { echo "mpirun is not installed" >&2; exit 1; }
exec "$mpirun" -np "$SLURM_NTASKS" -N 4 --bind-to none "$program" -b 8 -e 8G -f 2 -g 1
