// Prints the share of lines that the tests reach, file by file, and fails where it is below the
// minimum: coverage.mjs SUMMARY.json MINIMA.txt (gcovr's summary, and the table beside this file).
import { readFileSync } from "node:fs";
import { matchesGlob } from "node:path";

const [summaryFile, minimaFile] = process.argv.slice(2);
const minima = readFileSync(minimaFile, "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([pattern, minimum]) => minimum !== undefined && !pattern.startsWith("#"));

function minimumOf(file) {
    const row = minima.find(([pattern]) => pattern === "*" || matchesGlob(file, pattern));
    return Number(row?.[1] ?? 0);
}

const { files, line_percent: all } = JSON.parse(readFileSync(summaryFile, "utf8"));
// A row that fits no file would let a renamed one fall below its minimum.
const stale = minima.filter(
    ([pattern]) => pattern !== "*" && !files.some((file) => matchesGlob(file.filename, pattern)),
);
let low = 0;
for (const { filename, line_covered: reached, line_total: lines } of files) {
    const percent = lines === 0 ? 100 : (100 * reached) / lines;
    const minimum = minimumOf(filename);
    const note = percent < minimum ? `  below ${minimum} %` : "";
    low += note === "" ? 0 : 1;
    console.log(
        `${filename.padEnd(40)} ${String(reached).padStart(6)} of ${String(lines).padStart(6)} ` +
            `${percent.toFixed(1).padStart(6)} %${note}`,
    );
}
console.log(`${"all files".padEnd(40)} ${all.toFixed(1).padStart(23)} %`);
console.log("Line by line: build/coverage/html/index.html");
if (low > 0) {
    console.log(`${low} files are below their minimum`);
    process.exitCode = 1;
}
if (stale.length > 0) {
    console.log(`No file fits: ${stale.map(([pattern]) => pattern).join(", ")}`);
    process.exitCode = 1;
}
