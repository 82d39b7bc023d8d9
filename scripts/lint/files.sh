#!/usr/bin/env bash
# The files that the checks look at, NUL-separated: scripts/lint/files.sh [PATTERN...]
#
# What git tracks or would track; without git (a source archive), what lies there. Patterns are
# git pathspecs like 'src/*.c'. Corpora and other test inputs are bytes, not text: left out.
set -euo pipefail
cd "$(dirname "$0")/../.."

{
    if git rev-parse --git-dir >/dev/null 2>&1; then
        git ls-files -z --cached --others --exclude-standard -- "$@"
    else
        [ $# != 0 ] || set -- '*'
        for pattern in "$@"; do
            find . -path ./build -prune -o -path ./node_modules -prune -o \
                -type f -path "./$pattern" -print0 | sed -z 's|^\./||'
        done
    fi
} | grep -zvE '/(corpus|data|cases)/' | sort -zu | while IFS= read -r -d '' file; do
    # A file deleted but still in the index is not there to be checked.
    [ ! -f "$file" ] || printf '%s\0' "$file"
done
