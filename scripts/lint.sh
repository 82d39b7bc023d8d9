#!/usr/bin/env bash
# Run every check of scripts/lint, say how each ended, and fail when any did: scripts/lint.sh [NAME...]
set -uo pipefail
cd "$(dirname "$0")/.." || exit

# Quick ones first. `clang` compiles everything with the second compiler, and tidy reads what it
# leaves behind; both are the slow ones.
checks=(lock hosts layers exports links prose listed mirror banned cleanups sql comments sizes checks threats authorization console mjs javascript shell spelling format manual clang tidy)
[ $# = 0 ] || checks=("$@")

failed=()
for check in "${checks[@]}"; do
    script=$(ls "scripts/lint/$check".{sh,mjs} 2>/dev/null)
    case $script in
    *.sh) output=$("$script" 2>&1) ;;
    *.mjs) output=$(scripts/node.sh "$script" 2>&1) ;;
    *) output="no such check" && false ;;
    esac && echo "ok    $check" && continue
    failed+=("$check")
    printf 'FAIL  %s\n%s\n' "$check" "$output"
done

if [ ${#failed[@]} != 0 ]; then
    echo "lint: failed: ${failed[*]}"
    exit 1
fi
