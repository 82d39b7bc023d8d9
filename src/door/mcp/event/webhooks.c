/* SPDX-License-Identifier: GPL-2.0-or-later */
/* webhooks.c - the subscriptions of the process, and their deliveries.
 *
 *     rights known? ─► verified? ─no─► challenge ─► gap? ─► next event ─► POST ─┬─ 2xx: go on
 *          ▲                                                                    ├─ 410: the end
 *          └──────────────────── after a pause, five times ◄────────────────────┴─ other: again
 */
#include "door/mcp/event/webhooks.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hex.h"
#include "base/log.h"
#include "base/random.h"
#include "door/mcp/event/events.h"
#include "event/occurrence.h"
#include "net/curl/fetch.h"
#include "net/http/hostcheck.h"
#include "store/webhook.h"

#define TICK_MS 1000u
#define ARENA_MAX (1024u * 1024u)
#define CHALLENGE 33u
#define MESSAGE_ID (CW_EVENT_MAX_ID + 1)
#define HEADERS 5u
#define ANSWER_MAX 4096u

static const uint32_t pauses_ms[] = {1000, 5000, 30000, 120000, 600000};
#define RETRIES CW_COUNT(pauses_ms)

typedef enum message_kind { KIND_CHALLENGE, KIND_GAP, KIND_EVENT, KIND_TERMINATED } message_kind;

typedef struct webhook {
    cw_list node;  /* of all */
    cw_list ready; /* of those that wait for a free place */
    cw_mcp_webhooks *all;
    cw_arena arena; /* texts of the state */
    cw_webhook_state state;
    const cw_json *arguments;
    char id[CW_WEBHOOK_ID];
    int64_t expires;
    cw_caller *caller; /* NULL: its rights are not known yet */
    cw_login_watch login;
    cw_event_watch events;
    uint64_t after;
    uint64_t gap_seen; /* the last lost event that was reported */
    bool has_gap;
    /* The message that is sent, again and again. */
    bool has_message;
    message_kind kind;
    char message_id[MESSAGE_ID];
    cw_buf body;
    uint64_t number; /* of the event */
    char challenge[CHALLENGE];
    unsigned n_failures;
    cw_deadline retry;
    cw_fetch fetch;
} webhook;

struct cw_mcp_webhooks {
    cw_mcp *door;
    cw_message start;
    cw_loop *loop;       /* the first one */
    cw_runtime_loop *rl; /* NULL: it does not deliver */
    cw_loop_hook hook;
    cw_runtime_watch watch;
    cw_list all, ready;
    unsigned n_running;
    cw_fetcher *fetcher;
    cw_deadline_list pauses[RETRIES], ticks;
    cw_deadline tick;
};

static void proceed(webhook *w);
static void remove_webhook(webhook *w, bool is_stored);

/* ---- the store ---- */

/* A change of a row, on its way. */
typedef struct row_job {
    cw_store_job job;
    cw_db_webhook row; /* `state` empty: remove it */
    char text[];
} row_job;

static cw_code run_row(cw_store_job *job, cw_db *db, cw_err *err)
{
    const row_job *j = CW_CONTAINER(job, row_job, job);
    const cw_db_webhook_limits none = {INT64_MAX, INT64_MAX};
    int64_t now = cw_clock_wall_ms();
    return j->row.state.n ? cw_db_put_webhook(db, &j->row, now, &none, err)
                          : cw_db_remove_webhook(db, j->row.id, now, err);
}

static void free_row(cw_store_job *job, cw_code rc)
{
    if (rc && rc != CW_GONE)
        cw_log(CW_LOG_WARN, "events", "a webhook subscription could not be stored",
               CW_KV("problem", cw_str_from(cw_code_text(rc))));
    free(CW_CONTAINER(job, row_job, job));
}

