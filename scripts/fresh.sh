#!/usr/bin/env bash
# Try the README commands and the packages on a bare Debian 12, as a newcomer would: `make fresh` (needs root).
#
# debootstrap makes a minimal system with only make, git and CA certificates. Then, each in its own
# copy of it:
#   1. a user who may not install packages: `make run` prints the package list and stops
#   2. `make run` until its URL answers; again, now in under 2 seconds; then `make test`
#   3. `make test` as the first and only command
#   4. `make deb`, twice with the same bytes; `make oci`; `make deb` of the commit before
#   5. the packages of the commit before installed and started by the command line of the unit; upgraded; removed;
#      purged, which leaves nothing but the user and group "causeway"
#   6. the same under systemd, in a booted system without a network (scripts/fresh-guest.sh); skipped without
#      systemd-nspawn (package systemd-container)
# Packages come from where this machine's apt and npm get theirs (read here, at run time).
#
# FRESH_UNCOMMITTED=1 takes the files as they lie there instead of a clone of HEAD.
# FRESH_STEPS="4 5" runs some of the steps only. Exit code 0: all of it worked.
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
# One commit for all steps, whatever is committed meanwhile.
commit=$(git rev-parse HEAD)
work=$(mktemp -d "${TMPDIR:-/var/tmp}/causeway-fresh.XXXXXX")
running=
tests_line=

