/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dfa.c - a pattern as a table of states: each character of the text is looked at once.
 *
 * Each SET of the tree is a position, at most 64; repeats are written out. Which
 * positions may begin, end and follow one another makes an automaton whose states
 * are sets of positions, 64-bit masks; the table is made from those that can be
 * reached:
 *
 *     ^a[bc]+$     positions 0: a, 1: bc (first), 2: bc (again)
 *     follow       0 -> 1, 1 -> 2, 2 -> 2        last 1, 2
 *     states       start -a-> {0} -b-> {1} -b-> {2} -b-> {2}; {1} and {2} may end the text
 *
 * Code points fall into classes that no set tells apart; ASCII has a table of its
 * own, the rest is searched in the list of intervals.
 *
 * Anchors may stand at the ends of the alternatives only. PCRE2 handles the rest: look
 * around, back references, \b, properties, more positions or states.
 */
#include <stdlib.h>

#include "base/utf8.h"
#include "schema/pattern/pattern_int.h"

#define MAX_POSITIONS 64u
#define MAX_STATES 250u
#define MAX_BOUNDS 256u
#define MAX_CLASSES 64u
#define MAX_DEPTH (4u * CW_PATTERN_NESTING)

#define ACCEPT 254u
#define DEAD 255u

typedef struct interval {
    uint32_t first; /* code point; up to the next interval */
    uint32_t class_index;
} interval;

struct cw_dfa {
    uint32_t n_classes;
    uint32_t n_intervals;
    uint8_t start; /* a state, or ACCEPT */
    uint8_t ascii[128];
    uint8_t at_end[MAX_STATES]; /* whether the text may end in this state */
    const interval *intervals;
    uint8_t next[]; /* [state][class], then the intervals */
};

typedef struct fragment {
    bool nullable;
    uint64_t first, last;
} fragment;

/* State while the table is built. It is large, so it is on the heap. */
typedef struct builder {
    unsigned n_positions;
    const cw_set *sets[MAX_POSITIONS];
    uint64_t follow[MAX_POSITIONS];
    uint64_t anchored, floating; /* positions that may begin a match: at the start; anywhere */
    uint64_t last, last_at_end;  /* positions that end a match; those only at the end of the text */
    bool empty;                  /* the empty text, at the start and end at once, matches */
    bool always;
    uint32_t bounds[MAX_BOUNDS]; /* first code points of the intervals */
    unsigned n_bounds;
    uint8_t class_of[MAX_BOUNDS];
    uint64_t classes[MAX_CLASSES]; /* which positions take it */
    unsigned n_classes;
    uint64_t states[MAX_STATES]; /* masks; state 0 is the start */
    unsigned n_states;
    uint8_t next[MAX_STATES][MAX_CLASSES];
} builder;

/* ---- positions ---- */

static cw_code add_node(builder *b, const cw_node *node, unsigned depth, fragment *ret);

static void add_follow(builder *b, uint64_t from, uint64_t to)
{
    for (unsigned i = 0; i < b->n_positions; i++) {
        if (from >> i & 1)
            b->follow[i] |= to;
    }
}

static void append(builder *b, fragment *f, const fragment *next)
{
    add_follow(b, f->last, next->first);
    if (f->nullable)
        f->first |= next->first;
    f->last = next->nullable ? f->last | next->last : next->last;
    f->nullable = f->nullable && next->nullable;
}

static cw_code add_set(builder *b, const cw_set *set, fragment *ret)
{
    if (b->n_positions == MAX_POSITIONS || set->n_properties > 0)
        return CW_DECLINED;
    uint64_t bit = UINT64_C(1) << b->n_positions;
    b->sets[b->n_positions++] = set;
    *ret = (fragment){false, bit, bit};
    return CW_OK;
}

static cw_code add_repeat(builder *b, const cw_node *node, unsigned depth, fragment *ret)
{
    bool forever = node->max == CW_PATTERN_FOREVER;
    uint32_t copies = forever ? (node->min ? node->min : 1) : node->max;
    *ret = (fragment){true, 0, 0};
    for (uint32_t i = 0; i < copies; i++) {
        fragment f;
        cw_code rc = add_node(b, node->child, depth + 1, &f);
        if (rc)
            return rc;
        if (forever && i + 1 == copies)
            add_follow(b, f.last, f.first);
        if (i >= node->min)
            f.nullable = true;
        append(b, ret, &f);
        /* A body that takes nothing costs no position: do not go round for ever. */
        if (f.first == 0)
            return CW_OK;
    }
    return CW_OK;
}

