#!/usr/bin/env bash
# Build an OCI image from the packages in build/deb, without a container engine, and call it (as root).
#
#     build/oci/image            image layout: oci-layout, index.json, blobs/sha256
#     build/oci/causeway.tar     the same as one file, for `podman load` or `docker load`
#
# The image has one layer: our package, and the Debian packages of the libraries that it loads, unpacked. No shell,
# no package manager. The same packages give the same digest; the script builds twice and compares.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$PWD/build/oci
architecture=$(dpkg --print-architecture)
user=65532
say() { echo "oci: $*"; }
fail() {
    say "FAILED: $1"
    exit 1
} >&2

package=$(find build/deb -maxdepth 1 -name "causeway_*_$architecture.deb" 2>/dev/null | sort | tail -n 1)
[ -n "$package" ] || fail "no package in build/deb: run make deb"
version=$(dpkg-deb -f "$package" Version)

# --- Packages ---------------------------------------------------------------------------------------

# The packages of all libraries that the programs load. libcurl is loaded when it is first needed.
library_packages() {
    local file
    find "$out/own/usr/bin" "$out/own/usr/lib/causeway" -type f \( -name '*.so' -o -name causeway -o -name causeway-plugin-host \) -exec ldd {} + |
        sed -n 's|.*\s\(/[^ ]*\) (0x.*|\1|p' >"$out/libraries"
    file=$(ldconfig -p | sed -n 's|.*libcurl\.so\.4 .*=> ||p' | head -n 1)
    [ -n "$file" ] || fail "libcurl.so.4 is not installed"
    { echo "$file" && ldd "$file" | sed -n 's|.*\s\(/[^ ]*\) (0x.*|\1|p'; } >>"$out/libraries"
    sort -u "$out/libraries" | while read -r file; do
        # A package may name the file with or without /usr.
        { dpkg -S "$file" || dpkg -S "/usr$file" || dpkg -S "${file#/usr}"; } 2>/dev/null ||
            fail "no package has $file"
    done | sed 's/[:,].*//' | sort -u
}

download() {
    rm -rf "$out/own" "$out/debs"
    mkdir -p "$out/own" "$out/debs"
    dpkg-deb -x "$package" "$out/own"
    library_packages >"$out/packages"
    say "downloading $(wc -l <"$out/packages") packages"
    (cd "$out/debs" && xargs apt-get -qq download ca-certificates <"$out/packages") 2>"$out/log" ||
        { cat "$out/log" >&2 && fail "apt-get download"; }
}

# --- The file system ----------------------------------------------------------------------------

# Programs of the library packages, manuals, translations and what only a full system uses are left out.
unpack() { # unpack DEB ROOT
    dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --keep-directory-symlink --no-same-owner \
        --exclude='./usr/share/man' --exclude='./usr/share/locale' --exclude='./usr/share/lintian' \
        --exclude='./usr/share/bug' --exclude='./usr/share/info' --exclude='./usr/share/gdb' \
        --exclude='./usr/share/*-completion*' --exclude='./usr/share/zsh' --exclude='./usr/share/fish' \
        --exclude='./usr/share/libc-bin' --exclude='./usr/lib/*/gconv' --exclude='./usr/lib/*/engines-3' \
        --exclude='./lib/systemd' --exclude='./usr/lib/systemd' --exclude='./usr/lib/sysusers.d' \
        --exclude='./usr/lib/tmpfiles.d' --exclude='./usr/sbin' --exclude='./sbin' --exclude='./etc'
    # Scanners read the packages of an image from here.
    dpkg-deb -f "$1" >"$2/var/lib/dpkg/status.d/$(dpkg-deb -f "$1" Package)"
}

