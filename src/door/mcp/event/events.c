/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events.c - events/list and events/poll, and what requests about events have in common. */
#include "door/mcp/event/events.h"

#include "event/occurrence.h"

#define PAGE 100u
#define SCRATCH_MAX (4u * 1024u * 1024u)
#define SCHEME "events://"

bool cw_mcp_has_events(const cw_mcp_request *r)
{
    return r->era->is_modern && cw_runtime_config(r->rl)->mcp.events.enabled;
}

/* A server without the extension has no such method. */
static bool check_offered(const cw_mcp_request *r)
{
    if (cw_mcp_has_events(r))
        return true;
    cw_mcp_fail_method(r);
    return false;
}

/* ---- events/list ---- */

static void add_input_schema(cw_json_writer *w, const cw_method_event *e)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("object"));
    cw_json_add_key(w, CW_STR("properties"));
    cw_json_open_object(w);
    for (size_t i = 0; i < e->n_filters; i++) {
        cw_json_add_key(w, e->filters[i].name);
        cw_json_add_span(w, CW_STR("{\"type\":[\"string\",\"number\",\"boolean\"]}"));
    }
    cw_json_close(w);
    cw_json_add_bool_member(w, CW_STR("additionalProperties"), false);
    cw_json_close(w);
}

static void add_event(cw_json_writer *w, const cw_mcp_request *r, const cw_entry *entry)
{
    const cw_method_event *e = entry->method->event;
    bool has_webhooks = cw_runtime_config(r->rl)->mcp.events.webhooks.n > 0;
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), e->name);
    cw_json_add_string_member(w, CW_STR("description"), entry->method->usage);
    cw_json_add_key(w, CW_STR("delivery"));
    cw_json_add_span(w, has_webhooks ? CW_STR("[\"poll\",\"push\",\"webhook\"]")
                                     : CW_STR("[\"poll\",\"push\"]"));
    cw_json_add_key(w, CW_STR("inputSchema"));
    add_input_schema(w, e);
    cw_json_add_key(w, CW_STR("payloadSchema"));
    cw_json_add_span(w, e->schema.n ? e->schema : CW_STR("{}"));
    cw_json_close(w);
}

/* The events behind the one at this URI, a page of them. *ret_last is the URI of the last one; .p is NULL
 * if no others follow. */
static void add_page(cw_json_writer *w, const cw_mcp_request *r, cw_str after, cw_str *ret_last)
{
    const cw_entry *entries[PAGE];
    size_t n, n_added = 0, size = cw_runtime_config(r->rl)->mcp.page_size;
    bool has_more = true;
    cw_str last = {NULL, 0};
    *ret_last = last;
    /* Other resources may be before the events. */
    if (cw_str_cmp(after, CW_STR(SCHEME)) < 0)
        after = CW_STR(SCHEME);
    while (has_more) {
        cw_view_after(r->view, CW_VIEW_RESOURCES, after, entries, PAGE, &n, &has_more);
        for (size_t i = 0; i < n; i++) {
            after = entries[i]->method->exposed->address;
            if (!cw_str_starts(after, CW_STR(SCHEME)))
                return;
            if (!entries[i]->method->event)
                continue;
            if (n_added == size) {
                *ret_last = last;
                return;
            }
            add_event(w, r, entries[i]);
            last = after;
            n_added++;
        }
    }
}

void cw_mcp_list_events(const cw_mcp_request *r)
{
    const cw_json *cursor = cw_json_get(r->params, CW_STR("cursor"));
    cw_call_error refusal;
    cw_json_writer w;
    cw_buf b;
    cw_str last;
    if (!check_offered(r) || !cw_mcp_may(r, /* discovers= */ true))
        return;
    if (cursor && !cw_json_is(cursor, CW_JSON_STRING)) {
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, "cursor must be a string");
        return;
    }
    if (cw_call_may_list(r->rl, r->view, cw_responder_peer(r->responder), &refusal)) {
        cw_door_fail_rate_limited(r->item, &refusal);
        return;
    }
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_open_result(&b);
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR("events"));
    cw_json_open_array(&w);
    add_page(&w, r, cursor ? cw_json_text(cursor) : CW_STR(""), &last);
    cw_json_close(&w);
    if (last.p)
        cw_json_add_string_member(&w, CW_STR("nextCursor"), last);
    cw_json_add_string_member(&w, CW_STR("resultType"), CW_STR("complete"));
    cw_json_add_key(&w, CW_STR("_meta"));
    cw_json_add_span(&w, CW_STR("{" CW_MCP_SERVER_META "}"));
    cw_json_close(&w);
    cw_rpc_close(&b, r->item->id);
    cw_rpc_item_reply(r->item, 200, &b, CW_STR(""));
}

/* ---- requests about one event ---- */

