import { sleep } from "../http/servers.mjs";
import { logIn } from "./browser.mjs";
import { repeated } from "./healthy.mjs";
import { flood, forwardedFor, post, roaming } from "./hostile.mjs";
import { account, basic, loginRate, startLogins } from "./logins.mjs";

export const name = "passwords";
export const about = `40 connections guess the password of an account, from one network after another, so that
    it is locked for networks that it does not know; the healthy client logs in to this account, and its
    password has to be verified each time.`;
export const least = { locked: 2 };

async function logsIn(server) {
    return (await logIn(server.address, "127.0.0.1"))?.status === 303;
}

export const start = () => startLogins(() => repeated({ once: logsIn, rate: loginRate }));

// The right password from a network that the account does not know, and that has not guessed.
async function tryRight(address, from, count) {
    for (let network = 0xff00; ; network += 1) {
        await sleep(200);
        const answer = await logIn(address, from, forwardedFor(network));
        count(answer?.status === 429 ? "locked" : "not locked");
    }
}

export async function attack({ address, from, ready, count }) {
    let guesses = 0;
    const { send, moved } = roaming((headers) => {
        guesses += 1;
        const all = { ...headers, Authorization: basic(account, `guess ${guesses}`) };
        return post(address, from, "/jsonrpc", { headers: all, body: "{}" });
    });
    moved.then(ready);
    await Promise.all([flood(40, count, send), tryRight(address, from, count)]);
}
