/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk.h - the exhaustive evaluator's state, shared by the walk (explain*.c) and the records
 * it makes (problem.c). */
#ifndef CW_SCHEMA_EXPLAIN_WALK_H
#define CW_SCHEMA_EXPLAIN_WALK_H

#include "schema/model/model.h"

/* How evaluation came here: a keyword and, below it, a name or an index. */
typedef struct frame {
    const struct frame *up;
    cw_str keyword;
    const cw_json *name; /* or NULL */
    int64_t index;       /* or -1 */
} frame;

/* Evaluated members or items: a bit each. NULL: not needed. */
typedef struct marks {
    uint64_t *bits;
    uint32_t words;
} marks;

typedef struct walk {
    const cw_schema *s;
    const cw_json *root;
    int64_t steps;
    uint32_t depth; /* left */
    cw_code stop;   /* not CW_OK: no verdict any more */
    bool is_full;   /* more problems were found than are reported: the verdict is known */
    uint32_t quiet; /* inside something whose failure is no problem */
    uint32_t level;
    bool nested;
    cw_arena *arena;
    cw_schema_scratch scratch;
    cw_schema_problem *problems;
    size_t n, max;
    uint64_t total;
    uint64_t order;
} walk;

/* The place at which a keyword is evaluated. */
typedef struct site {
    uint32_t sub;
    const cw_json *key; /* of the keyword; NULL for a false schema */
    const cw_json *v;
    marks *seen;
    const scope *scope;
    const frame *frame;
} site;

/* End the walk without a verdict. Returns false. */
bool cw_schema_walk_stop(walk *w, cw_code code);
/* A problem at `at->v` with at->key; `expected` and `found` may be empty. Always false, for the
 * caller to return. */
CW_PRINTF(4, 5)
bool cw_schema_problem_add(walk *w, const site *at, cw_str nearest, const char *fmt, ...);
/* Whether the next problem would be kept at all: ask before costly texts. */
bool cw_schema_problem_wanted(const walk *w, const cw_json *v);
/* "string", "integer", ... for messages. */
const char *cw_schema_type_text(const cw_json *v);
/* A value of schema or instance in a few words, in the arena; "" without memory, and where a
 * problem with `at->v` would not be kept. */
cw_str cw_schema_shorten(walk *w, const site *at, const cw_json *v);

#endif
