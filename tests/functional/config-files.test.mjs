// `config check` opens what a configuration names, and says for each mistake where it stands and what
// to do; what a server cannot do without stops its start with the same words.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { before, suite, test } from "node:test";
import { keepFolder } from "./support/kept.mjs";
import { Program, binary, runCauseway, startCauseway } from "./support/programs.mjs";
import { makeCertificate } from "./support/server.mjs";

let written = 0;
function write(text, name = `${(written += 1)}.yaml`) {
    const file = path.join(keepFolder(), name);
    writeFileSync(file, text);
    return file;
}

const check = async (text) => {
    const file = write(text);
    return { file, ...(await runCauseway(["config", "check", file])) };
};

// Each line that is expected, behind the name of the file.
async function assertProblems(text, expected) {
    const { file, code, stdout, stderr } = await check(text);
    const lines = stderr.trimEnd().split("\n");
    const last = lines.pop();
    assert.equal(lines.length, expected.length, stderr);
    for (const [i, pattern] of expected.entries()) {
        assert.ok(lines[i].startsWith(`${file}:`), lines[i]);
        assert.match(lines[i].slice(file.length + 1), pattern);
    }
    assert.match(last, /^causeway: the configuration has \d+ problems?$/);
    assert.deepEqual([code, stdout], [2, ""]);
}

let own;
before(() => {
    own = makeCertificate("localhost");
});

