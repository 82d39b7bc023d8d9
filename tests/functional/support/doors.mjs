// Every way to call a tool or a method, and how the verdicts of the gate look there.
//
//     const answer = await door.send(server, { name, params }, headers);
//     const [status, code] = door.answers.unknown;
//
// Doors with takesMethods call methods; the others call only methods that are tools.
import { both, legacyVersions, modern, post } from "./mcp.mjs";
import { get } from "./rest.mjs";

export const message = (name, id = 1, params = {}) => ({ jsonrpc: "2.0", method: name, params, id });
export const toolCall = (name, id = 1, params = {}) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name, arguments: params },
});

// Status and JSON-RPC code of each verdict.
const rpcAnswers = {
    wrong: [401],
    forged: [403],
    login: [401, -32000],
    forbidden: [403, -32000],
    scopes: [403, -32000],
    unknown: [400, -32601],
    ran: [200],
};
const mcpAnswers = { ...rpcAnswers, unknown: [200, -32602] };
const toolAnswers = { ...rpcAnswers, unknown: [404, -32601] };
const restAnswers = {
    wrong: [401, "unauthorized"],
    forged: [403, "access_denied"],
    login: [401, "unauthorized"],
    forbidden: [403, "access_denied"],
    scopes: [403, "insufficient_scope"],
    unknown: [404, "tool_not_found"],
    ran: [200],
};

// A batch is 200 whatever its messages came to, unless the credentials are refused.
const inBatch = ({ wrong, forged, ...answers }) => ({
    wrong,
    forged,
    ...Object.fromEntries(Object.entries(answers).map(([verdict, [, code]]) => [verdict, [200, code]])),
});

export const query = (name, params) => encodeURIComponent(JSON.stringify(message(name, 1, params)));
const legacyDoor = (version) => ({
    name: `/mcp, ${version}`,
    answers: mcpAnswers,
    send: (server, tool, headers) =>
        post(server, "/mcp", toolCall(tool.name, 1, tool.params), {
            ...both,
            "MCP-Protocol-Version": version,
            ...headers,
        }),
});

// The endpoint at the address of a toolset, in both eras. `has` names the tools that are in it.
export const toolsetDoors = (path, has) => [
    {
        name: `${path}, 2026-07-28`,
        has,
        answers: mcpAnswers,
        send: (server, { name, params = {} }, headers) =>
            modern(server, "tools/call", { name, arguments: params }, { headers, path }),
    },
    {
        name: `${path} without a version`,
        has,
        answers: mcpAnswers,
        send: (server, tool, headers) =>
            post(server, path, toolCall(tool.name, 1, tool.params), { ...both, ...headers }),
    },
];

export const doors = [
    {
        name: "POST /mcp/tools/invoke",
        answers: restAnswers,
        send: (server, { name, params = {} }, headers) =>
            post(server, "/mcp/tools/invoke", { name, arguments: params }, headers),
    },
    {
        name: "POST /mcp/tools/{name}",
        answers: toolAnswers,
        send: (server, { name, params }, headers) =>
            post(server, `/mcp/tools/${name}`, message(name, 1, params), headers),
    },
    {
        name: "GET /mcp/tools/{name}",
        answers: toolAnswers,
        send: (server, { name, params }, headers) =>
            get(server, `/mcp/tools/${name}?query=${query(name, params)}`, headers),
    },
    {
        name: "POST /jsonrpc",
        takesMethods: true,
        answers: rpcAnswers,
        send: (server, { name, params }, headers) => post(server, "/jsonrpc", message(name, 1, params), headers),
    },
    {
        name: "GET /jsonrpc",
        takesMethods: true,
        answers: rpcAnswers,
        send: (server, { name, params }, headers) => get(server, `/jsonrpc?query=${query(name, params)}`, headers),
    },
    {
        name: "/mcp, 2026-07-28",
        answers: mcpAnswers,
        send: (server, { name, params = {} }, headers) =>
            modern(server, "tools/call", { name, arguments: params }, { headers }),
    },
    {
        name: "/mcp/tools/list as the endpoint",
        answers: mcpAnswers,
        send: (server, tool, headers) =>
            post(server, "/mcp/tools/list", toolCall(tool.name, 1, tool.params), { ...both, ...headers }),
    },
    {
        name: "/mcp without a version",
        answers: mcpAnswers,
        send: (server, tool, headers) =>
            post(server, "/mcp", toolCall(tool.name, 1, tool.params), { ...both, ...headers }),
    },
    {
        name: "a batch to /jsonrpc",
        isBatch: true,
        takesMethods: true,
        answers: inBatch(rpcAnswers),
        send: (server, { name, params }, headers) => post(server, "/jsonrpc", [message(name, 1, params)], headers),
    },
    {
        name: "a batch to /mcp",
        isBatch: true,
        answers: inBatch(mcpAnswers),
        send: (server, tool, headers) =>
            post(server, "/mcp", [toolCall(tool.name, 1, tool.params)], {
                ...both,
                "MCP-Protocol-Version": "2025-03-26",
                ...headers,
            }),
    },
    ...legacyVersions.map(legacyDoor),
];
