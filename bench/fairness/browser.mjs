// Browser sessions, for clients that log in on the page and out again.
import { createHash, randomBytes } from "node:crypto";
import { ask } from "./hostile.mjs";
import { account, password } from "./logins.mjs";

// A secret as the server makes them for cookies, and the proof of it that forms and requests bring.
export const madeUpSecret = () => randomBytes(32).toString("base64url");
const proofOf = (secret) => createHash("sha256").update(`causeway session proof\n${secret}`).digest("base64url");

const sameOrigin = { "Sec-Fetch-Site": "same-origin" };
export const sessionHeaders = (secret) => ({
    ...sameOrigin,
    "X-CSRF-Token": proofOf(secret),
    Cookie: `__Host-causeway=${secret}`,
});

// Log in on the page, where the password is verified each time.
export function logIn(address, from, more = {}) {
    const secret = madeUpSecret();
    const headers = {
        ...{ ...sameOrigin, ...more },
        "Content-Type": "application/x-www-form-urlencoded",
        Cookie: `__Host-causeway-login=${secret}`,
    };
    const form = new URLSearchParams({ name: account, password, csrf: proofOf(secret) });
    return ask(address, from, { method: "POST", path: "/login", headers, body: form.toString() });
}

// The headers of requests in a new session of the account.
export async function startSession(server) {
    const answer = await logIn(server.address, "127.0.0.1");
    if (answer?.status !== 303) {
        server.fail(`a login was answered with ${answer?.status} ${answer?.text}`);
    }
    return sessionHeaders(/__Host-causeway=([^;]+)/.exec(answer.headers["set-cookie"])[1]);
}
