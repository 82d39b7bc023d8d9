#!/usr/bin/env bash
# Remove the files that `make install` installed, and the folders that it made, if they are empty.
set -euo pipefail
cd "$(dirname "$0")/.."
log=build/release/meson-logs/install-log.txt

if [ ! -f "$log" ]; then
    echo "uninstall: nothing was installed from this folder" >&2
    exit 1
fi
count=0
# The longest paths first: files before their folders.
while read -r path; do
    if [ -d "$path" ] && [ ! -L "$path" ]; then
        rmdir --ignore-fail-on-non-empty -- "$path"
    elif [ -e "$path" ] || [ -L "$path" ]; then
        rm -f -- "$path"
        count=$((count + 1))
    fi
done < <(grep '^/' "$log" | sort -r)
rm -f -- "$log"
echo "Removed $count files."
