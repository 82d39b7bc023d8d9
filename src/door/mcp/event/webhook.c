/* SPDX-License-Identifier: GPL-2.0-or-later */
/* webhook.c - events/subscribe and events/unsubscribe: requests that change a row of the store.
 *
 * A subscription is answered when its row is stored. Both methods are idempotent: the id of a row is a
 * digest of caller, URL, event and arguments.
 */
#include <stdlib.h>

#include "access/fair_key.h"
#include "door/mcp/event/events.h"
#include "door/mcp/event/webhooks.h"
#include "json/write.h"
#include "net/curl/fetch.h"
#include "net/http/hostcheck.h"
#include "store/webhook.h"

#define ARENA_MAX (1024u * 1024u)

/* A request that waits for the store. */
typedef struct op {
    cw_store_job job;
    cw_message message;
    cw_arena arena;
    cw_accounts_loop *home;
    cw_mcp_webhooks *all;
    cw_rpc_item *item; /* NULL: the client is gone */
    char id[CW_WEBHOOK_ID];
    cw_db_webhook row; /* `state` empty: it is removed */
    cw_db_webhook_limits limits;
    cw_webhook_change change;
    const cw_event_hub *hub;
    bool is_truncated;
    cw_code rc;
} op;

static void free_op(cw_message *message)
{
    op *o = CW_CONTAINER(message, op, message);
    cw_arena_wipe(&o->arena);
    free(o);
}

static cw_code run(cw_store_job *job, cw_db *db, cw_err *err)
{
    const op *o = CW_CONTAINER(job, op, job);
    int64_t now = cw_clock_wall_ms();
    return o->row.state.n ? cw_db_put_webhook(db, &o->row, now, &o->limits, err)
                          : cw_db_remove_webhook(db, o->row.id, now, err);
}

/* ---- the answer, on the loop of the request ---- */

static void fail(cw_rpc_item *item, unsigned status, int64_t code, const char *text)
{
    cw_buf message, data;
    cw_buf_init(&message, CW_BUF_MAX);
    cw_buf_init(&data, CW_BUF_MAX);
    cw_buf_add(&message, cw_str_from(text));
    cw_door_fail_with(item, status, code, &message, &data);
}

/* A time, or null. */
static void add_time(cw_json_writer *w, cw_str name, int64_t ms)
{
    char text[CW_CLOCK_ISO_LEN + 1];
    cw_clock_format_iso(ms, text);
    cw_json_add_key(w, name);
    if (ms)
        cw_json_add_string(w, cw_str_from(text));
    else
        cw_json_add_null(w);
}

static void add_status(cw_json_writer *w, const cw_webhook_status *status)
{
    cw_json_add_key(w, CW_STR("deliveryStatus"));
    cw_json_open_object(w);
    cw_json_add_bool_member(w, CW_STR("active"), status->is_active);
    add_time(w, CW_STR("lastDeliveryAt"), status->delivered);
    cw_json_add_key(w, CW_STR("lastError"));
    if (status->error)
        cw_json_add_string(w, cw_str_from(status->error));
    else
        cw_json_add_null(w);
    if (status->failed_since)
        add_time(w, CW_STR("failedSince"), status->failed_since);
    cw_json_close(w);
}

static void add_subscription(cw_json_writer *w, const op *o)
{
    char cursor[CW_EVENT_CURSOR];
    cw_event_cursor_write(o->hub, o->change.after, cursor);
    cw_json_add_string_member(w, CW_STR("id"), cw_str_from(o->id));
    add_time(w, CW_STR("refreshBefore"), o->row.expires);
    cw_json_add_string_member(w, CW_STR("cursor"), cw_str_from(cursor));
    cw_json_add_bool_member(w, CW_STR("truncated"), o->is_truncated);
    if (o->change.is_refresh)
        add_status(w, &o->change.status);
}

static void reply(const op *o)
{
    cw_json_writer w;
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_open_result(&b);
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    if (o->row.state.n)
        add_subscription(&w, o);
    cw_json_add_string_member(&w, CW_STR("resultType"), CW_STR("complete"));
    cw_json_add_key(&w, CW_STR("_meta"));
    cw_json_add_span(&w, CW_STR("{" CW_MCP_SERVER_META "}"));
    cw_json_close(&w);
    cw_rpc_close(&b, o->item->id);
    cw_rpc_item_reply(o->item, 200, &b, CW_STR(""));
}

