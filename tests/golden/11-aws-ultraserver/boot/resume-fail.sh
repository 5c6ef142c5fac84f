#!/bin/bash
# made by supercloud VERSION from the spec ultra; do not edit
exec /usr/bin/env python3 "$(dirname "$(readlink -f "$0")")/scaler" fail "${1:?nodes}"
