#!/bin/bash
# made by supercloud VERSION from the spec trainer; edits are lost
exec "$(dirname "$(readlink -f "$0")")/scale.sh" resume "${1:?nodes}"
