#!/usr/bin/env bash
# Files stay readable: at most 1000 lines, headers 400. Exemptions are listed in sizes.txt.
# (Functions are measured by clang-tidy.)
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/lint/files.sh '*.c' '*.h' '*.mjs' '*.sh' | xargs -0 wc -l | awk '
    FNR == NR {
        if ($1 !~ /^#/ && NF >= 2) ceiling[$1] = $2
        next
    }
    $2 == "total" { next }
    {
        limit = ($2 ~ /\.h$/) ? 400 : 1000
        if ($2 in ceiling) limit = ceiling[$2]
        if ($1 > limit) {
            printf "%s: %d lines, the ceiling is %d\n", $2, $1, limit
            bad = 1
        }
    }
    END { exit bad }
' scripts/lint/sizes.txt -
