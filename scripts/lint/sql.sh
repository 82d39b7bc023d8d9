#!/usr/bin/env bash
# SQL is never put together: files that speak to a database format no text, and SQLite's own formatting
# is not used anywhere.
set -euo pipefail
cd "$(dirname "$0")/../.."

status=0
no_hits() {
    local hits
    hits=$(xargs -0 -r grep -nHE "$1" --) || return 0
    printf '%s: %s\n' "$2" "$hits"
    status=1
}
sqlite='sqlite3_(v?mprintf|v?snprintf|str_[a-z]+|get_table)[[:space:]]*\('
format='(^|[^A-Za-z0-9_])(v?snprintf|v?asprintf|cw_(buf|arena)_v?printf|cw_buf_add[a-z_]*)[[:space:]]*\('
no_hits "$sqlite" "formats SQL" < <(scripts/lint/files.sh '*.c' '*.h')
no_hits "$format" "formats text beside SQL" < <(scripts/lint/files.sh 'src/store/*.c')
exit $status
