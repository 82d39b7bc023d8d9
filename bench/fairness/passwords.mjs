import { account, basic, startLogins } from "./logins.mjs";
import { flood, post } from "./hostile.mjs";

export const name = "passwords";
export const about = `40 connections guess the password of the account that the healthy client
    has logged in with.`;
export const start = startLogins;

export async function attack({ address, from, ready }) {
    let guesses = 0;
    ready();
    await flood(40, () => {
        guesses += 1;
        const headers = { Authorization: basic(account, `guess ${guesses}`) };
        return post(address, from, "/jsonrpc", { headers, body: "{}" });
    });
}