/* Without memory, or if the store is too busy, the row stays as it is: it expires. */
static void store_row(const webhook *w, cw_str sealed)
{
    cw_accounts *accounts = cw_runtime_accounts(w->all->rl);
    cw_store *store = accounts ? cw_accounts_store(accounts) : NULL;
    cw_str owner = w->state.owner;
    size_t n_id = CW_WEBHOOK_ID - 1;
    row_job *j = store ? malloc(sizeof *j + n_id + owner.n + sealed.n) : NULL;
    if (!j)
        return;
    memcpy(j->text, w->id, n_id);
    memcpy(j->text + n_id, owner.p, owner.n);
    if (sealed.n)
        memcpy(j->text + n_id + owner.n, sealed.p, sealed.n);
    j->job = (cw_store_job){.run = run_row, .done = free_row};
    j->row = (cw_db_webhook){.id = cw_str_make(j->text, n_id),
                             .owner = cw_str_make(j->text + n_id, owner.n),
                             .state = cw_str_make(j->text + n_id + owner.n, sealed.n),
                             .expires = w->expires};
    if (cw_store_ask(store, &j->job))
        free(j);
}

static void store_state(const webhook *w)
{
    cw_arena arena;
    cw_str sealed;
    cw_arena_init(&arena, ARENA_MAX);
    if (!cw_webhook_seal(&w->state, &w->all->door->seal, &arena, &sealed, NULL))
        store_row(w, sealed);
    cw_arena_done(&arena);
}

/* ---- hosts ---- */

const char *cw_webhook_url_problem(const cw_config *config, cw_str url)
{
    const cw_config_mcp_events *e = &config->mcp.events;
    bool is_https = cw_str_starts(url, CW_STR("https://"));
    if (url.n > CW_FETCH_MAX_URL)
        return "the URL is too long";
    if (!is_https && !(e->allow_private && cw_str_starts(url, CW_STR("http://"))))
        return "the URL must be an https:// URL";
    cw_str rest = cw_str_make(url.p + (is_https ? 8 : 7), url.n - (is_https ? 8 : 7));
    size_t n = 0;
    while (n < rest.n && !strchr("/?#", rest.p[n]))
        n++;
    cw_str host = cw_str_make(rest.p, n);
    if (!cw_host_is_valid(host))
        return "the URL has no valid host";
    cw_hostlist *list = NULL;
    if (e->webhooks.n == 0 ||
        cw_hostlist_new(e->webhooks.items, e->webhooks.n, NULL, 0, &list, NULL))
        return "the server delivers to no host";
    bool is_allowed = cw_hostlist_allows_host(list, host);
    cw_hostlist_free(list);
    return is_allowed ? NULL : "the server does not deliver to this host";
}

/* ---- sending ---- */

static void start_ready(cw_mcp_webhooks *all)
{
    while (all->n_running < CW_WEBHOOK_RUNNING && !cw_list_is_empty(&all->ready)) {
        cw_list *node = cw_list_take_first(&all->ready);
        proceed(CW_CONTAINER(node, webhook, ready));
    }
}

static void drop_message(webhook *w)
{
    w->has_message = false;
    w->n_failures = 0;
    cw_buf_release(&w->body);
}

/* It is not sent any more. False: the subscription has ended. */
static bool give_up(webhook *w)
{
    cw_log(CW_LOG_WARN, "events", "a webhook delivery has failed for good",
           CW_KV("event", w->state.name), CW_KV("caller", w->state.owner));
    switch (w->kind) {
    case KIND_EVENT:
        w->after = w->number;
        break;
    case KIND_GAP:
        w->has_gap = false;
        break;
    case KIND_CHALLENGE:
    case KIND_TERMINATED:
        remove_webhook(w, /* is_stored= */ true);
        return false;
    }
    drop_message(w);
    return true;
}

/* {"challenge": the same}. */
static bool is_echo(const webhook *w, cw_str body)
{
    const cw_json *root;
    cw_arena arena;
    cw_arena_init(&arena, ARENA_MAX);
    bool is_same = false;
    if (!cw_json_read(body, NULL, &arena, &root, NULL, NULL)) {
        const cw_json *v = cw_json_get(root, CW_STR("challenge"));
        cw_str text = cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
        is_same = text.n == CHALLENGE - 1 && CRYPTO_memcmp(text.p, w->challenge, text.n) == 0;
    }
    cw_arena_done(&arena);
    return is_same;
}

