#!/usr/bin/env bash
# Spelling of code, comments and documents. Words that codespell takes for mistakes: spelling.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Translations are in other languages.
scripts/lint/files.sh ':!LICENSE' ':!*package-lock.json' ':!*.po' |
    xargs -0 codespell --ignore-words=scripts/lint/spelling.txt
