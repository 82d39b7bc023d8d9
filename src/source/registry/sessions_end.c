/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sessions_end.c - the end of sessions with MCP servers, when the process stops. */
#include "source/registry/registry_int.h"

void cw_sources_end_drop(cw_sources_end *end)
{
    if (!end->loop)
        return;
    cw_loop_cancel_deferred(&end->later);
    cw_deadline_clear(&end->late);
    cw_loop_unwatch(end->loop, &end->limit);
    end->loop = NULL;
}

static void finish(cw_sources_end *end)
{
    cw_sources_end_drop(end);
    end->fn(end->ctx);
}

static void on_late(cw_deadline *d)
{
    finish(CW_CONTAINER(d, cw_sources_end, late));
}

static void on_later(cw_deferred *later)
{
    finish(CW_CONTAINER(later, cw_sources_end, later));
}

/* end->fn is called later: it may free the sources, and a request of a source calls this. A
 * response may arrive after the time limit. */
static void on_end(void *ctx)
{
    cw_sources_end *end = ctx;
    if (--end->n == 0 && end->loop)
        cw_loop_defer(end->loop, &end->later);
}

void cw_sources_end_sessions(cw_sources *s, uint32_t ms, void (*fn)(void *ctx), void *ctx)
{
    cw_sources_end *end = &s->end;
    *end = (cw_sources_end){
        .loop = s->opts.loop, .n = 1, .later = {.fn = on_later}, .fn = fn, .ctx = ctx};
    cw_deadline_list_init(&end->limit, ms, on_late);
    cw_loop_watch(end->loop, &end->limit);
    for (cw_registry_item *item = s->items; item; item = item->next)
        end->n += cw_shared_conn_end_sessions(item->shared, on_end, end);
    cw_loop_set_deadline(end->loop, &end->late, &end->limit);
    on_end(end);
}