static cw_code add_children(builder *b, const cw_node *node, const cw_node *end, unsigned depth,
                            fragment *ret)
{
    *ret = (fragment){true, 0, 0};
    for (const cw_node *child = node; child != end; child = child->next) {
        fragment f;
        cw_code rc = add_node(b, child, depth + 1, &f);
        if (rc)
            return rc;
        append(b, ret, &f);
    }
    return CW_OK;
}

static cw_code add_alternatives(builder *b, const cw_node *node, unsigned depth, fragment *ret)
{
    *ret = (fragment){false, 0, 0};
    for (const cw_node *child = node->child; child; child = child->next) {
        fragment f;
        cw_code rc = add_node(b, child, depth + 1, &f);
        if (rc)
            return rc;
        ret->nullable |= f.nullable;
        ret->first |= f.first;
        ret->last |= f.last;
    }
    return CW_OK;
}

static cw_code add_node(builder *b, const cw_node *node, unsigned depth, fragment *ret)
{
    if (depth > MAX_DEPTH)
        return CW_DECLINED;
    switch (node->kind) {
    case NODE_SET:
        return add_set(b, node->set, ret);
    case NODE_SEQ:
    case NODE_GROUP:
        return add_children(b, node->child, NULL, depth, ret);
    case NODE_ALT:
        return add_alternatives(b, node, depth, ret);
    case NODE_REPEAT:
        return add_repeat(b, node, depth, ret);
    case NODE_LOOK:
    case NODE_BACKREF:
    case NODE_BOL:
    case NODE_EOL:
    case NODE_BOUNDARY:
        break;
    }
    return CW_DECLINED;
}

/* One alternative at the top: anchors at its ends, the rest between them. */
static cw_code add_top(builder *b, const cw_node *seq)
{
    const cw_node *first = seq->child;
    bool bol = false;
    for (; first && first->kind == NODE_BOL; first = first->next)
        bol = true;
    const cw_node *end = NULL; /* where the EOLs at the end begin */
    for (const cw_node *n = first; n; n = n->next) {
        if (n->kind != NODE_EOL)
            end = NULL;
        else if (!end)
            end = n;
    }
    fragment f;
    cw_code rc = add_children(b, first, end, 0, &f);
    if (rc)
        return rc;
    bool eol = end != NULL;
    if (f.nullable && (!bol || !eol))
        b->always = true;
    b->empty |= f.nullable;
    *(bol ? &b->anchored : &b->floating) |= f.first;
    *(eol ? &b->last_at_end : &b->last) |= f.last;
    return CW_OK;
}

static cw_code add_tree(builder *b, const cw_node *tree)
{
    if (tree->kind != NODE_ALT)
        return add_top(b, tree);
    for (const cw_node *child = tree->child; child; child = child->next) {
        cw_code rc = add_top(b, child);
        if (rc)
            return rc;
    }
    return CW_OK;
}

/* ---- classes of code points ---- */

static bool set_has(const cw_set *set, uint32_t c)
{
    for (size_t i = 0; i < set->n_ranges; i++) {
        if (c >= set->ranges[i].lo && c <= set->ranges[i].hi)
            return !set->negated;
    }
    return set->negated;
}

static bool add_bound(builder *b, uint32_t c)
{
    unsigned at = b->n_bounds;
    while (at > 0 && b->bounds[at - 1] > c)
        at--;
    if (at > 0 && b->bounds[at - 1] == c)
        return true;
    if (b->n_bounds == MAX_BOUNDS)
        return false;
    memmove(b->bounds + at + 1, b->bounds + at, (b->n_bounds - at) * sizeof *b->bounds);
    b->bounds[at] = c;
    b->n_bounds++;
    return true;
}

static bool find_bounds(builder *b)
{
    bool ok = add_bound(b, 0);
    for (unsigned p = 0; p < b->n_positions && ok; p++) {
        const cw_set *set = b->sets[p];
        if (p > 0 && set == b->sets[p - 1])
            continue;
        for (size_t i = 0; i < set->n_ranges && ok; i++)
            ok = add_bound(b, set->ranges[i].lo) && add_bound(b, set->ranges[i].hi + 1);
    }
    return ok;
}

static bool find_classes(builder *b)
{
    if (!find_bounds(b))
        return false;
    for (unsigned i = 0; i < b->n_bounds; i++) {
        uint64_t positions = 0;
        for (unsigned p = 0; p < b->n_positions; p++)
            positions |= (uint64_t)set_has(b->sets[p], b->bounds[i]) << p;
        unsigned k = 0;
        while (k < b->n_classes && b->classes[k] != positions)
            k++;
        if (k == MAX_CLASSES)
            return false;
        if (k == b->n_classes)
            b->classes[b->n_classes++] = positions;
        b->class_of[i] = (uint8_t)k;
    }
    return true;
}

