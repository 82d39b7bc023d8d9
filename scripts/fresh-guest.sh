#!/usr/bin/env bash
# Runs inside the booted system of `make fresh`, step 6: the packages under systemd.
#
#     fresh-guest.sh BEFORE NOW    folders with packages of the commit before and of this commit
#
# Install, init, start, sandbox, reload, a crash, an upgrade under requests, removal. Exit code 0: all of it worked.
set -euo pipefail
before=$1
now=$2
config=/etc/causeway/causeway.yaml
url=http://127.0.0.1:8080
export DEBIAN_FRONTEND=noninteractive

say() { echo "guest: $*"; }
fail() {
    say "FAILED: $*"
    journalctl --no-pager -u causeway | grep -v 'info access: request' | tail -n 30
    exit 1
}

main_pid() { systemctl show --property=MainPID --value causeway; }

call() { # call [TOKEN]: the status of a call
    curl -s -o /dev/null -w '%{http_code}\n' ${1:+-H "Authorization: Bearer $1"} "$url/mcp" \
        --json '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
}

await() { # await STATUS TOKEN
    local _
    for _ in {1..100}; do
        [ "$(call "$2")" != "$1" ] || return 0
        sleep 0.1
    done
    fail "no answer $1"
}

say "install"
apt-get -qq -y install "$before"/causeway_*.deb
[ "$(systemctl is-enabled causeway || true)" = disabled ] || fail "the installation enables the service"
[ "$(systemctl is-active causeway || true)" = inactive ] || fail "the installation starts the service"

say "causeway init, systemctl enable --now causeway"
token=$(causeway init --yes --account ada | sed -n 's/.*"Bearer \(.*\)".*/\1/p')
[ -n "$token" ] || fail "no token"
systemctl enable --quiet --now causeway
await 200 "$token"
[ "$(call)" = 401 ] || fail "strangers are let in"

say "sandbox"
grep -q '^CapEff:[[:space:]]*0*$' "/proc/$(main_pid)/status" || fail "it has capabilities"
grep -q '^Seccomp:[[:space:]]*2$' "/proc/$(main_pid)/status" || fail "no filter of system calls"
systemd-analyze security --no-pager --threshold=15 causeway >/dev/null || fail "exposure over 1.5"
causeway doctor --config $config || fail "doctor"

say "a plugin in the sandbox, after a reload"
sed -i 's/^#\(plugins:\|  directory:\|  data:\)/\1/; s/  authenticated: \[/&access content, /' $config
causeway config check $config
systemctl reload causeway
for _ in {1..50}; do
    answer=$(curl -s -H "Authorization: Bearer $token" "$url/mcp" --json '{"jsonrpc":"2.0","id":1,"method":"tools/call",
        "params":{"name":"examples__articles__list","arguments":{"page":{"limit":1}}}}')
    case $answer in *'"nid":8'*) break ;; esac
    sleep 0.1
done
case $answer in *'"nid":8'*) ;; *) fail "the plugin: $answer" ;; esac

say "a crash"
kill -9 "$(main_pid)"
await 200 "$token"

say "upgrade under requests"
old=$(main_pid)
while [ ! -e /tmp/done ]; do
    call "$token" || true
done >/tmp/statuses &
load=$!
apt-get -qq -y install "$now"/causeway_*.deb
sleep 1
touch /tmp/done
wait $load
[ "$(main_pid)" != "$old" ] || fail "the old process goes on"
sort /tmp/statuses | uniq -c
[ "$(sort -u /tmp/statuses)" = 200 ] || fail "requests failed during the upgrade"
[ "$(systemctl is-active causeway)" = active ] || fail "not active after the upgrade"
await 200 "$token"
runuser -u causeway -- causeway status --config $config || fail "the user of the service is refused"

say "an upgrade to a program that does not start"
old=$(main_pid)
cp $config /tmp/config
echo 'nonsense: 1' >>$config
start=$SECONDS
apt-get -qq -y --reinstall install "$now"/causeway_*.deb >/tmp/complaints 2>&1
cat /tmp/complaints
[ $((SECONDS - start)) -lt 45 ] || fail "the package waits for a program that has failed"
grep -q 'upgrade failed.*nonsense' /tmp/complaints || fail "the reason is not printed"
[ "$(main_pid)" = "$old" ] || fail "the old process does not go on"
await 200 "$token"
cp /tmp/config $config

say "an orderly stop after the upgrade"
systemctl stop causeway
[ "$(systemctl show --property=Result --value causeway)" = success ] || fail "the server was killed"
systemctl start causeway
await 200 "$token"

say "remove and purge"
apt-get -qq -y remove causeway
[ "$(systemctl is-active causeway || true)" = inactive ] || fail "the service runs on"
apt-get -qq -y purge causeway
left=$(find /etc /usr /var /run -xdev -iname '*causeway*')
[ -z "$left" ] || fail "left: $left"
say "all of it worked"
