#!/usr/bin/env bash
# Start the built program for `make run`: scripts/run.sh [ARGUMENTS OF causeway serve...]
#
# Without --config `causeway serve` serves the example plugin to everybody on this machine; with
# --hints it prints what to try once it listens. CAUSEWAY_BUILD is the folder of another variant than
# build/release (the tests use it).
set -euo pipefail
cd "$(dirname "$0")/.."

exec "${CAUSEWAY_BUILD:-build/release}/causeway" serve --hints "$@"
