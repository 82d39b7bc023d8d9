/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_desk.c - what runs on a loop for MCP clients, so that other requests can reach it.
 *
 * A cancel or an answer arrives as a request of its own, on any loop. It is passed
 * to the loop that it names, or to all of them, and each looks at its own desk.
 */
#include <stdlib.h>

#include "door/mcp_ask.h"
#include "door/mcp_int.h"

static void begin(cw_mcp_desk *desk, cw_loop *loop)
{
    for (size_t i = 0; i < CW_MCP_BUCKETS; i++) {
        desk->calls[i].prev = desk->calls[i].next = &desk->calls[i];
        desk->asks[i].prev = desk->asks[i].next = &desk->asks[i];
        desk->streams[i].prev = desk->streams[i].next = &desk->streams[i];
    }
    cw_deadline_list_init(&desk->waiting, 0, cw_mcp_ask_on_late);
    cw_loop_watch(loop, &desk->waiting);
    cw_mcp_expiries_init(&desk->expiries, loop);
    desk->is_begun = true;
}

cw_mcp_desk *cw_mcp_desk_of(cw_mcp *door, cw_loop *loop)
{
    cw_mcp_desk *desk = &door->desks[loop->index];
    if (CW_UNLIKELY(!desk->is_begun))
        begin(desk, loop);
    return desk;
}

/* ---- links ---- */

void cw_mcp_link_add(cw_mcp_link *buckets, cw_mcp_link *link, cw_str key)
{
    link->key = key;
    link->hash = cw_hash(key);
    cw_mcp_link *root = &buckets[link->hash % CW_MCP_BUCKETS];
    link->next = root;
    link->prev = root->prev;
    link->prev->next = link;
    root->prev = link;
}

void cw_mcp_link_remove(cw_mcp_link *link)
{
    if (!link->next)
        return;
    link->prev->next = link->next;
    link->next->prev = link->prev;
    link->prev = link->next = NULL;
}

cw_mcp_link *cw_mcp_link_find(cw_mcp_link *buckets, cw_str key, const cw_mcp_link *after)
{
    uint64_t hash = cw_hash(key);
    cw_mcp_link *root = &buckets[hash % CW_MCP_BUCKETS];
    for (cw_mcp_link *l = after ? after->next : root->next; l != root; l = l->next) {
        if (l->hash == hash && cw_str_eq(l->key, key))
            return l;
    }
    return NULL;
}

/* ---- cancels ---- */

static cw_str make_key(const cw_mcp_session *session, char kind, cw_str id, cw_arena *arena)
{
    size_t n = CW_MCP_NUMBER + 1 + id.n;
    char *p = cw_arena_alloc(arena, n);
    if (!p)
        return (cw_str){NULL, 0};
    memcpy(p, session->number, CW_MCP_NUMBER);
    p[CW_MCP_NUMBER] = kind;
    if (id.n)
        memcpy(p + CW_MCP_NUMBER + 1, id.p, id.n);
    return cw_str_make(p, n);
}

/* The session's number, then the id: a text, an integer, or a number that is none of C. */
cw_str cw_mcp_call_key(const cw_mcp_session *session, const cw_json *id, cw_arena *arena)
{
    int64_t number;
    cw_buf b;
    if (cw_json_is(id, CW_JSON_STRING))
        return make_key(session, 's', cw_json_text(id), arena);
    if (cw_json_to_i64(id, &number))
        return make_key(session, 'i', cw_str_make((const char *)&number, sizeof number), arena);
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_json_add_canonical(&b, id);
    cw_str key = b.code ? (cw_str){NULL, 0} : make_key(session, 'n', cw_buf_str(&b), arena);
    cw_buf_done(&b);
    return key;
}

/* The door's address, then the key. */
static void on_cancel(cw_bridge_loop *bl, cw_str bytes)
{
    cw_mcp *door;
    memcpy(&door, bytes.p, sizeof door);
    cw_str key = cw_str_make(bytes.p + sizeof door, bytes.n - sizeof door);
    cw_mcp_desk *desk = cw_mcp_desk_of(door, cw_bridge_loop_of(bl));
    /* Whoever uses an id twice at the same time means both. */
    for (;;) {
        cw_mcp_link *link = cw_mcp_link_find(desk->calls, key, NULL);
        if (!link)
            return;
        cw_mcp_link_remove(link);
        link->cancel(link);
    }
}

void cw_mcp_cancel(const cw_mcp_request *r, const cw_json *id)
{
    cw_str key = cw_mcp_call_key(r->session, id, r->port->arena);
    char *bytes = key.p ? cw_arena_alloc(r->port->arena, sizeof r->door + key.n) : NULL;
    if (!bytes)
        return; /* the call just runs on */
    memcpy(bytes, &r->door, sizeof r->door);
    memcpy(bytes + sizeof r->door, key.p, key.n);
    cw_bridge_tell(r->item->turn->opts.bl, on_cancel, cw_str_make(bytes, sizeof r->door + key.n));
}

/* ---- streams of sessions ---- */

/* What is told to the loops. */
typedef struct closing {
    cw_mcp *door;
    const cw_mcp_link *but;
    unsigned char number[CW_MCP_NUMBER];
} closing;

static void on_closing(cw_bridge_loop *bl, cw_str bytes)
{
    closing c;
    memcpy(&c, bytes.p, sizeof c);
    cw_mcp_link *streams = cw_mcp_desk_of(c.door, cw_bridge_loop_of(bl))->streams;
    cw_str key = cw_str_make((const char *)c.number, CW_MCP_NUMBER);
    cw_mcp_link *link = cw_mcp_link_find(streams, key, NULL);
    while (link) {
        cw_mcp_link *next = cw_mcp_link_find(streams, key, link);
        if (link != c.but)
            link->cancel(link);
        link = next;
    }
}

void cw_mcp_close_streams(cw_mcp *door, cw_bridge_loop *bl, const cw_mcp_session *session,
                          const cw_mcp_link *but)
{
    closing c = {.door = door, .but = but};
    memcpy(c.number, session->number, CW_MCP_NUMBER);
    cw_bridge_tell(bl, on_closing, cw_str_make((const char *)&c, sizeof c));
}

void cw_mcp_watch_session(cw_bridge_loop *bl, const cw_view *view, cw_session_watch *watch)
{
    cw_accounts *accounts = cw_bridge_accounts(bl);
    if (accounts)
        cw_session_watch_add(accounts, cw_bridge_loop_of(bl), cw_view_caller(view), watch);
}

/* ---- the door ---- */

cw_code cw_mcp_new(cw_bridge *bridge, unsigned n_loops, const cw_seal *seal, cw_mcp **ret,
                   cw_err *err)
{
    cw_mcp *door = calloc(1, sizeof *door + n_loops * sizeof *door->desks);
    if (!door)
        return cw_fail_nomem(err);
    door->bridge = bridge;
    door->seal = *seal;
    door->n_loops = n_loops;
    cw_mcp_memory_init(&door->memory);
    cw_places_init(&door->streams);
    *ret = door;
    return CW_OK;
}

void cw_mcp_free(cw_mcp *door)
{
    if (!door)
        return;
    cw_mcp_memory_done(&door->memory);
    cw_places_done(&door->streams);
    free(door);
}
