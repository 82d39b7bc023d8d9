// The log of a server under the real systemd-journald, in a mount namespace of its own.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { keepFolder } from "./support/kept.mjs";
import { makePluginFolder, permissions } from "./support/mcp.mjs";
import { binary, patience, writeConfig } from "./support/programs.mjs";

const journald = "/lib/systemd/systemd-journald";
const needed = [journald, "/usr/bin/journalctl", "/usr/bin/systemd-cat", "/usr/bin/unshare"];

// $1: the program, $2: its configuration, $3: its socket. Prints the entries of the server, as JSON.
const script = `set -eu
until_there() {
    i=0
    while [ ! -S "$1" ]; do
        i=$((i + 1))
        [ "$i" -lt 600 ] || { echo "no socket $1" >&2; exit 1; }
        sleep 0.1
    done
}
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/journal /run/log/journal
${journald} 2>/dev/null &
until_there /run/systemd/journal/socket
until_there /run/systemd/journal/stdout
systemd-cat --identifier=wrong sh -c \
    'JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec "$0" serve --config "$1"' "$1" "$2" &
server=$!
until_there "$3"
call='{"jsonrpc":"2.0","id":1,"method":"test.echo","params":{"message":"x"}}'
curl -sSf --unix-socket "$3" -H 'Content-Type: application/json' \
    -H 'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' -d "$call" http://localhost/jsonrpc >/dev/null
kill "$server"
wait "$server" || true
journalctl --sync
journalctl --no-pager -o json SYSLOG_IDENTIFIER=causeway
`;

function run(...words) {
    // The namespaces end with the script, and all its processes with them.
    const isolated = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", ...words];
    return spawnSync("unshare", isolated, { encoding: "utf8", timeout: patience(90_000) });
}

test("journald keeps the fields of each line", (t) => {
    if (!needed.every((file) => existsSync(file)) || run("-c", "mount -t tmpfs tmpfs /run").status !== 0) {
        t.skip("systemd-journald or the right to mount is missing");
        return;
    }
    const socket = path.join(keepFolder(), "journald.sock");
    const config = writeConfig({
        listen: `unix:${socket}`,
        plugins: { directory: makePluginFolder(["echo"]) },
        roles: { anonymous: permissions },
        log: { calls: true },
        traces: { mode: "propagate", trust: "all" },
    });
    const file = path.join(keepFolder(), "journald.sh");
    writeFileSync(file, script);
    const { status, stdout, stderr } = run(file, binary, config, socket);
    assert.equal(status, 0, stderr);
    const entries = stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
    assert.ok(entries.every(({ _TRANSPORT: transport }) => transport === "journal"));
    const call = entries.find(({ CAUSEWAY_COMPONENT: component }) => component === "call");
    assert.ok(call, stdout);
    assert.equal(call.PRIORITY, "6");
    assert.equal(call.CAUSEWAY_SOURCE, "echo");
    assert.equal(call.CAUSEWAY_METHOD, "test.echo");
    assert.equal(call.CAUSEWAY_OUTCOME, "ok");
    assert.equal(call.TRACE_ID, "0af7651916cd43dd8448eb211c80319c");
    assert.match(call.SPAN_ID, /^[0-9a-f]{16}$/);
    assert.match(call.CAUSEWAY_REQUEST_ID, /^[0-9a-f]{16}$/);
    assert.match(call.MESSAGE, /^call: call door="jsonrpc" /);
    assert.equal(call._COMM, "causeway");
});
