#!/usr/bin/env bash
# Every C file is listed in a meson.build, its folder's or one above, else nobody compiles it.
set -euo pipefail
cd "$(dirname "$0")/../.."

status=0
while IFS= read -r -d '' file; do
    folder=$(dirname "$file")
    found=no
    # Tests are often listed in a loop over names: test_buf.c as 'test_buf' or 'buf',
    # http/test_http1.c as 'http/test_http1'.
    stem=$(basename "$file" .c)
    stem=${stem#test_}
    stem=${stem#fuzz_}
    case $file in
    tests/* | bench/*) loop=(-e "'$stem'" -e "'$(basename "$file" .c)'") ;;
    *) loop=() ;;
    esac
    while [ "$found" = no ] && [ "$folder" != . ]; do
        below=${file#"$folder"/}
        if grep -qsF -e "'$below'" -e "'${below%.c}'" "${loop[@]}" "$folder/meson.build"; then
            found=yes
        fi
        folder=$(dirname "$folder")
    done
    if [ "$found" = no ]; then
        echo "$file: in no meson.build"
        status=1
    fi
done < <(scripts/lint/files.sh 'src/*.c' 'tests/*.c' 'bench/*.c' 'plugins/*.c')
exit $status