/* SOURCE.NAME; the name of a source has no dot. */
static const cw_entry *find_entry(const cw_view *view, cw_str name)
{
    char uri[CW_RESOURCE_MAX_URI];
    const char *dot = memchr(name.p, '.', name.n);
    if (!dot || name.n + sizeof SCHEME > sizeof uri)
        return NULL;
    size_t n = sizeof SCHEME - 1;
    memcpy(uri, SCHEME, n);
    memcpy(uri + n, name.p, name.n);
    uri[n + (size_t)(dot - name.p)] = '/';
    const cw_entry *entry =
        cw_view_find_exposed(view, CW_EXPOSED_RESOURCE, cw_str_make(uri, n + name.n));
    bool is_event = entry && entry->method->event && cw_str_eq(entry->method->event->name, name);
    return is_event ? entry : NULL;
}

const cw_entry *cw_mcp_event_find(const cw_view *view, cw_str name)
{
    const cw_entry *entry = find_entry(view, name);
    bool is_allowed = entry && cw_view_call_verdict(view) == CW_VERDICT_ALLOW &&
                      cw_view_verdict(view, entry) == CW_VERDICT_ALLOW;
    return is_allowed ? entry : NULL;
}

static void fail_name(const cw_mcp_request *r, int64_t code, const char *what, cw_str name)
{
    cw_buf text, data;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_buf_init(&data, CW_BUF_MAX);
    cw_buf_add(&text, cw_str_from(what));
    cw_buf_add(&text, cw_door_excerpt(name));
    cw_door_fail_with(r->item, 200, code, &text, &data);
}

/* NULL: the message is answered. */
static const cw_entry *find_event(const cw_mcp_request *r, cw_str name)
{
    const cw_entry *entry = find_entry(r->view, name);
    if (!entry) {
        cw_mcp_audit_refusal(r, name, CW_STR(""), CW_VERDICT_HIDDEN);
        fail_name(r, CW_MCP_EVENT_NOT_FOUND, "Event not found: ", name);
        return NULL;
    }
    cw_verdict verdict = cw_view_verdict(r->view, entry);
    if (verdict == CW_VERDICT_ALLOW)
        return entry;
    cw_mcp_audit_refusal(r, entry->method->id, CW_STR(""), verdict);
    if (verdict == CW_VERDICT_FORBIDDEN)
        fail_name(r, CW_MCP_EVENT_FORBIDDEN, "Not allowed: ", name);
    else
        cw_mcp_refuse(r->item, verdict, &entry->method->needs);
    return NULL;
}

static const cw_event_filter *find_filter(const cw_method_event *e, cw_str name)
{
    for (size_t i = 0; i < e->n_filters; i++) {
        if (cw_str_eq(e->filters[i].name, name))
            return &e->filters[i];
    }
    return NULL;
}

/* Against the input schema. False: the message is answered. */
static bool check_arguments(const cw_mcp_request *r, const cw_method_event *e,
                            const cw_json *arguments)
{
    if (!arguments)
        return true;
    if (!cw_json_is(arguments, CW_JSON_OBJECT)) {
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, "arguments must be an object");
        return false;
    }
    for (const cw_json *k = cw_json_first(arguments); k; k = cw_json_next_key(k)) {
        const cw_json *v = cw_json_value(k);
        bool is_scalar = !cw_json_is(v, CW_JSON_OBJECT) && !cw_json_is(v, CW_JSON_ARRAY) &&
                         !cw_json_is(v, CW_JSON_NULL);
        if (find_filter(e, cw_json_text(k)) && is_scalar)
            continue;
        fail_name(
            r, CW_RPC_PARAMS,
            is_scalar ? "Unknown argument: " : "Not a text, number or boolean: ", cw_json_text(k));
        return false;
    }
    return true;
}

static bool read_number(const cw_mcp_request *r, const char *name, uint64_t *ret)
{
    const cw_json *v = cw_json_get(r->params, cw_str_from(name));
    if (!v || cw_json_is(v, CW_JSON_NULL) || (cw_json_to_u64(v, ret) && *ret > 0))
        return true;
    cw_buf text, data;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_buf_init(&data, CW_BUF_MAX);
    cw_buf_printf(&text, "%s must be a positive integer", name);
    cw_door_fail_with(r->item, 200, CW_RPC_PARAMS, &text, &data);
    return false;
}

static bool read_cursor(const cw_mcp_request *r, cw_mcp_event_query *q)
{
    const cw_json *cursor = cw_json_get(r->params, CW_STR("cursor"));
    const cw_event_hub *hub = cw_event_type_hub(q->entry->method->event->type);
    if (!cursor || cw_json_is(cursor, CW_JSON_NULL))
        return true;
    if (cw_json_is(cursor, CW_JSON_STRING) &&
        cw_event_cursor_parse(hub, cw_json_text(cursor), &q->after, &q->is_old)) {
        q->cursor = cw_json_text(cursor);
        return true;
    }
    cw_door_fail(r->item, 200, CW_RPC_PARAMS,
                 "cursor must be null, or one that this server returned");
    return false;
}

