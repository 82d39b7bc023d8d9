/* SPDX-License-Identifier: GPL-2.0-or-later */
/* registry.c - the running calls, questions and streams of a loop, so that other requests can find them.
 *
 * A cancel or an answer arrives as a request, on any loop. It is sent to the loop that it names, or to
 * all of them, and each searches its own registry.
 */
#include <stdlib.h>

#include "access/fair_key.h"
#include "base/clock.h"
#include "base/node.h"
#include "door/mcp/elicit.h"
#include "door/mcp/event/events.h"
#include "door/mcp/event/webhooks.h"
#include "door/mcp/feature/fit.h"
#include "door/mcp/letter.h"
#include "door/mcp/park.h"
#include "door/mcp/task/task.h"

#define TRAFFIC_MS 1000u /* between messages with calls */
#define LONG_ID 64u      /* bytes; a cancel of a longer one is sent as a digest */

static void begin(cw_mcp *door, cw_mcp_registry *registry, cw_loop *loop)
{
    registry->door = door;
    registry->loop = loop;
    for (size_t i = 0; i < CW_MCP_BUCKETS; i++) {
        cw_list_init(&registry->calls[i]);
        cw_list_init(&registry->asks[i]);
        cw_list_init(&registry->streams[i]);
        cw_list_init(&registry->parks[i]);
        cw_list_init(&registry->resumes[i]);
        cw_list_init(&registry->tasks[i]);
        cw_list_init(&registry->task_watches[i]);
    }
    cw_deadline_list_init(&registry->waiting, 0, cw_mcp_elicit_on_late);
    cw_loop_watch(loop, &registry->waiting);
    cw_deadline_list_init(&registry->parked, 0, cw_mcp_park_on_late);
    cw_loop_watch(loop, &registry->parked);
    cw_deadline_list_init(&registry->checks, CW_MCP_PARK_CHECK_MS, cw_mcp_park_on_check);
    cw_loop_watch(loop, &registry->checks);
    cw_deadline_list_init(&registry->kept, 0, cw_mcp_kept_on_over);
    cw_loop_watch(loop, &registry->kept);
    cw_deadline_list_init(&registry->watching, TRAFFIC_MS, cw_mcp_on_traffic);
    cw_loop_watch(loop, &registry->watching);
    cw_deadline_list_init(&registry->heartbeats, CW_EVENT_HEARTBEAT_MS, cw_mcp_on_heartbeat);
    cw_loop_watch(loop, &registry->heartbeats);
    cw_deadline_list_init(&registry->graces, 0, cw_mcp_task_on_grace);
    cw_loop_watch(loop, &registry->graces);
    cw_deadline_list_init(&registry->task_ends, 0, cw_mcp_task_on_over);
    cw_loop_watch(loop, &registry->task_ends);
    cw_mcp_expiries_init(&registry->expiries, loop);
    registry->is_begun = true;
}

cw_mcp_registry *cw_mcp_registry_of(cw_mcp *door, cw_loop *loop)
{
    cw_mcp_registry *registry = &door->registries[loop->index];
    if (CW_UNLIKELY(!registry->is_begun))
        begin(door, registry, loop);
    return registry;
}

/* ---- links ---- */

void cw_mcp_registry_add(cw_list *buckets, cw_mcp_registry_entry *link, cw_str key)
{
    link->key = key;
    link->hash = cw_hash(key);
    cw_list_add(&buckets[link->hash % CW_MCP_BUCKETS], &link->node);
}

cw_mcp_registry_entry *cw_mcp_registry_find(cw_list *buckets, cw_str key,
                                            const cw_mcp_registry_entry *after)
{
    uint64_t hash = cw_hash(key);
    cw_list *bucket = &buckets[hash % CW_MCP_BUCKETS];
    for (cw_list *node = after ? after->node.next : bucket->next; node != bucket;
         node = node->next) {
        cw_mcp_registry_entry *l = CW_CONTAINER(node, cw_mcp_registry_entry, node);
        if (l->hash == hash && cw_str_eq(l->key, key))
            return l;
    }
    return NULL;
}

/* ---- cancels ---- */

