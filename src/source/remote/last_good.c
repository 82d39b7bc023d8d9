/* SPDX-License-Identifier: GPL-2.0-or-later */
/* last_good.c - the last good description of a service, in its file and in memory. */
#include "source/remote/last_good.h"

#include <stdlib.h>

#include "base/clock.h"

#define FACTS_MAX (64u * 1024u * 1024u) /* as the largest file */

struct cw_last_good {
    cw_arena arena;
    cw_state_description facts; /* without the document; .kind is empty: none */
    int64_t kept_ms;            /* when they were kept, since 1970 */
    bool is_unsaved;            /* they could not be written to the file */
};

cw_last_good *cw_last_good_new(void)
{
    cw_last_good *g = calloc(1, sizeof *g);
    if (g)
        cw_arena_init(&g->arena, FACTS_MAX);
    return g;
}

void cw_last_good_free(cw_last_good *g)
{
    if (g)
        cw_arena_done(&g->arena);
    free(g);
}

static bool copy_text(cw_str *text, cw_arena *arena)
{
    *text = cw_arena_dup_str(arena, *text);
    return text->p;
}

/* Copy all but the document. */
static cw_code copy_facts(const cw_state_description *from, cw_arena *arena,
                          cw_state_description *to)
{
    *to = *from;
    to->openrpc = CW_STR("");
    bool is_copied = copy_text(&to->at, arena) && copy_text(&to->describe, arena) &&
                     copy_text(&to->kind, arena) && copy_text(&to->requires, arena);
    return is_copied ? CW_OK : CW_NOMEM;
}

static bool is_of(const cw_state_description *d, const cw_last_good_key *key)
{
    return d->kind.n && cw_str_eq(d->at, key->at) && cw_str_eq(d->describe, key->describe);
}

static bool has_same_facts(const cw_state_description *a, const cw_state_description *b)
{
    return cw_str_eq(a->kind, b->kind) && a->is_partial == b->is_partial &&
           cw_str_eq(a->requires, b->requires);
}

static cw_code save(cw_last_good *g, const cw_last_good_key *key, const cw_state_description *d,
                    cw_err *err)
{
    cw_code rc = key->is_quiet ? CW_OK : cw_state_save_description(key->folder, key->name, d, err);
    if (g)
        g->is_unsaved = rc != CW_OK;
    return rc;
}

/* Whether an operator has accepted the file since the facts in memory were kept. */
static bool is_accepted(const cw_last_good *g, const cw_state_description *file,
                        const cw_last_good_key *key)
{
    return is_of(file, key) && file->accepted_ms >= g->kept_ms;
}

/* Use the facts in memory, with the document of the file if both are of one kind. If the file could
 * not be written, it is tried again here: the process may end before the next new description. */
static cw_code use_facts(cw_last_good *g, const cw_last_good_key *key, cw_arena *arena,
                         const cw_state_description *file, cw_state_description *ret)
{
    bool has_document = is_of(file, key) && cw_str_eq(file->kind, g->facts.kind);
    cw_code rc = copy_facts(&g->facts, arena, ret);
    if (rc || !has_document)
        return rc;
    cw_err unused;
    ret->openrpc = file->openrpc;
    ret->is_partial = ret->is_partial || file->is_partial;
    if (g->is_unsaved)
        (void)!save(g, key, ret, &unused);
    return CW_OK;
}

cw_code cw_last_good_find(cw_last_good *g, const cw_last_good_key *key, cw_arena *arena,
                          cw_state_description *ret, cw_err *err)
{
    const cw_state_description none = {0};
    cw_state_description file = none;
    *ret = none;
    cw_code rc = cw_state_load_description(key->folder, key->name, arena, &file, err);
    if (rc && rc != CW_GONE)
        return rc;
    if (rc)
        file = none;
    if (g && is_accepted(g, &file, key))
        g->is_unsaved = false;
    bool is_newer = g && is_of(&g->facts, key) && (g->is_unsaved || !is_of(&file, key));
    if (is_newer)
        return use_facts(g, key, arena, &file, ret) ? cw_fail_nomem(err) : CW_OK;
    *ret = is_of(&file, key) ? file : none;
    ret->is_of_other = file.kind.n && !is_of(&file, key);
    return CW_OK;
}

/* The former facts stay if there is no memory for the new ones. */
static cw_code remember(cw_last_good *g, const cw_state_description *d)
{
    cw_arena arena;
    cw_state_description facts;
    cw_arena_init(&arena, FACTS_MAX);
    if (copy_facts(d, &arena, &facts)) {
        cw_arena_done(&arena);
        return CW_NOMEM;
    }
    cw_arena_done(&g->arena);
    g->arena = arena;
    g->facts = facts;
    g->kept_ms = cw_clock_wall_ms();
    return CW_OK;
}

cw_code cw_last_good_keep(cw_last_good *g, const cw_last_good_key *key,
                          const cw_state_description *last, const cw_state_description *d,
                          cw_err *err)
{
    bool is_saved = last->openrpc.n && !d->accepted_ms && !(g && g->is_unsaved) &&
                    has_same_facts(last, d) && cw_str_eq(last->openrpc, d->openrpc);
    if (g && remember(g, d))
        return cw_fail_nomem(err);
    cw_err why = {0};
    cw_code rc = is_saved ? CW_OK : save(g, key, d, &why);
    return rc ? cw_fail(err, CW_IO, "%s", why.msg) : CW_OK;
}
