#!/usr/bin/env bash
# Print what `make install` installed, and what to do next. Meson lists the files in its log.
set -euo pipefail
cd "$(dirname "$0")/.."
log=build/release/meson-logs/install-log.txt

program=$(grep -E '/bin/causeway$' "$log" | head -n 1)
echo "Installed:"
# The log also has the folders that were made. The manual pages have one line for each folder.
pages='^\(/.*/man/man[0-9]\)/[^/]*$'
grep '^/' "$log" | grep -v "$pages" | while read -r path; do
    [ -d "$path" ] || echo "  $path"
done
sed -n "s#$pages#\1#p" "$log" | sort | uniq -c | while read -r count folder; do
    echo "  $folder (manual pages: $count)"
done
echo
case ":$PATH:" in
*":$(dirname "$program"):"*) program=causeway ;;
esac
echo "Next:"
echo "  $program init        write a first configuration"
echo "  $program serve       or try the example plugin first"
echo "  make uninstall       remove these files again"
