#!/bin/bash
# install.sh: installs Debian's Chromium and its driver. Idempotent; starts nothing.
set -euo pipefail
exec "$(dirname "$(realpath "$0")")/../packages.sh" chromium chromium-driver fonts-dejavu-core poppler-utils
