// Decides what a run of a client has shown, and whose fault the rest is.
import { script } from "./model.mjs";
import { checkTools } from "./rules.mjs";

// Texts that a client, or the model behind it, must be able to read.
export const expected = {
    result: "raised road across water",
    error: "Node 99999 not found",
    recipe: "1.36.0 (stand-in)",
    unknown: /unknown tool/i,
    large: /too large/i,
    later: "Article",
    hanging: /waits for ever/,
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

// The sessions of the calls in a transcript of HTTP; a newer protocol version has none.
function sessionsOf(transcript) {
    const pattern = /^> POST \S+ (\{.*\})\n> .*"tools\/call"/gm;
    const sessions = [...transcript.matchAll(pattern)].map(([, headers]) => JSON.parse(headers)["mcp-session-id"]);
    return new Set(sessions.filter((one) => one !== undefined));
}

// Whether a restart of the server left the session as it was. A client may use a session for each call.
function stepOfRestart({ keepsSession }, { transport, transcript = "" }) {
    const sessions = transport === "restart" ? sessionsOf(transcript) : new Set();
    return sessions.size === 1 || (keepsSession && transport === "restart")
        ? { "same session": sessions.size === 1 }
        : {};
}

// What a framework did, seen from the model: { step: whether it worked }.
function stepsOfFramework(client, run) {
    const { code, stdout, record, tools, transport } = run;
    const hasRecipe = transport !== "restart" && tools.some(script.isRecipe);
    return {
        list: record.requests.some(({ tools }) => tools.some((name) => script.isTarget({ name }))),
        call: record.seen.includes(expected.result),
        "tool error": record.seen.includes(expected.error),
        ...(hasRecipe && { recipe: record.seen.includes(expected.recipe) }),
        answer: code === 0 && stdout.includes(script.answer),
        ...stepOfRestart(client, run),
    };
}

// Errors are pairs: the text of the error, and the result of the call after it.
const isReported = ([error]) => error !== "" && !error.includes(expected.result) && !expected.hanging.test(error);
const isFollowed = ([, after]) => after.includes(expected.result);

// Steps that only some programs or transports have.
function furtherSteps({ transport }, { tools = [], large, unwrapped, later = "", errors = {}, granted }) {
    const pairs = Object.values(errors);
    return {
        ...(large !== undefined && { "large request": expected.large.test(large) }),
        ...(unwrapped !== undefined && { "unwrapped result": unwrapped?.[0]?.nid > 0 }),
        ...(transport === "late login" && { "call after login": later.includes(expected.later) }),
        ...(transport === "errors" && {
            "each error": pairs.length > 0 && pairs.every(isReported),
            "call after each error": pairs.length > 0 && pairs.every(isFollowed),
        }),
        ...(transport === "role" && { "list changed": (granted ?? []).length > tools.length }),
    };
}

// The first error that was not reported, or after which no call succeeded, as text.
function failedError({ errors = {} }) {
    const failed = Object.entries(errors).find(([, pair]) => !isReported(pair) || !isFollowed(pair));
    return failed === undefined ? undefined : `${failed[0]}: ${failed[1].join(" / ")}`;
}

// What an SDK did, by the report of our program.
function stepsOfSdk(run) {
    const { code, stdout } = run;
    const report = reportOf(stdout);
    const { tools = [], result = "", error = "", unknown = "", again = "" } = report;
    return {
        list: tools.some((name) => script.isTarget({ name })),
        call: result.includes(expected.result),
        "tool error": error.includes(expected.error),
        "unknown tool": expected.unknown.test(unknown),
        ...furtherSteps(run, report),
        "call after errors": code === 0 && again.includes(expected.result),
    };
}

// The member of a report that belongs to a step.
const members = {
    call: "result",
    "tool error": "error",
    "unknown tool": "unknown",
    "large request": "large",
    "unwrapped result": "unwrapped",
    "call after login": "later",
    "list changed": "granted",
    "call after errors": "again",
};

function blame({ faults = [] }, run, missing) {
    const { stdout, output, record, tools, transcript = "", serverProblem = null } = run;
    if (serverProblem !== null) {
        return { whose: "Causeway", problem: serverProblem };
    }
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
        return { whose: "client", problem: fault.note, isKnown: true };
    }
    const report = reportOf(stdout);
    const text = failedError(report) ?? report[members[missing[0]]];
    if (text !== undefined) {
        return { whose: "unknown", problem: `${missing[0]}: ${text}`.slice(0, 300) };
    }
    return { whose: "unknown", problem: `no ${missing.join(", no ")}: ${errorText(output)}` };
}

// { works, problem, whose, isKnown }: the steps that worked, the first reason why the others did not, and whether the
// list of clients has that fault.
export function judge(client, run) {
    const steps = client.api === undefined ? stepsOfSdk(run) : stepsOfFramework(client, run);
    const works = Object.keys(steps).filter((step) => steps[step]);
    const missing = Object.keys(steps).filter((step) => !steps[step]);
    if (missing.length === 0 && (run.serverProblem ?? null) === null) {
        return { works, problem: null, whose: null };
    }
    return { works, ...blame(client, run, missing) };
}
