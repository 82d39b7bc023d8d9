// A browser that logs in on the page, as far as a test needs one: cookies and headers by hand.
//
//     const { cookie, csrf } = await logIn(server, "alice", "s3cret");
//     await rpc(server, message, session({ server, cookie, csrf }));
import assert from "node:assert/strict";
import { longEnough } from "./accounts.mjs";

export const sessionCookie = "__Host-causeway";
export const formCookie = "__Host-causeway-login";

// The cookies that an answer sets: name -> { value, attributes }.
export function cookiesOf(headers) {
    const all = {};
    for (const line of headers.getSetCookie()) {
        const [pair, ...attributes] = line.split("; ");
        const [name, value] = pair.split("=");
        all[name] = { value, attributes };
    }
    return all;
}

// A request as browsers make it, without following where it leads: { status, headers, text }.
export async function visit(server, path, { method = "GET", headers = {}, form } = {}) {
    const answer = await fetch(`${server.url}${path}`, {
        method,
        headers,
        redirect: "manual",
        body: form && new URLSearchParams(form),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

// Where forms say that they come from.
export const sameOrigin = (server) => ({
    Origin: new URL(server.url).origin,
    "Sec-Fetch-Site": "same-origin",
});

export const hiddenField = (text, name) => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1];

// The fields of the page's form, and the cookie that belongs to them.
export async function openForm(server, { path = "/login", query = "", headers = {} } = {}) {
    const { status, headers: got, text } = await visit(server, `${path}${query}`, { headers });
    assert.equal(status, 200, text);
    const cookie = `${formCookie}=${cookiesOf(got)[formCookie].value}`;
    return { cookie, csrf: hiddenField(text, "csrf"), next: hiddenField(text, "next") };
}

// Send the form. `fields` and `headers` replace those that a browser would send; undefined leaves
// one out.
export async function sendForm(server, { path = "/login", cookie, headers = {}, ...fields }) {
    const all = { ...sameOrigin(server), Cookie: cookie, ...headers };
    if (typeof fields.password === "string") {
        fields.password = longEnough(fields.password);
    }
    const present = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
    return await visit(server, path, {
        method: "POST",
        headers: present(all),
        form: present(fields),
    });
}

// The proof that requests with this cookie need.
export async function proofOf(server, cookie) {
    const { status, text } = await visit(server, "/session/token", { headers: { Cookie: cookie } });
    assert.equal(status, 200, text);
    return text;
}

// Log in: the cookie for the header of that name, and the value for X-CSRF-Token.
export async function logIn(server, name, password, options = {}) {
    const form = await openForm(server, options);
    const { cookie: formCookies, csrf, next } = form;
    const fields = { name, password, csrf, next };
    const answer = await sendForm(server, { ...options, cookie: formCookies, ...fields });
    assert.equal(answer.status, 303, answer.text);
    const cookie = `${sessionCookie}=${cookiesOf(answer.headers)[sessionCookie].value}`;
    return { cookie, csrf: await proofOf(server, cookie), answer };
}

// The headers of a request that a page of ours makes.
export const session = (server, { cookie, csrf }) => ({
    ...sameOrigin(server),
    Cookie: cookie,
    "X-CSRF-Token": csrf,
});
