// An authorization server (oidc-provider) for runs with a login: issuer.mjs RESOURCE
//
// The first line of standard output that begins with http is its URL. It runs until it is ended.
import { startProvider } from "../functional/support/issuer.mjs";

// The scopes of the example plugin.
const offered = ["tutorial:read", "tutorial:search"];
const { url } = await startProvider({ resource: process.argv[2], offered });
console.log(url);