static void on_home(cw_message *message)
{
    op *o = CW_CONTAINER(message, op, message);
    if (!o->item) /* the row stays */
        ;
    else if (!o->rc)
        reply(o);
    else if (o->rc == CW_LIMIT)
        fail(o->item, 200, CW_MCP_EVENT_EXHAUSTED, "Too many webhook subscriptions");
    else
        fail(o->item, 503, CW_RPC_INTERNAL, "The subscription could not be stored; try again");
    free_op(message);
}

/* ---- the way back: store, loop that delivers, loop of the request ---- */

static void go_home(cw_message *message)
{
    op *o = CW_CONTAINER(message, op, message);
    o->message = (cw_message){.fn = on_home, .drop = free_op};
    cw_accounts_post(o->home, &o->message);
}

static void on_deliverer(cw_message *message)
{
    op *o = CW_CONTAINER(message, op, message);
    cw_webhooks_apply(o->all, &o->change);
    go_home(message);
}

static void on_done(cw_store_job *job, cw_code rc)
{
    op *o = CW_CONTAINER(job, op, job);
    o->rc = rc;
    o->message = (cw_message){.fn = on_deliverer, .drop = go_home};
    if (rc || !cw_webhooks_post(o->all, &o->message))
        go_home(&o->message);
}

static void on_event(cw_responder *responder, cw_responder_event event, void *ctx)
{
    op *o = ctx;
    (void)responder;
    if (event == CW_RESPONDER_GONE)
        o->item = NULL;
}

/* Takes the operation. */
static void begin(const cw_mcp_request *r, op *o)
{
    cw_accounts *accounts = cw_runtime_accounts(r->rl);
    const cw_caller *caller = cw_view_caller(r->view);
    o->job = (cw_store_job){.run = run,
                            .done = on_done,
                            .by = cw_caller_fair_key(caller, cw_responder_peer(r->responder))};
    o->change.id = o->id;
    o->change.sealed = o->row.state;
    o->change.expires = o->row.expires;
    o->item = r->item;
    r->responder->on_event = on_event;
    r->responder->ctx = o;
    if (!cw_store_ask(cw_accounts_store(accounts), &o->job))
        return;
    r->responder->on_event = NULL;
    free_op(&o->message);
    fail(r->item, 503, CW_RPC_INTERNAL, "Too many operations wait for the database; try again");
}

/* ---- hosts ---- */

static cw_code check_host(const cw_config_mcp_events *e, cw_str host, const char **ret_problem)
{
    cw_hostlist *list = NULL;
    cw_code rc = cw_hostlist_new(e->webhooks.items, e->webhooks.n, NULL, 0, &list, NULL);
    if (rc == CW_NOMEM)
        return rc;
    if (rc || e->webhooks.n == 0)
        *ret_problem = "the server delivers to no host";
    else if (!cw_hostlist_allows_host(list, host))
        *ret_problem = "the server does not deliver to this host";
    cw_hostlist_free(list);
    return CW_OK;
}

cw_code cw_webhook_check_url(const cw_config *config, cw_str url, const char **ret_problem)
{
    const cw_config_mcp_events *e = &config->mcp.events;
    bool is_https = cw_str_starts(url, CW_STR("https://"));
    bool has_scheme = is_https || (e->allow_private && cw_str_starts(url, CW_STR("http://")));
    *ret_problem = url.n > CW_FETCH_MAX_URL ? "the URL is too long"
                   : has_scheme             ? NULL
                                            : "the URL must be an https:// URL";
    if (*ret_problem)
        return CW_OK;
    cw_str rest = cw_str_make(url.p + (is_https ? 8 : 7), url.n - (is_https ? 8 : 7));
    size_t n = 0;
    while (n < rest.n && !strchr("/?#", rest.p[n]))
        n++;
    cw_str host = cw_str_make(rest.p, n);
    if (cw_host_is_valid(host))
        return check_host(e, host, ret_problem);
    *ret_problem = "the URL has no valid host";
    return CW_OK;
}

/* ---- the request ---- */

/* The checks that come before the event is looked up. False: the message is answered. */
static bool check_caller(const cw_mcp_request *r)
{
    const cw_config *config = cw_runtime_config(r->rl);
    cw_accounts *accounts = cw_runtime_accounts(r->rl);
    const cw_caller *caller = cw_view_caller(r->view);
    if (!cw_mcp_has_events(r)) {
        cw_mcp_fail_method(r);
        return false;
    }
    if (!cw_mcp_may(r, /* discovers= */ false))
        return false;
    if (cw_caller_is_anonymous(caller)) {
        const cw_json *name = cw_mcp_string(r->params, CW_STR("name"));
        cw_mcp_audit_refusal(r, name ? cw_json_text(name) : CW_STR(""), CW_STR(""),
                             CW_VERDICT_NEEDS_LOGIN);
        cw_mcp_refuse(r->item, CW_VERDICT_NEEDS_LOGIN, NULL);
        return false;
    }
    bool has_store = accounts && cw_accounts_store(accounts);
    bool has_credentials = cw_caller_credential_of(caller)->kind != CW_CREDENTIAL_NONE;
    if (config->mcp.events.webhooks.n && has_store && has_credentials)
        return true;
    fail(r->item, 200, CW_MCP_EVENT_UNSUPPORTED, "This server delivers no webhooks");
    return false;
}

