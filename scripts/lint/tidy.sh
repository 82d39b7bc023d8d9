#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy over the program's own code: scripts/lint/tidy.sh [FILE...]
#
# A file that passed is not looked at again until it, a header or the checks change.
set -euo pipefail
cd "$(dirname "$0")/../.."

[ -f build/clang/compile_commands.json ] || scripts/build.sh clang
passed=build/clang/tidy-passed
mkdir -p $passed
common=$(scripts/lint/files.sh .clang-tidy '*.h' '*meson.build' | xargs -0 cat | sha256sum)

check() {
    local mark
    mark=$1/$({ echo "$2 $3" && cat "$3"; } | sha256sum | cut -c -40)
    # Not compiled here (an optional library is missing), so there are no flags to read it with.
    grep -qF "/$3\"" build/clang/compile_commands.json || return 0
    [ ! -e "$mark" ] || return 0
    clang-tidy -p build/clang --quiet "$3" 2>&1 | sed -E '/^[0-9]+ warnings? (gen|treat)/d' &&
        touch "$mark"
}
export -f check

if [ $# != 0 ]; then
    printf '%s\0' "$@"
else
    scripts/lint/files.sh 'src/*.c' 'bench/*.c' 'plugins/*.c'
fi | xargs -0 -P "$(nproc)" -I '{}' bash -o pipefail -c 'check "$@"' check $passed "$common" '{}'
