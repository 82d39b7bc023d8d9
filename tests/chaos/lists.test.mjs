// Lists, their tags and their cursors on all replicas, while rights change: equal everywhere, page by page.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { basic } from "../functional/support/accounts.mjs";
import { startTrio } from "../functional/support/chaos.mjs";
import { modern, ownName } from "../functional/support/mcp.mjs";
import { skipped, startPostgres } from "../functional/support/postgres.mjs";
import { eventually } from "../functional/support/server.mjs";

const rounds = 1_000;

suite("lists", { skip: skipped, timeout: 1_800_000 }, () => {
    let postgres, trio, carol;
    before(async () => {
        postgres = await startPostgres();
        // One address, as behind a balancer: documents have links.
        const more = { public_url: "http://127.0.0.1:9", mcp: { page_size: 7 }, page_size: 5 };
        trio = await startTrio(postgres.newDatabase(), { more });
        await trio.cli("role", "add", "reader");
        await trio.cli("account", "add", "carol", "--role", "reader", { input: "c4rol" });
        carol = basic("carol", "c4rol");
    });
    after(async () => {
        await trio?.stop();
        await postgres?.stop();
    });

    const at = (n) => trio.replicas[n % 3];

    // All pages, each from another replica.
    async function pagesFrom(first) {
        const pages = [];
        let cursor;
        do {
            const params = cursor === undefined ? {} : { cursor };
            const { json, text } = await modern(at(first + pages.length), "tools/list", params, { headers: carol });
            assert.ok(json?.result, text);
            pages.push(json.result.tools);
            cursor = json.result.nextCursor;
        } while (cursor !== undefined);
        return pages.flat();
    }

    async function documentOf(replica, target) {
        const answer = await fetch(`${replica.url}${target}`, { headers: carol });
        return { status: answer.status, tag: answer.headers.get("etag"), text: await answer.text() };
    }

    async function assertEqualEverywhere(target) {
        const [first, ...others] = await Promise.all(trio.replicas.map((replica) => documentOf(replica, target)));
        assert.equal(first.status, 200, first.text);
        assert.ok(first.tag, "a tag");
        others.forEach((other) => assert.deepEqual(other, first, target));
        const known = await fetch(`${trio.replicas[2].url}${target}`, {
            headers: { ...carol, "If-None-Match": first.tag },
        });
        assert.equal(known.status, 304, "the tag of one replica is that of another");
        await known.arrayBuffer();
    }

    // The permission decides whether test.admin is in the list.
    async function setRight(n) {
        const method = n % 2 === 0 ? "roles.allow" : "roles.deny";
        await trio.admin(at(n), method, { role: "reader", permission: "administer site" });
        const isThere = async (replica) =>
            (await (await fetch(`${replica.url}/mcp/tools/describe?name=test.admin`, { headers: carol })).status) ===
            200;
        const areSame = async () =>
            (await Promise.all(trio.replicas.map(isThere))).every((there) => there === (n % 2 === 0));
        await eventually(areSame, "the change at all replicas", 1_000);
        return n % 2 === 0;
    }

    test(`${rounds} rounds of lists, tags and cursors are equal on all replicas`, async () => {
        let has = await setRight(0);
        for (let n = 0; n < rounds; n += 1) {
            if (n % 50 === 49) {
                has = await setRight(Math.floor(n / 50));
            }
            const lists = await Promise.all([0, 1, 2].map((first) => pagesFrom(n + first)));
            assert.deepEqual(lists[1], lists[0]);
            assert.deepEqual(lists[2], lists[0]);
            const names = lists[0].map(ownName);
            assert.equal(new Set(names).size, names.length, "no tool twice");
            assert.equal(names.includes("test.admin"), has, "the rights of the moment");
            if (n % 10 === 0) {
                for (const target of ["/mcp/tools/list", "/mcp/tools/describe?name=test.echo", "/jsonrpc/methods"]) {
                    await assertEqualEverywhere(target);
                }
            }
        }
        console.log(`# ${rounds} rounds of lists were equal on three replicas`);
    });
});
