#!/usr/bin/env bash
# Try the two README commands on a bare Debian 12, as a newcomer would: `make fresh` (needs root).
#
# debootstrap makes a minimal system with only make, git and CA certificates. Then, each in its own
# copy of it:
#   1. a user who may not install packages: `make run` prints the package list and stops
#   2. `make run` until its URL answers; again, now in under 2 seconds; then `make test`
#   3. `make test` as the first and only command
# Packages come from where this machine's apt and npm get theirs (read here, at run time).
#
# FRESH_UNCOMMITTED=1 takes the files as they lie there instead of a clone of HEAD.
# FRESH_STEPS="2" runs some of the steps only. Exit code 0: all of it worked.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" != 0 ]; then
    echo "fresh.sh: debootstrap and chroot need root: sudo make fresh" >&2
    exit 1
fi
# Mounts made below are seen by this script alone, and are gone when it ends.
if [ "${FRESH_UNSHARED:-}" != 1 ]; then
    FRESH_UNSHARED=1 exec unshare --mount --propagation private "$0"
fi

suite=bookworm
work=$(mktemp -d "${TMPDIR:-/var/tmp}/causeway-fresh.XXXXXX")
running=
tests_line=

drop_root() {
    local point
    for point in "$1"/{proc,dev/pts,dev/shm}; do
        ! mountpoint -q "$point" || umount -l "$point"
    done
    rm -rf --one-file-system "$1"
}