suite("config check", () => {
    test("names certificates and keys that are wrong, with line and remedy", async () => {
        const other = makeCertificate("other");
        const broken = write(
            `${readFileSync(own.certificate, "utf8")}-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n`,
            "broken.pem",
        );
        const text = write("not PEM at all\n", "text.pem");
        const locked = path.join(keepFolder(), "locked.pem");
        execFileSync("openssl", ["pkey", "-in", own.key, "-aes128", "-passout", "pass:x", "-out", locked]);
        const line = readFileSync(own.certificate, "utf8").trimEnd().split("\n").length + 1;
        const tls = (certificate, key) => `tls:\n  certificate: ${certificate}\n  key: ${key}\n`;
        for (const [certificate, key, expected] of [
            [
                "/no/such.crt",
                own.key,
                /^2:16: tls\.certificate: TLS certificate '\/no\/such\.crt': No such file .*; check the path/,
            ],
            [
                own.certificate,
                "/no/such.key",
                /^3:8: tls\.key: TLS key '\/no\/such\.key': No such file .*; check the path/,
            ],
            [
                broken,
                own.key,
                new RegExp(
                    `^2:16: tls\\.certificate: .*broken\\.pem': line ${line}: the block is damaged \\(.*\\); copy`,
                ),
            ],
            [
                text,
                own.key,
                /^2:16: tls\.certificate: .*text\.pem': has no line "-----BEGIN .*; convert it to PEM: openssl x509/,
            ],
            [
                own.key,
                own.key,
                /^2:16: tls\.certificate: .*: line 1: has a PRIVATE KEY and no CERTIFICATE; name another file/,
            ],
            [
                own.certificate,
                own.certificate,
                /^3:8: tls\.key: .*: line 1: has a CERTIFICATE and no PRIVATE KEY; name another/,
            ],
            [
                own.certificate,
                other.key,
                /^3:8: tls\.key: .*is not the key of the first certificate in '.*'; name the files/,
            ],
            [
                own.certificate,
                locked,
                /^3:8: tls\.key: .*locked\.pem': line 1: has a passphrase; remove it: openssl pkey/,
            ],
        ]) {
            await assertProblems(tls(certificate, key), [expected]);
        }
    });

    test("opens secrets, and variables that hold them", async () => {
        const empty = write("\n", "empty.secret");
        await assertProblems(
            `mcp:
  secret_file: ${empty}
access:
  issuers:
    - issuer: https://login.example
      audience: me
      client_id: me
      client_secret_file: /no/client.secret
      ca_file: ${empty}
sources:
  - {name: a, url: "http://127.0.0.1:1/", secret: {as: bearer, file: /no/such.secret}}
  - name: b
    url: http://127.0.0.1:1/
    secret: {as: bearer, file: ${empty}}
  - name: c
    url: http://127.0.0.1:1/
    secret:
      as: bearer
      environment: CAUSEWAY_NO_SUCH_VARIABLE
`,
            [
                /^2:16: mcp\.secret_file: .*fewer than 32 bytes; write 32 random bytes/,
                /^8:27: access\.issuers\[0\]\.client_secret_file: cannot open '\/no\/client\.secret': .*; write/,
                /^9:16: access\.issuers\[0\]\.ca_file: .*empty\.secret': has no line/,
                /^11:\d+: sources\[0\]\.secret: cannot open '\/no\/such\.secret': No such file .*; write the secret/,
                /^14:13: sources\[1\]\.secret: the secret is empty or too long; write/,
                /^18:7: sources\[2\]\.secret: the variable CAUSEWAY_NO_SUCH_VARIABLE is not set; set it in the environment/,
            ],
        );
    });

    test("opens the files of metrics, OAuth clients and PostgreSQL, and secrets for programs", async () => {
        const short = write("short\n", "short.token");
        await assertProblems(
            `metrics:
  token_file: ${short}
store:
  url: postgresql://causeway@localhost/causeway
  password_file: /no/db.secret
access:
  server:
    enabled: true
    clients:
      - {id: a, redirect_uris: ["https://a.example/back"], secret_file: /no/a.secret}
      - {id: b, redirect_uris: ["https://b.example/back"], jwks_file: /no/b.jwks}
sources:
  - name: a
    command: [/bin/cat]
    environment_files: {API_TOKEN: /no/a.token}
  - name: b
    url: http://127.0.0.1:1/
    header_files: {X-Key: /no/b.token}
  - name: c
    url: http://127.0.0.1:1/
    methods: [{method: a, ui_file: /no/a.html}]
`,
            [
                /^2:15: metrics\.token_file: '.*short\.token' has fewer than 16 bytes; write a token of 16 characters/,
                /^10:\d+: access\.server\.clients\[0\]\.secret_file: cannot open '\/no\/a\.secret': .*; write the client's/,
                /^11:\d+: access\.server\.clients\[1\]\.jwks_file: cannot open '\/no\/b\.jwks': .*; save the client's key set/,
                /^5:18: store\.password_file: cannot open '\/no\/db\.secret': .*; write the password into its first line/,
                /^15:\d+: sources\[0\]\.environment_files: API_TOKEN: cannot open '\/no\/a\.token': .*; write the secret/,
                /^18:\d+: sources\[1\]\.header_files: X-Key: cannot open '\/no\/b\.token': .*; write the secret/,
                /^21:\d+: sources\[2\]\.methods\[0\]\.ui_file: cannot open '\/no\/a\.html': .*; save the HTML document/,
            ],
        );
    });

    test("opens the CA certificates of webhooks and of documents of OAuth clients", async () => {
        const text = write("not PEM at all\n", "ca.pem");
        await assertProblems(
            `mcp:
  events: {webhook_ca_file: ${text}}
access:
  server: {client_document_ca_file: /no/such.pem}
`,
            [
                /^2:\d+: mcp\.events\.webhook_ca_file: TLS certificate '.*ca\.pem': has no line "-----BEGIN/,
                /^4:\d+: access\.server\.client_document_ca_file: TLS certificate '\/no\/such\.pem': No such file/,
            ],
        );
    });

    test("compiles the schemas of events of services and plugins", async () => {
        await assertProblems(
            `sources:
  - name: a
    url: tcp://127.0.0.1:1
    events:
      done: {schema: {type: nix}}
      begun: {schema: {type: object}}
plugins:
  events:
    shop.sold: {schema: {minimum: low}}
`,
            [
                /^5:\d+: sources\[0\]\.events\.done\.schema: \/type: .*; correct the schema/,
                /^9:\d+: plugins\.events\."shop\.sold"\.schema: \/minimum: .*; correct the schema/,
            ],
        );
    });

    test("warns of schemas in a description that cannot be used", async () => {
        const methods = [
            { name: "a", params: { x: { type: "strin" }, y: { type: "integer" } }, result: { pattern: "(" } },
            { name: "b", params: { z: { $ref: "#/components/schemas/none" } } },
        ];
        const manifest = write(JSON.stringify({ methods }), "manifest.json");
        const old = write(
            JSON.stringify({
                openrpc: "1.2.6",
                methods: [{ name: "c", params: [{ name: "n", schema: { minimum: 1, exclusiveMinimum: true } }] }],
            }),
            "draft-04.json",
        );
        const { file, code, stdout, stderr } = await check(`sources:
  - {name: a, url: "http://127.0.0.1:1/", openrpc: ${manifest}}
  - {name: b, url: "http://127.0.0.1:1/", openrpc: ${old}}
`);
        assert.deepEqual([code, stdout], [0, `${file}: ok\n`]);
        const lines = stderr.trimEnd().split("\n");
        for (const expected of [
            /:2:\d+: sources\[0\]\.openrpc: warning: method 'a': param 'x': schema: \/type: /,
            /:2:\d+: sources\[0\]\.openrpc: warning: method 'a': result: schema: \/pattern: /,
            /:2:\d+: sources\[0\]\.openrpc: warning: .*method 'b': param 'z': schema: /,
        ]) {
            assert.ok(
                lines.some((line) => expected.test(line)),
                `${expected}\n${stderr}`,
            );
        }
        assert.equal(lines.length, 3, stderr);
    });

    test("checks the requirements in annotations as the server does", async () => {
        const overlay = write(
            "methods:\n  - {method: e, annotations: {auth: {scopes: [a], levels: none}}}\n",
            "auth.overlay.yaml",
        );
        const { file, code, stderr } = await check(`sources:
  - name: a
    url: http://127.0.0.1:1/
    overlay: ${overlay}
    methods:
      - {method: a, annotations: {auth: {level: sometimes, scopes: [x]}}}
      - {method: b, annotations: {auth: {scopes: ["x y"]}}}
      - {method: c, annotations: {auth: [x]}}
      - {method: d, annotations: {auth: {scopes: x}}, tool: false, expose_on_jsonrpc: true}
      - {method: f, scopes: [x], annotations: {auth: {description: for shops}}}
      - {method: g, auth_level: none, annotations: {auth: {level: sometimes}}}
      - {method: h, annotations: {auth: {level: sometimes}}, tool: false}
      - {method: i, annotations: {readOnlyHint: true}}
      - {method: k, annotations: {auth: {}}}
      - {method: l, annotations: {auth: {description: for shops}}}
      - {method: m, annotations: {auth: {}}, auth_level: required}
      - {method: n, annotations: {auth: {scopes: []}}}
`);
        const at = "sources[0].methods";
        const lines = stderr.trimEnd().split("\n");
        assert.deepEqual(
            lines.map((line) => line.replace(/:\d+: /, ": ")),
            [
                `${file}:6: ${at}[0].annotations: auth: level: expected "none", "optional" or "required"; correct it`,
                `${file}:7: ${at}[1].annotations: auth: scopes: [0]: expected a scope (printable ASCII without spaces, '"' and '\\'); correct it`,
                `${file}:8: ${at}[2].annotations: auth: expected an object, got array; correct it`,
                `${file}:9: ${at}[3].annotations: auth: scopes: expected an array, got string; correct it`,
                `${file}:14: ${at}[8].annotations: auth: scopes or level is needed; correct it`,
                `${file}:15: ${at}[9].annotations: auth: scopes or level is needed; correct it`,
                `${overlay}:2: methods[0].annotations: auth: unknown member 'levels'; correct it`,
                "causeway: the configuration has 7 problems",
            ],
        );
        assert.equal(code, 2);
    });

    test("checks defaults of params where their schemas are known", async () => {
        const text = { type: "string" };
        const document = write(
            JSON.stringify({
                openrpc: "1.3.2",
                methods: [
                    {
                        name: "a",
                        params: [
                            { name: "x", schema: text },
                            { name: "y", schema: text },
                        ],
                    },
                ],
            }),
            "defaults.json",
        );
        const overlay = write(
            "methods:\n  - {method: c, params: {n: {schema: {maximum: 5}, default: 9}}}\n",
            "defaults.overlay.yaml",
        );
        const { file, code, stderr } = await check(`sources:
  - name: a
    url: http://127.0.0.1:1/
    openrpc: ${document}
    overlay: ${overlay}
    methods:
      - {method: a, params: {x: {default: 7, rename: z}, y: {default: y}}}
      - {method: b, params: {x: {schema: {type: integer}, default: ten}, y: {schema: {type: integer}, default: 10}}}
      - {method: d, params: {x: {schema: {type: integer}, default: ten, hidden: true}}}
      - {method: "e*", params: {x: {default: 7}}}
`);
        const at = "sources[0].methods";
        assert.deepEqual(
            stderr
                .trimEnd()
                .split("\n")
                .map((line) => line.replace(/:\d+: /, ": ")),
            [
                `${file}:7: ${at}[0].params.x.default: expected string, got integer; write a value that the schema accepts`,
                `${file}:8: ${at}[1].params.x.default: expected integer, got string; write a value that the schema accepts`,
                `${overlay}:2: methods[0].params.n.default: expected a number of at most 5, got 9; write a value that the schema accepts`,
                "causeway: the configuration has 3 problems",
            ],
        );
        assert.equal(code, 2);
    });

    test("warns of directories of a service that do not exist", async () => {
        const { file, code, stdout, stderr } = await check(`sources:
  - name: a
    command: [/bin/cat]
    working_directory: /no/work
    skills: /no/skills
`);
        assert.deepEqual([code, stdout], [0, `${file}: ok\n`]);
        assert.match(
            stderr,
            /:5:13: sources\[0\]\.skills: warning: cannot open the directory '\/no\/skills': .*; create it/,
        );
        assert.match(
            stderr,
            /:4:24: sources\[0\]\.working_directory: warning: cannot open the directory '\/no\/work': /,
        );
    });

    test("opens overlays, descriptions and certificates of services, and compiles schemas", async () => {
        const overlay = write(
            "methods:\n  - method: a\n    ttitle: A\n  - method: b\n    tool: 7\n",
            "typo.overlay.yaml",
        );
        const odd = write(
            "methods:\n  - method: a\n    params:\n      x.y:\n        schema: {type: strin}\n    output: {minimum: low}\n",
            "odd.overlay.yaml",
        );
        const document = write("{]", "openrpc.json");
        const { code, stderr } = await check(`sources:
  - name: a
    url: https://127.0.0.1:1/
    tls: {ca_file: /no/ca.pem}
    openrpc: ${document}
    overlay: ${overlay}
  - name: b
    url: http://127.0.0.1:1/
    overlay: ${odd}
    methods:
      - {method: c, output: {pattern: "("}}
  - {name: d, url: "http://127.0.0.1:1/", overlay: /no/d.yaml, openrpc: /no/d.json}
`);
        assert.equal(code, 2);
        for (const expected of [
            /\.yaml:4:20: sources\[0\]\.tls\.ca_file: TLS certificate '\/no\/ca\.pem': No such file/,
            /\.yaml:5:14: sources\[0\]\.openrpc: '.*openrpc\.json': .*; save an OpenRPC document/,
            /typo\.overlay\.yaml:3:5: methods\[0\]\.ttitle: unknown key; did you mean "title"\?/,
            /typo\.overlay\.yaml:5:11: methods\[1\]\.tool: expected true or false, got 7/,
            /\.yaml:11:29: sources\[1\]\.methods\[0\]\.output: .*; correct the schema$/m,
            /odd\.overlay\.yaml:5:17: methods\[0\]\.params\."x\.y"\.schema: .*; correct the schema$/m,
            /odd\.overlay\.yaml:6:13: methods\[0\]\.output: \/minimum: .*; correct the schema$/m,
            /\.yaml:12:\d+: sources\[2\]\.overlay: cannot open '\/no\/d\.yaml': .*; causeway import writes one$/m,
            /\.yaml:12:\d+: sources\[2\]\.openrpc: cannot open '\/no\/d\.json': .*; save/,
        ]) {
            assert.match(stderr, expected);
        }
        assert.match(stderr, /^causeway: the configuration has 9 problems$/m);
    });

    test("looks at folders, logs and the database, and changes none of them", async () => {
        const garbage = write("no database ".repeat(100), "garbage.db");
        await assertProblems(
            `store: {path: ${garbage}}
log: {file: /no/folder/log}
audit: {path: /no/folder/audit}
plugins: {directory: /no/plugins}
`,
            [
                /^1:15: store\.path: '.*garbage\.db' is not a database; name a database/,
                /^2:13: log\.file: cannot create a file in '\/no\/folder': .*; create the directory/,
                /^3:15: audit\.path: cannot create a file in '\/no\/folder': .*; create the directory/,
                /^4:22: plugins\.directory: there is no directory '\/no\/plugins'; create it/,
            ],
        );
        const fresh = path.join(keepFolder(), "fresh.db");
        const { code, stderr } = await check(`store: {path: ${fresh}}\n`);
        assert.deepEqual([code, stderr], [0, ""]);
        assert.ok(!existsSync(fresh));
    });

    test("names what is no file or directory where a server needs one", async () => {
        const folder = path.join(keepFolder(), "in-the-place-of-a-file");
        mkdirSync(folder);
        const file = write("", "in-the-place-of-a-directory");
        const text = `log: {file: ${folder}}
audit: {path: ${folder}}
state: {directory: ${file}}
`;
        await assertProblems(text, [
            /^1:13: log\.file: '.*of-a-file' is a directory; name a file$/,
            /^2:15: audit\.path: '.*of-a-file' is a directory; name a file$/,
            /^3:20: state\.directory: '.*of-a-directory' is not a directory; remove it, or name another path$/,
        ]);
        for (const line of text.split("\n").filter((one) => /^(log|audit)/.test(one))) {
            const words = ["serve", "--config", write(`${line}\n`), "--listen", "127.0.0.1:0"];
            assert.equal((await runCauseway(words)).code, 1, line);
        }
    });

    test("names a path of the local socket that cannot be used", async () => {
        const long = `/tmp/${"x".repeat(120)}`;
        await assertProblems(`admin: {socket: ${long}}\n`, [
            /^1:17: admin\.socket: .* at most 107 bytes, .*; set admin/,
        ]);
        const { code, stderr } = await check("admin: {socket: /no/folder/socket}\n");
        assert.equal(code, 0);
        assert.match(
            stderr,
            /:1:17: admin\.socket: warning: cannot create a file in '\/no\/folder': .*; create the directory before/,
        );
    });

    test("reads the secrets and keys of OAuth clients, and of metrics, as the server does", async () => {
        const short = write("first line\nand a second one that is long enough\n", "client.secret");
        const keys = write('{"keys":[{"kty":"oct","k":"AAAA"}]}', "client.jwks");
        const garbage = write("no JSON", "garbage.jwks");
        const metrics = write("123456789012345\n", "metrics.token");
        const clients = [
            `{id: a, redirect_uris: ["https://a.example/back"], secret_file: ${short}}`,
            `{id: b, redirect_uris: ["https://b.example/back"], jwks_file: ${keys}}`,
            `{id: c, redirect_uris: ["https://c.example/back"], jwks_file: ${garbage}}`,
            '{id: d, redirect_uris: ["https://d.example/back"], jwks: {keys: []}}',
        ];
        const text = (list) => `store: {path: ${path.join(keepFolder(), "clients.db")}}
public_url: https://tools.example
access:
  login: {enabled: true}
  server:
    enabled: true
    clients:
${list.map((one) => `      - ${one}\n`).join("")}`;
        await assertProblems(`${text(clients)}metrics: {token_file: ${metrics}}\n`, [
            /^12:23: metrics\.token_file: '.*metrics\.token' has fewer than 16 bytes; write a token of 16 characters/,
            /^8:\d+: access\.server\.clients\[0\]\.secret_file: the first line of '.*' has fewer than 16 characters; write/,
            /^9:\d+: access\.server\.clients\[1\]\.jwks_file: keys of client 'b': none can be used: .*; save the client's/,
            /^10:\d+: access\.server\.clients\[2\]\.jwks_file: keys of client 'c': line 1, column 1: .*; save the client's/,
            /^11:\d+: access\.server\.clients\[3\]\.jwks: keys of client 'd': none can be used: .*; save the client's/,
        ]);
        for (const rest of [...clients.map((one) => text([one])), `metrics: {token_file: ${metrics}}\n`]) {
            const { code, stderr } = await runCauseway(["serve", "-c", write(rest), "--listen", "127.0.0.1:0"]);
            assert.equal(code, 1, rest);
            assert.match(stderr, /fewer than 16 characters|keys of client/);
        }
    });

    test("names the secret that cannot be in a header, as the server does", async () => {
        const lines = write("one\ntwo\n", "two-lines.secret");
        const sources = [
            `{name: a, url: "http://127.0.0.1:1/", secret: {as: bearer, file: ${lines}}}`,
            `{name: b, url: "http://127.0.0.1:1/", header_files: {X-Key: ${lines}}}`,
        ];
        const text = `sources:\n${sources.map((one) => `  - ${one}\n`).join("")}`;
        await assertProblems(text, [
            /^2:\d+: sources\[0\]\.secret: a line break or control character cannot be in a header; write the secret/,
            /^3:\d+: sources\[1\]\.header_files: X-Key: a line break or control character cannot be in a header; write/,
        ]);
        const { code, stdout } = await runCauseway(["source", "check", "-c", write(text)]);
        assert.equal(code, 1);
        assert.match(stdout, /problem: secret: a line break/);
        assert.match(stdout, /problem: header_files: X-Key: a line break/);
    });

    test("checks views as the server does", async () => {
        const text = write("<p>no document</p>", "text.html");
        const large = write(`<!doctype html>${" ".repeat(4 << 20)}`, "large.html");
        const right = write("<!DOCTYPE html><p>a view</p>", "right.html");
        await assertProblems(
            `sources:
  - name: a
    url: http://127.0.0.1:1/
    methods:
      - {method: a, ui: {resourceUri: "http://x"}}
      - {method: b, ui: {prefersBorder: true}}
      - {method: c, ui_file: ${text}}
      - {method: d, ui_file: ${large}}
      - {method: e, ui_file: ${right}, ui: {prefersBorder: 1}}
      - {method: f, ui_file: ${right}, ui: {prefersBorder: true}}
`,
            [
                /^5:\d+: sources\[0\]\.methods\[0\]\.ui: resourceUri must be a URI ui:\/\/…; correct it$/,
                /^6:\d+: sources\[0\]\.methods\[1\]\.ui: resourceUri is missing; correct it$/,
                /^7:\d+: sources\[0\]\.methods\[2\]\.ui_file: '.*text\.html': it does not begin with <!doctype html>; save/,
                /^8:\d+: sources\[0\]\.methods\[3\]\.ui_file: '.*large\.html' is larger than \d+ KB; save/,
                /^9:\d+: sources\[0\]\.methods\[4\]\.ui: prefersBorder .*; correct it$/,
            ],
        );
    });

    test("has nothing to say where everything is in order", async () => {
        const secret = write("s3cret\n", "right.secret");
        const overlay = write("methods:\n  - {method: a, output: {type: string}}\n", "right.overlay.yaml");
        const { code, stdout, stderr } = await check(`tls: {certificate: ${own.certificate}, key: ${own.key}}
sources:
  - name: a
    url: https://127.0.0.1:1/
    tls: {ca_file: ${own.certificate}}
    secret: {as: bearer, file: ${secret}}
    overlay: ${overlay}
`);
        assert.deepEqual([code, stderr], [0, ""]);
        assert.match(stdout, /: ok\n$/);
    });
});

