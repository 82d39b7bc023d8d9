#!/usr/bin/env bash
# Lock files name versions and checksums, never where something was downloaded from.
set -euo pipefail
cd "$(dirname "$0")/../.."

if scripts/lint/files.sh '*package-lock.json' | xargs -0 grep -nE '"resolved"|\.tgz"'; then
    echo "a lock file holds download addresses: run npm install --omit-lockfile-registry-resolved"
    exit 1
fi
