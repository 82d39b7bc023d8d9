// Why Causeway answers some recorded requests otherwise than the system that it re-makes.
//
// An explanation covers differences, each as [where, theirs, ours] (see recordings.mjs), in all
// recordings or `in` those whose "folder/name" matches. A value is compared, a regular expression
// tested, a function asked, `any` is anything. `why` names rows (D…), faults (B…) and checks that
// checks.md maps to their tests, and sections and decisions of the description they are from.
import { isDeepStrictEqual } from "node:util";

const any = () => true;
const isSorted = (names) => isDeepStrictEqual(names, [...names].sort());
const html = "text/html; charset=UTF-8";
const json = "application/json";
const stored = "must-revalidate, no-cache, private";

const everywhere = [
    {
        theirs: "`Cache-Control: must-revalidate, no-cache, private`, no `ETag`, `Vary: X-Consumer-ID`",
        ours: "lists, descriptions and methods: `no-cache, private`, a strong `ETag`, `Vary` with what the answer depends on",
        why: "row D3",
        covers: [
            ["cache-control", stored, "no-cache, private"],
            ["etag", undefined, /^"[0-9a-f]{32}"$/],
            ["vary", "X-Consumer-ID", "Authorization, Cookie, Accept-Language, Accept-Encoding"],
        ],
    },
    {
        theirs: "the same headers on errors and on answers of calls",
        ours: "`Cache-Control: no-store`",
        why: "row D4; no answer of a call is stored (decision 14)",
        covers: [
            ["cache-control", stored, "no-store"],
            ["vary", "X-Consumer-ID", undefined],
        ],
    },
    {
        theirs: "messages in title case: `Invalid Params`, `Method Not Found`",
        ours: "the words of JSON-RPC 2.0: `Invalid params`, `Method not found`",
        why: "fault B29, decision 12",
        covers: [
            ["body /error/message", "Invalid Params", "Invalid params"],
            ["body /error/message", "Method Not Found", "Method not found"],
        ],
    },
    {
        theirs: "the `id` of a call that fails in its method or on a wrong argument is lost: `null`",
        ours: "the `id` of the request",
        why: "fault B29",
        covers: [["body /id", null, /^\d+$/]],
    },
    {
        theirs: "`data` of a wrong argument is a dump of the validator with names of PHP classes",
        ours: "the place in the arguments and what was expected there",
        why: "fault B5",
        covers: [["body /error/data", /Adaptor Drupal/, /^\/nid: expected /]],
    },
    {
        theirs: "tools and methods in the order in which they were found",
        ours: "sorted by name, so other members on a page",
        why: "row D6, fault B16",
        covers: [
            ["body /tools order", any, isSorted],
            ["body /data order", any, isSorted],
            ["body /tools members", any, isSorted],
        ],
    },
    {
        theirs: "the example tools do not say that they only read",
        ours: "`annotations.readOnlyHint: true`: only such tools can be called by GET",
        why: "fault B3, decision 14",
        covers: [[/^body \/tools?(\/\*)?\/annotations\/readOnlyHint$/, undefined, true]],
    },
    {
        theirs: 'no parameters: `"properties": []`',
        ours: '`"properties": {}`',
        why: "row D10, fault B17",
        covers: [[/^body \/tools?(\/\*)?\/inputSchema\/properties$/, [], {}]],
    },
    {
        theirs: "descriptions in the example tools' output schemas, and of their `auth`",
        ours: "our own words",
        why: "section 1.15: the example plugin is our own; names, titles, usages and parameters are the same",
        covers: [
            [/\/outputSchema\/(items\/properties\/\w+\/)?description$/, any, any],
            [/\/attributes\/output\/(items\/properties\/\w+\/)?description$/, any, any],
            [/\/annotations\/auth\/description$/, any, any],
        ],
    },
];