const anonymous = "roles:\n  anonymous:\n    - use jsonrpc services\n";

test("rights without a login on an address of other machines are a warning of config check", async () => {
    for (const [listen, is] of [
        ["0.0.0.0:1", true],
        ["[::]:1", true],
        ["192.0.2.1:1", true],
        ["127.0.0.1:1", false],
        ["127.8.8.8:1", false],
        ["[::1]:1", false],
        ["localhost:1", false],
        ["unix:/tmp/x.sock", false],
    ]) {
        const { file, code, stderr } = await check(`listen: [{address: "${listen}"}]\n${anonymous}`);
        assert.equal(code, 0);
        const where = `${file}:4:5: roles.anonymous: warning: other machines reach ${listen} `;
        assert.equal(stderr.startsWith(where), is, stderr);
        assert.equal(/; listen on 127\.0\.0\.1, or /.test(stderr), is);
    }
    const { stderr } = await check("listen: 0.0.0.0:1\nroles: {editor: [x]}\n");
    assert.equal(stderr, "");
});

test("the same is a warning of the start, whether configuration or database gives the rights", async () => {
    const warning = /warn serve: other machines have the rights of the anonymous role.* address="0\.0\.0\.0:\d+"/;
    const args = ["--listen", "0.0.0.0:0"];
    const database = path.join(keepFolder(), "open.db");
    const config = `store: {path: ${database}}\n`;
    const closed = await startCauseway({ config, args });
    await closed.stop();
    assert.doesNotMatch(closed.stderr, warning);
    const near = await startCauseway({ config: anonymous });
    await near.stop();
    assert.doesNotMatch(near.stderr, /warn/);
    const far = await startCauseway({ config: anonymous, args });
    await far.untilLogged(warning);
    await far.stop();
    const file = write(config);
    await runCauseway(["role", "allow", "anonymous", "use jsonrpc services", "--config", file]);
    const given = await startCauseway({ config, args });
    await given.untilLogged(warning);
    await given.stop();
});

