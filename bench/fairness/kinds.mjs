// The hostile clients, one module each. A module exports
//
//   name     one word, its row in the table
//   about    one sentence for docs/benchmarks.md: what the hostile client does
//   start()  { server, healthy, attack, stop }: a server, the healthy client
//            (async ({ server, seconds }) => { requests, failed, p50, p99, max }, times in µs; see
//            healthy.mjs), what attack() gets beside the address, and how to end it all
//   attack({ address, from, ready, count, … })   runs in a process of its own until it is killed; calls
//            ready() once the attack is on, and count(what) for each answer
//   metrics  what the attack did, from the server's metrics: functions of evidence.mjs, by name (optional)
//   least    how many of which answers, and how much of which metrics, prove that the attack got through to what
//            it attacks. Both count while the healthy client is measured. An answer that an ineffective attack
//            gets as well, such as 400 for an unknown method, proves nothing.
import * as accounts from "./accounts.mjs";
import * as bodies from "./bodies.mjs";
import * as calls from "./calls.mjs";
import * as connections from "./connections.mjs";
import * as hosts from "./hosts.mjs";
import * as left from "./left.mjs";
import * as logouts from "./logouts.mjs";
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
    connections,
    bodies,
    patterns,
    results,
    explanations,
    hosts,
    accounts,
    passwords,
    tokens,
    logouts,
];