/* ---- states ---- */

static uint64_t followers(const builder *b, uint64_t state)
{
    uint64_t next = 0;
    for (unsigned i = 0; i < b->n_positions; i++) {
        if (state >> i & 1)
            next |= b->follow[i];
    }
    return next;
}

/* The number of a state, which is added when it is new; MAX_STATES when there are too many. State 0
 * is the start, which no other state equals. */
static unsigned number_of(builder *b, uint64_t state)
{
    if (state & b->last)
        return ACCEPT;
    if (state == 0 && b->floating == 0)
        return DEAD;
    for (unsigned i = 1; i < b->n_states; i++) {
        if (b->states[i] == state)
            return i;
    }
    if (b->n_states < MAX_STATES)
        b->states[b->n_states] = state;
    return b->n_states < MAX_STATES ? b->n_states++ : MAX_STATES;
}

static bool find_states(builder *b)
{
    b->n_states = 1;
    for (unsigned s = 0; s < b->n_states; s++) {
        uint64_t next = (s == 0 ? b->anchored : followers(b, b->states[s])) | b->floating;
        for (unsigned k = 0; k < b->n_classes; k++) {
            unsigned to = number_of(b, next & b->classes[k]);
            if (to == MAX_STATES)
                return false;
            b->next[s][k] = (uint8_t)to;
        }
    }
    return true;
}

/* ---- the table ---- */

static void fill_ascii(const builder *b, cw_dfa *dfa)
{
    unsigned i = 0;
    for (uint32_t c = 0; c < 128; c++) {
        while (i + 1 < b->n_bounds && b->bounds[i + 1] <= c)
            i++;
        dfa->ascii[c] = b->class_of[i];
    }
}

static cw_code make_table(const builder *b, cw_dfa **ret, cw_err *err)
{
    size_t cells = ((size_t)b->n_states * b->n_classes + 7) & ~(size_t)7;
    cw_dfa *dfa = calloc(1, sizeof *dfa + cells + b->n_bounds * sizeof(interval));
    if (!dfa)
        return cw_fail_nomem(err);
    interval *intervals = (interval *)(void *)(dfa->next + cells);
    dfa->n_classes = b->n_classes;
    dfa->n_intervals = b->n_bounds;
    dfa->intervals = intervals;
    dfa->start = b->always ? ACCEPT : 0;
    fill_ascii(b, dfa);
    for (unsigned i = 0; i < b->n_bounds; i++)
        intervals[i] = (interval){b->bounds[i], b->class_of[i]};
    for (unsigned s = 0; s < b->n_states; s++) {
        memcpy(dfa->next + (size_t)s * b->n_classes, b->next[s], b->n_classes);
        dfa->at_end[s] = s == 0 ? b->empty : (b->states[s] & b->last_at_end) != 0;
    }
    *ret = dfa;
    return CW_OK;
}

cw_code cw_dfa_build(const cw_node *tree, cw_dfa **ret, cw_err *err)
{
    builder *b = calloc(1, sizeof *b);
    if (!b)
        return cw_fail_nomem(err);
    cw_code rc = add_tree(b, tree);
    if (!rc)
        rc = find_classes(b) && find_states(b) ? make_table(b, ret, err) : CW_DECLINED;
    free(b);
    return rc;
}

size_t cw_dfa_size(const cw_dfa *dfa)
{
    const char *end = (const char *)(dfa->intervals + dfa->n_intervals);
    return (size_t)(end - (const char *)dfa);
}

/* ---- matching ---- */

static uint32_t class_of(const cw_dfa *dfa, uint32_t c)
{
    uint32_t lo = 0;
    uint32_t hi = dfa->n_intervals;
    while (hi - lo > 1) {
        uint32_t middle = (lo + hi) / 2;
        if (dfa->intervals[middle].first <= c)
            lo = middle;
        else
            hi = middle;
    }
    return dfa->intervals[lo].class_index;
}

bool cw_dfa_test(const cw_dfa *dfa, cw_str text)
{
    uint32_t state = dfa->start;
    if (state == ACCEPT)
        return true;
    const char *end = text.p + text.n;
    for (const char *p = text.p; p < end;) {
        uint32_t k;
        if ((unsigned char)*p < 0x80) {
            k = dfa->ascii[(unsigned char)*p++];
        } else {
            uint32_t c = 0;
            unsigned n = cw_utf8_decode(p, (size_t)(end - p), &c);
            k = class_of(dfa, c);
            p += n ? n : 1;
        }
        state = dfa->next[state * dfa->n_classes + k];
        if (state >= ACCEPT)
            return state == ACCEPT;
    }
    return dfa->at_end[state];
}
