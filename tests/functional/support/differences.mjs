// Explains why some of Causeway's responses differ from the recorded ones of a Drupal site.
//
// An explanation covers differences, each as [where, theirs, ours] (see recordings.mjs), in all
// recordings or `in` those whose "folder/name" matches. A value must be equal, a regular expression
// must match, a function must return true; `any` accepts anything. `why` refers to ids of checks.md.
import { isDeepStrictEqual } from "node:util";

const any = () => true;
const isSorted = (names) => isDeepStrictEqual(names, [...names].sort());
const html = "text/html; charset=UTF-8";
const json = "application/json";
const stored = "must-revalidate, no-cache, private";

const everywhere = [
    {
        theirs: "`Cache-Control: must-revalidate, no-cache, private`, no `ETag`, `Vary: X-Consumer-ID`",
        ours: "lists, descriptions and methods: `no-cache, private`, a strong `ETag`, and a `Vary` that names every input of the response",
        why: "row-D3",
        covers: [
            ["cache-control", stored, "no-cache, private"],
            ["etag", undefined, /^"[0-9a-f]{32}"$/],
            ["vary", "X-Consumer-ID", "Authorization, Cookie, Accept-Language, Accept-Encoding, Origin"],
        ],
    },
    {
        theirs: "the same headers on errors and on responses of calls",
        ours: "`Cache-Control: no-store`",
        why: "row-D4; responses of calls are never stored",
        covers: [
            ["cache-control", stored, "no-store"],
            ["vary", "X-Consumer-ID", undefined],
        ],
    },
    {
        theirs: "messages in title case: `Invalid Params`, `Method Not Found`",
        ours: "the spelling of JSON-RPC 2.0: `Invalid params`, `Method not found`",
        why: "fault-B29",
        covers: [
            ["body /error/message", "Invalid Params", "Invalid params"],
            ["body /error/message", "Method Not Found", "Method not found"],
        ],
    },
    {
        theirs: "a call that fails in its method or on an invalid argument loses its `id`: `null`",
        ours: "the `id` of the request",
        why: "fault-B29",
        covers: [["body /id", null, /^\d+$/]],
    },
    {
        theirs: "`data` of an invalid argument is a dump of the validator with PHP class names",
        ours: "the location in the arguments and the expected value",
        why: "fault-B5",
        covers: [["body /error/data", /Adaptor Drupal/, /^\/nid: expected /]],
    },
    {
        theirs: "tools and methods in the order of their discovery",
        ours: "sorted by name, so pages have other members",
        why: "row-D6, fault-B16",
        covers: [
            ["body /tools order", any, isSorted],
            ["body /data order", any, isSorted],
            ["body /tools members", any, isSorted],
        ],
    },
    {
        theirs: "the example tools have no read-only annotation",
        ours: "`annotations.readOnlyHint: true`: only such tools can be called by GET",
        why: "fault-B3",
        covers: [[/^body \/tools?(\/\*)?\/annotations\/readOnlyHint$/, undefined, true]],
    },
    {
        theirs: 'no parameters: `"properties": []`',
        ours: '`"properties": {}`',
        why: "row-D10, fault-B17",
        covers: [[/^body \/tools?(\/\*)?\/inputSchema\/properties$/, [], {}]],
    },
    {
        theirs: "descriptions in the example tools' output schemas and `auth` blocks",
        ours: "other texts",
        why: "the example plugin is Causeway's own; its names, titles, usages and parameters are the same",
        covers: [
            [/\/outputSchema\/(items\/properties\/\w+\/)?description$/, any, any],
            [/\/attributes\/output\/(items\/properties\/\w+\/)?description$/, any, any],
            [/\/annotations\/auth\/description$/, any, any],
        ],
    },
];

