#!/bin/bash
# made by supercloud VERSION from storage; edits are lost
# client-tuning.sh: after the mount, on every client. Values to begin with, not measured here: change them by what you measure.
set -euo pipefail

lctl set_param osc.*.max_rpcs_in_flight=64
lctl set_param osc.*.max_pages_per_rpc=4096
lctl set_param llite.*.max_read_ahead_mb=1024
