#!/usr/bin/env bash
# Build the Debian packages into build/deb and check them: scripts/deb.sh [--twice]
#
#     --twice    build again, in another folder, and compare the packages byte by byte
#
# The version is that of meson.build. A commit without the tag vVERSION gets a version before it, with the
# number of commits: 0.1.0~git456. Date and version come from the commit, so the same commit gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."

out=build/deb
release=$(sed -n "s/^    version: '\(.*\)',$/\1/p" meson.build)
say() { echo "deb: $*"; }
fail() {
    say "FAILED: $1"
    [ -z "${2:-}" ] || tail -n 60 "$2"
    exit 1
} >&2

has_git() { git rev-parse --git-dir >/dev/null 2>&1; }

# What git tracks or would track; in a source archive, all but what was built.
source_files() {
    if has_git; then
        git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
            [ ! -f "$file" ] || printf '%s\0' "$file"
        done
    else
        find . -path ./build -prune -o -name node_modules -prune -o -type f -print0
    fi
}

# The entry of a version that is not released.
add_snapshot_entry() { # add_snapshot_entry CHANGELOG
    local text
    text=$(cat "$1")
    cat >"$1" <<END
causeway ($version) unstable; urgency=medium

  * Built from commit ${commit% *}.

 -- Causeway maintainers <maintainers@causeway.invalid>  $(date -u -R -d "@${commit#* }")

$text
END
}

build_in() { # build_in FOLDER: the packages lie in FOLDER, the source in a folder of it
    local folder=$1 tree=$1/causeway
    rm -rf "$folder"
    mkdir -p "$tree"
    tar -x -C "$tree" -f "$out/source.tar"
    chmod -R u=rwX,go=rX "$tree"
    [ "$version" = "$release" ] || add_snapshot_entry "$tree/debian/changelog"
    (cd "$tree" && env -u SOURCE_DATE_EPOCH -u DESTDIR LC_ALL=C.UTF-8 \
        dpkg-buildpackage -us -uc --build=full --jobs=auto) >"$folder.log" 2>&1 ||
        fail "dpkg-buildpackage" "$folder.log"
    rm -rf "$tree"
}

# Every mistake and every warning counts, in packages and source alike.
check_lintian() {
    lintian --allow-root --fail-on error,warning "$out"/first/*.changes >"$out/lintian.log" 2>&1 ||
        fail "lintian" "$out/lintian.log"
    say "lintian: no errors, no warnings"
}

check_units() {
    local root=$out/root unit
    rm -rf "$root"
    # The units that every system has, and the programs that ours name.
    mkdir -p "$root/bin" "$root/lib/systemd"
    cp -a /lib/systemd/system "$root/lib/systemd/"
    cp /bin/sh "$root/bin/"
    dpkg-deb -x "$out/first/causeway_${version}_$(dpkg --print-architecture).deb" "$root"
    for unit in causeway.service causeway.socket; do
        systemd-analyze verify --man=no --root="$PWD/$root" "$unit" >"$out/verify.log" 2>&1 ||
            fail "systemd-analyze verify $unit" "$out/verify.log"
        [ ! -s "$out/verify.log" ] || fail "systemd-analyze verify $unit" "$out/verify.log"
    done
    systemd-analyze security --offline=yes --no-pager --threshold=15 \
        "$root/lib/systemd/system/causeway.service" >"$out/security.log" 2>&1 ||
        fail "systemd-analyze security: more than 1.5" "$out/security.log"
    say "systemd-analyze:$(sed -n 's/.*Overall exposure level[^:]*:/ exposure/p' "$out/security.log")"
    rm -rf "$root"
}

check_same() {
    local file name
    for file in "$out"/first/*.{deb,dsc,tar.xz}; do
        name=$(basename "$file")
        cmp "$file" "$out/second/$name" || fail "two builds differ: $name"
    done
    say "a second build in another folder gave the same bytes"
}

# Files and commit are read once: a second build is of the same tree, whatever happens to this one meanwhile.
version=$release
commit=
! has_git || commit=$(git log -1 --abbrev=12 --format='%h %ct')
if has_git && [ "$(git describe --tags --exact-match HEAD 2>/dev/null)" != "v$release" ]; then
    version=$release~git$(git rev-list --count HEAD)
fi
[ "$(dpkg-parsechangelog -S Version)" = "$release" ] ||
    fail "the first entry of debian/changelog is not that of version $release"

mkdir -p "$out"
rm -f "$out"/causeway*
source_files | tar -c --null -T - -f "$out/source.tar"
say "building version $version"
build_in "$out/first"
check_lintian
check_units
if [ "${1:-}" = --twice ]; then
    say "building it again"
    build_in "$out/second/elsewhere"
    mv "$out"/second/elsewhere/* "$out/second/"
    check_same
    rm -rf "$out/second"
fi
mv "$out"/first/* "$out/"
rm -r "$out/first" "$out/source.tar"
(cd "$out" && stat -c '  %8s  build/deb/%n' -- *.deb)
