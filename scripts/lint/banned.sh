#!/usr/bin/env bash
# Functions that cannot be used safely, or for which there is something better in src/base.
set -euo pipefail
cd "$(dirname "$0")/../.."

banned='strcpy|strcat|sprintf|vsprintf|atoi|atol|atoll|atof|strtok|gets|alloca|stpcpy|strncpy|strncat'
hits=$(scripts/lint/files.sh '*.c' '*.h' |
    xargs -0 grep -nHE "(^|[^A-Za-z0-9_.>])($banned)[[:space:]]*\(" --) || exit 0
echo "$hits"
exit 1
