// The hostile clients, one module each. A module exports
//
//   name     one word, its row in the table
//   about    one sentence for docs/benchmarks.md: what the hostile client does
//   start()  { server, healthy, attack, stop }: a server, the healthy client
//            (async ({ server, seconds }) => { requests, failed, p50, p99, max }, times in µs; see
//            healthy.mjs), what attack() gets beside the address, and how to end it all
//   attack({ address, from, ready, … })   runs in a process of its own until it is killed; calls
//            ready() once the attack is on
import * as accounts from "./accounts.mjs";
import * as calls from "./calls.mjs";
import * as hosts from "./hosts.mjs";
import * as left from "./left.mjs";
import * as notifications from "./notifications.mjs";
import * as passwords from "./passwords.mjs";
import * as service from "./service.mjs";
import * as streams from "./streams.mjs";
import * as tokens from "./tokens.mjs";
import { explanations, patterns, results } from "./validation.mjs";

export const kinds = [
    notifications,
    calls,
    left,
    service,
    streams,
    patterns,
    results,
    explanations,
    hosts,
    accounts,
    passwords,
    tokens,
];