const lists = [
    {
        theirs: "200; a negative offset counts from the end, other nonsense is page one, `1e1` is 10, ` 7` is 7",
        ours: "400 `invalid_cursor`",
        why: "row D5, fault B16",
        in: /list-cursor-(LTE|garbage)|cursor-(1e1|5abc|huge|neg10|space7)$/,
        covers: [
            ["status", 200, 400],
            ["body", "list", "error invalid_cursor"],
        ],
    },
    {
        theirs: "400 as plain text of the framework",
        ours: "400 `invalid_cursor`",
        why: "row D5; errors are JSON (decision 13)",
        in: /09-list-cursor-array$/,
        covers: [
            ["content-type", "text/plain; charset=UTF-8", json],
            ["body", "text", "error invalid_cursor"],
        ],
    },
    {
        theirs: "200 with the list",
        ours: "an MCP message is expected: −32600",
        why: "row D18",
        in: /12-list-POST$/,
        covers: [
            ["status", 200, 400],
            ["body", "list", "error -32600"],
        ],
    },
    {
        theirs: "200: a slash at the end and capitals are the same path",
        ours: "404 `not_found`",
        why: "section 1.1: a path has one spelling, so that a rule of a proxy cannot be passed by another one",
        in: /(14-list-trailing-slash|15-list-uppercase)$/,
        covers: [
            ["status", 200, 404],
            ["body", "list", "error not_found"],
        ],
    },
    {
        theirs: "404 or 400 of an earlier request with another `name`, from a cache",
        ours: "each name its own answer",
        why: "fault B18, row D4",
        in: /^describe-cache-poison/,
        covers: [
            ["status", 404, 200],
            ["status", 404, 400],
            ["status", 400, 200],
            ["status", 400, 404],
            ["body", "error tool_not_found", "tool"],
            ["body", "error tool_not_found", "error missing_parameter"],
            ["body", "error missing_parameter", "tool"],
            ["body", "error missing_parameter", "error tool_not_found"],
        ],
    },
    {
        theirs: "a method's parameter made by a factory names a PHP class",
        ours: "its schema, as for every other parameter",
        why: "section 5.4: there are no factories, the effective `schema` is the same",
        in: /90-methods$/,
        covers: [
            ["body /data/*/attributes/params/page/attributes/factory", any, undefined],
            ["body /data/*/attributes/params/page/attributes/schema", undefined, /"limit"/],
        ],
    },
    {
        theirs: "methods of the site's administration, and a `cache.rebuild` of its own",
        ours: "methods of the example plugin, with the `cache.rebuild` of the documents",
        why: "section 5.4: another server has other methods",
        in: /^admin.*90-methods$/,
        covers: [
            ["body /data members", /maintenance_mode/, isSorted],
            ["body /data/*/attributes/usage", any, "Rebuilds the Drupal system cache."],
            ["body /data/*/attributes/output", undefined, { type: "boolean" }],
        ],
    },
];

