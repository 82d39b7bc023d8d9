#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy over the program's own code: scripts/lint/tidy.sh [FILE...]
#
# Takes flags from build/clang, which scripts/lint/clang.sh makes. A file that passed is not looked
# at again until it, a header that it includes or the checks change.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=build/clang
mkdir -p $build/tidy-passed
ninja -C $build -t deps >$build/tidy-deps

# What a file was compiled from, itself first; nothing when it was not compiled here.
parts_of() {
    awk -v file="../../$1" '
        /^[^ ]/ { first = 1; next }
        first { wanted = $1 == file; first = 0 }
        wanted && /^ +\.\.\/\.\.\// { print substr($1, 7) }
    ' build/clang/tidy-deps | sort -u
}

check() {
    local file=$1 parts mark extra=("--extra-arg=-include$PWD/scripts/lint/tidy.h")
    parts=$(parts_of "$file")
    [ -n "$parts" ] || return 0
    mark=build/clang/tidy-passed/$(cat .clang-tidy scripts/lint/tidy.h meson.build $parts | sha256sum | cut -c -40)
    [ ! -e "$mark" ] || return 0
    # This one defines what tidy.h wraps.
    [ "$file" != src/base/err.c ] || extra=()
    clang-tidy -p build/clang --quiet "${extra[@]}" "$file" 2>&1 |
        sed -E '/^[0-9]+ warnings? (gen|treat)/d' && touch "$mark"
}
export -f parts_of check

if [ $# != 0 ]; then
    printf '%s\0' "$@"
else
    scripts/lint/files.sh 'src/*.c' 'bench/*.c' 'plugins/*.c'
fi | xargs -0 -P "$(nproc)" -I '{}' bash -o pipefail -c 'check "$@"' check '{}'
