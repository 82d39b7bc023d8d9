// Chance that can be repeated, and whether two sets of times differ.

// Numbers from 0 to 1, the same ones for the same seed (xorshift, 32 bits).
export function randomFrom(seed) {
    let state = seed | 0 || 1;
    return () => {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        return (state >>> 0) / 2 ** 32;
    };
}

export function shuffled(items, random) {
    const all = [...items];
    for (let i = all.length - 1; i > 0; i -= 1) {
        const k = Math.floor(random() * (i + 1));
        [all[i], all[k]] = [all[k], all[i]];
    }
    return all;
}

// How often one of `a` is larger than one of `b` (Mann and Whitney's U as a share): one half when
// they are alike, however long their tails are. `noise` is its standard deviation then.
export function compareRanks(a, b) {
    const all = [...a.map((value) => [value, 0]), ...b.map((value) => [value, 1])];
    all.sort(([x], [y]) => x - y);
    let ranks = 0;
    for (let i = 0; i < all.length; ) {
        let end = i;
        while (end < all.length && all[end][0] === all[i][0]) {
            end += 1;
        }
        const rank = (i + 1 + end) / 2; // of those that are equal
        ranks += rank * all.slice(i, end).filter(([, from]) => from === 0).length;
        i = end;
    }
    const pairs = a.length * b.length;
    const share = (ranks - (a.length * (a.length + 1)) / 2) / pairs;
    return { share, noise: Math.sqrt((a.length + b.length + 1) / (12 * pairs)) };
}

export const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