const calls = [
    {
        theirs: "400 with −32603",
        ours: "400 with −32700: the body, or `query`, is no JSON",
        why: "fault B29",
        in: /badjson|emptybody|badquery|rpc-empty$/,
        covers: [["body", "error -32603", "error -32700"]],
    },
    {
        theirs: "400 with −32603",
        ours: "400 with −32600: no request of JSON-RPC 2.0",
        why: "fault B29",
        in: /noquery|wrong-version|no-version|scalar-body/,
        covers: [["body", "error -32603", "error -32600"]],
    },
    {
        theirs: "204 for an empty batch",
        ours: "400 with −32600",
        why: "fault B29",
        in: /72-rpc-empty-batch$/,
        covers: [
            ["status", 204, 400],
            ["content-type", undefined, json],
            ["body", "nothing", "error -32600"],
        ],
    },
    {
        theirs: "one unknown method in a batch: 400 and a single error, nothing is run",
        ours: "200 and an answer for each",
        why: "fault B29",
        in: /74-rpc-batch-one-unknown$/,
        covers: [
            ["status", 400, 200],
            ["body", "error -32601", "batch"],
        ],
    },
    {
        theirs: "the address of one tool runs any method that the body names, one that needs scopes too",
        ours: "400 with −32600, for each element of a batch",
        why: "row D16, fault B1",
        in: /33-invoke-othermethod|34-invoke-unknownmethod|43-invoke-batch|53-invoke-scoped/,
        covers: [
            ["status", 200, 400],
            ["body", "result", "error -32600"],
            ["body", "error -32601", "error -32600"],
            ["body /*", "result", "error -32600"],
        ],
    },
    {
        theirs: "`/jsonrpc` runs a tool that needs scopes without a token",
        ours: "401 with a challenge, as at every door",
        why: "fault B2",
        in: /(61-rpc-batch|76-rpc-id-zero|77-rpc-extra-params)$/,
        covers: [
            ["status", 200, 401],
            ["www-authenticate", undefined, /scope="tutorial:read tutorial:search"$/],
            ["body", "result", "error -32000"],
            ["body /*", "result", "error -32000"],
        ],
    },
    {
        theirs: "an `id` that is `null` is refused: 400 with −32603",
        ours: "a request as any other; this tool needs scopes: 401",
        why: "faults B29 and B2",
        in: /75-rpc-id-null$/,
        covers: [
            ["status", 400, 401],
            ["www-authenticate", undefined, /scope="tutorial:read tutorial:search"$/],
            ["body", "error -32603", "error -32000"],
        ],
    },
    {
        theirs: "200 with −32600 that names the missing permission",
        ours: "400 with −32601, as for a method that is not there",
        why: "fault B4",
        in: /^anon.*79-rpc-access-denied-method$/,
        covers: [
            ["status", 200, 400],
            ["body", "error -32600", "error -32601"],
        ],
    },
    {
        theirs: "−32601 repeats the name of the method in `data`",
        ours: "no `data`: an error never repeats what the client sent",
        why: "fault B4, decision 1: an unknown and a forbidden method get the same bytes",
        in: /63-rpc-unknown-method$/,
        covers: [["body /error/data", /nope\.tool/, undefined]],
    },
    {
        theirs: "three texts tell a missing article, a page and a draft apart",
        ours: "one text",
        why: "fault B4",
        in: /4[789]-invoke/,
        covers: [["body /error/data", /^(Node|Access)/, /^Node \d+ not found or not an article$/]],
    },
    {
        theirs: "any `Content-Type` is read",
        ours: "415: a form of a web page cannot make a call",
        why: "fault B3; section 1.12, decision 13",
        in: /50-invoke-textplain$/,
        covers: [
            ["status", 200, 415],
            ["body", "result", "error -32600"],
        ],
    },
    {
        theirs: "404: `/mcp/tools/invoke` was gone in the recorded version",
        ours: "200 with the result",
        why: "row D1",
        in: /51-invoke-legacy-path$/,
        covers: [
            ["status", 404, 200],
            ["content-type", html, json],
            ["body", "page", "object"],
        ],
    },
    {
        theirs: "an unknown tool's address is 404 with a page",
        ours: "404 with −32601",
        why: "errors are JSON (decision 13)",
        in: /40-invoke-unknown-tool$/,
        covers: [
            ["content-type", html, json],
            ["body", "page", "error -32601"],
        ],
    },
    {
        theirs: "200 with an empty page; `/jsonrpc` without `query` 400",
        ours: "204 with `Allow`",
        why: "fault B15",
        in: /OPTIONS(-query)?$/,
        covers: [
            ["status", 200, 204],
            ["status", 400, 204],
            ["allow", any, "GET, HEAD, POST, OPTIONS"],
            ["cache-control", stored, undefined],
            ["content-type", html, undefined],
            ["content-type", json, undefined],
            ["body", "error -32603", "nothing"],
        ],
    },
    {
        theirs: "405 with a page",
        ours: "405 `method_not_allowed`; `Allow` has `OPTIONS` too",
        why: "fault B15; errors are JSON (decision 13)",
        in: /DELETE$|PUT$/,
        covers: [
            ["allow", any, "GET, HEAD, POST, OPTIONS"],
            ["content-type", html, json],
            ["body", "page", "error method_not_allowed"],
        ],
    },
    {
        theirs: "an unknown method is 404 with a page",
        ours: "404 `method_not_found`",
        why: "errors are JSON (decision 13)",
        in: /92-method-unknown$/,
        covers: [
            ["content-type", html, json],
            ["body", "page", "error method_not_found"],
        ],
    },
    {
        theirs: "the metadata of RFC 9728",
        ours: "404 without `access.issuers`, as here; with them the metadata, without the names of tools",
        why: "without an issuer there is none to name; fault B9",
        in: /^anon.*95-resource-metadata$/,
        covers: [
            ["status", 200, 404],
            ["access-control-allow-origin", "*", undefined],
            ["access-control-allow-methods", "GET", undefined],
            ["body", "object", "error not_found"],
        ],
    },
];

