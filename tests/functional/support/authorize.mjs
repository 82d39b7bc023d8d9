// The authorization server as a client and a browser use it: registration, login, consent, code.
//
//     const client = await register(server, { redirect_uris: [callback] });
//     const { location } = await authorize(server, client, { account: "alice" });
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import http from "node:http";
import { hiddenField, logIn, sameOrigin } from "./login.mjs";

export const callback = "http://127.0.0.1:51004/callback";

export async function postRegistration(server, metadata, headers = {}) {
    const answer = await fetch(`${server.url}/register`, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...headers },
        body: typeof metadata === "string" ? metadata : JSON.stringify(metadata),
    });
    return { status: answer.status, headers: answer.headers, json: await answer.json() };
}

export async function register(server, metadata = {}) {
    const { status, json } = await postRegistration(server, {
        client_name: "a test",
        redirect_uris: [callback],
        token_endpoint_auth_method: "none",
        ...metadata,
    });
    assert.equal(status, 201, JSON.stringify(json));
    return json;
}

export function pkce() {
    const verifier = randomBytes(32).toString("base64url");
    return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
}

// A request without the Sec-Fetch headers that fetch() adds: { status, headers, text }.
export async function navigate(server, path, { method = "GET", headers = {}, form } = {}) {
    const body = form ? new URLSearchParams(form).toString() : "";
    const type = form ? { "Content-Type": "application/x-www-form-urlencoded" } : {};
    const all = { ...type, "Content-Length": Buffer.byteLength(body), ...headers };
    return await new Promise((resolve, reject) => {
        const request = http.request(`${server.url}${path}`, { method, headers: all, agent: false }, (answer) => {
            let text = "";
            answer.setEncoding("utf8");
            answer.on("data", (part) => (text += part));
            answer.on("error", reject);
            answer.on("end", () => {
                const got = new Headers();
                for (const [name, value] of Object.entries(answer.headers)) {
                    for (const one of [value].flat()) got.append(name, one);
                }
                resolve({ status: answer.statusCode, headers: got, text });
            });
        });
        request.on("error", reject);
        request.end(body);
    });
}

// The query of a request; undefined leaves a parameter out.
export function requestQuery(client, more = {}) {
    const all = {
        response_type: "code",
        client_id: client.client_id,
        redirect_uri: callback,
        code_challenge: pkce().challenge,
        code_challenge_method: "S256",
        state: "xyz",
        ...more,
    };
    return new URLSearchParams(Object.entries(all).filter(([, value]) => value !== undefined)).toString();
}

export const openConsent = (server, browser, query) =>
    navigate(server, `/authorize?${query}`, { headers: { Cookie: browser.cookie } });

export function sendDecision(server, browser, consent, { decision = "allow", scopes = [], headers = {} } = {}) {
    const form = new URLSearchParams({ consent, decision });
    for (const scope of scopes) form.append("scope", scope);
    return navigate(server, "/authorize", {
        method: "POST",
        headers: { ...sameOrigin(server), Cookie: browser.cookie, ...headers },
        form,
    });
}

// From a login to the address that the browser is sent to.
export async function authorize(server, client, { account = "alice", password = "s3cret", ...more } = {}) {
    const browser = await logIn(server, account, password);
    const { verifier, challenge } = pkce();
    const page = await openConsent(server, browser, requestQuery(client, { code_challenge: challenge, ...more }));
    assert.equal(page.status, 200, page.text);
    const answer = await sendDecision(server, browser, hiddenField(page.text, "consent"));
    assert.equal(answer.status, 303, answer.text);
    return { browser, verifier, location: new URL(answer.headers.get("location")) };
}