static cw_str make_key(const cw_mcp_session *session, char kind, cw_str id, cw_arena *arena)
{
    unsigned char digest[CW_SEAL_DIGEST];
    if (id.n > LONG_ID) {
        cw_seal_digest(id, digest);
        id = cw_str_make((const char *)digest, sizeof digest);
        kind = kind == 's' ? 'S' : 'N';
    }
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

/* The key of a request, the same for every spelling of its id: the session's number, then the id (a text, an
 * integer, or a number that is none of C; a digest of a long one). .p is NULL without memory. */
static cw_str call_key(const cw_mcp_session *session, const cw_json *id, cw_arena *arena)
{
    int64_t number;
    cw_buf b;
    if (cw_json_is(id, CW_JSON_STRING))
        return make_key(session, 's', cw_json_text(id), arena);
    if (cw_json_to_i64(id, &number))
        return make_key(session, 'i', cw_str_make((const char *)&number, sizeof number), arena);
    cw_buf_init(&b, CW_BUF_MAX);
    cw_json_add_canonical(&b, id);
    cw_str key = b.code ? (cw_str){NULL, 0} : make_key(session, 'n', cw_buf_str(&b), arena);
    cw_buf_done(&b);
    return key;
}

cw_code cw_mcp_registry_enter(const cw_mcp_request *r, cw_mcp_registry_entry *link)
{
    if (!r->session->is_named || !r->id)
        return CW_OK;
    cw_str key = call_key(r->session, r->id, r->responder->arena);
    if (!key.p)
        return CW_NOMEM;
    cw_mcp_registry_add(cw_mcp_registry_of(r->door, r->responder->loop)->calls, link, key);
    return CW_OK;
}

/* The door's address, then the key. */
void cw_mcp_on_cancel(cw_runtime_loop *rl, cw_str bytes)
{
    cw_mcp *door;
    memcpy(&door, bytes.p, sizeof door);
    cw_str key = cw_str_make(bytes.p + sizeof door, bytes.n - sizeof door);
    cw_mcp_registry *registry = cw_mcp_registry_of(door, cw_runtime_loop_of(rl));
    /* Two running requests with one id are both cancelled. */
    for (;;) {
        cw_mcp_registry_entry *link = cw_mcp_registry_find(registry->calls, key, NULL);
        if (!link)
            return;
        cw_list_remove(&link->node);
        link->cancel(link);
    }
}

void cw_mcp_cancel(const cw_mcp_request *r, const cw_json *id)
{
    cw_str key = call_key(r->session, id, r->responder->arena);
    char *bytes = key.p ? cw_arena_alloc(r->responder->arena, sizeof r->door + key.n) : NULL;
    if (!bytes)
        return; /* the call just runs on */
    memcpy(bytes, &r->door, sizeof r->door);
    memcpy(bytes + sizeof r->door, key.p, key.n);
    cw_str message = cw_str_make(bytes, sizeof r->door + key.n);
    cw_fair_key by = cw_caller_fair_key(cw_view_caller(r->view), cw_responder_peer(r->responder));
    cw_mcp_send_all(r->rl, CW_MCP_LETTER_CANCEL, &by, message);
    if (!r->session->has_joined)
        return;
    memcpy(bytes + sizeof r->door, r->session->opened, CW_MCP_NUMBER);
    cw_mcp_send_all(r->rl, CW_MCP_LETTER_CANCEL, &by, message);
}

bool cw_mcp_call_rekey(cw_list *buckets, cw_mcp_registry_entry *link,
                       const unsigned char number[CW_MCP_NUMBER], cw_arena *arena)
{
    char *p = cw_arena_alloc(arena, link->key.n);
    if (!p)
        return false;
    memcpy(p, number, CW_MCP_NUMBER);
    memcpy(p + CW_MCP_NUMBER, link->key.p + CW_MCP_NUMBER, link->key.n - CW_MCP_NUMBER);
    cw_list_remove(&link->node);
    cw_mcp_registry_add(buckets, link, cw_str_make(p, link->key.n));
    return true;
}

/* ---- the end of a session ---- */

/* The message to the loops. */
typedef struct session_end {
    cw_mcp *door;
    unsigned char number[CW_MCP_NUMBER];
} session_end;

/* The first entry of a bucket whose key begins with the number, or NULL. */
static cw_mcp_registry_entry *find_of_session(cw_list *bucket, cw_str number)
{
    CW_LIST_EACH (node, bucket) {
        cw_mcp_registry_entry *link = CW_CONTAINER(node, cw_mcp_registry_entry, node);
        if (cw_str_starts(link->key, number))
            return link;
    }
    return NULL;
}

/* A cancel may run the callbacks of other calls: each search begins anew. */
static void cancel_all(cw_list *buckets, cw_str number)
{
    for (size_t i = 0; i < CW_MCP_BUCKETS; i++) {
        cw_mcp_registry_entry *link;
        while ((link = find_of_session(&buckets[i], number))) {
            cw_list_remove(&link->node);
            link->cancel(link);
        }
    }
}

static void on_session_end(cw_runtime_loop *rl, cw_str bytes)
{
    session_end e;
    memcpy(&e, bytes.p, sizeof e);
    cw_mcp_registry *registry = cw_mcp_registry_of(e.door, cw_runtime_loop_of(rl));
    cw_str number = cw_str_make((const char *)e.number, CW_MCP_NUMBER);
    cancel_all(registry->calls, number);
    cancel_all(registry->streams, number);
}

void cw_mcp_close_all(cw_mcp *door, cw_runtime_loop *rl, const unsigned char number[CW_MCP_NUMBER])
{
    session_end e = {.door = door};
    memcpy(e.number, number, CW_MCP_NUMBER);
    cw_runtime_broadcast(rl, on_session_end, cw_str_make((const char *)&e, sizeof e));
}

/* ---- streams of sessions ---- */

/* The message to the loops. */
typedef struct closing {
    cw_mcp *door;
    uint64_t order; /* within the process of the new stream: those with a lower one are closed */
    int64_t since;  /* in other processes: older ones */
    char node[CW_NODE_TEXT];
    unsigned char number[CW_MCP_NUMBER];
} closing;

static bool is_own(const char node[CW_NODE_TEXT])
{
    return memcmp(node, cw_node_text(), CW_NODE_TEXT) == 0;
}

/* A letter may come late: the stream that it closes was opened before. If both were opened in the
 * same millisecond, both servers choose the same one. */
static bool is_older(int64_t since, const closing *c)
{
    return since < c->since ||
           (since == c->since && memcmp(cw_node_text(), c->node, CW_NODE_TEXT) < 0);
}

void cw_mcp_on_closing(cw_runtime_loop *rl, cw_str bytes)
{
    closing c;
    if (bytes.n < sizeof c)
        return;
    memcpy(&c, bytes.p, sizeof c);
    cw_list *streams = cw_mcp_registry_of(c.door, cw_runtime_loop_of(rl))->streams;
    cw_str key = cw_str_make((const char *)c.number, CW_MCP_NUMBER);
    cw_mcp_registry_entry *link = cw_mcp_registry_find(streams, key, NULL);
    while (link) {
        cw_mcp_registry_entry *next = cw_mcp_registry_find(streams, key, link);
        if (is_own(c.node) ? link->order < c.order : is_older(link->since, &c))
            link->cancel(link);
        link = next;
    }
}

void cw_mcp_close_streams(cw_mcp *door, cw_runtime_loop *rl, const cw_mcp_session *session,
                          const cw_fair_key *by, cw_mcp_registry_entry *but)
{
    /* Two loops may open streams at the same moment: the order decides which one stays. */
    static atomic_uint_fast64_t order;
    closing c;
    but->since = cw_clock_wall_ms();
    but->order = atomic_fetch_add(&order, 1) + 1;
    memset(&c, 0, sizeof c); /* also what lies between the members: it is copied as bytes */
    c.door = door;
    c.order = but->order;
    c.since = but->since;
    memcpy(c.node, cw_node_text(), sizeof c.node);
    memcpy(c.number, session->number, CW_MCP_NUMBER);
    cw_mcp_send_all(rl, CW_MCP_LETTER_CLOSING, by, cw_str_make((const char *)&c, sizeof c));
}

void cw_mcp_watch_login(cw_runtime_loop *rl, const cw_view *view, cw_login_watch *watch)
{
    cw_accounts *accounts = cw_runtime_accounts(rl);
    if (accounts)
        cw_login_watch_add(accounts, cw_runtime_loop_of(rl), cw_view_caller(view), watch);
}

/* ---- the door ---- */

cw_code cw_mcp_new(cw_runtime *runtime, unsigned n_loops, const cw_seal *seal, cw_mcp **ret,
                   cw_err *err)
{
    cw_mcp *door = calloc(1, sizeof *door + n_loops * sizeof *door->registries);
    if (!door)
        return cw_fail_nomem(err);
    door->runtime = runtime;
    door->seal = seal;
    door->n_loops = n_loops;
    cw_mcp_session_store_init(&door->sessions);
    door->sessions.interest = cw_runtime_interest(runtime);
    cw_mcp_kept_init(&door->kept);
    cw_fair_slots_init(&door->streams);
    cw_fair_slots_init(&door->watchers);
    cw_fair_slots_init(&door->parked);
    cw_code rc = cw_mcp_webhooks_new(door, &door->webhooks, err);
    if (rc)
        cw_mcp_free(door);
    else
        *ret = door;
    return rc;
}

cw_code cw_mcp_keep_ends(cw_mcp *door, int fd, cw_err *err)
{
    return cw_mcp_session_store_keep_ends(&door->sessions, fd, cw_clock_wall_ms(), err);
}

void cw_mcp_yield_ends(cw_mcp *door)
{
    cw_mcp_session_store_yield(&door->sessions);
}

void cw_mcp_reread_ends(cw_mcp *door)
{
    cw_mcp_session_store_reread_ends(&door->sessions, cw_clock_wall_ms());
}

void cw_mcp_write_sessions(cw_mcp *door, cw_json_writer *w)
{
    cw_mcp_session_store_write(&door->sessions, w);
}

void cw_mcp_read_sessions(cw_mcp *door, const cw_json *states)
{
    cw_mcp_session_store_read(&door->sessions, states, cw_clock_wall_ms());
}

void cw_mcp_free(cw_mcp *door)
{
    if (!door)
        return;
    door->sessions.interest = NULL; /* the runtime, which owns it, may have ended before */
    cw_mcp_session_store_done(&door->sessions);
    cw_mcp_kept_done(&door->kept);
    cw_fair_slots_done(&door->streams);
    cw_fair_slots_done(&door->watchers);
    cw_fair_slots_done(&door->parked);
    cw_mcp_webhooks_free(door->webhooks);
    free(door);
}
