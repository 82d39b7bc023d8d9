// A person at the pages of the built-in authorization server, and the requests of a client.
//
//     const { code, verifier } = await allow(server, cookie, { client_id: "app", redirect_uri });
//     const { status, json } = await token(server, { grant_type: "authorization_code", code, ... });
import assert from "node:assert/strict";
import { openConsent, pkce, sendDecision } from "./authorize.mjs";
import { hiddenField } from "./login.mjs";

// The consent page's form, sent with a decision: where the browser goes then.
async function decide(server, cookie, query) {
    const page = await openConsent(server, { cookie }, new URLSearchParams(query));
    assert.equal(page.status, 200, page.text);
    const consent = hiddenField(page.text, "consent");
    assert.ok(consent, page.text);
    const scopes = [...page.text.matchAll(/name="scope" value="([^"]*)"/g)].map(([, scope]) => scope);
    const answer = await sendDecision(server, { cookie }, consent, { scopes });
    assert.equal(answer.status, 303, answer.text);
    return new URL(answer.headers.get("location"));
}

// Allow a client: the code, and the verifier that belongs to it.
export async function allow(server, cookie, query) {
    const { verifier, challenge } = pkce();
    const proof = { code_challenge: challenge, code_challenge_method: "S256" };
    const url = await decide(server, cookie, { response_type: "code", ...proof, ...query });
    assert.ok(url.searchParams.get("code"), url.href);
    return { code: url.searchParams.get("code"), verifier, url };
}

// A form to an endpoint for programs.
export async function send(server, path, fields, headers = {}) {
    const answer = await fetch(`${server.url}${path}`, {
        method: "POST",
        headers: { "Content-Type": "application/x-www-form-urlencoded", ...headers },
        body: new URLSearchParams(fields).toString(),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, json: JSON.parse(text) };
}

export const token = (server, fields, headers) => send(server, "/token", fields, headers);