const callers = [
    {
        theirs: "HTTP Basic is no way to log in at `/mcp/tools/…`: 403 with a page",
        ours: "one way to log in at every door: the answer that anybody gets who may do the same",
        why: "row D14",
        in: /^admin/,
        when: ({ theirs }) => theirs.status === 403,
        covers: [
            ["status", 403, any],
            ["content-type", html, json],
            ["content-type", html, undefined],
            ["www-authenticate", undefined, /scope="tutorial:read tutorial:search"$/],
            ["body", "page", any],
        ],
    },
    {
        theirs: '401 with an empty page and `Bearer realm="MCP Tools"`',
        ours: "401 with −32000, and the challenge names the scopes",
        why: "row D15",
        in: /41-invoke-auth-tool$|no-auth$/,
        covers: [
            ["content-type", html, json],
            ["www-authenticate", /realm="MCP Tools"$/, /realm="MCP Tools", scope="tutorial:read tutorial:search"$/],
            ["body", "nothing", "error -32000"],
        ],
    },
    {
        theirs: "403 with an empty page",
        ours: "403 with −32000 and the scopes; the header is the same",
        why: "row D15",
        in: /partial-contentTypesscoped$/,
        covers: [
            ["content-type", html, json],
            ["body", "nothing", "error -32000"],
        ],
    },
    {
        theirs: "401 with a page; realm `OAuth`, `access_denied`, and what is wrong with the token",
        ours: "401 in JSON; realm `MCP Tools`, `invalid_token`, one text for every cause",
        why: "checks 78 to 80; one realm (fault B6)",
        in: /^bearer.*\/(empty|garbage|tampered)/,
        covers: [
            ["content-type", html, json],
            [
                "www-authenticate",
                /OAuth/,
                /^Bearer realm="MCP Tools", error="invalid_token", error_description="The access token is invalid or expired"/,
            ],
            ["body", "page", "error -32000"],
            ["body", "page", "error unauthorized"],
        ],
    },
    {
        theirs: "403 with a page",
        ours: "403 `access_denied`",
        why: "errors are JSON (decision 13)",
        in: /^bearer.*-list$/,
        covers: [
            ["content-type", html, json],
            ["body", "page", "error access_denied"],
        ],
    },
    {
        theirs: "`use jsonrpc services` is asked for at `/jsonrpc` only, where this account lacks it: 403",
        ours: "asked for at every door that calls; the account has it here: 200, or 403 for the scopes",
        why: "section 1.8, decision 2",
        in: /^bearer.*(full|partial)-jsonrpc$/,
        covers: [
            ["status", 403, 200],
            ["content-type", html, json],
            ["www-authenticate", undefined, /error="insufficient_scope", scope="tutorial:search"$/],
            ["body", "page", "result"],
            ["body", "page", "error -32000"],
        ],
    },
    {
        theirs: "`bearer` in small letters is no token: 401",
        ours: "200",
        why: "section 1.7, step 3: schemes have no case (RFC 9110, 11.1)",
        in: /lowercase-scheme$/,
        covers: [
            ["status", 401, 200],
            ["content-type", html, json],
            ["www-authenticate", any, undefined],
            ["body", "nothing", "result"],
        ],
    },
];

const sections = [
    ["Everywhere", everywhere],
    ["Lists and descriptions", lists],
    ["Calls", calls],
    ["Who asks", callers],
];

// ---- explaining ----

function matches(expected, value) {
    if (typeof expected === "function") {
        return expected(value);
    }
    return expected instanceof RegExp
        ? expected.test(typeof value === "string" ? value : JSON.stringify(value))
        : isDeepStrictEqual(expected, value);
}

const isAt = (expected, where) => (expected instanceof RegExp ? expected.test(where) : expected === where);

export class Explanations {
    constructor() {
        this.all = sections.flatMap(([, list]) => list);
        this.used = new Set(); // covers
        this.recordings = []; // { folder, name, request, numbers: of the explanations }
    }