test("a database that cannot be used stops the start and names the key", async () => {
    const garbage = write("no database ".repeat(1_000), "start.db");
    const folder = path.join(keepFolder(), "folder.db");
    mkdirSync(folder);
    for (const [store, expected] of [
        ["/no/folder/a.db", /create database '\/no\/folder\/a\.db': No such file or directory; name a database/],
        [garbage, /start\.db.*not a database; name a database/],
        [folder, /folder\.db.*; name a database/],
    ]) {
        const file = write(`store:\n  path: ${store}\n`);
        for (const command of ["serve", "stdio"]) {
            const { code, stdout, stderr } = await runCauseway([command, "--config", file]);
            assert.deepEqual([code, stdout], [1, ""], stderr);
            assert.ok(stderr.startsWith(`causeway: ${file}:2:9: store.path: `), stderr);
            assert.match(stderr, expected);
            assert.equal(stderr.split("\n").length, 2, stderr);
        }
    }
});

test("a reload with a wrong certificate keeps the old one and says which line", async () => {
    const files = { certificate: path.join(keepFolder(), "mine.pem"), key: own.key };
    writeFileSync(files.certificate, readFileSync(own.certificate));
    const config = { listen: [{ address: "127.0.0.1:0", tls: true }], tls: files };
    const server = await startCauseway({ config, listen: false });
    writeFileSync(files.certificate, "gone\n");
    server.child.kill("SIGHUP");
    await server.untilLogged(
        /configuration refused, the old one stays problem=".*:\d+:\d+: tls\.certificate: .*mine\.pem/,
    );
    await server.stop();
});

