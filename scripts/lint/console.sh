#!/usr/bin/env bash
# The files of the console: nothing turns text into markup or code, nothing names another server, and all of them
# together stay small.
set -euo pipefail
cd "$(dirname "$0")/../.."

max=122880
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
exit $status
