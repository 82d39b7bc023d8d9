#!/usr/bin/env bash
# The files of the console: nothing turns text into markup or code, nothing names another server, and all of them
# together stay small.
set -euo pipefail
cd "$(dirname "$0")/../.."

max=122880
max_wire=35840
markup='innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|\bFunction\(|setAttribute\("style"|javascript:|https?://[a-z]'
status=0
if grep -nE "$markup" console/*.mjs console/*.css console/*.html | grep -v '"http://www.w3.org/2000/svg"'; then
    echo "console.sh: the console makes no markup or code from texts, and names no other server"
    status=1
fi
size=$(cat console/*.mjs console/*.css console/*.html console/*.svg | wc -c)
if [ "$size" -gt $max ]; then
    echo "console.sh: the files of the console have $size bytes, more than $max"
    status=1
fi
# On the wire: as the build puts them into the program.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mapfile -t files < <(sed -n "s|^    '\(.*\..*\)',\$|console/\1|p" console/meson.build)
"${CC:-cc}" -std=gnu17 -D_GNU_SOURCE -Isrc src/embed/*.c -lz -o "$folder/embed"
"$folder/embed" "$folder/assets.c" console.mjs "${files[@]}"
wire=$(sed -n 's|^/\* gzipped: \([0-9]*\) bytes \*/$|\1|p' "$folder/assets.c")
if [ "${wire:-$((max_wire + 1))}" -gt $max_wire ]; then
    echo "console.sh: the gzipped files of the console have $wire bytes, more than $max_wire"
    status=1
fi
exit $status