const lists = [
    {
        theirs: "200; a negative offset counts from the end, other invalid cursors mean page one, `1e1` is 10, ` 7` is 7",
        ours: "400 `invalid_cursor`",
        why: "row-D5, fault-B16",
        in: /list-cursor-(LTE|garbage)|cursor-(1e1|5abc|huge|neg10|space7)$/,
        covers: [
            ["status", 200, 400],
            ["body", "list", "error invalid_cursor"],
        ],
    },
    {
        theirs: "400 with the framework's plain text",
        ours: "400 `invalid_cursor`",
        why: "row-D5; errors are JSON",
        in: /09-list-cursor-array$/,
        covers: [
            ["content-type", "text/plain; charset=UTF-8", json],
            ["body", "text", "error invalid_cursor"],
        ],
    },
    {
        theirs: "200 with the list",
        ours: "the body must be an MCP message: −32600",
        why: "row-D18",
        in: /12-list-POST$/,
        covers: [
            ["status", 200, 400],
            ["body", "list", "error -32600"],
        ],
    },
    {
        theirs: "200: a trailing slash and capitals name the same path",
        ours: "404 `not_found`",
        why: "a path has one spelling, so another one cannot bypass the rules of a proxy",
        in: /(14-list-trailing-slash|15-list-uppercase)$/,
        covers: [
            ["status", 200, 404],
            ["body", "list", "error not_found"],
        ],
    },
    {
        theirs: "404 or 400 of an earlier request with another `name`, from a cache",
        ours: "each name has its own response",
        why: "fault-B18, row-D4",
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
        theirs: "a parameter made by a factory names a PHP class",
        ours: "its schema, like every other parameter",
        why: "Causeway has no factories; the effective `schema` is the same",
        in: /90-methods$/,
        covers: [
            ["body /data/*/attributes/params/page/attributes/factory", any, undefined],
            ["body /data/*/attributes/params/page/attributes/schema", undefined, /"limit"/],
        ],
    },
    {
        theirs: "methods of the site's administration, and its own `cache.rebuild`",
        ours: "methods of the example plugin, with the documented `cache.rebuild`",
        why: "another server has other methods",
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
        ours: "400 with −32700: the body, or `query`, is not JSON",
        why: "fault-B29",
        in: /badjson|emptybody|badquery|rpc-empty$/,
        covers: [["body", "error -32603", "error -32700"]],
    },
    {
        theirs: "400 with −32603",
        ours: "400 with −32600: not a JSON-RPC 2.0 request",
        why: "fault-B29",
        in: /noquery|wrong-version|no-version|scalar-body/,
        covers: [["body", "error -32603", "error -32600"]],
    },
    {
        theirs: "204 for an empty batch",
        ours: "400 with −32600",
        why: "fault-B29",
        in: /72-rpc-empty-batch$/,
        covers: [
            ["status", 204, 400],
            ["content-type", undefined, json],
            ["body", "nothing", "error -32600"],
        ],
    },
    {
        theirs: "one unknown method in a batch: 400 and a single error; nothing runs",
        ours: "200 and a response for each request",
        why: "fault-B29",
        in: /74-rpc-batch-one-unknown$/,
        covers: [
            ["status", 400, 200],
            ["body", "error -32601", "batch"],
        ],
    },
    {
        theirs: "the URL of one tool runs any method that the body names, even one that needs scopes",
        ours: "400 with −32600, for each element of a batch",
        why: "row-D16, fault-B1",
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
        ours: "401 with a challenge, as on every door",
        why: "fault-B2",
        in: /(61-rpc-batch|76-rpc-id-zero|77-rpc-extra-params)$/,
        covers: [
            ["status", 200, 401],
            ["www-authenticate", undefined, /scope="tutorial:read tutorial:search"$/],
            ["body", "result", "error -32000"],
            ["body /*", "result", "error -32000"],
        ],
    },
    {
        theirs: "an `id` of `null` is rejected: 400 with −32603",
        ours: "an ordinary request; this tool needs scopes: 401",
        why: "fault-B29, fault-B2",
        in: /75-rpc-id-null$/,
        covers: [
            ["status", 400, 401],
            ["www-authenticate", undefined, /scope="tutorial:read tutorial:search"$/],
            ["body", "error -32603", "error -32000"],
        ],
    },
    {
        theirs: "200 with −32600, which names the missing permission",
        ours: "400 with −32601, as for an unknown method",
        why: "fault-B4",
        in: /^anon.*79-rpc-access-denied-method$/,
        covers: [
            ["status", 200, 400],
            ["body", "error -32600", "error -32601"],
        ],
    },
    {
        theirs: "−32601 repeats the method name in `data`",
        ours: "no `data`: an error never repeats request content",
        why: "fault-B4; unknown and forbidden methods get the same bytes",
        in: /63-rpc-unknown-method$/,
        covers: [["body /error/data", /nope\.tool/, undefined]],
    },
    {
        theirs: "three texts distinguish a missing article, a page and a draft",
        ours: "one text",
        why: "fault-B4",
        in: /4[789]-invoke/,
        covers: [["body /error/data", /^(Node|Access)/, /^Node \d+ not found or not an article$/]],
    },
    {
        theirs: "any `Content-Type` is accepted",
        ours: "415: a web form cannot make a call",
        why: "fault-B3",
        in: /50-invoke-textplain$/,
        covers: [
            ["status", 200, 415],
            ["body", "result", "error -32600"],
        ],
    },
    {
        theirs: "404: the recorded version had no `/mcp/tools/invoke`",
        ours: "200 with the result",
        why: "row-D1",
        in: /51-invoke-legacy-path$/,
        covers: [
            ["status", 404, 200],
            ["content-type", html, json],
            ["body", "page", "object"],
        ],
    },
    {
        theirs: "the URL of an unknown tool returns 404 with a page",
        ours: "404 with −32601",
        why: "errors are JSON",
        in: /40-invoke-unknown-tool$/,
        covers: [
            ["content-type", html, json],
            ["body", "page", "error -32601"],
        ],
    },
    {
        theirs: "200 with an empty page; `/jsonrpc` without `query` 400",
        ours: "204 with `Allow`",
        why: "fault-B15",
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
        ours: "405 `method_not_allowed`; `Allow` includes `OPTIONS`",
        why: "fault-B15; errors are JSON",
        in: /DELETE$|PUT$/,
        covers: [
            ["allow", any, "GET, HEAD, POST, OPTIONS"],
            ["content-type", html, json],
            ["body", "page", "error method_not_allowed"],
        ],
    },
    {
        theirs: "an unknown method returns 404 with a page",
        ours: "404 `method_not_found`",
        why: "errors are JSON",
        in: /92-method-unknown$/,
        covers: [
            ["content-type", html, json],
            ["body", "page", "error method_not_found"],
        ],
    },
    {
        theirs: "the metadata of RFC 9728",
        ours: "404 without an authorization server (`access.issuers`, `access.server.enabled`), as in the replay; otherwise the metadata, without tool names",
        why: "the metadata must name an issuer; fault-B9",
        in: /^anon.*95-resource-metadata$/,
        covers: [
            ["status", 200, 404],
            ["access-control-allow-origin", "*", undefined],
            ["access-control-allow-methods", "GET", undefined],
            // An OAuth error object: its `error` is a text.
            ["body", "object", "error undefined"],
        ],
    },
];

