import { madeUpToken, startLogins } from "./logins.mjs";
import { flood, post } from "./hostile.mjs";

export const name = "tokens";
export const about = `40 connections show made-up JWTs without a key id to a server whose issuer has
    four RSA keys of 4,096 bits; the healthy client has logged in with a password.`;
export const start = startLogins;

export async function attack({ address, from, ready, issuer }) {
    ready();
    await flood(40, () => {
        const headers = { Authorization: `Bearer ${madeUpToken(issuer)}` };
        return post(address, from, "/jsonrpc", { headers, body: "{}" });
    });
}
