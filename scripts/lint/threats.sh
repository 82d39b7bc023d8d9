#!/usr/bin/env bash
# Every threat of docs/security.md has a test that names it, and docs/security-tests.md lists them.
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/node.sh scripts/threats.mjs --check
