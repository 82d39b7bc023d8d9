#!/usr/bin/env bash
# Run the image of `make oci` in namespaces of its own, as a container runtime does, and call it (needs root):
#
#     scripts/oci-test.sh build/oci/image
#
# The layer is unpacked from the image. Its root is read-only, its user has no rights, /dev has the usual devices.
#   1. the command of the image: ready, closed to strangers, and its health check passes
#   2. the example plugin: the first call of the README
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "oci: $*"; }
fail() {
    say "FAILED: $1"
    cat "$work/log" 2>/dev/null || true
    exit 1
} >&2

# Inside the namespaces: make the mounts that a runtime makes, then become the program.
run_inside() { # run_inside ROOT ENVIRONMENT... -- ARGUMENTS...
    local root=$1 device variables=()
    shift
    while [ "$1" != -- ]; do
        variables+=("$1") && shift
    done
    shift
    mount --bind "$root" "$root"
    mount -o remount,bind,ro "$root"
    mount -t proc -o ro,nosuid,nodev,noexec proc "$root/proc"
    mount -t tmpfs -o nosuid,mode=755 tmpfs "$root/dev"
    for device in null zero full random urandom; do
        : >"$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
    mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs "$root/tmp"
    mount --bind "$work/volume" "$root/var/lib/causeway"
    exec env -i "${variables[@]}" setpriv --no-new-privs \
        "$(command -v chroot)" --userspec=65532:65532 --groups= "$root" /usr/bin/causeway "$@"
}

if [ "${1:-}" = --inside ]; then
    work=$2
    shift 2
    run_inside "$@"
fi

image=$1
work=$(mktemp -d "${TMPDIR:-/var/tmp}/causeway-oci.XXXXXX")
server=
cleanup() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" || true
    rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# The text of a member of a JSON file, without a parser: the image is our own, each value is on one line.
blob_of() { grep -o "application/vnd.oci.image.$1\",\"digest\":\"sha256:[0-9a-f]*" "$2" | sed "s|.*:|$image/blobs/sha256/|"; }
manifest=$(blob_of manifest.v1+json "$image/index.json")
config=$(blob_of config.v1+json "$manifest")
mapfile -t environment < <(sed -n 's/^"Env":\[\(.*\)\],$/\1/p' "$config" | tr ',' '\n' | tr -d '"')

unpack() {
    rm -rf --one-file-system "$work/tree" "$work/volume"
    mkdir "$work/tree"
    tar -xzf "$(blob_of layer.v1.tar+gzip "$manifest")" -C "$work/tree" --numeric-owner
    cp -a "$work/tree/var/lib/causeway" "$work/volume" # as an engine fills a new volume
}

in_image() { # in_image ENVIRONMENT... -- ARGUMENTS...
    unshare --mount --pid --ipc --uts --fork --kill-child --propagation private \
        "$0" --inside "$work" "$work/tree" "$@"
}

start() { # start ENVIRONMENT... -- ARGUMENTS...
    local tries=0
    unshare --mount --pid --ipc --uts --fork --kill-child --propagation private \
        "$0" --inside "$work" "$work/tree" "$@" >"$work/log" 2>&1 &
    server=$!
    until url=$(grep -oEm 1 'http://127\.0\.0\.1:[0-9]+' "$work/log") && curl -sf -o "$work/answer" "$url/readyz"; do
        kill -0 $server 2>/dev/null || fail "the program ended"
        [ $((tries += 1)) -lt 300 ] || fail "no answer"
        sleep 0.1
    done
}

# The program is process 1 of its namespace, and ends in order. unshare returns its exit code.
stop() {
    kill "$(ps -o pid= --ppid $server | tr -d ' ')"
    wait $server || fail "the program ended with $?"
    server=
}

unpack
start "${environment[@]}" -- serve --listen 127.0.0.1:0
status=$(curl -s -o "$work/answer" -w '%{http_code}' "$url/mcp" --json '{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
[ "$status" = 401 ] || fail "a stranger gets $status"
in_image "${environment[@]}" -- status >"$work/answer" || fail "the health check"
say "the command of the image: ready, closed to strangers, health check passes"
stop

unpack
start "${environment[@]}" CAUSEWAY_CONFIG= -- serve --listen 127.0.0.1:0
curl -sf -o "$work/answer" "$url/mcp" --json '{"jsonrpc":"2.0","id":1,"method":"tools/call",
    "params":{"name":"examples__articles__list","arguments":{"page":{"limit":1}}}}' || fail "the first call"
grep -q '"structuredContent":{"result":\[{"nid":8,"title":"Who keeps the road"' "$work/answer" ||
    fail "another answer: $(cat "$work/answer")"
say "the first call of the README: $(cut -c -100 "$work/answer")…"
stop
