/* SPDX-License-Identifier: GPL-2.0-or-later */
/* follow.c - subscribes to the resources of MCP servers that clients are subscribed to, and passes their
 * updates on. A client gets one only if it sees the resource at that time (door/mcp/notify.c).
 */
#include "source/registry/registry_int.h"

#define WANTED_MAX 1000u /* subscriptions of one server */
#define SCRATCH_MAX (128u * 1024u * 1024u)

static void follow_item(cw_registry_item *item, const cw_str *uris, size_t n, cw_arena *arena)
{
    cw_str *own = cw_arena_calloc(arena, n < WANTED_MAX ? n : WANTED_MAX, sizeof *own);
    size_t n_own = 0;
    for (size_t i = 0; own && i < n && n_own < WANTED_MAX; i++) {
        if (cw_remote_has_resource(item->published, uris[i]))
            own[n_own++] = uris[i];
    }
    if (own)
        cw_shared_conn_subscribe(item->shared, own, n_own);
}

void cw_sources_follow(cw_sources *s)
{
    cw_arena arena;
    cw_str *uris;
    size_t n;
    if (!s->opts.interest || s->is_closing)
        return;
    cw_arena_init(&arena, SCRATCH_MAX);
    if (!cw_interest_list(s->opts.interest, &arena, &uris, &n)) {
        for (cw_registry_item *item = s->items; item; item = item->next) {
            if (item->shared && item->published && !item->is_gone)
                follow_item(item, uris, n, &arena);
        }
    }
    cw_arena_done(&arena);
}

void cw_sources_on_updated(void *ctx, cw_str uri)
{
    const cw_registry_item *item = ctx;
    cw_change_sink *sink = item->all->opts.change;
    if (item->is_gone || item->all->is_closing || !sink ||
        !cw_remote_has_resource(item->published, uri))
        return;
    sink->tell(sink, &(cw_change){.uri = uri, .source = item->published});
}
