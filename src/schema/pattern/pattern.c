/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pattern.c - compiles a pattern, selects its engine, and matches. */
#include "schema/pattern/pattern.h"

#include <stdlib.h>

#include "schema/pattern/pattern_int.h"

/* A tree takes a few nodes of 80 bytes for each byte of the pattern. */
#define TREE_BYTES (4u * 1024u * 1024u)

#define DFA_BYTES_PER_STEP 4u

struct cw_pattern {
    cw_dfa *dfa; /* exactly one of the two */
    cw_pcre *pcre;
};

static cw_code parse(cw_str text, bool strict, cw_arena *arena, cw_node **ret, cw_err *err)
{
    if (text.n > CW_PATTERN_MAX)
        return cw_fail(err, CW_LIMIT, "pattern is longer than %u bytes", CW_PATTERN_MAX);
    cw_pattern_reader r = {.text = text, .arena = arena, .err = err, .strict = strict};
    return cw_pattern_parse(&r, ret);
}

cw_code cw_pattern_compile(cw_str text, cw_pattern **ret, cw_err *err)
{
    cw_pattern *p = calloc(1, sizeof *p);
    if (!p)
        return cw_fail_nomem(err);
    cw_arena arena;
    cw_arena_init(&arena, TREE_BYTES);
    cw_node *tree;
    cw_code rc = parse(text, false, &arena, &tree, err);
    if (!rc)
        rc = cw_dfa_build(tree, &p->dfa, err);
    if (rc == CW_DECLINED)
        rc = cw_pcre_build(tree, &p->pcre, err);
    cw_arena_done(&arena);
    if (rc) {
        cw_pattern_free(p);
        return rc;
    }
    *ret = p;
    return CW_OK;
}

void cw_pattern_free(cw_pattern *pattern)
{
    if (!pattern)
        return;
    free(pattern->dfa);
    cw_pcre_free(pattern->pcre);
    free(pattern);
}

cw_pattern_match cw_pattern_test(const cw_pattern *pattern, cw_str text, int64_t *steps)
{
    if (!pattern->dfa)
        return cw_pcre_test(pattern->pcre, text, steps);
    *steps -= 1 + (int64_t)(text.n / DFA_BYTES_PER_STEP);
    if (CW_UNLIKELY(*steps < 0))
        return CW_PATTERN_TOO_HARD;
    return cw_dfa_test(pattern->dfa, text) ? CW_PATTERN_YES : CW_PATTERN_NO;
}

size_t cw_pattern_size(const cw_pattern *pattern)
{
    return sizeof *pattern +
           (pattern->dfa ? cw_dfa_size(pattern->dfa) : cw_pcre_size(pattern->pcre));
}

bool cw_pattern_is_simple(const cw_pattern *pattern)
{
    return pattern->dfa != NULL;
}

bool cw_pattern_is_valid(cw_str text)
{
    cw_arena arena;
    cw_arena_init(&arena, TREE_BYTES);
    cw_node *tree;
    cw_code rc = parse(text, true, &arena, &tree, NULL);
    cw_arena_done(&arena);
    return rc == CW_OK;
}
