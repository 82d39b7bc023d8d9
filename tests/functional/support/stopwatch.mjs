// Time for upper bounds: the clock stands still when the machine does.
//
//     const elapsed = stopwatch();
//     await work();
//     assert.ok(elapsed() <= patience(500));
import { timeLimit } from "./programs.mjs";

// A function that returns the ms since now, without those in which this program could not run either.
export function stopwatch() {
    const left = timeLimit(0);
    return () => -left();
}

// How long `work` took: `ms` of the wall clock, for lower bounds, and `own` without a standstill, for upper ones.
export async function timedOwn(work) {
    const elapsed = stopwatch();
    const begin = performance.now();
    const value = await work();
    return { value, ms: performance.now() - begin, own: elapsed() };
}

// Whether the machine has stood still during what timedOwn measured: time limits of a server may be over then.
export const stoodStill = ({ ms, own }) => ms - own > 200;
