/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_conn_resources.c - resources of an MCP server that clients have subscribed to.
 *
 *     cw_shared_conn_subscribe ─► the set ─┬─ legacy: resources/subscribe, resources/unsubscribe
 *                                          └─ modern: subscriptions/listen with the whole set
 *     notifications/resources/updated ─► marks in the set ─► after a while: opts.updated
 *
 * All functions run on the main loop.
 */
#include <stdlib.h>

#include "json/write.h"
#include "source/upstream/shared_conn_int.h"

#define CALM_MS 200u /* updates of one resource within this time are one */
#define TEXT_MAX (32u * 1024u * 1024u)

static cw_shared_conn_resource *find(const cw_shared_conn_resources *r, cw_str uri)
{
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = cw_str_cmp(r->items[middle].uri, uri);
        if (order == 0)
            return &r->items[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* ---- updates ---- */

static void on_calm(cw_deadline *d)
{
    cw_shared_conn_resources *r = CW_CONTAINER(d, cw_shared_conn_resources, calm_end);
    cw_shared_conn *shared = CW_CONTAINER(r, cw_shared_conn, resources);
    for (size_t i = 0; i < r->n; i++) {
        bool is_updated = r->items[i].is_updated;
        r->items[i].is_updated = false;
        if (is_updated && shared->opts.updated && !shared->is_closing)
            shared->opts.updated(shared->opts.ctx, r->items[i].uri);
    }
}

static void report_soon(cw_shared_conn *shared)
{
    cw_shared_conn_resources *r = &shared->resources;
    if (!r->calm_end.list)
        cw_loop_set_deadline(shared->opts.loop, &r->calm_end, &r->calm);
}

void cw_shared_conn_resource_updated(cw_shared_conn *shared, const cw_json *params)
{
    const cw_json *uri = cw_json_get(params, CW_STR("uri"));
    cw_shared_conn_resource *item =
        cw_json_is(uri, CW_JSON_STRING) ? find(&shared->resources, cw_json_text(uri)) : NULL;
    if (!item)
        return;
    item->is_updated = true;
    report_soon(shared);
}

/* ---- subscriptions ---- */

static void send_text(cw_shared_conn *shared, const cw_buf *text)
{
    cw_str all = cw_buf_str(text);
    if (!text->code)
        (void)!cw_channel_send(shared->channel, &all, 1);
}

static bool is_http(const cw_shared_conn *shared)
{
    return shared->service->kind == CW_ENDPOINT_HTTP;
}

void cw_shared_conn_log_refusal(const cw_shared_conn *shared, cw_str uri, const cw_json *response)
{
    const cw_json *error = cw_json_get(response, CW_STR("error"));
    const cw_json *text = cw_json_get(error, CW_STR("message"));
    if (error)
        cw_log(CW_LOG_WARN, "source", "updates of a resource are not reported",
               CW_KV("source", shared->service->config.name), CW_KV("uri", uri),
               CW_KV("error",
                     cw_json_is(text, CW_JSON_STRING) ? cw_json_text(text) : CW_STR("an error")));
}

void cw_shared_conn_resources_answer(const cw_shared_conn *shared, uint64_t id,
                                     const cw_json *response)
{
    const cw_shared_conn_resources *r = &shared->resources;
    for (size_t i = 0; i < r->n; i++) {
        if (r->items[i].id == id)
            cw_shared_conn_log_refusal(shared, r->items[i].uri, response);
    }
}

/* Send a request about one resource. Returns its id on a channel; over HTTP 0. */
static uint64_t send_one(cw_shared_conn *shared, const char *method, cw_str uri)
{
    if (is_http(shared)) {
        cw_shared_conn_streams_send(shared, method, uri);
        return 0;
    }
    uint64_t id = cw_shared_conn_next_id(shared);
    CW_CLEANUP(cw_buf_done) cw_buf members;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&members, TEXT_MAX);
    cw_buf_init(&text, TEXT_MAX);
    cw_buf_add(&members, CW_STR("\"uri\":"));
    cw_json_escape(&members, uri);
    const cw_relay_request r = {.method = cw_str_from(method), .members = cw_buf_str(&members)};
    cw_relay_write(&text, &r, CW_RELAY_LEGACY, id);
    if (!members.code)
        send_text(shared, &text);
    return id;
}

void cw_shared_conn_write_resources(const cw_shared_conn *shared, cw_buf *out)
{
    const cw_shared_conn_resources *r = &shared->resources;
    for (size_t i = 0; i < r->n; i++) {
        cw_buf_add(out, i ? CW_STR(",") : CW_STR(",\"resourceSubscriptions\":["));
        cw_json_escape(out, r->items[i].uri);
    }
    if (r->n)
        cw_buf_add_char(out, ']');
}

/* Replace the subscription. On a channel the old one ends last, so that no update is missed. */
static void listen_again(cw_shared_conn *shared)
{
    if (is_http(shared)) {
        cw_shared_conn_streams_listen(shared);
        return;
    }
    cw_shared_conn_resources *r = &shared->resources;
    uint64_t before = r->listen_id;
    CW_CLEANUP(cw_buf_done) cw_buf members;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&members, TEXT_MAX);
    cw_buf_init(&text, TEXT_MAX);
    cw_buf_add(&members, CW_STR("\"notifications\":{" CW_SHARED_CONN_LISTS));
    cw_shared_conn_write_resources(shared, &members);
    cw_buf_add_char(&members, '}');
    r->listen_id = cw_shared_conn_next_id(shared);
    const cw_relay_request listen = {.method = CW_STR("subscriptions/listen"),
                                     .members = cw_buf_str(&members)};
    cw_relay_write(&text, &listen, CW_RELAY_MODERN, r->listen_id);
    if (members.code)
        return;
    send_text(shared, &text);
    cw_buf_clear(&text);
    cw_relay_write_cancelled(&text, before);
    if (before)
        send_text(shared, &text);
}

