/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parsed_message.c - the memory of one parsed message. */
#include "source/protocol/parsed_message.h"

#include <stdlib.h>

cw_parsed_message *cw_parsed_message_new(cw_str text)
{
    cw_parsed_message *m = malloc(sizeof *m + text.n);
    if (!m)
        return NULL;
    atomic_init(&m->refs, 1);
    m->n = text.n;
    m->text = (char *)(m + 1);
    m->root = NULL;
    cw_arena_init(&m->arena, 0);
    if (text.n)
        memcpy(m->text, text.p, text.n);
    return m;
}

cw_code cw_parsed_message_parse(cw_parsed_message *m, size_t max_memory, cw_err *err)
{
    const cw_json_opts opts = {.max_bytes = m->n + 1}; /* the channel has checked its size */
    cw_arena_init_at(&m->arena, max_memory, m->room, sizeof m->room);
    return cw_json_read(cw_str_make(m->text, m->n), &opts, &m->arena, &m->root, NULL, err);
}

cw_parsed_message *cw_parsed_message_ref(cw_parsed_message *m)
{
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

void cw_parsed_message_unref(cw_parsed_message *m)
{
    /* Acquire and release: the last thread frees memory that the others have read. */
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    cw_arena_done(&m->arena);
    CW_ARENA_UNPOISON(m->room, sizeof m->room);
    free(m);
}

static void release(void *m)
{
    cw_parsed_message_unref(m);
}

cw_code cw_parsed_message_hold(cw_parsed_message *m, cw_arena *arena)
{
    return cw_arena_hold(arena, cw_parsed_message_ref(m), release);
}
