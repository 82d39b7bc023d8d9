// The tests of tasks in the store once more, on a PostgreSQL server.
import { after, test } from "node:test";
import { useServer } from "./support/accounts.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";

if (skipped) {
    test("tasks in PostgreSQL", { skip: skipped }, () => {});
} else {
    const postgres = await startPostgres();
    useServer(postgres);
    after(() => postgres.stop());
    await import("./task-store.test.mjs");
}
