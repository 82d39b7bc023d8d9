#!/usr/bin/env bash
# Run every fuzz target for FUZZ_SECONDS (60): scripts/fuzz.sh [fuzz_NAME...]
#
# Starts from the committed corpus tests/fuzz/corpus/NAME; inputs that reach something new go to
# build/fuzz/corpus/NAME, inputs that fail to build/fuzz/crashes/NAME-... A fixed bug leaves its
# input behind in the committed corpus, which `make test` replays.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${FUZZ_SECONDS:-60}
scripts/build.sh fuzz
mkdir -p build/fuzz/crashes
export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

if [ $# = 0 ]; then
    for program in build/fuzz/tests/fuzz/fuzz_*; do
        [ ! -f "$program" ] || [ ! -x "$program" ] || set -- "$@" "$(basename "$program")"
    done
fi
[ $# != 0 ] || { echo "fuzz: no target was built" && exit 1; }
failed=()
for target in "$@"; do
    name=${target#fuzz_}
    new=build/fuzz/corpus/$name
    log=build/fuzz/$name.log
    corpora=("$new")
    mkdir -p "$new"
    [ ! -d "tests/fuzz/corpus/$name" ] || corpora+=("tests/fuzz/corpus/$name")
    dictionary=()
    [ ! -f "tests/fuzz/$name.dict" ] || dictionary=("-dict=tests/fuzz/$name.dict")
    echo "$target: $seconds s"
    if "build/fuzz/tests/fuzz/$target" "-max_total_time=$seconds" -timeout=10 -rss_limit_mb=2048 \
        -print_final_stats=1 "-artifact_prefix=build/fuzz/crashes/$name-" \
        ${dictionary[@]+"${dictionary[@]}"} "${corpora[@]}" >"$log" 2>&1; then
        grep -E 'number_of_executed_units|new_units_added' "$log" || true
    else
        failed+=("$target")
        grep -aE 'ERROR|SUMMARY|Test unit written|assert' "$log" || tail -n 20 "$log"
        echo "$target failed: the whole log is $log"
    fi
done

if [ ${#failed[@]} != 0 ]; then
    echo "fuzz: failed: ${failed[*]}; the inputs are in build/fuzz/crashes"
    exit 1
fi
echo "fuzz: $# targets, no failure"
