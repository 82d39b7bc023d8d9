// The tests of webhooks in the store once more, on a PostgreSQL server.
import { after, test } from "node:test";
import { useServer } from "./support/accounts.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";

if (skipped) {
    test("webhooks in PostgreSQL", { skip: skipped }, () => {});
} else {
    const postgres = await startPostgres();
    useServer(postgres);
    after(() => postgres.stop());
    await import("./webhook-store.test.mjs");
}
