// Configuration files: check, show and schema, and that documents and program agree.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { root, runCauseway } from "./support/programs.mjs";

const folder = mkdtempSync(path.join(tmpdir(), "causeway-config-"));
after(() => rmSync(folder, { recursive: true }));

const docs = readFileSync(path.join(root, "docs", "configuration.md"), "utf8");
const schema = JSON.parse(readFileSync(path.join(root, "docs", "causeway.schema.json"), "utf8"));

let written = 0;
function write(text, name = `${(written += 1)}.yaml`) {
    const file = path.join(folder, name);
    writeFileSync(file, typeof text === "string" ? text : JSON.stringify(text));
    return file;
}

const check = (...files) => runCauseway(["config", "check", ...files]);

// Every key of the schema that is no section: [path, subschema].
function leaves(node, prefix = "") {
    return Object.entries(node.properties).flatMap(([name, sub]) =>
        sub.properties ? leaves(sub, `${prefix}${name}.`) : [[`${prefix}${name}`, sub]],
    );
}

test("the schema in docs is the one that the program prints", async () => {
    const { code, stdout } = await runCauseway(["config", "schema"]);
    assert.equal(code, 0);
    const committed = readFileSync(path.join(root, "docs", "causeway.schema.json"), "utf8");
    assert.equal(stdout, committed, "run: causeway config schema > docs/causeway.schema.json");
});

test("the schema is a complete 2020-12 schema", () => {
    assert.equal(schema.$schema, "https://json-schema.org/draft/2020-12/schema");
    assert.ok(leaves(schema).length >= 25);
    for (const [key, sub] of leaves(schema)) {
        assert.ok(sub.description.length > 5, key);
        assert.ok("default" in sub, key);
        assert.ok(matches(sub, sub.default), `${key}: the default does not match`);
    }
});

test("the keys that need a restart are those that the documents list", () => {
    const section = /## Reload and restart\n(.*?)\n## /s.exec(docs)[1];
    const listed = section.match(/^- .*$/gm).flatMap((line) => line.match(/`[a-z_.]+`/g));
    // Only the first issuer needs one, and only without a database. The authorization server needs one if it was off.
    const conditional = ["`access.issuers`", "`access.server.enabled`", "`store.path`"];
    const fixed = leaves(schema).filter(([, sub]) => /needs a restart$/.test(sub.description));
    assert.deepEqual(
        [...new Set([...fixed.map(([key]) => `\`${key}\``), ...conditional])].sort(),
        [...new Set(listed)].sort(),
    );
});

// The configuration takes them as texts; only those who speak to services know them.
test("words of sources that are not known are reported with the line of their source", async () => {
    const file = write(`sources:
  - name: a
    url: http://127.0.0.1:1/
    preset: arai2
    dialect: "3.0"
    params: name
    ids: text
    http_method: PUT
    secret: {as: berer}
    discovery: opnrpc
  - name: b
    url: tcp://127.0.0.1:1
    framing: line
    match_replies: http_exchange
    speaks_first: true
  - {name: c, command: d, http_method: GET}
  - {name: e, command: f, speaks_first: true}
`);
    const problems = [
        `2: sources[0].preset: there is no "arai2"; did you mean "aria2"?`,
        `2: sources[0].dialect: there is no "3.0"; did you mean "2.0"?`,
        `2: sources[0].params: there is no "name"; did you mean "named"?`,
        `2: sources[0].ids: there is no "text"; there are number, string`,
        `2: sources[0].http_method: there is no "PUT"; there are POST, GET, AUTO`,
        `2: sources[0].discovery: there is no "opnrpc"; did you mean "openrpc"?`,
        `2: sources[0].secret.as: there is no "berer"; did you mean "bearer"?`,
        `11: sources[1].framing: there is no "line"; did you mean "lines"?`,
        `11: sources[1].match_replies: a stream has no exchanges; answers need ids`,
        `16: sources[2].http_method: only for HTTP`,
    ].map((line) => `${file}:${line}\n`);
    const all = `${problems.join("")}causeway: the configuration has ${problems.length} problems\n`;
    const { code, stdout, stderr } = await check(file);
    assert.deepEqual([code, stdout, stderr], [2, "", all]);
    for (const command of ["serve", "stdio"]) {
        const started = await runCauseway([command, "--config", file]);
        assert.deepEqual([started.code, started.stderr], [2, all]);
    }
});