bool cw_mcp_event_query_read(const cw_mcp_request *r, cw_mcp_event_query *ret)
{
    const cw_json *name = cw_mcp_string(r->params, CW_STR("name"));
    uint64_t max_age = 0, max_events = CW_EVENT_BATCH;
    cw_call_error refusal;
    *ret = (cw_mcp_event_query){0};
    if (!check_offered(r) || !cw_mcp_may(r, /* discovers= */ false))
        return false;
    if (!name) {
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, "name must be a string");
        return false;
    }
    if (cw_call_may_list(r->rl, r->view, cw_responder_peer(r->responder), &refusal)) {
        cw_door_fail_rate_limited(r->item, &refusal);
        return false;
    }
    ret->entry = find_event(r, cw_json_text(name));
    if (!ret->entry)
        return false;
    ret->arguments = cw_json_get(r->params, CW_STR("arguments"));
    if (!check_arguments(r, ret->entry->method->event, ret->arguments) || !read_cursor(r, ret) ||
        !read_number(r, "maxAgeMs", &max_age) || !read_number(r, "maxEvents", &max_events))
        return false;
    if (max_age)
        ret->oldest = cw_clock_wall_ms() - (int64_t)(max_age < INT32_MAX ? max_age : INT32_MAX);
    ret->max_events = max_events < CW_EVENT_BATCH ? (size_t)max_events : CW_EVENT_BATCH;
    return true;
}

cw_code cw_mcp_event_match(const cw_method_event *of, const cw_json *arguments,
                           const cw_event *event, bool *ret)
{
    const cw_json *data;
    bool is_match = true;
    *ret = true;
    if (!arguments || cw_json_count(arguments) == 0)
        return CW_OK;
    CW_CLEANUP(cw_arena_done) cw_arena scratch;
    cw_arena_init(&scratch, SCRATCH_MAX);
    cw_code rc = cw_json_read(event->data, NULL, &scratch, &data, NULL, NULL);
    for (const cw_json *k = rc ? NULL : cw_json_first(arguments); k && is_match;
         k = cw_json_next_key(k)) {
        const cw_event_filter *filter = find_filter(of, cw_json_text(k));
        const cw_json *v = filter ? cw_json_pointer(data, filter->pointer) : NULL;
        is_match = v && cw_json_equal(v, cw_json_value(k));
    }
    *ret = !rc && is_match;
    return rc == CW_NOMEM ? rc : (cw_code)CW_OK;
}

/* ---- events/poll ---- */

/* The events that fit; *ret_is_cut: some are too old for the client, or could not be compared. */
static void add_events(cw_json_writer *w, const cw_mcp_event_query *q, const cw_event_batch *batch,
                       bool *ret_is_cut)
{
    const cw_method_event *e = q->entry->method->event;
    cw_json_open_array(w);
    for (size_t i = 0; i < batch->n; i++) {
        bool is_match;
        if (batch->items[i]->arrived < q->oldest ||
            cw_mcp_event_match(e, q->arguments, batch->items[i], &is_match))
            *ret_is_cut = true;
        else if (is_match) {
            cw_event_add(w, cw_event_type_hub(e->type), e->name, batch->items[i]);
            cw_event_count_delivered(e->type, CW_EVENT_MODE_POLL, 1);
        }
    }
    cw_json_close(w);
}

static void reply_poll(const cw_mcp_request *r, const cw_mcp_event_query *q,
                       const cw_event_batch *batch)
{
    bool is_cut = q->is_old || batch->is_truncated;
    char cursor[CW_EVENT_CURSOR];
    cw_json_writer w;
    cw_buf b;
    cw_event_cursor_write(cw_event_type_hub(q->entry->method->event->type), batch->cursor, cursor);
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_open_result(&b);
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR("events"));
    add_events(&w, q, batch, &is_cut);
    cw_json_add_string_member(&w, CW_STR("cursor"), cw_str_from(cursor));
    cw_json_add_bool_member(&w, CW_STR("truncated"), is_cut);
    cw_json_add_bool_member(&w, CW_STR("hasMore"), batch->has_more);
    cw_json_add_i64_member(&w, CW_STR("nextPollMs"), batch->has_more ? 0 : CW_EVENT_POLL_MS);
    cw_json_add_string_member(&w, CW_STR("resultType"), CW_STR("complete"));
    cw_json_add_key(&w, CW_STR("_meta"));
    cw_json_add_span(&w, CW_STR("{" CW_MCP_SERVER_META "}"));
    cw_json_close(&w);
    cw_rpc_close(&b, r->item->id);
    cw_rpc_item_reply(r->item, 200, &b, CW_STR(""));
}

void cw_mcp_poll_events(const cw_mcp_request *r)
{
    cw_mcp_event_query q;
    cw_event_batch batch = {0};
    if (!cw_mcp_event_query_read(r, &q))
        return;
    cw_event_type *type = q.entry->method->event->type;
    cw_call_audit_read(r->rl, r->view, cw_mcp_door_name(r->responder),
                       cw_responder_peer(r->responder), q.entry->method->id,
                       cw_event_type_uri(type));
    if (q.cursor.p)
        cw_event_read(type, q.after, q.max_events, &batch);
    else
        batch.cursor = cw_event_now(cw_event_type_hub(type));
    reply_poll(r, &q, &batch);
    cw_event_batch_done(&batch);
}