test("a server warns of CA certificates that it cannot use", async () => {
    const server = await startCauseway({
        config: {
            mcp: { events: { webhook_ca_file: "/no/hooks.pem" } },
            access: { server: { client_document_ca_file: "/no/clients.pem" } },
        },
    });
    for (const [key, name] of [
        ["mcp.events.webhook_ca_file", "hooks"],
        ["access.server.client_document_ca_file", "clients"],
    ]) {
        await server.untilLogged(
            new RegExp(`warn config: CA certificates cannot be used key="${key}" problem=".*/no/${name}\\.pem`),
        );
    }
    await server.stop();
});

test("a key that this user may not read is reported as such", {
    skip: process.getuid() === 0 && "root reads everything",
}, async () => {
    const key = write(readFileSync(own.key, "utf8"), "private.key");
    chmodSync(key, 0);
    await assertProblems(`tls: {certificate: ${own.certificate}, key: ${key}}\n`, [
        /Permission denied; check the path and who may read/,
    ]);
});

test("a busy address is one line with what to do, and nothing else", async () => {
    const first = await startCauseway({ config: {} });
    for (const args of [["--config", write("{}")], []]) {
        const second = new Program(binary, ["serve", ...args, "--listen", `127.0.0.1:${first.port}`], {
            env: { CAUSEWAY_CONFIG: "" },
        });
        assert.deepEqual(await second.exited, { code: 1, signal: null });
        assert.equal(second.stdout, "");
        assert.equal(
            second.stderr,
            `causeway: cannot listen on 127.0.0.1:${first.port}: Address already in use; another program listens ` +
                "there: end it, or choose another address, for example with --listen 127.0.0.1:0\n",
        );
    }
    await first.stop();
});

test("other addresses that cannot be had say why and what to do", async () => {
    const { code, stderr } = await runCauseway(["serve", "--listen", "192.0.2.1:8080"]);
    assert.equal(code, 1);
    assert.match(stderr, /^causeway: cannot listen on 192\.0\.2\.1:8080: .*; this machine has no such address\n$/);
    const socket = await runCauseway(["serve", "--listen", "unix:/no/such/folder/x.sock"]);
    assert.match(socket.stderr, /; make the folder first\n$/);
});
