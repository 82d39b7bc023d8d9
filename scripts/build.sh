#!/usr/bin/env bash
# Configure (when needed) and build one variant: scripts/build.sh VARIANT [NINJA TARGET...]
#
# Each variant is a Meson folder of its own, build/VARIANT, so switching costs nothing. It is
# configured again when the options change or when an optional library was installed or removed
# (the tests need cmocka, the benchmarks cJSON and jansson: what is there decides what is built).
set -euo pipefail
cd "$(dirname "$0")/.."

variant=$1
shift
folder=build/$variant
werror=false
[ "${CI:-}" != true ] || werror=true

sanitized=(-Dbuildtype=debug -Doptimization=1 -Db_lundef=false)
options=()
case $variant in
release) ;;
# gcc warns falsely about uninitialised values in code that it has instrumented itself.
asan) options=("${sanitized[@]}" "-Db_sanitize=address,undefined" -Dc_args=-Wno-maybe-uninitialized) ;;
tsan) options=("${sanitized[@]}" -Db_sanitize=thread -Dc_args=-Wno-maybe-uninitialized) ;;
clang) export CC=clang && werror=true ;;
coverage) options=(-Dbuildtype=debug -Db_coverage=true -Dc_args=-fprofile-update=atomic) ;;
fuzz)
    export CC=clang
    options=("${sanitized[@]}" "-Db_sanitize=address,undefined" -Dfuzz=true)
    ;;
*) echo "build.sh: no such variant: $variant" >&2 && exit 1 ;;
esac
# Defaults in meson.build do not reach a folder that was configured before.
options+=("-Dwerror=$werror" -Dpkgconfig.relocatable=true)
[ -z "${CAUSEWAY_PREFIX:-}" ] || options+=("-Dprefix=$CAUSEWAY_PREFIX")

configure() {
    local output
    echo "Configuring and building $folder."
    if ! output=$(meson setup "$@" "$folder" . "${options[@]}" 2>&1); then
        echo "$output" >&2
        exit 1
    fi
    echo "$stamp" >"$folder/.configured"
}

stamp="${options[*]}"
for library in cmocka libcjson jansson; do
    stamp+=" $library=$(pkg-config --modversion $library 2>/dev/null || true)"
done
if [ ! -f "$folder/build.ninja" ]; then
    configure
elif [ "$stamp" != "$(cat "$folder/.configured" 2>/dev/null)" ]; then
    configure --reconfigure
fi

# Only warnings and errors are worth a line.
ninja -C "$folder" --quiet "$@" | sed '/^ninja: no work to do\.$/d'
if [ "$variant" = release ]; then
    ln -sfn release/causeway build/causeway
fi