/* False: the subscription has ended. */
static bool take_success(webhook *w)
{
    switch (w->kind) {
    case KIND_CHALLENGE:
        w->state.is_verified = true;
        store_state(w);
        break;
    case KIND_GAP:
        w->has_gap = false;
        break;
    case KIND_EVENT:
        w->after = w->number;
        break;
    case KIND_TERMINATED:
        remove_webhook(w, /* is_stored= */ true);
        return false;
    }
    drop_message(w);
    return true;
}

/* False: the subscription has ended. */
static bool take_answer(webhook *w, const cw_fetch_response *answer)
{
    unsigned status = answer ? answer->status : 0;
    bool is_accepted =
        status >= 200 && status < 300 && (w->kind != KIND_CHALLENGE || is_echo(w, answer->body));
    if (is_accepted || w->kind == KIND_TERMINATED)
        return take_success(w);
    if (status == 410) {
        remove_webhook(w, /* is_stored= */ true);
        return false;
    }
    if (status == 413 || w->n_failures == RETRIES)
        return give_up(w);
    cw_loop_set_deadline(w->all->loop, &w->retry, &w->all->pauses[w->n_failures++]);
    return true;
}

static void on_done(cw_fetch *f, const cw_fetch_response *answer, const char *why)
{
    webhook *w = CW_CONTAINER(f, webhook, fetch);
    cw_mcp_webhooks *all = w->all;
    all->n_running--;
    if (!answer)
        cw_log(CW_LOG_INFO, "events", "a webhook receiver cannot be reached",
               CW_KV("event", w->state.name), CW_KV("problem", cw_str_from(why)));
    if (take_answer(w, answer))
        proceed(w);
    start_ready(all);
}

/* A message that cannot be made, or a request that cannot start, is tried again. */
static void fail_now(webhook *w)
{
    if (w->kind != KIND_TERMINATED && w->n_failures < RETRIES)
        cw_loop_set_deadline(w->all->loop, &w->retry, &w->all->pauses[w->n_failures++]);
    else
        (void)give_up(w);
}

static bool has_fetcher(cw_mcp_webhooks *all)
{
    return all->fetcher || !cw_fetcher_new(all->loop, &all->fetcher, NULL);
}

/* Each attempt has a time and signatures of its own. */
static void post_message(webhook *w)
{
    const cw_config_mcp_events *config = &cw_runtime_config(w->all->rl)->mcp.events;
    char lines[HEADERS][2 * MESSAGE_ID], one[CW_WEBHOOK_SIGNATURE], two[CW_WEBHOOK_SIGNATURE] = "";
    cw_str headers[HEADERS], body = cw_buf_str(&w->body), id = cw_str_from(w->message_id);
    int64_t now = cw_clock_wall_ms() / 1000;
    bool is_signed = cw_webhook_sign(w->state.secret, id, now, body, one);
    if (is_signed && w->state.old_secret.n)
        is_signed = cw_webhook_sign(w->state.old_secret, id, now, body, two);
    snprintf(lines[0], sizeof lines[0], "Content-Type: application/json");
    snprintf(lines[1], sizeof lines[1], "webhook-id: %s", w->message_id);
    snprintf(lines[2], sizeof lines[2], "webhook-timestamp: %lld", (long long)now);
    snprintf(lines[3], sizeof lines[3], "webhook-signature: %s%s%s", one, two[0] ? " " : "", two);
    snprintf(lines[4], sizeof lines[4], "X-MCP-Subscription-Id: %s", w->id);
    for (size_t i = 0; i < HEADERS; i++)
        headers[i] = cw_str_from(lines[i]);
    w->fetch = (cw_fetch){.url = w->state.url,
                          .allow_private = config->allow_private,
                          .ca_file = config->ca_file.n ? config->ca_file.p : NULL,
                          .form = body,
                          .headers = headers,
                          .n_headers = HEADERS,
                          .max_bytes = ANSWER_MAX,
                          .timeout_ms = CW_WEBHOOK_TIMEOUT_MS,
                          .on_done = on_done};
    if (!is_signed || !has_fetcher(w->all) || cw_fetcher_start(w->all->fetcher, &w->fetch, NULL))
        fail_now(w);
    else
        w->all->n_running++;
}

