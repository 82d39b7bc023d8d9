#!/usr/bin/env bash
# Print a bill of materials (SPDX 2.3, JSON) of the program and the Debian packages that it uses:
#
#     scripts/sbom.sh SUBSTVARS     the packages in shlibs:Depends of this file, and libcurl (debian/rules)
#     scripts/sbom.sh --list        packages as "NAME VERSION ARCHITECTURE" lines on standard input (scripts/oci.sh)
#
# The bytes depend on the versions of the packages and on SOURCE_DATE_EPOCH alone.
set -euo pipefail
cd "$(dirname "$0")/.."

version=${SBOM_VERSION:-$(dpkg-parsechangelog -S Version)}
created=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(dpkg-parsechangelog -S Timestamp)}" +%Y-%m-%dT%H:%M:%SZ)

# Lines of "NAME VERSION ARCHITECTURE", of the versions that are installed here.
linked_packages() {
    {
        sed -n 's/^shlibs:Depends=//p' "$1" | tr ',' '\n' | sed 's/(.*//; s/|.*//; s/[[:space:]]//g'
        echo libcurl4 # loaded when it is first needed
    } | sed '/^$/d' | LC_ALL=C sort -u | while read -r name; do
        dpkg-query -W -f '${Package} ${Version} ${Architecture}\n' "$name:${DEB_HOST_ARCH:-$(dpkg --print-architecture)}"
    done
}

if [ "$1" = --list ]; then
    packages=$(LC_ALL=C sort -u)
else
    packages=$(linked_packages "$1")
fi

id_of() { # an identifier has letters, digits, dots and hyphens
    printf 'SPDXRef-Package-%s' "$(tr -c 'A-Za-z0-9.\n-' - <<<"$1")"
}

# A version in a package URL: its epoch and revision signs are percent-encoded.
url_version() { sed 's/%/%25/g; s/:/%3A/g; s/+/%2B/g; s/~/%7E/g' <<<"$1"; }

add_package() { # add_package NAME VERSION LICENCE SUPPLIER URL
    printf '    {"SPDXID": "%s", "name": "%s", "versionInfo": "%s",\n' "$(id_of "$1")" "$1" "$2"
    printf '     "supplier": "%s", "downloadLocation": "NOASSERTION", "filesAnalyzed": false,\n' "$4"
    printf '     "licenseConcluded": "NOASSERTION", "licenseDeclared": "%s", "copyrightText": "NOASSERTION",\n' "$3"
    printf '     "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",\n'
    printf '                       "referenceLocator": "%s"}]}' "$5"
}

add_packages() {
    add_package causeway "$version" GPL-2.0-or-later "Organization: Causeway maintainers" \
        "pkg:generic/causeway@$(url_version "$version")"
    while read -r name package_version architecture; do
        printf ',\n'
        add_package "$name" "$package_version" NOASSERTION "Organization: Debian" \
            "pkg:deb/debian/$name@$(url_version "$package_version")?arch=$architecture"
    done <<<"$packages"
    printf '\n'
}

add_relationships() {
    printf '    {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "%s"}' \
        "$(id_of causeway)"
    while read -r name _; do
        printf ',\n    {"spdxElementId": "%s", "relationshipType": "DEPENDS_ON", "relatedSpdxElement": "%s"}' \
            "$(id_of causeway)" "$(id_of "$name")"
    done <<<"$packages"
    printf '\n'
}

# A document of other contents has another name.
digest=$(printf '%s\n%s\n%s\n' "$version" "$created" "$packages" | sha256sum | cut -c -32)

cat <<END
{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "causeway-$version",
  "documentNamespace": "https://spdx.org/spdxdocs/causeway-$version-$digest",
  "creationInfo": {"created": "$created", "creators": ["Organization: Causeway maintainers", "Tool: scripts/sbom.sh"]},
  "packages": [
$(add_packages)
  ],
  "relationships": [
$(add_relationships)
  ]
}
END
