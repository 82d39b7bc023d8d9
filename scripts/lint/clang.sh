#!/usr/bin/env bash
# Everything compiles with clang too, without a warning.
set -euo pipefail
exec "$(dirname "$0")/../build.sh" clang