/* ---- messages ---- */

static void open_body(webhook *w, cw_json_writer *out, message_kind kind, const char *type)
{
    w->kind = kind;
    w->has_message = true;
    w->n_failures = 0;
    cw_buf_init(&w->body, CW_WEBHOOK_MAX_BODY);
    cw_json_writer_init(out, &w->body, CW_JSON_COMPACT);
    cw_json_open_object(out);
    if (!type)
        return;
    snprintf(w->message_id, sizeof w->message_id, "msg_%s_%016llx%016llx", type,
             (unsigned long long)cw_random_u64(), (unsigned long long)cw_random_u64());
    cw_json_add_string_member(out, CW_STR("type"), cw_str_from(type));
}

/* A body that cannot be written is given up at once: it would not be shorter later. */
static void close_body(webhook *w, cw_json_writer *out)
{
    cw_json_close(out);
    if (cw_json_writer_end(out, NULL)) {
        if (give_up(w))
            proceed(w);
        return;
    }
    post_message(w);
}

static void send_challenge(webhook *w)
{
    unsigned char bytes[(CHALLENGE - 1) / 2];
    cw_json_writer out;
    if (cw_random_bytes(bytes, sizeof bytes, NULL)) {
        fail_now(w);
        return;
    }
    cw_hex_write(w->challenge, bytes, sizeof bytes);
    open_body(w, &out, KIND_CHALLENGE, "verification");
    cw_json_add_string_member(&out, CW_STR("challenge"), cw_str_from(w->challenge));
    close_body(w, &out);
}

static void send_gap(webhook *w, const cw_event_hub *hub)
{
    char cursor[CW_EVENT_CURSOR];
    cw_json_writer out;
    cw_event_cursor_write(hub, w->after, cursor);
    open_body(w, &out, KIND_GAP, "gap");
    cw_json_add_string_member(&out, CW_STR("cursor"), cw_str_from(cursor));
    close_body(w, &out);
}

static void send_terminated(webhook *w)
{
    cw_json_writer out;
    if (w->fetch.internal) {
        cw_fetch_cancel(&w->fetch);
        w->all->n_running--;
    }
    cw_deadline_clear(&w->retry);
    drop_message(w);
    cw_event_watch_remove(&w->events);
    cw_login_watch_remove(&w->login);
    if (!w->state.is_verified) {
        remove_webhook(w, /* is_stored= */ true);
        return;
    }
    open_body(w, &out, KIND_TERMINATED, "terminated");
    cw_json_add_key(&out, CW_STR("error"));
    cw_json_open_object(&out);
    cw_json_add_i64_member(&out, CW_STR("code"), CW_MCP_EVENT_NOT_FOUND);
    cw_json_add_string_member(&out, CW_STR("message"), CW_STR("Event not found"));
    cw_json_close(&out);
    close_body(w, &out);
}

static void send_event(webhook *w, const cw_method_event *of, const cw_event *event)
{
    cw_json_writer out;
    w->number = event->number;
    snprintf(w->message_id, sizeof w->message_id, "%.*s", CW_STR_ARG(event->id));
    /* An id of the source may have characters that a header has not. */
    for (char *p = w->message_id; *p; p++) {
        if (*p <= ' ' || *p == 0x7f || (unsigned char)*p >= 0x80)
            *p = '_';
    }
    open_body(w, &out, KIND_EVENT, NULL);
    cw_event_add_members(&out, cw_event_type_hub(of->type), of->name, event);
    close_body(w, &out);
}

