#!/bin/bash
# made by supercloud VERSION from storage; do not edit
# client-tuning.sh: run after the mount, on every client. Initial values, not measured: adjust them to your measurements.
set -uo pipefail

failed=0
set_parameter() { # a rejected value does not prevent the others from being set
    lctl set_param "$1" || failed=1
}

set_parameter 'osc.scratch-OST*.max_rpcs_in_flight=64'
# not larger than brw_size of the targets, which a client reads when it connects
if ! lctl set_param 'osc.scratch-OST*.max_pages_per_rpc=16M'; then
    failed=1
    echo "the object targets accept only smaller requests: set obdfilter.scratch-OST*.brw_size=16 on the object servers" \
        "(mount-targets.sh), and mount /scratch again" >&2
fi
set_parameter 'llite.scratch-*.max_read_ahead_mb=1024'
exit $failed
