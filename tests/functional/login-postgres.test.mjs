// The tests of logins and sessions of browsers once more, with the database on a PostgreSQL server.
import { after, test } from "node:test";
import { useServer } from "./support/accounts.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";

if (skipped) {
    test("logins in PostgreSQL", { skip: skipped }, () => {});
} else {
    const postgres = await startPostgres();
    useServer(postgres);
    after(() => postgres.stop());
    await import("./login.test.mjs");
    await import("./stream-rights.test.mjs");
}