/* The next event that fits, or a gap. */
static void send_next(webhook *w, const cw_method_event *of)
{
    for (bool has_more = true; has_more;) {
        cw_event_batch batch;
        size_t i = 0;
        cw_event_read(of->type, w->after, CW_EVENT_BATCH, &batch);
        bool is_gap = batch.is_truncated && batch.lost > w->gap_seen;
        w->gap_seen = batch.lost;
        while (!is_gap && i < batch.n && !cw_mcp_event_matches(of, w->arguments, batch.items[i]))
            i++;
        has_more = !is_gap && i == batch.n && batch.has_more;
        if (is_gap) /* what is kept follows it */
            w->after = batch.n ? batch.items[0]->number - 1 : batch.cursor;
        else if (i == batch.n)
            w->after = batch.cursor;
        if (is_gap)
            send_gap(w, cw_event_type_hub(of->type));
        else if (i < batch.n)
            send_event(w, of, batch.items[i]);
        cw_event_batch_done(&batch);
    }
}

/* ---- the course of a subscription ---- */

static void watch_type(webhook *w, cw_event_type *type)
{
    if (w->events.type == type)
        return;
    cw_event_watch_remove(&w->events);
    if (w->after == 0)
        w->after = cw_event_now(cw_event_type_hub(type));
    cw_event_watch_add(type, w->all->loop, w->after, &w->events);
}

/* What it may receive now; NULL: nothing, and it ends. */
static const cw_entry *judge(webhook *w)
{
    cw_mcp_webhooks *all = w->all;
    const cw_config *config = cw_runtime_config(all->rl);
    cw_view *view = cw_runtime_view(all->rl, w->caller);
    bool is_on = config->mcp.events.enabled && !cw_webhook_url_problem(config, w->state.url);
    return view && is_on ? cw_mcp_event_find(view, w->state.name) : NULL;
}

static void proceed(webhook *w)
{
    cw_mcp_webhooks *all = w->all;
    bool is_busy = w->fetch.internal || w->retry.list || w->kind == KIND_TERMINATED ||
                   cw_list_is_in(&w->ready);
    if (is_busy || !w->caller || !cw_login_watch_is_current(&w->login))
        return; /* an end of one of these calls it again */
    const cw_entry *entry = judge(w);
    if (!entry) {
        send_terminated(w);
        return;
    }
    watch_type(w, entry->method->event->type);
    if (all->n_running >= CW_WEBHOOK_RUNNING)
        cw_list_add(&all->ready, &w->ready);
    else if (w->has_message)
        post_message(w);
    else if (!w->state.is_verified)
        send_challenge(w);
    else if (w->has_gap)
        send_gap(w, cw_event_type_hub(entry->method->event->type));
    else
        send_next(w, entry->method->event);
}

static void on_news(cw_event_watch *events)
{
    webhook *w = CW_CONTAINER(events, webhook, events);
    if (!w->has_message)
        proceed(w);
}

static void on_retry(cw_deadline *d)
{
    proceed(CW_CONTAINER(d, webhook, retry));
}

static void watch_login(webhook *w, cw_caller *caller);

static void on_login_confirmed(cw_login_watch *login)
{
    webhook *w = CW_CONTAINER(login, webhook, login);
    if (!w->caller)
        w->caller = cw_caller_ref(login->caller);
    proceed(w);
}

/* The first check always ends here: the caller of a row has no rights until they are read. Later, a
 * password that was changed ends the subscriptions that it made. */
static void on_login_ended(cw_login_watch *login)
{
    webhook *w = CW_CONTAINER(login, webhook, login);
    cw_caller *now = login->now;
    const cw_caller_credential *old = w->caller ? cw_caller_credential_of(w->caller) : NULL;
    bool is_other = now && old && old->kind == CW_CREDENTIAL_PASSWORD &&
                    !cw_str_eq(old->hash, cw_caller_credential_of(now)->hash);
    if (!now || is_other) {
        send_terminated(w);
        return;
    }
    cw_caller_unref(w->caller);
    w->caller = cw_caller_ref(now);
    watch_login(w, now);
    proceed(w);
}

