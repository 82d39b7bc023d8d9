// Times ajv on the documents that `bench_schema --write DIR` left: ns for each, as one JSON object.
//
//   node bench/schema/ajv.mjs DIR
//
// The best of many batches over 64 parsed copies, after a warm-up, as bench_schema does.
import { readFileSync } from "node:fs";
import path from "node:path";
import Ajv from "ajv/dist/2020.js";

const copies = 64;
const batches = 400;
const batchNs = 1_500_000;
const warmUpNs = 400_000_000;

const now = () => Number(process.hrtime.bigint());

function best(run) {
    let n = 1;
    const start = now();
    while (now() - start < warmUpNs) {
        run(n);
        n = Math.min(n * 2, 1 << 16);
    }
    const probe = now();
    run(64);
    const perCall = (now() - probe) / 64;
    const count = Math.max(1, Math.round(batchNs / perCall));
    let least = Infinity;
    for (let i = 0; i < batches; i++) {
        const before = now();
        run(count);
        least = Math.min(least, (now() - before) / count);
    }
    return least;
}

function measure(folder, name) {
    const text = readFileSync(path.join(folder, `${name}.instance.json`), "utf8");
    const schema = JSON.parse(readFileSync(path.join(folder, `${name}.schema.json`), "utf8"));
    const validate = new Ajv({ strict: false }).compile(schema);
    const parsed = Array.from({ length: copies }, () => JSON.parse(text));
    const check = (value) => {
        if (!validate(value)) {
            throw new Error(`${name} is not valid`);
        }
    };
    return {
        validate: best((n) => {
            for (let i = 0; i < n; i++) {
                check(parsed[i % copies]);
            }
        }),
        both: best((n) => {
            for (let i = 0; i < n; i++) {
                check(JSON.parse(text));
            }
        }),
    };
}

const folder = process.argv[2];
const names = ["flat5", "nested3", "uneval", "arr1000"];
const results = Object.fromEntries(names.map((name) => [name, measure(folder, name)]));
console.log(JSON.stringify(results));