test("docs/configuration.md has a row with the right default for every key", () => {
    const rows = new Map([...docs.matchAll(/^\| `([^`]+)` \| (.*) \|$/gm)].map(([, key, rest]) => [key, rest]));
    const service = schema.properties.sources.anyOf[0];
    const { methods, init_calls, jobs } = service.properties;
    const job = jobs.anyOf[0];
    const method = methods.anyOf[1];
    const sources = [
        ...leaves(service, "sources[]."),
        ...leaves(init_calls.anyOf[1], "sources[].init_calls[]."),
        ...leaves(job, "sources[].jobs[]."),
        ...leaves(job.properties.notifications.anyOf[0], "sources[].jobs[].notifications[]."),
        ...leaves(method, "sources[].methods[]."),
        ...leaves(method.properties.params.additionalProperties, "sources[].methods[].params.PARAM."),
        ...leaves(service.properties.events.additionalProperties, "sources[].events.EVENT."),
        ...leaves(schema.properties.plugins.properties.events.additionalProperties, "plugins.events.EVENT."),
        ...["resources", "templates", "prompts"].flatMap((list) =>
            leaves(service.properties[list].anyOf[1], `sources[].${list}[].`),
        ),
    ];
    const toolsets = leaves(schema.properties.toolsets.additionalProperties, "toolsets.NAME.");
    for (const [key, sub] of [...leaves(schema), ...sources, ...toolsets]) {
        const row = rows.get(key);
        assert.ok(row, `${key} is missing`);
        const cells = row.split(" | ");
        if (!("default" in sub)) {
            assert.equal(cells[1], "required", key);
            rows.delete(key);
            continue;
        }
        const shown =
            key === "listen"
                ? sub.default.map((item) => item.address)
                : Array.isArray(sub.default) && sub.default.length
                  ? sub.default
                  : [typeof sub.default === "string" ? sub.default : JSON.stringify(sub.default)];
        assert.equal(cells[1], shown.map((text) => `\`${text}\``).join(", "), key);
        rows.delete(key);
        const [, range] = / \(([^()]+ to [^()]+)\)$/.exec(sub.description) ?? [];
        if (range) {
            assert.equal(cells[0], range, key);
        }
    }
    const { mcp } = schema.properties;
    const client = Object.keys(mcp.properties.clients.anyOf[0].properties);
    const clients = client.map((key) => `mcp.clients[].${key}`);
    const listen = ["listen[].address", "listen[].tls", "listen[].proxy_protocol"];
    const own = (section, name) =>
        Object.keys(schema.properties[section].properties[name].anyOf[0].properties).map(
            (key) => `${section}.${name}[].${key}`,
        );
    const limited = [...own("limits", "tools"), ...own("limits", "sources")];
    const registered = schema.properties.access.properties.server.properties.clients.anyOf[0];
    const registration = Object.keys(registered.properties).map((key) => `access.server.clients[].${key}`);
    const issuers = own("access", "issuers");
    assert.deepEqual([...rows.keys()], [...listen, ...limited, ...registration, ...issuers, ...clients]);
});

test("the examples of docs/configuration.md are right", async () => {
    const examples = [...docs.matchAll(/^```yaml\n(.*?)^```/gms)].map((match) => match[1]);
    assert.ok(examples.length >= 2);
    for (const example of examples) {
        const { code, stderr } = await check("--no-files", write(example));
        assert.equal(code, 0, `${example}\n${stderr}`);
    }
});

