// The tests of the authorization server once more, with its tables on a PostgreSQL server.
import { after, test } from "node:test";
import { useServer } from "./support/accounts.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";

if (skipped) {
    test("grants in PostgreSQL", { skip: skipped }, () => {});
} else {
    const postgres = await startPostgres();
    useServer(postgres);
    after(() => postgres.stop());
    await import("./oauth-server.test.mjs");
    await import("./oauth-races.test.mjs");
    await import("./oauth-assertion.test.mjs");
    await import("./oauth-device.test.mjs");
    await import("./oauth-jwt.test.mjs");
}
