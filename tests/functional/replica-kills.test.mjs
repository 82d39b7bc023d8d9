// A few kills of replicas and of their database server during writes; `make chaos` does 150.
import { suite, test } from "node:test";
import { killAtRandom } from "./support/chaos-kills.mjs";
import { skipped } from "./support/postgres.mjs";

suite("kills", { skip: skipped, timeout: 300_000 }, () => {
    test("6 kills of replicas and of the primary lose nothing that was acknowledged", () => killAtRandom(6));
});
