#!/usr/bin/env bash
# Every promised behaviour has a test that names it, and docs/checks.md says which.
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/node.sh scripts/checks.mjs --check
