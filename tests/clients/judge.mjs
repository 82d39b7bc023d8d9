// Decides what a run of a client has shown, and whose fault the rest is.
import { script } from "./model.mjs";
import { checkTools } from "./rules.mjs";

// Texts that a client, or the model behind it, must be able to read.
export const expected = {
    result: "raised road across water",
    error: "Node 99999 not found",
    unknown: /unknown tool/i,
    large: /too large/i,
};

const plain = (name) => (name ?? "").replace(/[^a-zA-Z0-9]/g, "").toLowerCase();

// A breach is the server's if its own list has it, whatever prefix the client puts before the name.
function isOurs(breach, tools) {
    return checkTools(tools, breach.api).some(
        ({ rule, tool }) => rule === breach.rule && plain(breach.tool).endsWith(plain(tool)),
    );
}

// The last line of standard output that is a JSON object: what the client's program reports.
export function reportOf(stdout) {
    const lines = stdout.split("\n").filter((line) => line.startsWith("{"));
    try {
        return JSON.parse(lines.at(-1));
    } catch {
        return {};
    }
}

// The end of an output, from the last line that names an error, for people.
export function errorText(output) {
    const lines = output
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "" && !line.startsWith("For further information"));
    const isNamed = (line) => /(error|exception|refused|panic|not finished|failed|invalid)/i.test(line);
    const text = lines.slice(lines.findLastIndex(isNamed)).join(" ") || "no output";
    // Only the name of a file is of use on another machine.
    return text.replace(/(\/[^\s/:'"]+){2,}\/([^\s/:'"]+)/g, "$2").slice(0, 300);
}

// What a framework did, seen from the model: { step: whether it worked }.
function stepsOfFramework({ code, stdout, record }) {
    return {
        list: record.requests.some(({ tools }) => tools.some((name) => script.isTarget({ name }))),
        call: record.seen.includes(expected.result),
        "tool error": record.seen.includes(expected.error),
        answer: code === 0 && stdout.includes(script.answer),
    };
}

// What an SDK did, by the report of our program.
function stepsOfSdk({ code, stdout }) {
    const { tools = [], result = "", error = "", unknown = "", large, again = "" } = reportOf(stdout);
    return {
        list: tools.some((name) => script.isTarget({ name })),
        call: result.includes(expected.result),
        "tool error": error.includes(expected.error),
        "unknown tool": expected.unknown.test(unknown),
        ...(large !== undefined && { "large request": expected.large.test(large) }),
        "call after errors": code === 0 && again.includes(expected.result),
    };
}

// The member of a report that belongs to a step.
const members = {
    call: "result",
    "tool error": "error",
    "unknown tool": "unknown",
    "large request": "large",
    "call after errors": "again",
};

function blame({ faults = [] }, { stdout, output, record, tools, transcript = "" }, missing) {
    const [breach] = record?.rejections ?? [];
    if (breach !== undefined) {
        const text = `${breach.api} rejects ${breach.tool ?? "the tools"} (${breach.rule}): ${breach.text}`;
        return { whose: isOurs(breach, tools) ? "Causeway" : "client", problem: text };
    }
    // Few clients begin a new session by themselves, so a session must outlast logins and restarts.
    if (/^<.*"Session not found"/m.test(transcript)) {
        return { whose: "Causeway", problem: "Session not found" };
    }
    const fault = faults.find(({ step, text }) => missing.includes(step) && (text === undefined || text.test(output)));
    if (fault !== undefined) {
        return { whose: "client", problem: fault.note };
    }
    const text = reportOf(stdout)[members[missing[0]]];
    if (text !== undefined) {
        return { whose: "unknown", problem: `${missing[0]}: ${text}`.slice(0, 300) };
    }
    return { whose: "unknown", problem: `no ${missing.join(", no ")}: ${errorText(output)}` };
}

// { works, problem, whose }: the steps that worked, and the first reason why the others did not.
export function judge(client, run) {
    const steps = client.api === undefined ? stepsOfSdk(run) : stepsOfFramework(run);
    const works = Object.keys(steps).filter((step) => steps[step]);
    const missing = Object.keys(steps).filter((step) => !steps[step]);
    if (missing.length === 0) {
        return { works, problem: null, whose: null };
    }
    return { works, ...blame(client, run, missing) };
}
