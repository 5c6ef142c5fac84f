#!/bin/bash
# install.sh: puts Debian's Chromium and its driver on this machine. Idempotent; starts nothing.
set -euo pipefail
exec "$(dirname "$(realpath "$0")")/../packages.sh" chromium chromium-driver fonts-dejavu-core poppler-utils