static op *op_new(const cw_mcp_request *r)
{
    cw_accounts_loop *home = cw_accounts_at(cw_runtime_accounts(r->rl), r->responder->loop);
    op *o = home ? calloc(1, sizeof *o) : NULL;
    if (!o)
        return NULL;
    cw_arena_init(&o->arena, ARENA_MAX);
    o->home = home;
    o->all = r->door->webhooks;
    return o;
}

/* The key of the subscription, in the arena. CW_NOMEM. */
static cw_code fill_key(const cw_mcp_request *r, cw_str url, cw_str name, const cw_json *arguments,
                        cw_arena *arena, cw_webhook_state *ret)
{
    CW_CLEANUP(cw_buf_done) cw_buf canonical;
    cw_buf_init(&canonical, CW_BUF_MAX);
    if (arguments)
        cw_json_add_canonical(&canonical, arguments);
    else
        cw_buf_add(&canonical, CW_STR("{}"));
    ret->owner = cw_arena_dup_str(arena, cw_caller_id(cw_view_caller(r->view)));
    ret->url = cw_arena_dup_str(arena, url);
    ret->name = cw_arena_dup_str(arena, name);
    ret->arguments = cw_arena_dup_str(arena, cw_buf_str(&canonical));
    bool is_filled = ret->owner.p && ret->url.p && ret->name.p && ret->arguments.p;
    return canonical.code || !is_filled ? CW_NOMEM : CW_OK;
}

/* The URL of `delivery`. .p is NULL: the message is answered. */
static cw_str read_url(const cw_mcp_request *r, bool is_checked)
{
    const cw_json *delivery = cw_json_get(r->params, CW_STR("delivery"));
    const cw_json *url = cw_mcp_string(delivery, CW_STR("url"));
    cw_str none = {NULL, 0};
    if (!url) {
        fail(r->item, 200, CW_RPC_PARAMS, "delivery.url must be a string");
        return none;
    }
    const char *problem = NULL;
    if (is_checked && cw_webhook_check_url(cw_runtime_config(r->rl), cw_json_text(url), &problem)) {
        cw_door_fail_nomem(r->item);
        return none;
    }
    if (!problem)
        return cw_json_text(url);
    fail(r->item, 200, CW_MCP_EVENT_CALLBACK, problem);
    return none;
}

static bool read_secret(const cw_mcp_request *r, char secret[CW_WEBHOOK_SECRET_MAX], size_t *ret_n)
{
    const cw_json *delivery = cw_json_get(r->params, CW_STR("delivery"));
    const cw_json *mode = cw_mcp_string(delivery, CW_STR("mode"));
    const cw_json *text = cw_mcp_string(delivery, CW_STR("secret"));
    if (!mode || !cw_str_is(cw_json_text(mode), "webhook"))
        fail(r->item, 200, CW_MCP_EVENT_UNSUPPORTED, "delivery.mode must be \"webhook\"");
    else if (!text || !cw_webhook_secret_read(cw_json_text(text), secret, ret_n))
        fail(r->item, 200, CW_RPC_PARAMS,
             "delivery.secret must be \"whsec_\" and base64 of 24 to 64 bytes");
    else
        return true;
    return false;
}

/* When it must be refreshed: never later than its credentials end. False: the message is answered. */
static bool read_expiry(const cw_mcp_request *r, int64_t *ret)
{
    const cw_json *v = cw_json_get(r->params, CW_STR("ttlMs"));
    uint64_t ttl = cw_runtime_config(r->rl)->mcp.events.webhook_ttl_ms, wanted = ttl;
    int64_t ends = cw_caller_expires(cw_view_caller(r->view));
    if (v && !cw_json_is(v, CW_JSON_NULL) && (!cw_json_to_u64(v, &wanted) || wanted == 0)) {
        fail(r->item, 200, CW_RPC_PARAMS, "ttlMs must be a positive integer, or null");
        return false;
    }
    *ret = cw_clock_wall_ms() + (int64_t)(wanted < ttl ? wanted : ttl);
    if (ends && ends < *ret)
        *ret = ends;
    return true;
}

