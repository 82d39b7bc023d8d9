// mcp.secret_file: the secret that seals sessions outlives the process.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { keepFolder } from "./support/kept.mjs";
import { initialize, legacy, legacyVersions, startBridge } from "./support/mcp.mjs";
import { runCauseway, writeConfig } from "./support/programs.mjs";

const version = legacyVersions[0];

function secretFile(text) {
    const file = path.join(keepFolder(), `secret-${text.length}`);
    writeFileSync(file, text);
    return file;
}

// The status of a request in a session that another server with `second` as its secret began.
async function statusAfterRestart(first, second) {
    const before = await startBridge({ config: { mcp: { secret_file: first } } });
    const begun = await initialize(before, version);
    assert.equal(begun.status, 200, begun.text);
    const headers = { "Mcp-Session-Id": begun.headers.get("mcp-session-id") };
    await before.stop();
    const after = await startBridge({ config: { mcp: { secret_file: second } } });
    const answer = await legacy(after, "tools/list", {}, { version, headers });
    await after.stop();
    return answer.status;
}

test("a session survives a restart with the same secret, and none with another", async () => {
    const one = secretFile("a secret of more than thirty-two bytes");
    const other = secretFile("another secret of more than thirty-two bytes");
    assert.equal(await statusAfterRestart(one, one), 200);
    assert.equal(await statusAfterRestart(one, other), 404);
});

test("a secret that is too short, or missing, keeps the server from starting", async () => {
    for (const [file, pattern] of [
        [secretFile("short"), /mcp\.secret_file.*fewer than 32 bytes/],
        [path.join(keepFolder(), "none"), /mcp\.secret_file.*No such file/],
    ]) {
        const config = writeConfig({ mcp: { secret_file: file } });
        const { code, stderr } = await runCauseway(["serve", "--config", config, "--listen", "127.0.0.1:0"]);
        assert.notEqual(code, 0);
        assert.match(stderr, pattern);
    }
});
