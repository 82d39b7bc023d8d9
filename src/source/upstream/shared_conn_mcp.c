/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_conn_mcp.c - a shared connection with an MCP server: the handshake in either era, and the
 * messages of the server that belong to calls.
 *
 *     server/discover ─┬─ modern ─► subscriptions/listen
 *                      └─ else, or silence ─► initialize ─► notifications/initialized
 */
#include <stdio.h>
#include <stdlib.h>

#include "source/upstream/shared_conn_int.h"

#define ASKING_MS 2000u    /* an old server may ignore server/discover */
#define STARTING_MS 60000u /* a program may be downloaded before it starts */
#define EVENTS_MAX 1024u   /* on their way to the loops of calls */
#define TEXT_MAX 65536u

const char *cw_shared_conn_protocol(const cw_shared_conn *shared)
{
    return shared->mcp.is_on ? cw_relay_era_name(cw_shared_conn_era(shared)) : NULL;
}

cw_relay_era cw_shared_conn_era(const cw_shared_conn *shared)
{
    return cw_relay_sessions_era(&shared->sessions);
}

cw_relay_server cw_shared_conn_server(cw_shared_conn *shared, cw_arena *arena)
{
    return cw_relay_sessions_server(&shared->sessions, arena);
}

void cw_shared_conn_mcp_stop(cw_shared_conn *shared)
{
    shared->mcp.ask_id = shared->mcp.initialize_id = 0;
    cw_deadline_clear(&shared->mcp.asking_limit);
    cw_deadline_clear(&shared->mcp.starting_limit);
}

static bool send_text(cw_shared_conn *shared, cw_buf *text)
{
    cw_str all = cw_buf_str(text);
    cw_code rc = text->code ? text->code : cw_channel_send(shared->channel, &all, 1);
    cw_buf_done(text);
    if (rc)
        cw_shared_conn_give_up(shared, rc == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT,
                               "the handshake cannot be sent");
    return !rc;
}

static void send_initialize(cw_shared_conn *shared)
{
    cw_buf text;
    cw_deadline_clear(&shared->mcp.asking_limit);
    shared->mcp.initialize_id = cw_shared_conn_next_id(shared);
    cw_buf_init(&text, TEXT_MAX);
    cw_relay_write_initialize(&text, shared->service->words.questions, shared->mcp.initialize_id);
    (void)send_text(shared, &text);
}

/* No response to server/discover in time: most likely an old server, which ignores unknown methods.
 * A late response still counts. */
static void on_asking_late(cw_deadline *d)
{
    cw_shared_conn_mcp *mcp = CW_CONTAINER(d, cw_shared_conn_mcp, asking_limit);
    send_initialize(CW_CONTAINER(mcp, cw_shared_conn, mcp));
}

static void on_starting_late(cw_deadline *d)
{
    cw_shared_conn_mcp *mcp = CW_CONTAINER(d, cw_shared_conn_mcp, starting_limit);
    cw_shared_conn_give_up(CW_CONTAINER(mcp, cw_shared_conn, mcp), CW_CLIENT_SLOW,
                           "no answer to the handshake");
}

void cw_shared_conn_mcp_begin(cw_shared_conn *shared)
{
    cw_shared_conn_mcp *mcp = &shared->mcp;
    cw_relay_era pinned = shared->service->words.pinned;
    shared->state = CW_SHARED_CONN_INIT_CALLS;
    cw_relay_sessions_forget_era(&shared->sessions);
    cw_loop_set_deadline(shared->opts.loop, &mcp->starting_limit, &mcp->starting);
    if (pinned == CW_RELAY_LEGACY) {
        send_initialize(shared);
        return;
    }
    cw_buf text;
    cw_buf_init(&text, TEXT_MAX);
    mcp->ask_id = cw_shared_conn_next_id(shared);
    cw_relay_write_discover(&text, shared->service->words.questions, mcp->ask_id);
    if (send_text(shared, &text) && pinned == CW_RELAY_UNKNOWN)
        cw_loop_set_deadline(shared->opts.loop, &mcp->asking_limit, &mcp->asking);
}