static void watch_login(webhook *w, cw_caller *caller)
{
    w->login = (cw_login_watch){.on_ended = on_login_ended, .on_confirmed = on_login_confirmed};
    cw_login_watch_add(cw_runtime_accounts(w->all->rl), w->all->loop, caller, &w->login);
}

/* ---- the table ---- */

static webhook *find(const cw_mcp_webhooks *all, const char *id)
{
    CW_LIST_EACH (node, &all->all) {
        webhook *w = CW_CONTAINER(node, webhook, node);
        if (memcmp(w->id, id, CW_WEBHOOK_ID - 1) == 0)
            return w;
    }
    return NULL;
}

static void remove_webhook(webhook *w, bool is_stored)
{
    if (is_stored)
        store_row(w, CW_STR(""));
    if (w->fetch.internal) {
        cw_fetch_cancel(&w->fetch);
        w->all->n_running--;
    }
    cw_deadline_clear(&w->retry);
    cw_event_watch_remove(&w->events);
    cw_login_watch_remove(&w->login);
    cw_list_remove(&w->node);
    cw_list_remove(&w->ready);
    cw_caller_unref(w->caller);
    cw_buf_done(&w->body);
    cw_arena_wipe(&w->arena);
    free(w);
}

/* Another subscription of the caller to the same endpoint has been verified. */
static bool is_verified_elsewhere(const cw_mcp_webhooks *all, const cw_webhook_state *state)
{
    CW_LIST_EACH (node, &all->all) {
        const webhook *w = CW_CONTAINER(node, webhook, node);
        if (w->state.is_verified && cw_str_eq(w->state.owner, state->owner) &&
            cw_str_eq(w->state.url, state->url))
            return true;
    }
    return false;
}

static webhook *webhook_new(cw_mcp_webhooks *all, const char *id, cw_str sealed)
{
    webhook *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->all = all;
    memcpy(w->id, id, CW_WEBHOOK_ID - 1);
    w->events.on_news = on_news;
    cw_buf_init(&w->body, CW_WEBHOOK_MAX_BODY);
    cw_arena_init(&w->arena, ARENA_MAX);
    cw_code rc = cw_webhook_open(&all->door->seal, sealed, &w->arena, &w->state);
    if (!rc)
        rc = cw_json_read(w->state.arguments, NULL, &w->arena, &w->arguments, NULL, NULL);
    if (!rc)
        return w;
    cw_arena_wipe(&w->arena);
    free(w);
    return NULL;
}

/* A refresh: what is known of the old one stays, and with another secret both sign. */
static void take_over(webhook *w, webhook *old)
{
    bool has_other = !cw_str_eq(old->state.secret, w->state.secret);
    cw_str kept = has_other ? old->state.secret : old->state.old_secret;
    w->state.old_secret = cw_arena_dup_str(&w->arena, kept);
    if (!w->state.old_secret.p)
        w->state.old_secret = CW_STR("");
    w->state.is_verified = old->state.is_verified;
    if (!w->after)
        w->after = old->after;
    w->has_gap = old->has_gap;
    remove_webhook(old, /* is_stored= */ false);
    if (w->state.old_secret.n || w->state.is_verified)
        store_state(w);
}

static void put(cw_mcp_webhooks *all, const char *id, cw_str sealed, int64_t expires,
                uint64_t after, bool has_gap)
{
    webhook *old = find(all, id);
    webhook *w = webhook_new(all, id, sealed);
    cw_caller *caller = NULL;
    if (!w)
        return;
    w->expires = expires;
    w->after = after;
    w->has_gap = has_gap;
    if (cw_webhook_caller_read(w->state.caller, &w->arena, &caller, NULL)) {
        cw_arena_wipe(&w->arena);
        free(w);
        return;
    }
    if (old)
        take_over(w, old);
    else if (is_verified_elsewhere(all, &w->state))
        w->state.is_verified = true;
    cw_list_add(&all->all, &w->node);
    watch_login(w, caller);
    cw_caller_unref(caller);
}