    // The differences of a replayed recording that nothing explains. The first explanation that
    // covers one is the one that counts.
    explain({ differences, ...recording }) {
        const id = `${recording.folder}/${recording.name}`;
        const numbers = new Set();
        const open = differences.filter(({ where, theirs, ours }) => {
            for (const [i, one] of this.all.entries()) {
                const applies = (one.in?.test(id) ?? true) && (one.when?.(recording) ?? true);
                const cover = one.covers.find(
                    ([at, left, right]) => applies && isAt(at, where) && matches(left, theirs) && matches(right, ours),
                );
                if (cover !== undefined) {
                    this.used.add(cover);
                    numbers.add(i + 1);
                    return false;
                }
            }
            return true;
        });
        this.recordings.push({ ...recording, numbers: [...numbers].sort((a, b) => a - b) });
        return open;
    }

    // What explains nothing any more.
    unused() {
        return this.all.flatMap((one) =>
            one.covers
                .filter((cover) => !this.used.has(cover))
                .map(([where, theirs, ours]) => `${one.ours}: ${where}: ${theirs} is ${ours}`),
        );
    }
}

// ---- the page ----

const cell = (text) => text.replaceAll("|", "\\|");

function requestText({ method, target }) {
    const short = target.replace(/query=.+/, "query=…");
    return `\`${method} ${short}\``;
}

// docs/drupal-differences.md: explanations by number, then each recording with its numbers. Nothing
// of a recorded answer stands there.
// What no recording shows; drupal-replay.test.mjs holds each against the program.
export const beyond = [
    [
        "an argument that the method does not declare is ignored",
        "refused with -32602 and the nearest right name; `unknown_arguments: ignore` leaves it out",
        "decision 10",
    ],
    [
        "schemas are read as draft 4 to 7 by the site's validator",
        "2020-12, unless `$schema` names draft-07; all other dialects are refused by name",
        "decision 27",
    ],
    [
        "annotations are in the tool as they were written",
        "the same on `/mcp/tools/list`; on `/mcp` the five hints of MCP alone, all others in `_meta`, under `causeway/annotations`",
        "MCP clients reject others",
    ],
    [
        "a result is any JSON value",
        'the same on JSON-RPC and REST; on `/mcp` legacy clients get a value that is no object as `{"result": …}`, with an output schema to match',
        "`structuredContent` is an object in these versions",
    ],
    [
        "pages of 50 tools",
        "50 on `/mcp/tools/list` (`page_size`); 1,000 on `/mcp` (`mcp.page_size`)",
        "MCP clients that read one page only",
    ],
    [
        "`/.well-known/mcp.json` was announced and never there",
        "it is there, with the tags `jsonrpc_mcp:discovery` and `user.permissions`",
        "decision 17",
    ],
];

export function writePage({ all, recordings }) {
    const lines = ["# Where answers differ from Drupal's", ""];
    lines.push(
        "Causeway grew out of a Drupal module that showed JSON-RPC methods as tools. Requests to a site with that",
        "module were recorded, and `tests/functional/drupal-replay.test.mjs` sends each of them to Causeway: status,",
        "content type, headers and body are the same, or the difference is in this list. The test writes this page.",
        "",
        "Sections, decisions, rows (D), faults (B) and checks are those of the description that Causeway was built from;",
        "[checks.md](checks.md) names the tests of the last three.",
        "",
    );
    for (const [title, list] of sections) {
        lines.push(`## ${title}`, "", "| | theirs | ours | why |", "| --- | --- | --- | --- |");
        for (const one of list) {
            const number = all.indexOf(one) + 1;
            lines.push(`| ${number} | ${cell(one.theirs)} | ${cell(one.ours)} | ${cell(one.why)} |`);
        }
        lines.push("");
    }
    lines.push("## Beyond the recordings", "", "| theirs | ours | why |", "| --- | --- | --- |");
    for (const [theirs, ours, why] of beyond) {
        lines.push(`| ${cell(theirs)} | ${cell(ours)} | ${cell(why)} |`);
    }
    lines.push("");
    lines.push("## Request by request", "", "| recording | request | differences |", "| --- | --- | --- |");
    for (const { folder, name, request, numbers } of recordings) {
        const found = numbers.join(", ") || "none";
        lines.push(`| ${folder}/${name} | ${cell(requestText(request))} | ${found} |`);
    }
    lines.push("");
    return lines.join("\n");
}
