#!/usr/bin/env bash
# Every .mjs file parses.
set -euo pipefail
cd "$(dirname "$0")/../.."

status=0
while IFS= read -r -d '' file; do
    scripts/node.sh --check "$file" || status=1
done < <(scripts/lint/files.sh '*.mjs')
exit $status
