#!/usr/bin/env bash
# Nothing in the tree tells where it was made: no paths of a developer's machine, no addresses of
# the package registries or mirrors that this machine happens to use.
set -euo pipefail
cd "$(dirname "$0")/../.."

status=0
search() { # search WHAT GREP-OPTIONS...
    local what=$1 hits
    shift
    hits=$(scripts/lint/files.sh | xargs -0 grep -InH "$@" -- 2>/dev/null | cut -c -160) || true
    if [ -n "$hits" ]; then
        printf '%s:\n%s\n' "$what" "$hits"
        status=1
    fi
}

search "path in a home folder" -E -e '(^|[^A-Za-z0-9_.-])/(home|Users)/[a-z][a-z0-9_-]*/'
search "path of this checkout" -F -e "$PWD/"
case ${HOME:-/} in
/ | /nonexistent) ;;
*) search "path in the home folder" -F -e "$HOME/" ;;
esac
search "address of a package registry" -iE \
    -e 'https?://[^/ "]*(registry|artifactory|nexus|mirror|pkg\.dev|npmjs)[^/ "]*/'

# Hosts that this machine's npm and apt use, except those that the documents may name.
hosts=$({
    npm config get registry 2>/dev/null || true
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources \
        2>/dev/null || true
} | grep -v '^#' | grep -oE 'https?://[^/ ]+' | sed -E 's|.*//([^@]*@)?||; s|:[0-9]+$||' |
    grep -vxE '(.*\.)?(debian\.org|npmjs\.org|localhost|127\.0\.0\.1)' | sort -u) || true
for host in $hosts; do
    search "host of a package registry" -F -e "$host"
done
exit $status