void cw_shared_conn_mcp_set_level(cw_shared_conn *shared, cw_str level)
{
    unsigned rank = cw_relay_level(level);
    bool is_legacy = cw_shared_conn_era(shared) != CW_RELAY_MODERN;
    if (rank <= shared->mcp.level || !is_legacy ||
        !cw_relay_sessions_has_logging(&shared->sessions))
        return;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, TEXT_MAX);
    cw_relay_write_level(&text, level, cw_shared_conn_next_id(shared));
    cw_str all = cw_buf_str(&text);
    if (!text.code && !cw_channel_send(shared->channel, &all, 1))
        shared->mcp.level = rank;
}

/* After the connection was lost, the server may have other methods. */
static void announce_return(cw_shared_conn *shared)
{
    bool was_ready = shared->mcp.was_ready;
    shared->mcp.was_ready = true;
    if (was_ready)
        cw_shared_conn_announce(shared, /* lists= */ 0);
}

static void end_handshake(cw_shared_conn *shared, cw_relay_era era)
{
    const cw_str initialized = CW_STR(CW_RELAY_INITIALIZED);
    cw_shared_conn_mcp_stop(shared);
    cw_relay_sessions_set_era(&shared->sessions, era);
    shared->mcp.level = 0;
    if (era != CW_RELAY_MODERN)
        (void)!cw_channel_send(shared->channel, &initialized, 1);
    cw_shared_conn_resources_opened(shared);
    cw_shared_conn_ready(shared);
    announce_return(shared);
}

static void refuse_initialize(cw_shared_conn *shared, const cw_json *message)
{
    const cw_json *text = cw_json_get(cw_json_get(message, CW_STR("error")), CW_STR("message"));
    char why[CW_SHARED_CONN_WHY];
    snprintf(why, sizeof why, "initialize: %.*s",
             CW_STR_ARG(cw_json_is(text, CW_JSON_STRING) ? cw_json_text(text)
                                                         : CW_STR("no version in the result")));
    cw_shared_conn_give_up(shared, CW_CLIENT_GARBAGE, why);
}

bool cw_shared_conn_mcp_accept(cw_shared_conn *shared, uint64_t id, const cw_json *message)
{
    cw_shared_conn_mcp *mcp = &shared->mcp;
    if (shared->state != CW_SHARED_CONN_INIT_CALLS || !id)
        return false;
    if (id == mcp->ask_id) {
        mcp->ask_id = 0;
        if (cw_relay_judge(0, message) == CW_RELAY_MODERN ||
            shared->service->words.pinned == CW_RELAY_MODERN) {
            cw_relay_sessions_learn(&shared->sessions, message);
            end_handshake(shared, CW_RELAY_MODERN);
        } else if (!mcp->initialize_id) {
            send_initialize(shared);
        }
        return true;
    }
    if (id != mcp->initialize_id)
        return false;
    if (cw_relay_negotiated(message).p) {
        cw_relay_sessions_learn(&shared->sessions, message);
        end_handshake(shared, CW_RELAY_LEGACY);
    } else if (mcp->ask_id && cw_relay_judge(0, message) == CW_RELAY_MODERN) {
        end_handshake(shared, CW_RELAY_MODERN); /* a late start: it has read both requests */
    } else {
        refuse_initialize(shared, message);
    }
    return true;
}

/* A message that belongs to a call, on its way to the loop of the call. The call outlives it,
 * because the end of the call is posted later. */
typedef struct conn_event {
    cw_message message;
    cw_shared_conn_call *call;
    cw_parsed_message *parsed; /* a reference */
} conn_event;

static void free_event(cw_message *message)
{
    conn_event *e = CW_CONTAINER(message, conn_event, message);
    cw_parsed_message_unref(e->parsed);
    free(e);
}

static void on_event(cw_message *message)
{
    conn_event *e = CW_CONTAINER(message, conn_event, message);
    cw_upstream_req *req = e->call->req;
    atomic_fetch_sub(&e->call->shared->mcp.n_events, 1);
    if (req && req->on_message)
        req->on_message(req, e->parsed->root);
    free_event(message);
}

