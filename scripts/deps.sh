#!/usr/bin/env bash
# Install the Debian packages that a make target needs: scripts/deps.sh GROUP...
#
# Nothing missing: one dpkg-query and out, no root, no network. Something missing: say what, then
# install it (through sudo when not root); where that is not allowed, print the command and stop.
set -euo pipefail

# The one table of packages. Groups may name other groups.
packages_of() {
    case $1 in
    run)
        echo gcc libc6-dev meson ninja-build pkg-config
        echo libuv1-dev libssl-dev libyaml-dev libpcre2-dev libidn2-dev libsqlite3-dev sqlite3
        echo libsodium-dev zlib1g-dev libcurl4-openssl-dev libpq-dev
        ;;
    npm) command -v npm >/dev/null || echo nodejs npm ca-certificates ;;
    test) packages_of run && packages_of npm && echo libcmocka-dev openssl curl gettext tmux zsh fish protobuf-compiler prometheus ;;
    # A browser for tests of the console; without this group they are skipped.
    browser) echo chromium ;;
    # Real services that are tested against; without this group the installed ones are.
    services) echo aria2 mopidy qemu-system-x86 openvswitch-common transmission-daemon clangd postgresql pgbouncer haproxy nginx-light ;;
    # Databases and balancers that `make chaos` disturbs.
    chaos) echo postgresql libfaketime ;;
    lint) packages_of test && echo clang clang-format clang-tidy codespell shellcheck git mandoc groff-base ;;
    fuzz) packages_of run && echo clang libclang-rt-dev ;;
    coverage) packages_of test && echo gcovr ;;
    bench)
        packages_of run && packages_of npm
        echo nginx-light haproxy postgresql wrk libcjson-dev libjansson-dev valgrind openssl curl
        ;;
    fresh) echo debootstrap git curl systemd-container ;;
    deb) packages_of run && echo build-essential dpkg-dev debhelper fakeroot lintian systemd git ;;
    oci) echo curl procps util-linux ;;
    *) echo "deps.sh: no such group: $1" >&2 && return 1 ;;
    esac
}

# Packages among the arguments that are not installed, each once.
missing_of() {
    local package seen
    seen=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
        sed -n 's/^installed //p' | tr '\n' ' ') || true
    for package in "$@"; do
        case " $seen " in
        *" $package "*) ;;
        *) printf '%s ' "$package" && seen+=" $package" ;;
        esac
    done
}

# Runs as root. A service that comes with a package (nginx for the benchmarks) is not started:
# Debian asks policy-rc.d first, so one that says no stands there while apt-get runs.
install_as_root() {
    local policy=/usr/sbin/policy-rc.d
    if [ ! -e $policy ]; then
        trap 'rm -f /usr/sbin/policy-rc.d' EXIT
        trap 'exit 1' INT TERM
        printf '#!/bin/sh\nexit 101\n' >$policy
        chmod 755 $policy
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq -o DPkg::Lock::Timeout=300 update
    apt-get -qq -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
        install --no-install-recommends "$@"
}

refuse() {
    echo
    echo "Debian packages are missing. $1 As root, run:"
    echo
    echo "  apt-get update"
    echo "  apt-get install --no-install-recommends $2"
    echo
    exit 1
} >&2

if [ "${1:-}" = --install ]; then
    shift
    install_as_root "$@"
    exit
fi

wanted=$(for group in "$@"; do packages_of "$group"; done)
if ! command -v dpkg-query >/dev/null; then
    echo "deps.sh: not a Debian system; these packages (Debian's names) are needed:" $wanted >&2
    exit 0
fi
missing=$(missing_of $wanted)
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=()
elif ! command -v sudo >/dev/null; then
    refuse "This user may not install packages (not root, and there is no sudo)." "$missing"
elif ! sudo -n true 2>/dev/null && [ ! -t 0 ]; then
    refuse "This user may not install packages (sudo asks for a password)." "$missing"
else
    as_root=(sudo)
fi
echo "Installing the Debian packages that are missing${as_root[*]:+ (through sudo)}: $missing"
"${as_root[@]}" "$0" --install $missing || refuse "Installing packages failed." "$missing"
