#!/usr/bin/env bash
# Every requirement of the built-in authorization server has a test that names it, and
# docs/authorization-server-tests.md lists them.
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/node.sh scripts/authorization.mjs --check
