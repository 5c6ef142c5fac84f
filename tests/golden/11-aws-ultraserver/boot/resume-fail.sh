#!/bin/bash
# made by supercloud VERSION from the spec ultra; edits are lost
exec "$(dirname "$(readlink -f "$0")")/scale.sh" fail "${1:?nodes}"