/* ---- messages of other loops ---- */

typedef struct told {
    cw_mcp_webhooks *all;
    int64_t expires;
    uint64_t after;
    char id[CW_WEBHOOK_ID];
} told;

static void on_told(cw_runtime_loop *rl, cw_str bytes)
{
    told t;
    (void)rl;
    memcpy(&t, bytes.p, sizeof t);
    cw_str sealed = cw_str_make(bytes.p + sizeof t, bytes.n - sizeof t);
    if (!t.all->rl) /* it has not begun, and will load the row */
        return;
    if (sealed.n) {
        put(t.all, t.id, sealed, t.expires, t.after, /* has_gap= */ false);
        return;
    }
    webhook *w = find(t.all, t.id);
    if (w)
        remove_webhook(w, /* is_stored= */ false);
}

void cw_webhooks_tell(cw_runtime_loop *from, cw_mcp_webhooks *all, const char id[CW_WEBHOOK_ID],
                      cw_str sealed, int64_t expires, uint64_t after)
{
    CW_CLEANUP(cw_buf_done) cw_buf bytes;
    told t = {.all = all, .expires = expires, .after = after};
    memcpy(t.id, id, CW_WEBHOOK_ID);
    cw_buf_init(&bytes, CW_BUF_MAX);
    cw_buf_add_bytes(&bytes, &t, sizeof t);
    cw_buf_add(&bytes, sealed);
    if (!bytes.code)
        cw_runtime_send(from, 0, NULL, on_told, cw_buf_str(&bytes));
}

/* ---- the begin ---- */

/* The rows of before, on their way to the loop. */
typedef struct load_job {
    cw_store_job job;
    cw_message message;
    cw_accounts_loop *home;
    cw_mcp_webhooks *all;
    cw_arena arena;
    cw_db_webhook *rows;
    size_t n, room;
} load_job;

static cw_code add_row(const cw_db_webhook *row, void *ctx, cw_err *err)
{
    load_job *j = ctx;
    if (j->n == j->room) {
        size_t room = j->room ? 2 * j->room : 64;
        cw_db_webhook *rows =
            cw_arena_resize(&j->arena, j->rows, j->room * sizeof *rows, room * sizeof *rows);
        if (!rows)
            return cw_fail_nomem(err);
        j->rows = rows;
        j->room = room;
    }
    cw_db_webhook *copy = &j->rows[j->n];
    *copy = (cw_db_webhook){.id = cw_arena_dup_str(&j->arena, row->id),
                            .state = cw_arena_dup_str(&j->arena, row->state),
                            .expires = row->expires};
    if (!copy->id.p || !copy->state.p)
        return cw_fail_nomem(err);
    j->n++;
    return CW_OK;
}

static cw_code run_load(cw_store_job *job, cw_db *db, cw_err *err)
{
    load_job *j = CW_CONTAINER(job, load_job, job);
    return cw_db_each_webhook(db, cw_clock_wall_ms(), add_row, j, err);
}

static void free_load(cw_message *message)
{
    load_job *j = CW_CONTAINER(message, load_job, message);
    cw_arena_done(&j->arena);
    free(j);
}

/* The events of the time in between are lost. */
static void on_rows(cw_message *message)
{
    load_job *j = CW_CONTAINER(message, load_job, message);
    for (size_t i = 0; i < j->n; i++) {
        if (j->rows[i].id.n == CW_WEBHOOK_ID - 1 && !find(j->all, j->rows[i].id.p))
            put(j->all, j->rows[i].id.p, j->rows[i].state, j->rows[i].expires, 0,
                /* has_gap= */ true);
    }
    free_load(message);
}

static void on_loaded(cw_store_job *job, cw_code rc)
{
    load_job *j = CW_CONTAINER(job, load_job, job);
    if (rc)
        j->n = 0;
    j->message = (cw_message){.fn = on_rows, .drop = free_load};
    cw_accounts_post(j->home, &j->message);
}