drop_root() {
    local point
    for point in "$1"/{proc,dev/pts,dev/shm,.}; do
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
    mount --bind "$root" "$root" # unshare, which make oci uses, needs a mount point
    mount -t proc proc "$root/proc"
    mount -t devpts -o mode=620,ptmxmode=666 devpts "$root/dev/pts"
    mount -t tmpfs tmpfs "$root/dev/shm"
    if [ "${FRESH_UNCOMMITTED:-}" = 1 ]; then
        mkdir "$source"
        git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$source"
    else
        git clone --quiet --no-hardlinks --no-checkout . "$source"
        git -C "$source" checkout --quiet --detach "$commit"
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

# Packages of this commit in $work/now, of the one before in $work/before. This commit comes first: its list of
# packages may have been completed.
step_4() {
    local root=$work/4
    say "4. make deb, twice"
    new_root 4
    mkdir -p "$work/before" "$work/now"
    in_root "$root" make -C /srv/causeway deb ARGS=--twice >"$work/log" 2>&1 || fail "make deb" "$work/log"
    sed 's/^/   /' <(grep -E '^deb: (lintian|systemd|a second)|^  ' "$work/log")
    cp "$root"/srv/causeway/build/deb/*.deb "$work/now/"
    say "   make oci"
    in_root "$root" sh -c 'cd /srv/causeway && scripts/deps.sh oci && scripts/oci.sh' >"$work/log" 2>&1 ||
        fail "make oci" "$work/log"
    sed 's/^/   /' <(grep '^oci: ' "$work/log")
    say "   make deb of the commit before"
    git clone --quiet --no-hardlinks --no-checkout . "$root/srv/before"
    # With uncommitted files, HEAD is the commit before.
    git -C "$root/srv/before" checkout --quiet --detach "$commit$([ "${FRESH_UNCOMMITTED:-}" = 1 ] || echo '~1')"
    in_root "$root" make -C /srv/before deb >"$work/log" 2>&1 || fail "make deb of the commit before" "$work/log"
    cp "$root"/srv/before/build/deb/*.deb "$work/before/"
}

install_packages() { # install_packages ROOT FOLDER: all of the folder but debug symbols
    local root=$1 folder=$2 files=()
    mkdir -p "$root/srv/packages"
    cp "$folder"/*.deb "$root/srv/packages/"
    mapfile -t files < <(cd "$root" && find srv/packages -name '*.deb' ! -name '*-dbgsym_*' -printf '/%p\n')
    in_root "$root" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
        -o Dpkg::Options::=--force-confold install "${files[@]}" >"$work/log" 2>&1 </dev/null ||
        fail "installing the packages" "$work/log"
    rm -r "$root/srv/packages"
}

# Every path but those of apt, dpkg and this script.
list_files() {
    (cd "$1" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./run -o -path ./srv -o -path ./tmp -o -path ./var/cache \
        -o -path ./var/lib/apt -o -path ./var/lib/dpkg -o -path ./var/log/apt -o -path ./var/log/dpkg.log \
        -o -path ./var/log/alternatives.log \) -prune -o -print | LC_ALL=C sort)
}

# Start the service by the command line and the user of its unit. $1 root, $2 log; sets $running and $url
start_service() {
    local root=$1 log=$2 unit=$1/lib/systemd/system/causeway.service command user tries=0
    command=$(sed -n 's/^ExecStart=//p' "$unit")
    user=$(sed -n 's/^User=//p' "$unit")
    # shellcheck disable=SC2086 # the words of a command line
    chroot --userspec="$user" "$root" env -i PATH=/usr/bin:/bin STATE_DIRECTORY=/var/lib/causeway \
        sh -c 'umask 077 && exec "$@"' sh $command >"$log" 2>&1 &
    running=$!
    until url=$(grep -oEm 1 'http://127\.0\.0\.1:[0-9]+' "$log") && curl -sf -o "$work/answer" "$url/readyz"; do
        kill -0 "$running" 2>/dev/null || fail "the service ended" "$log"
        [ $((tries += 1)) -lt 300 ] || fail "the service does not answer" "$log"
        sleep 0.1
    done
}

stop_service() {
    kill "$running"
    wait "$running" || fail "the service ended with $?" "$work/service"
    running=
}

status_of_call() { # status_of_call [TOKEN]
    curl -s -o "$work/answer" -w '%{http_code}' ${1:+-H "Authorization: Bearer $1"} "$url/mcp" \
        --json '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
}

step_5() {
    local root=$work/5 config=/etc/causeway/causeway.yaml token tools
    [ -d "$work/now" ] || { step_4 && drop_root "$work/4"; }
    say "5. the packages of the commit before: install"
    new_root 5
    # All that is not ours comes first, so that the list of files shows what we leave behind.
    in_root "$root" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends satisfy \
        "$(dpkg-deb -f "$(find "$work/now" -name 'causeway_*.deb')" Depends), gcc, libc6-dev, pkg-config, curl" \
        >"$work/log" 2>&1 || fail "installing dependencies" "$work/log"
    list_files "$root" >"$work/files"
    install_packages "$root" "$work/before"
    for tools in first-call plugin; do
        in_root "$root" "/srv/causeway/debian/tests/$tools" >"$work/log" 2>&1 || fail "debian/tests/$tools" "$work/log"
    done

    say "   causeway init, start"
    sed -i 's/127\.0\.0\.1:8080/127.0.0.1:0/' "$root$config" # a change of the operator, kept by the upgrade
    in_root "$root" causeway init --yes --account ada >"$work/log" 2>&1 || fail "causeway init" "$work/log"
    token=$(sed -n 's/.*"Bearer \(.*\)".*/\1/p' "$work/log")
    start_service "$root" "$work/service"
    [ "$(status_of_call)" = 401 ] || fail "a stranger gets another answer than 401" "$work/answer"
    [ "$(status_of_call "$token")" = 200 ] || fail "the account gets another answer than 200" "$work/answer"

    say "   upgrade"
    install_packages "$root" "$work/now"
    [ "$(status_of_call "$token")" = 200 ] || fail "the running server does not survive the upgrade"
    stop_service
    start_service "$root" "$work/service"
    [ "$(status_of_call "$token")" = 200 ] || fail "the account is lost by the upgrade" "$work/answer"
    in_root "$root" causeway doctor --config $config >"$work/log" 2>&1 || fail "doctor" "$work/log"
    in_root "$root" systemd-analyze verify --man=no causeway.service causeway.socket >"$work/log" 2>&1 ||
        fail "systemd-analyze verify" "$work/log"
    [ ! -s "$work/log" ] || fail "systemd-analyze verify" "$work/log"
    stop_service

    say "   remove and purge"
    in_root "$root" apt-get -qq -y remove causeway causeway-plugin-dev causeway-doc >"$work/log" 2>&1 </dev/null ||
        fail "remove" "$work/log"
    [ ! -e "$root/usr/bin/causeway" ] || fail "remove leaves the program"
    [ -e "$root/var/lib/causeway/causeway.db" ] || fail "remove deletes the database"
    in_root "$root" apt-get -qq -y purge causeway causeway-plugin-dev causeway-doc >"$work/log" 2>&1 </dev/null ||
        fail "purge" "$work/log"
    # Documented: the user and group stay; passwd- and the like are copies that the system makes.
    list_files "$root" | grep -vxE '\./etc/(passwd|group|shadow|gshadow)-' |
        diff <(grep -vxE '\./etc/(passwd|group|shadow|gshadow)-' "$work/files") - >"$work/log" ||
        fail "purge leaves files, or deletes files of others" "$work/log"
    grep -q '^causeway:' "$root/etc/passwd" || fail "purge deletes the user"
}

step_6() {
    local root=$work/6 units=$work/6/etc/systemd/system
    if ! command -v systemd-nspawn >/dev/null; then
        say "6. skipped: systemd-nspawn is not installed (package systemd-container)"
        return
    fi
    [ -d "$work/now" ] || { step_4 && drop_root "$work/4"; }
    say "6. the packages in a booted system"
    new_root 6
    in_root "$root" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends satisfy \
        "$(dpkg-deb -f "$(find "$work/now" -name 'causeway_*.deb')" Depends), systemd-sysv, dbus, curl" \
        >"$work/log" 2>&1 || fail "installing dependencies" "$work/log"
    cp -r "$work/before" "$work/now" "$root/srv/"
    # Runs once the system is up, and ends it.
    printf '%s\n' '[Unit]' 'After=multi-user.target' '[Service]' 'Type=oneshot' 'TimeoutStartSec=600' \
        'StandardOutput=file:/srv/log' 'StandardError=inherit' 'ExecStopPost=/bin/systemctl --no-block poweroff' \
        'ExecStart=/srv/causeway/scripts/fresh-guest.sh /srv/before /srv/now' >"$units/guest.service"
    printf '%s\n' '[Timer]' 'OnBootSec=1' >"$units/guest.timer"
    mkdir -p "$units/timers.target.wants"
    ln -s ../guest.timer "$units/timers.target.wants/"
    umount -l "$root/proc" "$root/dev/pts" "$root/dev/shm" # the guest has its own
    timeout 900 systemd-nspawn --quiet --boot --register=no --keep-unit --private-network -D "$root" \
        >"$work/console" 2>&1 </dev/null || true
    sed 's/^/   /' <(grep '^guest: ' "$root/srv/log")
    grep -qx 'guest: all of it worked' "$root/srv/log" || fail "the packages under systemd" "$root/srv/log"
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
for step in ${FRESH_STEPS:-1 2 3 4 5 6}; do
    "step_$step"
    [ ! -d "$work/$step" ] || drop_root "$work/$step"
done
say "all of it worked"
