/* SPDX-License-Identifier: GPL-2.0-or-later */
/* subscribe.c - subscriptions/listen: the changes that a modern client subscribes to. */
#include <stdio.h>

#include "door/mcp/notify.h"
#include "json/write.h"

/* Resources of one subscription. */
#define URIS_MAX 1000u

typedef cw_mcp_subscriber listener;

/* One record for all that is not there: a thousand would push others out of the audit. */
static void audit_hidden(const cw_mcp_request *r, cw_str first, uint32_t n)
{
    char more[32] = "";
    if (n == 0)
        return;
    if (n > 1)
        snprintf(more, sizeof more, "and %u more", n - 1);
    cw_mcp_audit_refusal(r, first, cw_str_from(more), CW_VERDICT_HIDDEN);
}

/* The resources that the caller sees of the first that it named. */
static cw_code take_uris(const cw_mcp_request *r, listener *l, const cw_json *named)
{
    cw_str hidden = {NULL, 0};
    uint32_t n_hidden = 0;
    uint32_t n = cw_json_is(named, CW_JSON_ARRAY) ? cw_json_count(named) : 0, found = 0;
    if (n > URIS_MAX)
        n = URIS_MAX;
    cw_str *uris = n ? cw_arena_calloc(r->responder->arena, n, sizeof *uris) : NULL;
    if (n && !uris)
        return CW_NOMEM;
    cw_arena scratch;
    cw_arena_init(&scratch, SIZE_MAX / 2);
    cw_code rc = CW_OK;
    const cw_json *v = n ? cw_json_first(named) : NULL;
    for (uint32_t i = 0; i < n && rc != CW_NOMEM; i++, v = cw_json_next(v)) {
        const cw_entry *entry;
        cw_str variables;
        if (!cw_json_is(v, CW_JSON_STRING))
            continue;
        rc = cw_view_match_resource(r->view, cw_json_text(v), &scratch, &entry, &variables);
        if (rc == CW_OK)
            uris[found++] = cw_json_text(v);
        else if (rc == CW_NOTFOUND && n_hidden++ == 0)
            hidden = cw_json_text(v);
    }
    cw_arena_done(&scratch);
    audit_hidden(r, hidden, n_hidden);
    l->uris = uris;
    l->n_uris = l->next_uri = found;
    return rc == CW_NOMEM ? CW_NOMEM : CW_OK;
}

static void take_lists(listener *l, const cw_json *filter)
{
    for (size_t i = 0; i < CW_MCP_CHANGES; i++) {
        if (cw_json_is(cw_json_get(filter, cw_mcp_changes[i].wish), CW_JSON_TRUE))
            l->wants |= (uint8_t)cw_mcp_changes[i].list;
    }
}

/* The accepted part of the filter. */
static void write_honoured(cw_json_writer *w, const listener *l)
{
    cw_json_open_object(w);
    for (size_t i = 0; i < CW_MCP_CHANGES; i++) {
        if (l->wants & cw_mcp_changes[i].list)
            cw_json_add_bool_member(w, cw_mcp_changes[i].wish, true);
    }
    if (l->n_uris) {
        cw_json_add_key(w, CW_STR("resourceSubscriptions"));
        cw_json_open_array(w);
        for (uint32_t i = 0; i < l->n_uris; i++)
            cw_json_add_string(w, l->uris[i]);
        cw_json_close(w);
    }
    cw_json_close(w);
}

/* The first thing that is said. `b` is made. CW_PARAMS: the stream cannot take so much at once. */
static cw_code write_acknowledgement(const cw_mcp_request *r, const listener *l, cw_buf *b)
{
    size_t most = cw_mcp_config(r->rl)->limits.stream_queue / 2;
    cw_json_writer w;
    cw_mcp_open_notification(&w, b, CW_STR("notifications/subscriptions/acknowledged"));
    cw_json_add_key(&w, CW_STR("notifications"));
    write_honoured(&w, l);
    cw_json_add_key(&w, CW_STR("_meta"));
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR(CW_MCP_META("subscriptionId")));
    cw_json_add_span(&w, r->item->id);
    cw_json_close(&w);
    cw_json_close(&w);
    cw_json_close(&w);
    if (cw_json_writer_end(&w, NULL))
        return CW_NOMEM;
    return b->n > most ? CW_PARAMS : CW_OK;
}

/* Have it known by its request's id, for a client that may take it back. */
static cw_code enter_by_id(const cw_mcp_request *r, listener *l)
{
    if (!r->session->is_named)
        return CW_OK;
    cw_str key = cw_mcp_call_key(r->session, r->id, r->responder->arena);
    if (!key.p)
        return CW_NOMEM;
    cw_mcp_registry_add(cw_mcp_registry_of(r->door, r->responder->loop)->calls, &l->link, key);
    return CW_OK;
}

static void refuse(const cw_mcp_request *r, cw_code rc)
{
    if (rc == CW_PARAMS)
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, "resourceSubscriptions are too long");
    else if (rc == CW_LIMIT)
        cw_door_fail(r->item, 503, CW_RPC_INTERNAL, "Too many subscriptions are open");
    else
        cw_door_fail_nomem(r->item);
}

static void open_stream(const cw_mcp_request *r, const cw_json *filter)
{
    listener *l;
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_code rc = cw_mcp_subscriber_new(r->door, r->responder, r->rl, r->view, &l);
    if (!rc)
        rc = take_uris(r, l, cw_json_get(filter, CW_STR("resourceSubscriptions")));
    if (!rc) {
        take_lists(l, filter);
        rc = write_acknowledgement(r, l, &b);
    }
    if (!rc)
        rc = enter_by_id(r, l);
    if (rc) {
        refuse(r, rc);
    } else {
        l->item = r->item;
        cw_mcp_subscriber_enter(l, r->rl);
        (void)cw_mcp_subscriber_send(l, &b);
    }
    cw_buf_done(&b);
}

void cw_mcp_subscriptions_listen(const cw_mcp_request *r)
{
    const cw_json *filter = cw_json_get(r->params, CW_STR("notifications"));
    if (!cw_mcp_may(r, /* discovers= */ true))
        return;
    if (!cw_json_is(filter, CW_JSON_OBJECT))
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, "notifications must be an object");
    else if (!r->responder->can_stream)
        cw_door_fail(r->item, 406, CW_RPC_INVALID, "Accept must allow text/event-stream");
    else
        open_stream(r, filter);
}
