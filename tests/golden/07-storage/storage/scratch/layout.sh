#!/bin/bash
# made by supercloud VERSION from storage; do not edit
# layout.sh: run once, on one client. Small files on one target, large ones on all of them (progressive file layout).
set -euo pipefail

lfs setstripe -E 64M -c 1 -E 1G -c 4 -E -1 -c -1 /scratch
