import http from "node:http";
import { callFile, mcpRequest } from "../bridge/bridge.mjs";
import { madeUpSecret, sessionHeaders, startSession } from "./browser.mjs";
import { paced } from "./healthy.mjs";
import { ask, flood } from "./hostile.mjs";
import { startLogins } from "./logins.mjs";

export const name = "logouts";
export const about = `8 connections log out with made-up sessions; the healthy client calls a method in a browser
    session, and a stream of this session must report calls at least every two seconds.`;
// The answer to a logout whose proof fits its cookie.
export const least = { 303: 50 };

// A stream with the calls of the server. Resolves with a function that closes it, and that resolves with how
// many notifications came.
async function watchCalls(server, session) {
    const { headers, body } = mcpRequest("subscriptions/listen", { notifications: { "causeway/traffic": {} } });
    const stop = new AbortController();
    const options = { method: "POST", headers: { ...headers, ...session }, body, signal: stop.signal };
    const answer = await fetch(`http://${server.address}/mcp`, options);
    if (answer.status !== 200) {
        server.fail(`a stream was answered with ${answer.status} ${await answer.text()}`);
    }
    let text = "";
    const read = async () => {
        for await (const part of answer.body.pipeThrough(new TextDecoderStream())) text += part;
    };
    const isRead = read().catch(() => {});
    return async () => {
        stop.abort();
        await isRead;
        return text.split('"notifications/causeway/traffic"').length - 1;
    };
}

async function callAndWatch({ server, seconds }, session) {
    const close = await watchCalls(server, session);
    const calls = await paced({ file: callFile("test.echo", session) })({ server, seconds });
    const due = Math.floor(seconds / 2);
    const missing = Math.max(0, due - (await close()));
    return { ...calls, requests: calls.requests + due, failed: calls.failed + missing };
}

export const start = () =>
    startLogins(async ({ server }) => {
        const session = await startSession(server);
        return (given) => callAndWatch(given, session);
    });

export async function attack({ address, from, ready, count }) {
    const agent = new http.Agent({ keepAlive: true });
    ready();
    await flood(8, count, () => {
        const headers = { ...sessionHeaders(madeUpSecret()), "Content-Length": 0 };
        return ask(address, from, { method: "POST", path: "/logout", headers, agent });
    });
}