test("check accepts a right file and says so", async () => {
    const file = write("listen: 127.0.0.1:0\n");
    const { code, stdout, stderr } = await check(file);
    assert.equal(stdout, `${file}: ok\n`);
    assert.equal(stderr, "");
    assert.equal(code, 0);
    const coloured = await check("--color=always", file);
    assert.equal(coloured.stdout, `${file}: \u001b[32mok\u001b[0m\n`);
});

test("check reports mistakes with file, line, column, key and what would be right", async () => {
    const file = write("# mine\nlimits:\n    header_sise: 1\ntimeouts:\n  idle: soon\n");
    const { code, stdout, stderr } = await check(file);
    assert.equal(
        stderr,
        `${file}:3:5: limits.header_sise: unknown key; did you mean "header_size"?\n` +
            `${file}:5:9: timeouts.idle: expected a duration such as "75s" or "500ms", got "soon"\n` +
            "causeway: the configuration has 2 problems\n",
    );
    assert.equal(stdout, "");
    assert.equal(code, 2);
});

test("check explains mistakes in the keys of a service", async () => {
    const file = write(`sources:
  - name: a
    url: unix:a.sock
    dialekt: qmp
    tls:
      ca_fil: x
    init_calls:
      - {method: login, pparams: []}
    speaks_first: perhaps
    headers: {"X Y": z}
    secret: {environmentt: TOKEN}
    refresh: often
    methods:
      - method: order
        auth_levell: none
        params:
          id: {hhidden: true}
          secret: {schema: string}
        result_pointer: items
`);
    const { code, stdout, stderr } = await check(file);
    assert.equal(
        stderr,
        [
            `4:5: sources[0].dialekt: unknown key; did you mean "dialect"?`,
            `6:7: sources[0].tls.ca_fil: unknown key; did you mean "ca_file"?`,
            `8:25: sources[0].init_calls[0].pparams: unknown key; did you mean "params"?`,
            `9:19: sources[0].speaks_first: expected "yes" or "no", got "perhaps"`,
            `10:15: sources[0].headers."X Y": expected the name of a header such as "X-Tenant"`,
            `11:14: sources[0].secret.environmentt: unknown key; did you mean "environment"?`,
            `12:14: sources[0].refresh: expected a duration such as "75s" or "500ms", got "often"`,
            `15:9: sources[0].methods[0].auth_levell: unknown key; did you mean "auth_level"?`,
            `17:16: sources[0].methods[0].params.id.hhidden: unknown key; did you mean "hidden"?`,
            `18:28: sources[0].methods[0].params.secret.schema: expected a mapping, got "string"`,
            `19:25: sources[0].methods[0].result_pointer: expected a JSON pointer such as "/items", got "items"`,
        ]
            .map((line) => `${file}:${line}\n`)
            .join("") + "causeway: the configuration has 11 problems\n",
    );
    assert.equal(stdout, "");
    assert.equal(code, 2);
});

test("check says where keys of a service do not go together", async () => {
    const cases = [
        [`prefix: x`, `2:5: sources[0]: missing key "url" or "command"`],
        [`url: "unix:/a", command: [b]`, `2:40: sources[0].command: there is a url already; it is one or the other`],
        [
            `command: clangd --log=error`,
            `2:24: sources[0].command: the program and each of its arguments are entries of a list`,
        ],
        [`url: "http://a", headers: {Host: b}`, `2:48: sources[0].headers.Host: this header is set by Causeway itself`],
        [
            `url: "https://a", secret: {file: s, environment: S}`,
            `2:64: sources[0].secret.environment: there is a file already`,
        ],
    ];
    for (const [keys, problem] of cases) {
        const file = write(`sources:\n  - {name: a, ${keys}}\n`);
        const { code, stderr } = await check(file);
        assert.equal(stderr, `${file}:${problem}\ncauseway: the configuration has 1 problem\n`);
        assert.equal(code, 2);
    }
});

