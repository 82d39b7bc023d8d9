import { flood, post, roaming } from "./hostile.mjs";
import { madeUpToken, startLogins, withFresh } from "./logins.mjs";

export const name = "tokens";
export const about = `40 connections show made-up JWTs without a key id to a server whose issuer has
    four RSA keys of 4,096 bits, from one network after another, as each has to wait; each request of the healthy
    client has a token whose signature has to be checked.`;
// A network has to wait (429) only after some signatures were checked.
export const least = { 401: 100, 429: 1 };

export function start() {
    let n = 0;
    return startLogins(({ issuer }) =>
        withFresh({ scheme: "Bearer", rate: 50, next: () => issuer.token(`subject-${(n += 1)}`) }),
    );
}

export async function attack({ address, from, ready, count, issuer }) {
    const { send, moved } = roaming((headers) => {
        const all = { ...headers, Authorization: `Bearer ${madeUpToken(issuer)}` };
        return post(address, from, "/jsonrpc", { headers: all, body: "{}" });
    });
    moved.then(ready);
    await flood(40, count, send);
}
