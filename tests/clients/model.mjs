// A model for tests: it answers like OpenAI (Chat Completions, Responses), Anthropic and Gemini, and calls tools by a
// fixed script. Like the real APIs it answers 400 to a whole request if one tool breaks a rule (rules.mjs).
//
//     const model = await startModel();
//     ... a framework with the base URL model.url (or `${model.url}/v1`) ...
//     model.record // { requests, rejections, calls, seen, unknown }
//     await model.close();
//
// The script: call the article tool with an article that exists, call it with one that does not, call a tool of the
// recipe if there is one, then answer with text.
import { once } from "node:events";
import { createServer } from "node:http";
import * as chat from "./model/chat.mjs";
import * as gemini from "./model/gemini.mjs";
import * as messages from "./model/messages.mjs";
import * as responses from "./model/responses.mjs";
import { checkTools } from "./rules.mjs";

const formats = [chat, responses, messages, gemini];
const MAX_BODY = 32 * 1024 * 1024;
const MAX_CALLS = 6; // a client that repeats itself must come to an end

// Clients put prefixes before a name, and some rewrite it.
const letters = (name) => name.replace(/[^a-zA-Z]/g, "");

export const script = {
    isTarget: ({ name }) => /articletomarkdown$/i.test(letters(name)),
    isRecipe: ({ name }) => /getversion$/i.test(letters(name)),
    inputs: [{ nid: 1 }, { nid: 99999 }],
    // The argument is optional, but some frameworks require all.
    recipeInput: { params: [] },
    prompt: "Read article 1, then article 99999. Use the tool. Then report what you read.",
    answer: "Both articles were requested.",
};

// The calls of the script, with these tools.
function callsWith(tools) {
    const [article, recipe] = [script.isTarget, script.isRecipe].map((isIt) => tools.find(isIt));
    if (article === undefined) {
        return [];
    }
    const calls = script.inputs.map((input) => ({ tool: article, input }));
    return recipe === undefined ? calls : [...calls, { tool: recipe, input: script.recipeInput }];
}

// The action for a request: a tool call, or text.
function decide(tools, results, record) {
    // Frameworks take messages with equal ids for one message.
    const id = `call_${record.requests.length}`;
    const calls = callsWith(tools);
    // Without results of earlier calls in the request, the calls that were made count: some frameworks rewrite
    // results as user messages.
    const stage = results.length || record.calls.length;
    if (stage < calls.length && record.calls.length < MAX_CALLS) {
        const { tool, input } = calls[stage];
        return { id, name: tool.name, namespace: tool.namespace, input };
    }
    const last = tools.find(({ name }) => name === "final_answer");
    if (last !== undefined) {
        return { id, name: last.name, input: { answer: script.answer } };
    }
    return { id, text: calls.length === 0 ? "No tool for articles is available." : script.answer };
}

function writeEvents(response, events) {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
    for (const { event, data } of events) {
        const text = typeof data === "string" ? data : JSON.stringify(data);
        response.write(`${event ? `event: ${event}\n` : ""}data: ${text}\n\n`);
    }
    response.end();
}

function writeJson(response, status, value) {
    const body = JSON.stringify(value);
    response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
    response.end(body);
}

function reject(response, format, tools, breaches, record) {
    record.rejections.push(...breaches);
    const index = tools.findIndex(({ name }) => name === breaches[0].tool);
    writeJson(response, 400, format.rejection(breaches[0], index));
}

async function answer(response, format, { text, body, pathname }, { record, onCall }) {
    const tools = format.toolsOf(body);
    record.requests.push({ api: format.api, tools: tools.map(({ name }) => name) });
    const breaches = checkTools(tools, format.api);
    if (breaches.length > 0) {
        return reject(response, format, tools, breaches, record);
    }
    if (tools.some(script.isTarget)) {
        record.seen += text;
    }
    // With previous_response_id a request holds only what is new.
    const results = body.previous_response_id ? [] : format.resultsOf(body);
    const action = decide(tools, results, record);
    if (action.name !== undefined) {
        record.calls.push(action.name);
        await onCall(record.calls.length);
    }
    if (format.isStream(body, pathname)) {
        return writeEvents(response, format.stream(body, action));
    }
    return writeJson(response, 200, format.reply(body, action));
}

async function read(request) {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) {
        text += chunk;
        if (text.length > MAX_BODY) {
            throw new Error("the request is too large");
        }
    }
    return text;
}

async function handle(request, response, model) {
    const { record } = model;
    const { pathname } = new URL(request.url, "http://localhost");
    const text = await read(request);
    const format = formats.find(({ path }) => path.test(pathname));
    if (request.method === "POST" && format !== undefined) {
        return answer(response, format, { text, body: JSON.parse(text), pathname }, model);
    }
    if (request.method === "GET" && /\/models$/.test(pathname)) {
        return writeJson(response, 200, { object: "list", data: [{ id: "fake", object: "model", created: 0 }] });
    }
    if (/count_?tokens$/i.test(pathname)) {
        return writeJson(response, 200, { input_tokens: 10, totalTokens: 10 });
    }
    record.unknown.push(`${request.method} ${pathname}`);
    return writeJson(response, 404, { error: { message: "Not found", type: "invalid_request_error" } });
}

// `record.seen` is the text of all requests that offered the tool: everything that the model could read. The model awaits
// `onCall(n)` before it sends its nth call.
export async function startModel({ onCall = () => {} } = {}) {
    const record = { requests: [], rejections: [], calls: [], seen: "", unknown: [] };
    const server = createServer((request, response) => {
        handle(request, response, { record, onCall }).catch((error) => {
            record.unknown.push(`${request.method} ${request.url}: ${error.message}`);
            writeJson(response, 400, { error: { message: error.message, type: "invalid_request_error" } });
        });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const close = async () => {
        server.closeAllConnections();
        server.close();
        await once(server, "close");
    };
    return { url: `http://127.0.0.1:${server.address().port}`, record, close };
}
