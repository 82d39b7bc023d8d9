// The server that clients connect to leaves nothing with the user who runs the tests.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { serve } from "./server.mjs";

test("keys of sessions are kept beside the configuration", async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), "causeway-clients-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const config = path.join(folder, "causeway.yaml");
    writeFileSync(config, "listen: 127.0.0.1:0\n");
    const others = { HOME: path.join(folder, "home"), STATE_DIRECTORY: path.join(folder, "given") };
    const server = await serve(config, { ...process.env, ...others });
    await server.close();
    assert.ok(readdirSync(path.join(folder, "state", "causeway")).length > 0);
    assert.ok(Object.values(others).every((one) => !existsSync(one)));
});
