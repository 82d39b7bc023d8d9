#!/usr/bin/env bash
# Functions that cannot be used safely, or for which there is something better in src/base, and
# buffers and arenas without a ceiling (base/limits.h has CW_BUF_MAX and CW_ARENA_MAX).
set -euo pipefail
cd "$(dirname "$0")/../.."

banned='strcpy|strcat|sprintf|vsprintf|atoi|atol|atoll|atof|strtok|gets|alloca|stpcpy|strncpy|strncat'
hits=$(
    scripts/lint/files.sh '*.c' '*.h' |
        xargs -0 grep -nHE "(^|[^A-Za-z0-9_.>])($banned)[[:space:]]*\(" -- || true
    scripts/lint/files.sh 'src/*.c' 'src/*.h' | xargs -0 grep -nHE 'cw_(buf|arena)_init\(.*SIZE_MAX' -- || true
)
[ -n "$hits" ] || exit 0
echo "$hits"
exit 1