static void load(cw_mcp_webhooks *all)
{
    cw_accounts *accounts = cw_runtime_accounts(all->rl);
    cw_store *store = accounts ? cw_accounts_store(accounts) : NULL;
    cw_accounts_loop *home = store ? cw_accounts_at(accounts, all->loop) : NULL;
    load_job *j = home ? calloc(1, sizeof *j) : NULL;
    if (!j)
        return;
    j->all = all;
    j->home = home;
    j->job = (cw_store_job){.run = run_load, .done = on_loaded};
    cw_arena_init(&j->arena, CW_ARENA_MAX);
    if (cw_store_ask(store, &j->job))
        free_load(&j->message);
}

static void on_tick(cw_deadline *d)
{
    cw_mcp_webhooks *all = CW_CONTAINER(d, cw_mcp_webhooks, tick);
    int64_t now = cw_clock_wall_ms();
    CW_LIST_EACH_SAFE (node, &all->all) {
        webhook *w = CW_CONTAINER(node, webhook, node);
        if (w->expires <= now)
            remove_webhook(w, /* is_stored= */ true);
    }
    cw_loop_set_deadline(all->loop, &all->tick, &all->ticks);
}

/* A new catalogue, or other rights: an event may be hidden now, or be there again. */
static void on_change(cw_runtime_watch *watch, unsigned lists)
{
    cw_mcp_webhooks *all = CW_CONTAINER(watch, cw_mcp_webhooks, watch);
    (void)lists;
    CW_LIST_EACH_SAFE (node, &all->all) {
        webhook *w = CW_CONTAINER(node, webhook, node);
        if (!w->has_message)
            proceed(w);
    }
}

static void on_loop_end(cw_loop_hook *hook)
{
    cw_mcp_webhooks *all = CW_CONTAINER(hook, cw_mcp_webhooks, hook);
    CW_LIST_EACH_SAFE (node, &all->all)
        remove_webhook(CW_CONTAINER(node, webhook, node), /* is_stored= */ false);
    cw_deadline_clear(&all->tick);
    cw_list_remove(&all->watch.node);
    cw_fetcher_close(all->fetcher);
    all->fetcher = NULL;
    all->rl = NULL;
}

static void on_start(cw_message *message)
{
    cw_mcp_webhooks *all = CW_CONTAINER(message, cw_mcp_webhooks, start);
    cw_loop *loop = all->loop;
    all->rl = cw_runtime_at(all->door->runtime, loop);
    for (size_t i = 0; i < RETRIES; i++) {
        cw_deadline_list_init(&all->pauses[i], pauses_ms[i], on_retry);
        cw_loop_watch(loop, &all->pauses[i]);
    }
    cw_deadline_list_init(&all->ticks, TICK_MS, on_tick);
    cw_loop_watch(loop, &all->ticks);
    cw_loop_set_deadline(loop, &all->tick, &all->ticks);
    all->hook.on_end = on_loop_end;
    cw_loop_add_hook(loop, &all->hook);
    all->watch.is_always = true;
    all->watch.on_change = on_change;
    cw_runtime_watch_add(all->rl, &all->watch);
    load(all);
}

void cw_mcp_start_webhooks(cw_mcp *door, cw_loop *loop)
{
    door->webhooks->loop = loop;
    door->webhooks->start.fn = on_start;
    cw_loop_post(loop, &door->webhooks->start);
}

cw_code cw_mcp_webhooks_new(cw_mcp *door, cw_mcp_webhooks **ret, cw_err *err)
{
    cw_mcp_webhooks *all = calloc(1, sizeof *all);
    if (!all)
        return cw_fail_nomem(err);
    all->door = door;
    cw_list_init(&all->all);
    cw_list_init(&all->ready);
    *ret = all;
    return CW_OK;
}

void cw_mcp_webhooks_free(cw_mcp_webhooks *all)
{
    free(all);
}