cleanup() {
    local root
    [ -z "$running" ] || kill "$running" 2>/dev/null || true
    for root in "$work"/*/; do
        drop_root "$root"
    done
    rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

say() { echo "fresh: $*"; }
fail() {
    say "FAILED: $1"
    [ -z "${2:-}" ] || tail -n 40 "$2"
    exit 1
}

# --- What this machine uses: mirror, proxy, npm registry -------------------------------------

debian_sources() { # lines of "URI RELEASE COMPONENT"
    # shellcheck disable=SC2016 # $(...) is apt's own syntax here
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)' \
        'Created-By: Packages' | sed -n 's/ Debian$//p' | grep " $suite" | sort -u
}

sources=$(debian_sources) || { apt-get -qq update && sources=$(debian_sources); } ||
    fail "this machine's apt knows no Debian 12 sources"
mirror=$(awk -v suite=$suite '$2 == suite { print $1; exit }' <<<"$sources")
proxy=$(apt-config shell proxy Acquire::http::Proxy | sed "s/^proxy='\(.*\)'$/\1/")
[ -z "$proxy" ] || export http_proxy="$proxy"

environment=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    LANG=C.UTF-8 NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt)
for name in http_proxy https_proxy no_proxy; do
    [ -z "${!name:-}" ] || environment+=("$name=${!name}")
done
if command -v npm >/dev/null; then
    environment+=("npm_config_registry=$(npm config get registry 2>/dev/null)")
fi

# --- The bare system ----------------------------------------------------------------------------

in_root() { # in_root ROOT COMMAND...
    local root=$1
    shift
    chroot "$root" env -i "${environment[@]}" "$@"
}

make_base() {
    local base=$work/base
    say "debootstrap"
    debootstrap --variant=minbase $suite "$base" "$mirror" >"$work/log" 2>&1 ||
        fail "debootstrap" "$work/log"
    awk '{ print "deb", $0 }' <<<"$sources" >"$base/etc/apt/sources.list"
    apt-config dump | grep -E '^Acquire::(Check-Valid-Until|https?::)' \
        >"$base/etc/apt/apt.conf.d/90host" || true
    cp /etc/hosts /etc/resolv.conf "$base/etc/"
    in_root "$base" apt-get -qq update >"$work/log" 2>&1 || fail "apt-get update" "$work/log"
    in_root "$base" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y install \
        --no-install-recommends make git ca-certificates >"$work/log" 2>&1 ||
        fail "installing make and git" "$work/log"
    in_root "$base" useradd --create-home newcomer
    # An own certificate authority that this machine trusts.
    cp /etc/ssl/certs/ca-certificates.crt "$base/etc/ssl/certs/"
}

new_root() { # new_root NAME: a copy of the bare system with the source in /srv/causeway
    local root=$work/$1 source=$work/$1/srv/causeway
    cp -a "$work/base" "$root"
    mount -t proc proc "$root/proc"
    mount -t devpts -o mode=620,ptmxmode=666 devpts "$root/dev/pts"
    mount -t tmpfs tmpfs "$root/dev/shm"
    if [ "${FRESH_UNCOMMITTED:-}" = 1 ]; then
        mkdir "$source"
        git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$source"
    else
        git clone --quiet --no-hardlinks . "$source"
    fi
    # Each step runs as the owner of the source: root, or the user without rights.
    chown -R "${2:-0:0}" "$source"
}

# --- The steps ------------------------------------------------------------------------------------

step_1() {
    local root=$work/1
    say "1. make run by a user who may not install packages"
    new_root 1 "$(in_root "$work/base" id -u newcomer):$(in_root "$work/base" id -g newcomer)"
    if chroot --userspec=newcomer "$root" env -i "${environment[@]}" \
        make -C /srv/causeway run >"$work/log" 2>&1; then
        fail "make run should have stopped" "$work/log"
    fi
    grep -q 'apt-get install --no-install-recommends .*meson' "$work/log" ||
        fail "no package list was printed" "$work/log"
}

# Start make run, wait until /healthz answers, stop it. $1 root, $2 seconds allowed, $3... arguments
run_until_answers() {
    local root=$1 seconds=$2 url='' start=$EPOCHREALTIME
    shift 2
    # Not through in_root: $! has to be make itself, which passes SIGTERM on to the program.
    chroot "$root" env -i "${environment[@]}" make -C /srv/causeway run "$@" \
        >"$work/log" 2>&1 &
    running=$!
    until [ -n "$url" ] && curl -sf -o "$work/answer" "$url/healthz"; do
        kill -0 "$running" 2>/dev/null || fail "make run ended" "$work/log"
        awk -v a="$start" -v b="$EPOCHREALTIME" -v s="$seconds" 'BEGIN { exit b - a > s }' ||
            fail "no answer within $seconds s" "$work/log"
        url=$(grep -v '^  ' "$work/log" | grep -oEm 1 'http://127\.0\.0\.1:[0-9]+' | tail -n 1) || true
        sleep 0.02
    done
    say "   $url answered after $(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }') s"
    kill "$running"
    wait "$running" || true
    running=
    ! curl -s -o "$work/answer" "$url/healthz" || fail "make run did not stop"
}

step_2() {
    local root=$work/2 default=()
    new_root 2
    if curl -s -o "$work/answer" http://127.0.0.1:8080/; then
        say "   (port 8080 is in use on this machine: another one is taken)"
        default=(ARGS="--listen 127.0.0.1:0")
    fi
    say "2. make run, first time"
    run_until_answers "$root" 900 "${default[@]}"
    say "   make run, second time"
    run_until_answers "$root" 2 ARGS="--listen 127.0.0.1:0"
    ! grep -q 'Installing' "$work/log" || fail "the second make run installed something" "$work/log"
    say "   make test"
    run_tests "$root"
}

step_3() {
    say "3. make test as the first command"
    new_root 3
    run_tests "$work/3"
}

run_tests() {
    in_root "$1" make -C /srv/causeway test >"$work/log" 2>&1 ||
        fail "make test" "$work/log"
    local line
    line=$(grep -E '^[0-9]+ passed, 0 failed, [0-9]+ skipped$' "$work/log") ||
        fail "make test printed no closing line" "$work/log"
    say "   $line"
    # What was built by an earlier make run must not hide tests.
    [ "${tests_line:=$line}" = "$line" ] || fail "other tests ran than before: $tests_line"
}

make_base
for step in ${FRESH_STEPS:-1 2 3}; do
    "step_$step"
    drop_root "$work/$step"
done
say "all of it worked"