static bool is_open(const cw_shared_conn *shared)
{
    return is_http(shared) ? cw_shared_conn_streams_is_open(shared)
                           : shared->state == CW_SHARED_CONN_READY;
}

static void subscribe_legacy(cw_shared_conn *shared)
{
    cw_shared_conn_resources *r = &shared->resources;
    for (size_t i = 0; i < r->n; i++) {
        if (!r->items[i].is_sent)
            r->items[i].id = send_one(shared, "resources/subscribe", r->items[i].uri);
        r->items[i].is_sent = true;
    }
}

void cw_shared_conn_resources_opened(cw_shared_conn *shared)
{
    cw_shared_conn_resources *r = &shared->resources;
    bool is_modern = cw_shared_conn_era(shared) == CW_RELAY_MODERN;
    r->listen_id = 0;
    for (size_t i = 0; i < r->n; i++) {
        r->items[i].is_sent = false;
        r->items[i].is_updated = true; /* an update may have been missed */
    }
    if (!is_modern)
        subscribe_legacy(shared);
    else if (!is_http(shared)) /* over HTTP the request of the stream names them */
        listen_again(shared);
    if (r->n)
        report_soon(shared);
}

/* ---- the set ---- */

static void free_items(cw_shared_conn_resource *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free((char *)(uintptr_t)items[i].uri.p);
    free(items);
}

/* The new set. Resources that were in the old one keep their state. NULL without memory. */
static cw_shared_conn_resource *make_items(const cw_shared_conn_resources *old, const cw_str *uris,
                                           size_t n)
{
    cw_shared_conn_resource *items = calloc(n + 1, sizeof *items);
    for (size_t i = 0; items && i < n; i++) {
        const cw_shared_conn_resource *before = find(old, uris[i]);
        char *copy = malloc(uris[i].n + 1);
        if (!copy) {
            free_items(items, i);
            return NULL;
        }
        memcpy(copy, uris[i].p, uris[i].n);
        if (before)
            items[i] = *before;
        items[i].uri = cw_str_make(copy, uris[i].n);
    }
    return items;
}

static bool is_same(const cw_shared_conn_resources *r, const cw_str *uris, size_t n)
{
    for (size_t i = 0; i < n && n == r->n; i++) {
        if (!cw_str_eq(r->items[i].uri, uris[i]))
            return false;
    }
    return n == r->n;
}

void cw_shared_conn_subscribe(cw_shared_conn *shared, const cw_str *uris, size_t n)
{
    cw_shared_conn_resources *r = &shared->resources;
    if (!shared->mcp.is_on || shared->is_closing || is_same(r, uris, n))
        return;
    cw_shared_conn_resource *items = make_items(r, uris, n);
    if (!items)
        return; /* the former set stays; the next change tries again */
    cw_shared_conn_resources old = *r;
    r->items = items;
    r->n = n;
    bool is_legacy = cw_shared_conn_era(shared) != CW_RELAY_MODERN;
    for (size_t i = 0; i < old.n && is_legacy && is_open(shared); i++) {
        if (old.items[i].is_sent && !find(r, old.items[i].uri))
            (void)send_one(shared, "resources/unsubscribe", old.items[i].uri);
    }
    free_items(old.items, old.n);
    if (is_open(shared) && is_legacy)
        subscribe_legacy(shared);
    else if (!is_legacy && (is_open(shared) || is_http(shared)))
        listen_again(shared);
}

void cw_shared_conn_resources_init(cw_shared_conn *shared)
{
    cw_deadline_list_init(&shared->resources.calm, CALM_MS, on_calm);
    cw_loop_watch(shared->opts.loop, &shared->resources.calm);
}

void cw_shared_conn_resources_done(cw_shared_conn *shared)
{
    cw_deadline_clear(&shared->resources.calm_end);
    cw_loop_unwatch(shared->opts.loop, &shared->resources.calm);
    free_items(shared->resources.items, shared->resources.n);
    shared->resources.items = NULL;
    shared->resources.n = 0;
}
