// Tasks (io.modelcontextprotocol/tasks) as a client sees them.
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";
import { callTool, metaKey, modern, modernVersion } from "./mcp.mjs";
import { eventually } from "./server.mjs";

export const tasks = { extensions: { [metaKey("tasks")]: {} }, elicitation: {} };
export const withTasks = (more = {}) => ({ ...more, meta: { [metaKey("clientCapabilities")]: tasks } });

export const beginTask = (server, name, args = {}, options = {}) => callTool(server, name, args, withTasks(options));
export const getTask = (server, taskId, options = {}) => modern(server, "tasks/get", { taskId }, withTasks(options));
export const cancelTask = (server, taskId, options = {}) =>
    modern(server, "tasks/cancel", { taskId }, withTasks(options));

// The id of a task that this call makes.
export async function taskOf(server, name, args, options) {
    const { json, text } = await beginTask(server, name, args, options);
    assert.equal(json.result?.resultType, "task", text);
    return json.result.taskId;
}

// The state of the task when it is `status`.
export async function untilStatus(server, taskId, status, options) {
    let found;
    await eventually(
        async () => {
            const { json, text } = await getTask(server, taskId, options);
            assert.ok(json.result, text);
            found = json.result;
            return found.status === status;
        },
        `a task that is ${status}`,
        10_000,
    );
    return found;
}

// A client with a session of the extension's own library: { client, session }.
export async function openTaskSession(server, onInputRequest) {
    const clientCapabilities = { elicitation: { form: {} }, extensions: tasks.extensions };
    const clientInfo = { name: "test", version: "1" };
    // Its SDK leaves requests of the extension to the application.
    async function rawDispatch({ method, params }, { signal } = {}) {
        const { _meta, ...rest } = params;
        const { json } = await modern(server, method, rest, { meta: _meta, fetch: { signal } });
        return json.error ? { kind: "error", error: json.error } : { kind: "result", result: json.result };
    }
    const client = new Client(clientInfo, { versionNegotiation: { mode: "auto" }, capabilities: clientCapabilities });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
    const session = createTaskSessionFromClient(client, {
        endpointId: "test",
        rawDispatch,
        v2RequestFraming: { protocolVersion: modernVersion, clientInfo, clientCapabilities },
        ...(onInputRequest ? { onInputRequest } : {}),
    });
    return { client, session };
}
