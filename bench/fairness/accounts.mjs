import { flood, post, roaming } from "./hostile.mjs";
import { basic, loginRate, password, startLogins, withFresh } from "./logins.mjs";

export const name = "accounts";
export const about = `40 connections try one password with ever other names of accounts, from one network after
    another, as each has to wait; each request of the healthy client logs in with a password that has to be
    verified.`;
// A network has to wait (429) only after some guesses were verified.
export const least = { 401: 10, 429: 1 };

export function start() {
    let n = 0;
    const next = () => basic(`user${(n += 1)}`, password).split(" ")[1];
    return startLogins(() => withFresh({ scheme: "Basic", rate: loginRate, next }));
}

export async function attack({ address, from, ready, count }) {
    let names = 0;
    const { send, moved } = roaming((headers) => {
        names += 1;
        const all = { ...headers, Authorization: basic(`name ${names}`, "password") };
        return post(address, from, "/jsonrpc", { headers: all, body: "{}" });
    });
    moved.then(ready);
    await flood(40, count, send);
}
