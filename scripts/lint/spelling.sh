#!/usr/bin/env bash
# Spelling of code, comments and documents. Words that codespell takes for mistakes: spelling.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/lint/files.sh ':!LICENSE' ':!package-lock.json' |
    xargs -0 codespell --ignore-words=scripts/lint/spelling.txt
