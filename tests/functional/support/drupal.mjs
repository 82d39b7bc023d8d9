// A stand-in for a Drupal site, written from recordings of two kinds of them:
//
//     const site = await startSite();                      jsonrpc 2.0.5 alone: /jsonrpc and its methods
//     const site = await startSite({ kind: "tools" });     with jsonrpc_mcp: /mcp/tools/list as well
//
// It answers as the sites do, oddities included: what is wrong with an envelope is -32603 with
// status 400 and no id, a refusal and an error of a method have status 200, a result of null is an
// error with a path in it, a notification that works crashes (2.0.5), and whatever goes wrong in
// front of the module is a page of HTML. `site.seen` has every request.
import http from "node:http";
import { after } from "node:test";
import { basic, databasePath } from "./accounts.mjs";
import { startBridge } from "./mcp.mjs";
import { freePort } from "./ports.mjs";

export const siteRoot = "/var/www/example.org/web";

// ---- what PHP writes ----

const escapes = /[<>&'/\u0080-\uffff]|\\"/g;

// JSON as Drupal encodes it: fit for HTML, slashes escaped. `\"` occurs within strings only.
export function phpJson(value) {
    return JSON.stringify(value).replace(escapes, (found) => {
        if (found === "/") {
            return "\\/";
        }
        const code = found === '\\"' ? 0x22 : found.charCodeAt(0);
        return `\\u${code.toString(16).toUpperCase().padStart(4, "0")}`;
    });
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function phpType(value) {
    if (value === null || value === undefined) {
        return "NULL";
    }
    if (typeof value === "number") {
        return Number.isInteger(value) ? "Integer" : "Double";
    }
    return { string: "String", boolean: "Boolean" }[typeof value] ?? "Array";
}

const article = (type) => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`);

// One entry of the validator's dump.
const flaw = (property, pointer, message, constraint, more = {}) => ({
    property,
    pointer,
    message,
    constraint,
    context: 1,
    ...more,
});

const typeFlaw = (property, pointer, value, wanted) =>
    flaw(property, pointer, `${phpType(value)} value found, but ${wanted} is required`, "type");

// ---- errors ----

const words = {
    "-32600": "Invalid Request",
    "-32601": "Method Not Found",
    "-32602": "Invalid Params",
    "-32603": "Internal Error",
};

class Refusal {
    constructor(status, code, data, { id = null, executed = false } = {}) {
        Object.assign(this, { status, code, data, executed });
        this.id = id || null; // 0 counts as none
    }

    get body() {
        const { code, data, id } = this;
        return { jsonrpc: "2.0", id, error: { code, message: words[code], data } };
    }
}

const dump = (flaws) => `received invalid input data: ${phpJson(flaws)}.`;

// ---- envelopes ----

function memberFlaws(request, property, pointer) {
    if (!isObject(request)) {
        return [typeFlaw(property, pointer, request, "an object")];
    }
    const at = (name) => [property === "" ? name : `${property}.${name}`, `${pointer}/${name}`];
    const flaws = [];
    for (const name of ["jsonrpc", "method"].filter((name) => !(name in request))) {
        flaws.push(flaw(...at(name), `The property ${name} is required`, "required"));
    }
    if ("jsonrpc" in request && request.jsonrpc !== "2.0") {
        const text = 'Does not have a value in the enumeration ["2.0"]';
        flaws.push(flaw(...at("jsonrpc"), text, "enum", { enum: ["2.0"] }));
    }
    if ("method" in request && typeof request.method !== "string") {
        flaws.push(typeFlaw(...at("method"), request.method, "a string"));
    }
    if ("id" in request && !["number", "string"].includes(typeof request.id)) {
        flaws.push(typeFlaw(...at("id"), request.id, "a number or a string"));
    }
    if ("params" in request && (typeof request.params !== "object" || request.params === null)) {
        flaws.push(typeFlaw(...at("params"), request.params, "an array or an object"));
    }
    return flaws;
}

// The shape is "one of a batch and a request": the dump has what is wrong for either.
function checkEnvelope(value) {
    const isList = Array.isArray(value);
    const none = flaw("", "", "Failed to match exactly one schema", "oneOf");
    let flaws;
    if (isList) {
        const own = value.flatMap((one, i) => memberFlaws(one, `[${i}]`, `/${i}`));
        flaws = own.length === 0 ? [] : [...own, typeFlaw("", "", [], "an object"), none];
    } else {
        const own = memberFlaws(value, "", "");
        flaws = own.length === 0 ? [] : [typeFlaw("", "", value, "an array"), ...own, none];
    }
    if (flaws.length > 0) {
        throw new Refusal(400, -32603, `Adaptor Drupal\\jsonrpc\\Shaper\\RpcRequestFactory ${dump(flaws)}`);
    }
}

// ---- params ----

function schemaFlaws(schema, value, property = "", pointer = "") {
    const type = phpType(value).toLowerCase();
    const fits = schema.type === "object" ? isObject(value) || Array.isArray(value) : type === schema.type;
    if (!fits) {
        return [typeFlaw(property, pointer, value, article(schema.type))];
    }
    if (value < schema.minimum) {
        const { minimum } = schema;
        const text = `Must have a minimum value of ${minimum}`;
        return [flaw(property, pointer, text, "minimum", { minimum })];
    }
    const within = isObject(value) ? Object.entries(schema.properties ?? {}) : [];
    return within
        .filter(([name]) => name in value)
        .flatMap(([name, inner]) => schemaFlaws(inner, value[name], name, `${pointer}/${name}`));
}

function checkParams(name, { params: declared }, { id, params }) {
    if (declared === undefined && params !== undefined) {
        throw new Refusal(400, -32602, `The ${name} method does not accept parameters.`, { id });
    }
    const given = isObject(params) ? params : {};
    for (const [key, { required, schema, factory = "Raw" }] of Object.entries(declared ?? {})) {
        if ((given[key] ?? null) === null) {
            if (required) {
                throw new Refusal(400, -32602, `Missing required parameter: ${key}`, { id });
            }
            continue;
        }
        const flaws = schemaFlaws(schema, given[key]);
        if (flaws.length > 0) {
            const adaptor = `Adaptor Drupal\\jsonrpc\\ParameterFactory\\${factory}ParameterFactory`;
            const text = `The ${key} parameter does not conform to the parameter schema. ${adaptor} `;
            throw new Refusal(400, -32602, text + dump(flaws));
        }
    }
}

// ---- methods ----

const string = { type: "string" };
const integer = { type: "integer" };
const paging = {
    schema: {
        type: "object",
        properties: { limit: { type: "integer", minimum: 0 }, offset: { type: "integer", minimum: 0 } },
    },
    factory: "Pagination",
};
const admin = "administer site configuration";
const listed = [{ id: "article", label: "It's <b>&" }];
const raise = (code, data) => {
    throw new Refusal(200, code, data, { executed: true });
};
// The path of a file is in the text, as PHP's own errors have it.
const nullError =
    "Drupal\\jsonrpc\\Object\\Response::setCacheability(): Argument #1 ($cacheability) must be of type " +
    "Drupal\\Core\\Cache\\CacheableDependencyInterface, null given, called in " +
    `${siteRoot}/modules/contrib/jsonrpc/src/Object/Response.php on line 81`;

// What the sites have: params undefined are not declared at all, {} are declared as an empty list.
const plainMethods = {
    echo: {
        usage: "Gives back what it got.",
        params: {
            input: { schema: string, description: "What is given back", required: true },
            n: { schema: { type: "integer", minimum: 1 } },
        },
        run: ({ input }) => ({ result: input }),
    },
    list: { usage: "Lists things.", params: {}, run: () => listed },
    noparams: { usage: "Lists things too.", run: () => listed },
    page: { usage: "Lists a page.", params: { page: paging }, run: () => [] },
    secret: { usage: "For administrators.", access: admin, run: () => "secret" },
    fail: { usage: "Finds nothing.", run: () => raise(-32602, "Node with ID 99999 not found") },
    boom: {
        usage: "Throws.",
        run: () => {
            throw new Error("boom detail");
        },
    },
    bad: { usage: "Breaks its word.", run: () => undefined },
    null: { usage: "Has nothing to say.", run: () => null },
    true: { usage: "Says yes.", run: () => true },
    empty: { usage: "Is empty.", run: () => [] },
    "cache.rebuild": { usage: "Rebuilds the system cache.", access: admin, run: () => true },
    "plugins.list": {
        usage: "List defined plugins.",
        access: admin,
        params: { page: paging, service: { schema: string, description: "The service id", required: true } },
        run: ({ service }) => [service],
    },
    "user_permissions.list": {
        usage: "List all the permissions available in the site.",
        access: admin,
        params: { page: paging },
        output: { type: "foo" },
        run: () => [],
    },
};

const nodes = {
    1: { type: "article", title: "First article", created: 1700000000, body: "Hello world.\n\nSecond paragraph." },
    2: { type: "article", title: "Second article", created: 1700000100, body: "Other." },
    3: { type: "article", title: "Draft", created: 1700000200, body: "Draft.", hidden: true },
    4: { type: "page", title: "Page", created: 1700000300, body: "Page." },
};
const described = (type, description) => ({ type, description });
const records = (properties) => ({
    type: "array",
    items: { type: "object", properties, required: Object.keys(properties) },
});

function toMarkdown({ nid }) {
    const node = nodes[nid] ?? raise(-32602, `Node with ID ${nid} not found`);
    if (node.type !== "article") {
        raise(-32602, `Node ${nid} is not an article`);
    }
    return node.hidden ? raise(-32602, `Access denied to node ${nid}`) : `# ${node.title}\n\n${node.body}`;
}

function listArticles({ page }) {
    const found = Object.entries(nodes)
        .filter(([, { type, hidden }]) => type === "article" && !hidden)
        .map(([nid, { title, created }]) => ({ nid: Number(nid), title, created }))
        .sort((a, b) => b.created - a.created);
    return page === undefined ? found : found.slice(page.offset, page.offset + page.limit);
}

const exampleMethods = {
    "examples.articles.list": {
        usage: "Lists article nodes with optional pagination",
        params: { page: { ...paging, description: "Pagination parameters (offset and limit)", bare: true } },
        output: records({
            nid: described("integer", "Node ID"),
            title: described("string", "Article title"),
            created: described("integer", "Creation timestamp"),
        }),
        tool: { title: "List Articles", annotations: { category: "content", supports_pagination: true } },
        run: listArticles,
    },
    "examples.contentTypes.list": {
        usage: "Lists all available content types",
        params: {},
        output: records({
            id: described("string", "Content type machine name"),
            label: described("string", "Content type human-readable label"),
        }),
        tool: {
            title: "List Content Types",
            annotations: {
                category: "discovery",
                auth: {
                    scopes: ["tutorial:read", "tutorial:search"],
                    description: "Requires content read and write access",
                    level: "required",
                },
            },
        },
        run: () => [
            { id: "article", label: "Article" },
            { id: "page", label: "Basic page" },
        ],
    },
    "examples.article.toMarkdown": {
        usage: "Retrieves an article node and formats it as markdown",
        params: {
            nid: {
                schema: { type: "integer", minimum: 1 },
                description: "The node ID of the article",
                required: true,
            },
        },
        output: described("string", "Article content formatted as markdown"),
        tool: { title: "Get Article as Markdown", annotations: { category: "content", returns: "markdown" } },
        run: toMarkdown,
    },
};

// Tools for tests of pages: many.000, many.001, …
export function manyTools(count) {
    const entries = Array.from({ length: count }, (_, i) => {
        const id = `many.${String(i).padStart(3, "0")}`;
        const tool = { title: `Tool ${i}` };
        return [id, { usage: `Tool number ${i}`, params: { n: { schema: integer } }, tool, run: () => id }];
    });
    return Object.fromEntries(entries);
}

// ---- the site ----

const page = (title) => `<!DOCTYPE html>
<html lang="en" dir="ltr"><head><title>${title} | Example</title>
<link rel="stylesheet" href="/core/themes/olivero/css/base.css" /></head>
<body><h1>${title}</h1></body></html>
`;

class Site {
    constructor({ kind = "plain", methods, login, ...more }) {
        this.hasTools = kind === "tools";
        this.methods = { ...(this.hasTools ? exampleMethods : plainMethods), ...methods };
        this.login = login; // "Basic …" or "Bearer …" of an administrator; undefined: all may call
        this.seen = []; // { verb, target, headers, body, rpc }
        this.front = null; // (request, response) => true where it has answered
        this.hidesParams = false; // in the collection of methods
        this.nextCursor = (next, total) => (total > next ? btoa(String(next)) : null);
        Object.assign(this, more);
    }

    // Again on the port that it had.
    async start() {
        this.http = http.createServer((request, response) => this.on(request, response));
        this.http.keepAliveTimeout = 600_000;
        this.port ??= await freePort();
        await new Promise((resolve) => this.http.listen(this.port, "127.0.0.1", resolve));
        this.origin = `http://127.0.0.1:${this.port}`;
        this.url = `${this.origin}/jsonrpc`;
        return this;
    }

    async stop() {
        this.http.closeAllConnections();
        await new Promise((resolve) => this.http.close(resolve));
    }

    // Requests with this path.
    asked(path) {
        return this.seen.filter(({ target }) => target.split("?")[0] === path);
    }

    // The calls that came: { verb, jsonrpc, id, method, params }.
    get calls() {
        return this.asked("/jsonrpc").map(({ verb, rpc }) => ({ verb, ...rpc }));
    }

    async on(request, response) {
        let body = "";
        for await (const chunk of request.setEncoding("utf8")) {
            body += chunk;
        }
        const url = new URL(request.url, this.origin);
        const text = request.method === "POST" ? body : (url.searchParams.get("query") ?? "");
        const asked = { verb: request.method, target: request.url, headers: request.headers, body };
        asked.rpc = parse(text);
        this.seen.push(asked);
        response.setHeader("Cache-Control", "must-revalidate, no-cache, private");
        response.setHeader("X-Generator", "Drupal 10 (https://www.drupal.org)");
        if (this.front?.(asked, response)) {
            return;
        }
        const refused = this.refuse(request.headers.authorization);
        if (refused !== null) {
            this.showPage(response, ...refused);
            return;
        }
        this.mayAll = this.login === undefined ? false : request.headers.authorization === this.login;
        this.route(request.method, url, asked.rpc, response);
    }

    // What authentication does in front of the modules: [status, title, challenge].
    refuse(authorization) {
        if (authorization?.startsWith("Bearer ") && authorization !== this.login) {
            const why = 'error="access_denied", error_description="Error while decoding from JSON"';
            return [401, "Client error", `Bearer realm="OAuth", ${why}`];
        }
        if (this.login !== undefined && authorization !== this.login) {
            return this.login.startsWith("Basic ")
                ? [401, "Unauthorized", 'Basic realm="Example"']
                : [403, "Access denied"];
        }
        return null;
    }

    showPage(response, status, title, challenge) {
        response.statusCode = status;
        response.setHeader("Content-Type", "text/html; charset=UTF-8");
        if (challenge !== undefined) {
            response.setHeader("WWW-Authenticate", challenge);
        }
        response.end(page(title));
    }

    sendJson(response, status, value) {
        response.statusCode = status;
        response.setHeader("Content-Type", "application/json");
        response.end(phpJson(value));
    }

    route(verb, url, rpc, response) {
        const path = decodeURIComponent(url.pathname);
        if (path === "/jsonrpc") {
            if (verb === "DELETE") {
                this.showPage(response, 405, "Client error");
            } else {
                this.onCall(rpc, response);
            }
        } else if (path === "/mcp/tools/list" && this.hasTools) {
            this.sendJson(response, 200, this.listTools(url.searchParams.get("cursor") ?? ""));
        } else if (path.startsWith("/mcp/tools/") && this.hasTools) {
            this.onTool(path.slice("/mcp/tools/".length), rpc, response);
        } else if (path === "/jsonrpc/methods") {
            const links = { self: `${this.linkBase}/jsonrpc/methods` };
            const data = this.visible().map((id) => this.describeMethod(id, this.hidesParams));
            this.sendJson(response, 200, { data, links });
        } else if (this.visible().includes(path.slice("/jsonrpc/methods/".length))) {
            const id = path.slice("/jsonrpc/methods/".length);
            this.sendJson(response, 200, this.describeMethod(id, false));
        } else {
            this.showPage(response, 404, "Page not found");
        }
    }

    // The tool in the path is who may call; the one in the body is what is run.
    onTool(name, rpc, response) {
        const method = this.methods[name];
        if (!method?.tool) {
            this.showPage(response, 404, "Page not found");
        } else if (method.access && !this.mayAll) {
            response.writeHead(401, { "WWW-Authenticate": 'Bearer realm="MCP Tools"' }).end();
        } else {
            this.onCall(rpc, response);
        }
    }

    // Sites behind a proxy name themselves otherwise.
    get linkBase() {
        return this.linksTo ?? this.origin;
    }

    visible() {
        return Object.keys(this.methods).filter((id) => this.mayAll || !this.methods[id].access);
    }

    // ---- discovery ----

    listTools(cursor) {
        const all = this.visible().filter((id) => this.methods[id].tool);
        const offset = Number.parseInt(Buffer.from(cursor, "base64").toString("latin1"), 10) || 0;
        const from = Math.max(0, offset < 0 ? all.length + offset : offset);
        const tools = all.slice(from, from + 50).map((id) => this.describeTool(id));
        return { tools, nextCursor: this.nextCursor(offset + 50, all.length) };
    }

    describeTool(id) {
        const { usage, params = {}, output, tool } = this.methods[id];
        const names = Object.keys(params);
        const required = names.filter((name) => params[name].required);
        const properties = names.map((name) => {
            const { schema, description } = params[name];
            return [name, description === undefined ? schema : { ...schema, description }];
        });
        return {
            name: id,
            description: usage,
            inputSchema: {
                type: "object",
                properties: names.length === 0 ? [] : Object.fromEntries(properties),
                ...(required.length > 0 ? { required } : {}),
            },
            ...(output === undefined ? {} : { outputSchema: output }),
            ...tool,
        };
    }

    describeMethod(id, isShort) {
        const { usage, params = {}, output } = this.methods[id];
        const attributes = { usage };
        const names = Object.keys(params);
        if (names.length > 0 && !isShort) {
            const all = names.map((name) => [name, this.describeParam(name, params[name])]);
            attributes.params = Object.fromEntries(all);
        }
        if (output !== undefined) {
            attributes.output = output;
        }
        const collection = `${this.linkBase}/jsonrpc/methods`;
        const links = { self: `${collection}/${id}`, collection };
        return { type: "JsonRpcMethod", id, attributes, links };
    }

    describeParam(id, { schema, description, required, factory, bare }) {
        const name = `Drupal\\jsonrpc\\ParameterFactory\\${factory}ParameterFactory`;
        const made = factory === undefined ? { schema } : { factory: bare ? name : `\\${name}` };
        const attributes = {
            ...made,
            ...(description === undefined ? {} : { description }),
            ...(required ? { required } : {}),
        };
        return { type: "JsonRpcParameterDefinition", id, attributes, schema };
    }

    // ---- calls ----

    onCall(value, response) {
        try {
            checkEnvelope(value);
            const all = Array.isArray(value) ? value : [value];
            all.forEach((one) => this.check(one));
            const answers = all.map((one) => this.run(one)).filter((one) => one !== null);
            if (answers.length === 0) {
                this.answerNothing(response);
            } else {
                const status = Array.isArray(value) ? 200 : answers[0].status;
                const bodies = answers.map(({ body }) => body);
                this.sendJson(response, status, Array.isArray(value) ? bodies : bodies[0]);
            }
        } catch (refusal) {
            if (!(refusal instanceof Refusal)) {
                throw refusal;
            }
            this.sendJson(response, refusal.status, refusal.body);
        }
    }

    // 2.0.5 trips over its own headers; 3.x does not.
    answerNothing(response) {
        if (this.hasTools) {
            response.writeHead(204).end();
        } else {
            this.showPage(response, 500, "The website encountered an unexpected error");
        }
    }

    check(request) {
        const method = this.methods[request.method];
        if (method === undefined) {
            const text = `The method '${request.method}' does not exist/is not available.`;
            throw new Refusal(400, -32601, text, request);
        }
        checkParams(request.method, method, request);
    }

    run(request) {
        const { access, run } = this.methods[request.method];
        try {
            if (access && !this.mayAll) {
                raise(-32600, `Access Denied: The '${access}' permission is required.`);
            }
            const result = run(isObject(request.params) ? request.params : {});
            if (result === undefined) {
                const text = "Adaptor Drupal\\jsonrpc\\Shaper\\RpcResponseFactory returned invalid output data: []";
                return new Refusal(500, -32603, text);
            }
            if (result === null) {
                return new Refusal(200, -32603, nullError, request);
            }
            const body = { jsonrpc: "2.0", id: request.id, result };
            return "id" in request ? { status: 200, body } : null;
        } catch (error) {
            return error instanceof Refusal ? error : new Refusal(200, -32603, error.message, request);
        }
    }
}

function parse(text) {
    try {
        return JSON.parse(text);
    } catch {
        return null;
    }
}

export async function startSite(options = {}) {
    const site = await new Site(options).start();
    after(() => site.stop());
    return site;
}

// ---- a causeway that has it as a source ----

export const login = basic("robot", "pa ss:word").Authorization;

export const sourceOf = (site, more = {}) => ({
    name: "site",
    preset: "drupal",
    url: site.url,
    timeout: "60s",
    methods: ["*"],
    ...more,
});

export async function startWithSite(t, site, more = {}, { config, ...options } = {}) {
    const server = await startBridge({
        plugins: [],
        ...options,
        // Callers can log in, so that tools with scopes are listed.
        config: { store: { path: databasePath() }, ...config, sources: [sourceOf(site, more)] },
    });
    t.after(() => server.stop());
    return server;
}
