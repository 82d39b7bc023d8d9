// The tests of accounts, roles and tokens once more, with the database on a PostgreSQL server.
import { after, test } from "node:test";
import { useServer } from "./support/accounts.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";

if (skipped) {
    test("accounts in PostgreSQL", { skip: skipped }, () => {});
} else {
    const postgres = await startPostgres();
    useServer(postgres);
    after(() => postgres.stop());
    await import("./accounts.test.mjs");
    await import("./mcp-rights.test.mjs");
}
