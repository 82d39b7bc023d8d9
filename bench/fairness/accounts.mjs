import { basic, startLogins } from "./logins.mjs";
import { flood, post } from "./hostile.mjs";

export const name = "accounts";
export const about = `40 connections try one password with ever other names of accounts; the healthy
    client has logged in with a password.`;
export const start = startLogins;

export async function attack({ address, from, ready }) {
    let names = 0;
    ready();
    await flood(40, () => {
        names += 1;
        const headers = { Authorization: basic(`name ${names}`, "password") };
        return post(address, from, "/jsonrpc", { headers, body: "{}" });
    });
}
