// A person with a browser: browser.mjs URL
//
// Logs in and consents on the pages of the authorization server (issuer.mjs), then follows the redirect to the client.
// The last line of standard output is the address of that redirect.
import { authorize } from "../functional/support/issuer.mjs";

const CALLBACK_MS = 20_000;

// A client may open the browser before its own server listens. One that has no server uses the discard port.
async function visit(address) {
    const deadline = Date.now() + CALLBACK_MS;
    while (address.port !== "9" && Date.now() < deadline) {
        try {
            return await fetch(address);
        } catch {
            await new Promise((resolve) => setTimeout(resolve, 100));
        }
    }
    return undefined;
}

const address = await authorize(process.argv[2], "alice");
await visit(address);
console.log(address.href);
