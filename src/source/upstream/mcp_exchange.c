/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_exchange.c - one HTTP request to an MCP server, and its response: JSON, or events. */
#include "source/upstream/mcp_exchange.h"

#include <stdlib.h>

#include "source/upstream/upstream_int.h"

#define BODY_MAX (64u * 1024u * 1024u)
/* Maxima of one stream in FLOOD_MS: more is a flood, which ends the stream. */
#define FLOOD_MS 10000u
#define FLOOD_EVENTS 10000u
#define FLOOD_BYTES (32u * 1024u * 1024u) /* where no response is expected */

typedef cw_upstream_exchange exchange;

void cw_upstream_exchange_init(exchange *x, struct cw_upstream_mcp *home, cw_upstream *http,
                               size_t answer_size)
{
    x->home = home;
    x->http = http;
    x->answer_size = answer_size;
    cw_buf_init(&x->body, BODY_MAX);
    cw_arena_init(&x->texts, CW_HTTP_MAX_HEAD * 4);
}

static void free_events(exchange *x)
{
    cw_loop_cancel_deferred(&x->later);
    cw_deadline_clear(&x->limit);
    if (x->has_events)
        cw_event_stream_done(&x->events);
    x->has_events = false;
    cw_parsed_message_unref(x->message);
    x->message = NULL;
}

void cw_upstream_exchange_free(exchange *x)
{
    free_events(x);
    if (x->in_events) {
        x->is_gone = true;
        return;
    }
    cw_buf_done(&x->body);
    cw_arena_done(&x->texts);
    free(x); /* the first member of its object */
}

void cw_upstream_exchange_drop(exchange *x)
{
    cw_list_remove(&x->node);
    cw_upstream_cancel(x->http, &x->inner);
    cw_upstream_exchange_free(x);
}

void cw_upstream_exchange_add_header(exchange *x, const char *name, cw_str value)
{
    if (value.n)
        x->headers[x->n_headers++] = (cw_http_header){cw_str_from(name), value};
}

static cw_str encode(exchange *x, cw_str text)
{
    cw_str value = cw_relay_header_value(text, &x->texts);
    x->is_cut = x->is_cut || !value.p;
    return value;
}

/* Headers of a message in the session of the ticket. */
void cw_upstream_exchange_set_headers(exchange *x, cw_str method, cw_str name)
{
    const cw_relay_ticket *t = &x->ticket;
    x->n_headers = 0;
    if (t->is_modern) {
        cw_upstream_exchange_add_header(x, "MCP-Protocol-Version", CW_STR(CW_RELAY_MODERN_VERSION));
        cw_upstream_exchange_add_header(x, "Mcp-Method", method);
        if (name.n)
            cw_upstream_exchange_add_header(x, "Mcp-Name", encode(x, name));
        return;
    }
    cw_upstream_exchange_add_header(x, "MCP-Protocol-Version", cw_str_from(t->version));
    cw_upstream_exchange_add_header(x, "Mcp-Session-Id", cw_str_from(t->id));
}

/* Count bytes and events since the begin of FLOOD_MS. True: the stream has too many events. */
static bool is_flood(exchange *x, size_t n_bytes, size_t n_events)
{
    uint64_t now = cw_loop_now(x->http->loop);
    if (now > x->flood_at + FLOOD_MS) {
        x->flood_at = now;
        x->n_events = x->n_bytes = 0;
    }
    x->n_bytes += n_bytes;
    x->n_events += n_events;
    return x->n_events > FLOOD_EVENTS;
}

/* Whether a message is the response to the exchange. */
static bool is_response(const exchange *x, const cw_json *root)
{
    cw_incoming incoming = {0};
    cw_dialect_classify(&x->http->service->protocol, root, &incoming);
    return x->id && incoming.kind == CW_INCOMING_RESPONSE && incoming.id == x->id;
}

static void finish_exchange(exchange *x, const cw_upstream_reply *reply)
{
    cw_loop_cancel_deferred(&x->later);
    cw_deadline_clear(&x->limit);
    cw_list_remove(&x->node);
    x->on_end(x, reply);
}

