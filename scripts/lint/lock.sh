#!/usr/bin/env bash
# package-lock.json names versions and checksums, never where something was downloaded from.
set -euo pipefail
cd "$(dirname "$0")/../.."

if grep -nE '"resolved"|\.tgz"' package-lock.json; then
    echo "package-lock.json holds download addresses: run npm install --omit-lockfile-registry-resolved"
    exit 1
fi