const callers = [
    {
        theirs: "HTTP Basic is not accepted at `/mcp/tools/…`: 403 with a page",
        ours: "every door accepts the same credentials; the response depends on the caller's rights only",
        why: "row-D14",
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
        why: "row-D15",
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
        why: "row-D15",
        in: /partial-contentTypesscoped$/,
        covers: [
            ["content-type", html, json],
            ["body", "nothing", "error -32000"],
        ],
    },
    {
        theirs: "401 with a page; realm `OAuth`, `access_denied`, and the reason",
        ours: "401 in JSON; realm `MCP Tools`, `invalid_token`, one text for every reason",
        why: "check-78 to check-80; one realm (fault-B6)",
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
        why: "errors are JSON",
        in: /^bearer.*-list$/,
        covers: [
            ["content-type", html, json],
            ["body", "page", "error access_denied"],
        ],
    },
    {
        theirs: "only `/jsonrpc` requires `use jsonrpc services`; this account lacks it there: 403",
        ours: "every door that calls requires it; in the replay the account has it: 200, or 403 for the scopes",
        why: "one permission to call, on every door",
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
        theirs: "`bearer` in lower case is not a token: 401",
        ours: "200",
        why: "authentication schemes are case-insensitive (RFC 9110, 11.1)",
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
    ["Callers", callers],
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

// Differences that no recording shows; coming-from-drupal.test.mjs checks each against the program.
export const beyond = [
    [
        "undeclared arguments are ignored",
        "rejected with −32602 and the nearest declared name; `unknown_arguments: ignore` drops them",
        "a misspelt argument must not be lost without an error",
    ],
    [
        "the site's validator reads schemas as draft 4 to 7",
        "2020-12, unless `$schema` names draft-07; draft-06 is read as draft-07, and all other dialects are rejected by name",
        "2020-12 is the default dialect of MCP",
    ],
    [
        "annotations are part of the tool as declared",
        "the same on `/mcp/tools/list`; on `/mcp` only MCP's five hints, the others in `_meta` under `causeway/annotations`",
        "MCP clients reject other annotations",
    ],
    [
        "a result is any JSON value",
        'the same on JSON-RPC and REST; on `/mcp` a text has no `structuredContent`, and legacy clients get another non-object value as `{"result": …}`, with a matching output schema',
        "`structuredContent` is an object in these versions",
    ],
    [
        "pages of 50 tools",
        "50 on `/mcp/tools/list` (`page_size`); 1,000 on `/mcp` (`mcp.page_size`)",
        "some MCP clients read one page only",
    ],
    [
        "`/.well-known/mcp.json` was announced and never built",
        "it exists, with the tags `jsonrpc_mcp:discovery` and `user.permissions`",
        "row-D21",
    ],
];

// docs/drupal-differences.md: numbered explanations, then each recording with its numbers. The page contains no recorded
// response.
export function writePage({ all, recordings }) {
    const lines = ["# Differences from Drupal's responses", ""];
    lines.push(
        "Causeway grew out of a Drupal module that published JSON-RPC methods as tools. Requests to a site with that",
        "module were recorded. `tests/functional/drupal-replay.test.mjs` sends each of them to Causeway and compares status,",
        "content type, headers and body. This page explains every difference. The test writes it; do not edit it.",
        "",
        "Ids such as row-D3, fault-B29 and check-78 refer to [checks.md](checks.md).",
        "",
    );
    for (const [title, list] of sections) {
        lines.push(`## ${title}`, "", "| | Drupal | Causeway | Reason |", "| --- | --- | --- | --- |");
        for (const one of list) {
            const number = all.indexOf(one) + 1;
            lines.push(`| ${number} | ${cell(one.theirs)} | ${cell(one.ours)} | ${cell(one.why)} |`);
        }
        lines.push("");
    }
    lines.push("## Beyond the recordings", "", "| Drupal | Causeway | Reason |", "| --- | --- | --- |");
    for (const [theirs, ours, why] of beyond) {
        lines.push(`| ${cell(theirs)} | ${cell(ours)} | ${cell(why)} |`);
    }
    lines.push("");
    lines.push("## Requests", "", "| Recording | Request | Differences |", "| --- | --- | --- |");
    for (const { folder, name, request, numbers } of recordings) {
        const found = numbers.join(", ") || "none";
        lines.push(`| ${folder}/${name} | ${cell(requestText(request))} | ${found} |`);
    }
    lines.push("");
    return lines.join("\n");
}
