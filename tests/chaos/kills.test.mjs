// kill -9 of replicas and of the database server in the middle of writes: nothing acknowledged is lost.
import { suite, test } from "node:test";
import { killAtRandom } from "../functional/support/chaos-kills.mjs";
import { skipped } from "../functional/support/postgres.mjs";

suite("kills", { skip: skipped, timeout: 3_600_000 }, () => {
    test("150 kills of replicas and of the primary lose nothing that was acknowledged", () => killAtRandom(150));
});