test("check refuses a service with the name of the built-in source", async () => {
    const entry = `sources:\n  - {name: causeway, url: "http://a"}\n`;
    for (const text of [entry, `${entry}admin: {enabled: false}\n`]) {
        const file = write(text);
        const { code, stderr } = await check(file);
        const place = `${file}:2:12: sources[0].name`;
        assert.equal(
            stderr,
            `${place}: "causeway" is the name of the built-in source; choose another one\n` +
                "causeway: the configuration has 1 problem\n",
        );
        assert.equal(code, 2);
    }
});

test("check says that webhooks need a store", async () => {
    const on = "mcp: {events: {enabled: true, webhooks: [hooks.example]}}\n";
    const file = write(on);
    const { code, stderr } = await check(file);
    assert.match(stderr, /:1:41: mcp\.events\.webhooks: needs store\.path or store\.url\n/);
    assert.equal(code, 2);
    for (const text of [`${on}store: {path: a.db}\n`, on.replace("true", "false")]) {
        assert.equal((await check(write(text))).code, 0);
    }
});

test("threat-C11: check repeats no secret that stands in a wrong place", async () => {
    const service = (keys) => `sources:\n  - {name: a, ${keys}}\n`;
    const cases = [
        [
            service(`url: "http://a", secret: geheim`),
            /sources\[0\]\.secret: expected a mapping .*, got a text that is not/,
        ],
        [
            service(`url: "http://a", secret: {environment: "geheim!"}`),
            /expected the name of a variable .*, got a text/,
        ],
        [
            service(`url: "http://me:geheim@a"`),
            /got a URL with a user name, which is not shown \(a user name or password/,
        ],
        [service(`url: "http://a/?token=geheim#x"`), /got "http:\/\/a\/" and a query/],
        [service(`url: "http://a", headers: {Authorization: "Bearer \\u0001geheim"}`), /headers\.Authorization: /],
        [service(`command: [a], environment: {TOKEN: "\\u0001geheim"}`), /environment\.TOKEN: /],
        ["public_url: https://me:geheim@a.example\n", /public_url: expected a URL .*, got a URL with a user name/],
        ["access: {issuers: [{issuer: 'https://me:geheim@a.example'}]}\n", /issuer: expected a URL .*, got a URL with/],
        ["traces: {endpoint: 'http://me:geheim@a.example'}\n", /traces\.endpoint: expected a URL .*, got a URL with/],
    ];
    for (const [text, pattern] of cases) {
        const { code, stderr } = await check(write(text));
        assert.match(stderr, pattern);
        assert.doesNotMatch(stderr, /geheim/);
        assert.equal(code, 2);
    }
});

test("check reports twenty mistakes at once and counts the rest", async () => {
    const keys = Array.from({ length: 25 }, (_, i) => `wrong${i}: 1\n`);
    const { code, stderr } = await check(write(keys.join("")));
    assert.equal(code, 2);
    const lines = stderr.trimEnd().split("\n");
    assert.equal(lines.length, 21);
    assert.equal(lines[20], "causeway: the configuration has 25 problems; these are the first 20");
});

test("check goes on after a wrong file", async () => {
    const good = write("loops: 1\n");
    const bad = write("loops: one\n");
    const { code, stdout, stderr } = await check(bad, good, path.join(folder, "none.yaml"));
    assert.equal(code, 2);
    assert.equal(stdout, `${good}: ok\n`);
    assert.match(stderr, /^.*:1:8: loops: expected an integer from 0 to 64, got "one"$/m);
    assert.match(stderr, /^causeway: cannot open '.*none\.yaml': No such file or directory$/m);
});

test("a file that cannot be read is exit code 2, for every command", async () => {
    for (const args of [
        ["config", "check", folder],
        ["config", "show", "-c", folder],
        ["serve", "-c", folder],
    ]) {
        const { code, stderr } = await runCauseway(args);
        assert.equal(stderr, `causeway: cannot read '${folder}': Is a directory\n`);
        assert.equal(code, 2);
    }
});

test("serve refuses a wrong configuration before it starts", async () => {
    const file = write("listen: localhost\n");
    const { code, stdout, stderr } = await runCauseway(["serve", "--config", file]);
    assert.equal(stdout, "");
    assert.match(stderr, /:1:9: listen: expected "HOST:PORT".*got "localhost" \(no port\)\n/);
    assert.equal(code, 2);
    const option = await runCauseway(["serve", "--listen", "localhost"]);
    assert.match(option.stderr, /^--listen: expected "HOST:PORT".*got "localhost" \(no port\)\n/);
    assert.equal(option.code, 2);
});

test("what show prints reads back as the same configuration", async () => {
    const files = [
        write(""),
        write({
            listen: ["[::1]:0", { address: "localhost:1", tls: true }, "unix:a b.sock"],
            loops: 2,
            tls: { certificate: 'c "x".pem', key: "/k\\k.pem", min_version: "1.3" },
            hosts: ["*", "off", "1.5", "*.example.org:80"],
            origins: ["null", "https://example.org"],
            limits: { header_size: 20001, body_size: 0, stream_queue: "1MB" },
            timeouts: { idle: 90, body: "1500ms", drain: 0 },
            log: { level: "off", levels: { net: "debug", off: "off" }, file: "café\u2028.log" },
            access_log: false,
            plugins: { directory: "p", grace: 0, max_memory: 0 },
            sources: [
                { name: "a", url: "unix:a.sock:/x" },
                {
                    name: "b",
                    url: "http://[::1]:80/?q=1",
                    methods: [
                        "m",
                        {
                            method: 'n"1',
                            description: "two\nlines",
                            annotations: { a: [[1, []], {}, "x"], "": null, auth: { scopes: ["1e5"] } },
                            permissions: "p",
                            auth_level: "none",
                            params: { 0: { value: { a: [] }, hidden: true }, b: null },
                            output: {},
                        },
                    ],
                },
                {
                    name: "c",
                    command: ["c d", ""],
                    environment: { A: 1, B: "two\nlines" },
                    dialect: 1.0,
                    speaks_first: true,
                    init_calls: ["m", { method: "n", params: [null, "off"], notify: true }],
                    answers_to_service: { echo: "$params" },
                    secret: { as: "first_param", prefix: "token: ", environment: "E" },
                    handshake: { status: 409 },
                    on_change: "warn",
                    refresh: 0,
                },
            ],
            state: { directory: "kept", lock: "causeway.lock" },
            roles: { anonymous: ["off", "use it"], none: null },
            schema: { default_draft: "draft-07", assert_formats: false },
            store: { path: "accounts.db" },
            access: { allow_plaintext_passwords: true },
            unknown_arguments: "ignore",
        }),
    ];
    for (const file of files) {
        const first = await runCauseway(["config", "show", "--config", file]);
        assert.equal(first.code, 0, first.stderr);
        const second = await runCauseway(["config", "show", "--config", write(first.stdout)]);
        assert.equal(second.code, 0, second.stderr);
        assert.equal(second.stdout, first.stdout);
    }
    const { stdout } = await runCauseway(["config", "show", "--config", files[1]]);
    for (const line of [
        `  - address: "unix:${folder}/a b.sock"`,
        `  certificate: "${folder}/c \\"x\\".pem"`,
        `  header_size: 20001`,
        `  idle: 90s`,
        `    "off": "off"`,
        `access_log: false`,
    ]) {
        assert.ok(stdout.split("\n").includes(line), `${line}\n${stdout}`);
    }
});

test("show has a comment and a value for every key", async () => {
    const { stdout } = await runCauseway(["config", "show"]);
    for (const [key, sub] of leaves(schema)) {
        const name = key.split(".").at(-1);
        const at = stdout.indexOf(`# ${sub.description}\n`);
        assert.ok(at >= 0, key);
        assert.match(stdout.slice(at).split("\n")[1], new RegExp(`^ *${name}:`), key);
    }
});

test("--config goes before CAUSEWAY_CONFIG, and the current folder is not searched", async () => {
    const named = write("loops: 3\n");
    const env = { CAUSEWAY_CONFIG: write("loops: 4\n") };
    const loops = ({ stdout }) => Number(/^loops: (\d+)$/m.exec(stdout)[1]);
    assert.equal(loops(await runCauseway(["config", "show", "-c", named], { env })), 3);
    assert.equal(loops(await runCauseway(["config", "show"], { env })), 4);
    assert.equal((await runCauseway(["config", "check"], { env })).code, 0);
    write("loops: 5\n", "causeway.yaml");
    const none = { CAUSEWAY_CONFIG: "" };
    assert.equal(loops(await runCauseway(["config", "show"], { env: none, cwd: folder })), 0);
});

// The keywords that the schema uses; an unknown one fails the test.
function matches(node, value) {
    const type = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
    const isObject = type === "object";
    const keywords = {
        $schema: () => true,
        title: () => true,
        description: () => true,
        default: () => true,
        type: (types) => [types].flat().some((t) => t === type || (t === "integer" && Number.isInteger(value))),
        enum: (values) => values.includes(value),
        anyOf: (nodes) => nodes.some((sub) => matches(sub, value)),
        pattern: (text) => type !== "string" || new RegExp(text, "u").test(value),
        minLength: (n) => type !== "string" || value.length >= n,
        minimum: (n) => type !== "number" || value >= n,
        maximum: (n) => type !== "number" || value <= n,
        minItems: (n) => type !== "array" || value.length >= n,
        maxItems: (n) => type !== "array" || value.length <= n,
        items: (sub) => type !== "array" || value.every((item) => matches(sub, item)),
        required: (names) => !isObject || names.every((name) => name in value),
        properties: (subs) => !isObject || Object.entries(value).every(([k, v]) => !subs[k] || matches(subs[k], v)),
        additionalProperties: (sub) =>
            !isObject ||
            Object.entries(value).every(([k, v]) => node.properties?.[k] || (sub !== false && matches(sub, v))),
        propertyNames: (sub) => !isObject || Object.keys(value).every((k) => matches(sub, k)),
        maxProperties: (n) => !isObject || Object.keys(value).length <= n,
    };
    return Object.entries(node).every(([keyword, argument]) => {
        assert.ok(keyword in keywords, `unknown keyword ${keyword}`);
        return keywords[keyword](argument);
    });
}

// Values that the schema and the checker must judge alike. Not here: what a schema cannot say, such
// as the range of "25h" or that a certificate needs its key.
const values = {
    listen: {
        right: ["a:1", ["a:1", "[::1]:0"], { address: "a:1" }, [{ address: "a:1", tls: false }], "unix:x"],
        wrong: [[], "a", 80, null, {}, [{}], { tls: true }, { address: "a:1", x: 1 }, ["a:1", null], "[::1]"],
    },
    loops: { right: [0, 64, 1.0], wrong: [-1, 65, 1.5, "1", null, true, [], {}] },
    hosts: {
        right: ["a", ["a", "*.b", "*", "[::1]:80"]],
        wrong: [[], 5, null, ["a b"], ["http://a"], {}, ""],
    },
    origins: {
        right: [[], "null", "https://a", ["*", "http://*.a:80"]],
        wrong: ["a", [5], null, "https://a/", {}],
    },
    access_log: { right: [true, false], wrong: ["yes", 0, null] },
    "tls.certificate": { right: [null], wrong: ["", 5, true, []] },
    "tls.min_version": { right: ["1.2", "1.3", 1.2], wrong: ["1.1", 1.1, 1, null, "TLS 1.2"] },
    "limits.connections": { right: [1, 1000000], wrong: [0, 1000001, "1", null] },
    "limits.body_size": { right: [0, 1024, "1KB", "1GB"], wrong: [-1, 1.5, "1kb", "1", "", null, "01KB"] },
    "limits.stream_queue": { right: [4096], wrong: [4095] },
    "timeouts.idle": {
        right: [1, 86400, "1ms", "24h"],
        wrong: [0, 86401, -1, 1.5, "1", "1d", "1 s", "", null, "1.5s", "01s"],
    },
    "timeouts.drain": { right: [0, "0s", "0h"], wrong: [-1] },
    "log.level": { right: ["error", "off"], wrong: ["Error", "", null, false] },
    "log.format": { right: ["text", "json"], wrong: ["xml", null] },
    "log.file": { right: [null, "x", "/x"], wrong: ["", 5] },
    "log.levels": {
        right: [{}, null, { net: "debug" }],
        wrong: [[], { net: "x" }, { Net: "info" }, { "": "info" }, "net", { net: null }],
    },
    "state.directory": { right: [null, "x"], wrong: ["", 5, {}] },
    sources: {
        right: [
            null,
            [],
            ...[
                { dialect: "2.0" },
                { dialect: null },
                { speaks_first: true },
                { speaks_first: "no" },
                { tls: null },
                { tls: { ca_file: null } },
                { headers: { A: 1, B: "x", C: null, D: false } },
                { headers: null },
                { init_calls: "m" },
                { init_calls: [{ method: "m", params: 5 }] },
                { answers_to_service: {} },
                { handshake: { status: 409 } },
                { methods: { method: "m", auth_level: null } },
                { methods: { method: "m", params: { a: null, b: { value: 0 } } } },
                { methods: { method: "m", output: {} } },
                { refresh: 0 },
            ].map((keys) => ({ name: "a", url: "unix:a:/b", ...keys })),
            ...["https://a", "ws://a/b", "wss://a/b", "tcp://a:1", "unix:a:/b"].map((url) => ({ name: "a", url })),
            { name: "a", command: "b" },
            { name: "a", url: null, command: ["b", ""] },
        ],
        wrong: [
            ...[
                { dialect: [] },
                { dialect: "a b" },
                { speaks_first: "maybe" },
                { speaks_first: 1 },
                { tls: [] },
                { tls: { x: 1 } },
                { headers: { "a b": "x" } },
                { headers: { A: [] } },
                { headers: ["A"] },
                { init_calls: [{}] },
                { answers_to_service: [] },
                { handshake: { status: 600 } },
                { methods: { method: "m", auth_level: "some" } },
                { methods: { method: "m", params: { "": {} } } },
                { methods: { method: "m", params: { a: 5 } } },
                { methods: { method: "m", output: true } },
                { proxy: "a" },
                { retries: 11 },
            ].map((keys) => ({ name: "a", url: "unix:a", ...keys })),
            ...["wss:a", "wss://u@a", "tcp://a", "tcp://a:1/", "ftp://a", 5].map((url) => ({ name: "a", url })),
            { url: "unix:a" },
        ],
    },
    limits: { right: [null, {}], wrong: [[], 5, "", { nothing: 1 }] },
    nothing: { right: [], wrong: [1, null, {}] },
};

test("the schema and the checker judge alike", async () => {
    const cases = Object.entries(values).flatMap(([key, { right, wrong }]) =>
        [...right.map((v) => [key, v, true]), ...wrong.map((v) => [key, v, false])].map(([name, value, ok]) => {
            const [top, below] = name.split(".");
            return [below ? { [top]: { [below]: value } } : { [top]: value }, ok];
        }),
    );
    const files = cases.map(([config]) => write(config));
    const { stdout } = await check(...files);
    cases.forEach(([config, ok], i) => {
        const text = JSON.stringify(config);
        assert.equal(matches(schema, config), ok, `schema: ${text}`);
        assert.equal(stdout.includes(`${files[i]}: ok\n`), ok, `checker: ${text}`);
    });
});