static void fail_exchange(exchange *x, cw_client_end end, const char *why)
{
    cw_upstream_cancel(x->http, &x->inner);
    finish_exchange(x, &(cw_upstream_reply){.end = end, .why = why});
}

static void on_event(exchange *x, cw_str data)
{
    cw_err err = {0};
    cw_parsed_message *message = cw_parsed_message_new(data);
    cw_code rc =
        message ? cw_parsed_message_parse(message, x->answer_size * 16 + 65536, &err) : CW_NOMEM;
    /* A message that cannot be read is skipped: the stream may have the response behind it. */
    if (rc == CW_OK && !x->message && is_response(x, message->root)) {
        x->message = cw_parsed_message_ref(message);
        cw_loop_defer(x->http->loop, &x->later);
    } else if (rc == CW_OK && x->on_other && !x->message) {
        x->on_other(x, message->root);
    }
    cw_parsed_message_unref(message);
}

void cw_upstream_exchange_read(cw_upstream_req *inner, const cw_client_response *head, cw_str piece)
{
    exchange *x = inner->ctx;
    cw_str data;
    size_t n_bytes = piece.n;
    bool floods = false;
    (void)head;
    if (!x->has_events)
        cw_event_stream_init(&x->events, x->answer_size);
    x->has_events = x->in_events = true;
    if (x->on_open)
        x->on_open(x);
    while (!x->is_gone && !floods && cw_event_stream_next(&x->events, &piece, &data)) {
        floods = is_flood(x, n_bytes, 1);
        n_bytes = 0;
        on_event(x, data);
    }
    x->in_events = false;
    if (x->is_gone)
        cw_upstream_exchange_free(x);
    else if (floods || is_flood(x, n_bytes, 0) || (x->is_stream && x->n_bytes > FLOOD_BYTES))
        fail_exchange(x, CW_CLIENT_TOO_LARGE, "too many messages");
    else if (x->events.code)
        fail_exchange(x, x->events.code == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_TOO_LARGE,
                      "an event that is too large");
}

/* The response came, and the server keeps the stream open. */
static void on_later(cw_deferred *later)
{
    exchange *x = CW_CONTAINER(later, exchange, later);
    cw_upstream_cancel(x->http, &x->inner);
    finish_exchange(x, &(cw_upstream_reply){.end = CW_CLIENT_OK, .why = ""});
}

static void on_http_done(cw_upstream_req *inner, const cw_upstream_reply *reply)
{
    exchange *x = inner->ctx;
    bool is_lost = x->has_events && !x->message && reply->end == CW_CLIENT_OK && x->id;
    cw_upstream_reply lost = {.end = CW_CLIENT_LOST,
                              .why = "the stream ended without a response",
                              .session = reply->session};
    finish_exchange(x, is_lost ? &lost : reply);
}

void cw_upstream_exchange_on_late(cw_deadline *d)
{
    fail_exchange(CW_CONTAINER(d, exchange, limit), CW_CLIENT_SLOW, "no answer in time");
}

cw_code cw_upstream_exchange_send(exchange *x, bool has_body, bool is_delete, cw_err *err)
{
    x->piece = cw_buf_str(&x->body);
    if (x->body.code || x->is_cut)
        return cw_fail_nomem(err);
    free_events(x);
    x->later.fn = on_later;
    x->inner = (cw_upstream_req){
        .id = x->id,
        .body = &x->piece,
        .n_body = has_body ? 1 : 0,
        .owner = x->owner,
        .is_delete = is_delete,
        .traceparent = x->traceparent,
        .tracestate = x->tracestate,
        .more = x->headers,
        .n_more = x->n_headers,
        .on_done = on_http_done,
        .on_data = x->on_data ? x->on_data : cw_upstream_exchange_read,
        .ctx = x,
    };
    return cw_upstream_send(x->http, &x->inner, err);
}
