#!/usr/bin/env bash
# Every requirement of scripts/checks.txt has a test that names it, and docs/checks.md lists both.
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/node.sh scripts/checks.mjs --check