/* False: too many are on their way, or no memory. */
static bool send_event(cw_shared_conn_call *call, cw_parsed_message *parsed)
{
    atomic_uint *n = &call->shared->mcp.n_events;
    conn_event *e = atomic_load(n) < EVENTS_MAX ? malloc(sizeof *e) : NULL;
    if (!e)
        return false;
    atomic_fetch_add(n, 1);
    *e = (conn_event){.message = {.fn = on_event, .drop = free_event},
                      .call = call,
                      .parsed = cw_parsed_message_ref(parsed)};
    cw_loop_post(call->loop, &e->message);
    return true;
}

static void answer_request(cw_shared_conn *shared, const cw_json *id, cw_str result,
                           const char *problem)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, shared->opts.answer_size);
    cw_relay_write_answer(&text, cw_json_span(id), result, -32601, cw_str_from(problem));
    cw_str all = cw_buf_str(&text);
    if (!text.code)
        (void)!cw_channel_send(shared->channel, &all, 1);
}

/* A question does not name its call. It is passed on if only one call runs, else rejected. */
void cw_shared_conn_mcp_request(cw_shared_conn *shared, const cw_incoming *incoming,
                                cw_parsed_message *message)
{
    cw_shared_conn_call *call = cw_shared_conn_only_pending(shared);
    if (cw_str_is(incoming->method, "ping"))
        answer_request(shared, incoming->request_id, CW_STR("{}"), "");
    else if (!cw_relay_question(incoming->method, incoming->params))
        answer_request(shared, incoming->request_id, CW_STR(""), "Method not found");
    else if (!call || !call->is_relay || !send_event(call, message))
        answer_request(shared, incoming->request_id, CW_STR(""),
                       "Several calls run, so that the one that asks is not known");
}

/* The server cancels a question. All running calls get the message, and each compares the id with
 * those of its own questions. */
static void pass_cancel(cw_shared_conn *shared, cw_parsed_message *message)
{
    CW_LIST_EACH (node, &shared->pending) {
        cw_shared_conn_call *call = CW_CONTAINER(node, cw_shared_conn_call, node);
        if (call->is_relay)
            (void)send_event(call, message);
    }
}

void cw_shared_conn_mcp_notice(cw_shared_conn *shared, const cw_incoming *incoming,
                               cw_parsed_message *message)
{
    const cw_json *token = cw_json_get(incoming->params, CW_STR("progressToken"));
    uint64_t id = 0;
    cw_shared_conn_call *call = NULL;
    if (cw_str_is(incoming->method, "notifications/resources/updated"))
        cw_shared_conn_resource_updated(shared, incoming->params);
    else if (cw_str_is(incoming->method, "notifications/progress"))
        call = token && cw_json_to_u64(token, &id) ? cw_shared_conn_find(shared, id) : NULL;
    else if (cw_str_is(incoming->method, "notifications/message"))
        call = cw_shared_conn_only_pending(shared);
    else if (cw_str_is(incoming->method, "notifications/cancelled"))
        pass_cancel(shared, message);
    if (call && call->is_relay)
        (void)send_event(call, message);
}

void cw_shared_conn_mcp_init(cw_shared_conn *shared)
{
    cw_shared_conn_mcp *mcp = &shared->mcp;
    cw_loop *loop = shared->opts.loop;
    mcp->is_on = cw_dialect_is_mcp(shared->service->protocol.dialect);
    atomic_init(&mcp->n_events, 0);
    cw_deadline_list_init(&mcp->asking, ASKING_MS, on_asking_late);
    cw_deadline_list_init(&mcp->starting, STARTING_MS, on_starting_late);
    cw_loop_watch(loop, &mcp->asking);
    cw_loop_watch(loop, &mcp->starting);
}

void cw_shared_conn_mcp_done(cw_shared_conn *shared)
{
    cw_loop_unwatch(shared->opts.loop, &shared->mcp.asking);
    cw_loop_unwatch(shared->opts.loop, &shared->mcp.starting);
}