/* CW_NOMEM. */
static cw_code fill_op(const cw_mcp_request *r, const cw_mcp_event_query *q, cw_str url,
                       cw_str secret, op *o)
{
    const cw_config_mcp_events *config = &cw_runtime_config(r->rl)->mcp.events;
    cw_webhook_state state = {.secret = secret, .old_secret = CW_STR("")};
    cw_code rc = fill_key(r, url, q->entry->method->event->name, q->arguments, &o->arena, &state);
    state.caller = cw_webhook_caller_write(cw_view_caller(r->view), &o->arena);
    if (rc || !state.caller.p || cw_webhook_id(&state, o->id))
        return CW_NOMEM;
    o->row.id = cw_str_from(o->id);
    o->row.owner = state.owner;
    o->limits = (cw_db_webhook_limits){config->max_webhooks, config->max_webhooks_per_caller};
    return cw_webhook_seal(&state, r->door->seal, &o->arena, &o->row.state, NULL);
}

/* Set the place at which deliveries begin. True: events behind the cursor are lost, or too old for the client. */
static bool skip_old(const cw_mcp_event_query *q, uint64_t *ret)
{
    bool is_cut = q->is_old, has_more = true;
    *ret = q->after;
    while (has_more) {
        cw_event_batch batch;
        size_t i = 0;
        cw_event_read(q->entry->method->event->type, *ret, CW_EVENT_BATCH, &batch);
        for (; i < batch.n && batch.items[i]->arrived < q->oldest; i++)
            *ret = batch.items[i]->number;
        is_cut = is_cut || batch.is_truncated || i > 0;
        has_more = i == batch.n && batch.has_more;
        cw_event_batch_done(&batch);
    }
    return is_cut;
}

void cw_mcp_subscribe_event(const cw_mcp_request *r)
{
    cw_mcp_event_query q;
    char secret[CW_WEBHOOK_SECRET_MAX];
    size_t n_secret;
    int64_t expires;
    if (!check_caller(r) || !cw_mcp_event_query_read(r, &q) || !read_secret(r, secret, &n_secret) ||
        !read_expiry(r, &expires))
        return;
    cw_str url = read_url(r, /* is_checked= */ true);
    if (!url.p)
        return;
    op *o = op_new(r);
    if (!o) {
        cw_door_fail_nomem(r->item);
        return;
    }
    o->row.expires = expires;
    cw_event_hub *hub = cw_event_type_hub(q.entry->method->event->type);
    o->hub = hub;
    o->change.has_cursor = q.cursor.p != NULL;
    if (q.cursor.p)
        o->is_truncated = skip_old(&q, &o->change.after);
    else
        o->change.after = cw_event_now(hub);
    if (fill_op(r, &q, url, cw_str_make(secret, n_secret), o)) {
        free_op(&o->message);
        cw_door_fail_nomem(r->item);
        return;
    }
    cw_call_audit_read(r->rl, r->view, cw_mcp_door_name(r->responder),
                       cw_responder_peer(r->responder), q.entry->method->id, url);
    begin(r, o);
}

/* The event may be hidden by now: its name is compared, and nothing is looked up. */
void cw_mcp_unsubscribe_event(const cw_mcp_request *r)
{
    const cw_json *name = cw_mcp_string(r->params, CW_STR("name"));
    const cw_json *arguments = cw_json_get(r->params, CW_STR("arguments"));
    cw_call_error refusal;
    if (!check_caller(r))
        return;
    if (cw_call_may_list(r->rl, r->view, cw_responder_peer(r->responder), &refusal)) {
        cw_door_fail_rate_limited(r->item, &refusal);
        return;
    }
    if (!name || (arguments && !cw_json_is(arguments, CW_JSON_OBJECT))) {
        fail(r->item, 200, CW_RPC_PARAMS, "name must be a string, and arguments an object");
        return;
    }
    cw_str url = read_url(r, /* is_checked= */ false);
    if (!url.p)
        return;
    cw_webhook_state state = {0};
    op *o = op_new(r);
    if (!o || fill_key(r, url, cw_json_text(name), arguments, &o->arena, &state) ||
        cw_webhook_id(&state, o->id)) {
        if (o)
            free_op(&o->message);
        cw_door_fail_nomem(r->item);
        return;
    }
    o->row = (cw_db_webhook){.id = cw_str_from(o->id), .owner = state.owner, .state = CW_STR("")};
    begin(r, o);
}
