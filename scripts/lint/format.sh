#!/usr/bin/env bash
# C files are formatted by clang-format (.clang-format). `--fix` formats them (`make format`).
set -euo pipefail
cd "$(dirname "$0")/../.."

mode=(--dry-run --Werror)
[ "${1:-}" != --fix ] || mode=(-i)
scripts/lint/files.sh '*.c' '*.h' | xargs -0 -n 20 -P "$(nproc)" clang-format "${mode[@]}"
