#!/usr/bin/env bash
# Run a command with a PostgreSQL server of its own: with-postgres.sh COMMAND...
#
# The server listens on a socket in a temporary directory, and stops with the command. Its URL is in
# CAUSEWAY_TEST_POSTGRES. Exits with 77 (skipped) where PostgreSQL is not installed.
set -euo pipefail

bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -1)
[ -x "$bin/initdb" ] || { echo "skipped: PostgreSQL is not installed" && exit 77; }

directory=$(mktemp -d /tmp/causeway-postgres.XXXXXX)
as=()
if [ "$(id -u)" = 0 ]; then # the server does not run as root
    as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
    chown postgres: "$directory"
    chmod 755 "$directory"
fi
stop() {
    "${as[@]}" "$bin/pg_ctl" -D "$directory/data" -m immediate -s stop >/dev/null 2>&1 || true
    rm -rf "$directory"
}
trap stop EXIT
trap 'exit 1' INT TERM
cd "$directory"
"${as[@]}" "$bin/initdb" -D data -A trust -U causeway -E UTF8 --locale=C --no-sync >init.log
"${as[@]}" "$bin/pg_ctl" -D data -s -w -t 60 -l server.log start \
    -o "-c listen_addresses= -c unix_socket_directories=$directory -c fsync=off -c shared_buffers=16MB"
cd - >/dev/null
export CAUSEWAY_TEST_POSTGRES="postgresql://causeway@/postgres?host=$directory"
"$@"