write_system_files() { # write_system_files ROOT
    cat "$1"/usr/share/ca-certificates/mozilla/*.crt >"$1/etc/ssl/certs/ca-certificates.crt"
    rm -rf "$1/usr/share/ca-certificates"
    printf 'root:x:0:0:root:/:/usr/sbin/nologin\ncauseway:x:%s:%s:Causeway:/var/lib/causeway:/usr/sbin/nologin\n' \
        $user $user >"$1/etc/passwd"
    printf 'root:x:0:\ncauseway:x:%s:\n' $user >"$1/etc/group"
    printf 'hosts: files dns\n' >"$1/etc/nsswitch.conf"
    cp examples/image/causeway.yaml "$1/etc/causeway/causeway.yaml"
    # Licences stay, other documents do not.
    find "$1/usr/share/doc" -type f ! -name copyright -delete
    find "$1/usr/share/doc" -type d -empty -delete
    find "$1/usr/lib" -name '*.a' -delete
}

make_root() { # make_root ROOT
    local name deb
    mkdir -p "$1"/{usr/{bin,lib,lib64},dev,proc,sys,tmp,etc/{causeway,ssl/certs},var/lib/{causeway,dpkg/status.d}}
    for name in bin lib lib64; do
        ln -s "usr/$name" "$1/$name"
    done
    for deb in "$out"/debs/*.deb "$package"; do
        unpack "$deb" "$1"
    done
    write_system_files "$1"
    for deb in "$out"/debs/*.deb; do
        # shellcheck disable=SC2016 # dpkg-deb's own syntax
        dpkg-deb -W --showformat='${Package} ${Version} ${Architecture}\n' "$deb"
    done | SOURCE_DATE_EPOCH=$epoch SBOM_VERSION=$version scripts/sbom.sh --list \
        >"$1/usr/share/doc/causeway/causeway.spdx.json"
    chmod -R u=rwX,go=rX "$1"
    chmod 1777 "$1/tmp"
}

write_layer() { # write_layer ROOT TAR
    local options=(--format=gnu --sort=name --numeric-owner --mtime="@$epoch")
    tar -c -C "$1" "${options[@]}" --owner=0 --group=0 --exclude=./var/lib/causeway -f "$2" .
    # The one directory of the user.
    tar -r -C "$1" "${options[@]}" --owner=$user --group=$user --mode=0700 -f "$2" ./var/lib/causeway
}

# --- The image ----------------------------------------------------------------------------------

digest_of() { sha256sum "$1" | cut -d ' ' -f 1; }

# Move a file to its name among the blobs, and print that name.
add_blob() { # add_blob IMAGE FILE
    local digest
    digest=$(digest_of "$2")
    mv "$2" "$1/blobs/sha256/$digest"
    echo "$digest"
}

write_config() { # write_config DIFF_ID
    cat <<END
{"created":"$created","architecture":"$architecture","os":"linux",
"config":{"User":"$user:$user","ExposedPorts":{"8080/tcp":{}},
"Env":["PATH=/usr/bin","STATE_DIRECTORY=/var/lib/causeway","CAUSEWAY_CONFIG=/etc/causeway/causeway.yaml"],
"Entrypoint":["/usr/bin/causeway"],"Cmd":["serve"],"Volumes":{"/var/lib/causeway":{}},"WorkingDir":"/",
"StopSignal":"SIGTERM",
"Healthcheck":{"Test":["CMD","/usr/bin/causeway","status"],"Interval":30000000000,"Timeout":5000000000,"Retries":3},
"Labels":{"org.opencontainers.image.title":"causeway","org.opencontainers.image.version":"$version",
"org.opencontainers.image.created":"$created","org.opencontainers.image.licenses":"GPL-2.0-or-later",
"org.opencontainers.image.description":"Gateway from JSON-RPC methods to MCP tools",
"io.modelcontextprotocol.server.name":"local.causeway/causeway"}},
"rootfs":{"type":"layers","diff_ids":["sha256:$1"]},
"history":[{"created":"$created","created_by":"scripts/oci.sh"}]}
END
}

descriptor() { # descriptor IMAGE TYPE DIGEST
    printf '{"mediaType":"application/vnd.oci.image.%s","digest":"sha256:%s","size":%s' \
        "$2" "$3" "$(stat -c %s "$1/blobs/sha256/$3")"
}

write_image() { # write_image IMAGE: also leaves the file system in IMAGE.root
    local image=$1 root=$1.root tar=$1.tar layer diff config manifest
    rm -rf "$image" "$root"
    mkdir -p "$image/blobs/sha256"
    make_root "$root"
    write_layer "$root" "$tar"
    diff=$(digest_of "$tar")
    gzip -n -9 "$tar"
    layer=$(add_blob "$image" "$tar.gz")
    write_config "$diff" >"$tar"
    config=$(add_blob "$image" "$tar")
    printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s},"layers":[%s}]}\n' \
        "$(descriptor "$image" config.v1+json "$config")" \
        "$(descriptor "$image" layer.v1.tar+gzip "$layer")" >"$tar"
    manifest=$(add_blob "$image" "$tar")
    printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s,%s,%s}]}\n' \
        "$(descriptor "$image" manifest.v1+json "$manifest")" \
        "\"platform\":{\"architecture\":\"$architecture\",\"os\":\"linux\"}" \
        "\"annotations\":{\"org.opencontainers.image.ref.name\":\"causeway:${version//\~/-}\"}" >"$image/index.json"
    printf '{"imageLayoutVersion":"1.0.0"}\n' >"$image/oci-layout"
}

# --- The steps ----------------------------------------------------------------------------------

download
epoch=$(stat -c %Y "$out/own/usr/bin/causeway")
created=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)

write_image "$out/image"
write_image "$out/again"
diff -r "$out/image" "$out/again" || fail "two builds differ"
rm -rf "$out"/{again,again.root,own}
tar -c -C "$out/image" --sort=name --numeric-owner --owner=0 --group=0 --mtime="@$epoch" -f "$out/causeway.tar" .

bytes=$(find "$out/image/blobs" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')
say "sha256:$(digest_of "$out/image/index.json") (index), twice the same; $bytes bytes"
[ "$bytes" -le 15728640 ] || fail "larger than 15 MB"

if [ "$(id -u)" = 0 ]; then
    scripts/oci-test.sh "$out/image"
else
    say "not called: scripts/oci-test.sh needs root"
fi
