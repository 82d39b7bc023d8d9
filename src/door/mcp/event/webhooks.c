/* SPDX-License-Identifier: GPL-2.0-or-later */
/* webhooks.c - the subscriptions of the process, and their deliveries.
 *
 *     queue ─► rights known? ─► verified? ─no─► challenge ─► gap? ─► next event ─► POST ─┬─ 2xx: go on
 *       ▲                                                                                ├─ 410, 413: dropped
 *       └────────────────────── after a pause, five times ◄──────────────────────────────┴─ other: again
 *
 * Callers take turns in the queue, and each delivery ends with another turn. So a receiver that is slow
 * delays the deliveries of its own caller only.
 */
#include "door/mcp/event/webhooks.h"

#include <stdio.h>
#include <stdlib.h>

#include "access/fair_key.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/map.h"
#include "base/random.h"
#include "door/mcp/event/events.h"
#include "door/mcp/event/webhook_rows.h"
#include "event/occurrence.h"
#include "net/curl/fetch.h"

#define TICK_MS 1000u
#define CHECK_MS 5000u /* between comparisons with the rows, while there are other servers */
#define WEBHOOKS_MAX (1u << 20)
#define ARENA_MAX (1024u * 1024u)
#define CHALLENGE 33u
#define MESSAGE_ID (CW_EVENT_MAX_ID + 1)
#define HEADERS 5u
#define ANSWER_MAX 4096u
/* Subscriptions that are looked at in one turn of the loop: each may have events to compare. */
#define STEPS_PER_TURN 32u

static const uint32_t pauses_ms[] = {1000, 5000, 30000, 120000, 600000};
#define RETRIES CW_COUNT(pauses_ms)

typedef enum message_kind { KIND_CHALLENGE, KIND_GAP, KIND_EVENT, KIND_TERMINATED } message_kind;

typedef struct webhook {
    cw_list node;         /* of all */
    cw_fair_item turn;    /* in the queue */
    cw_fair_group *place; /* while a message is sent */
    cw_mcp_webhooks *all;
    cw_arena arena; /* texts of the state */
    cw_webhook_state state;
    const cw_json *arguments;
    char id[CW_WEBHOOK_ID];
    int64_t expires;
    cw_caller *caller;     /* NULL: its rights are not known yet */
    cw_caller *subscriber; /* as it was stored: without rights */
    bool is_waiting;       /* for the keys of the issuer of its token, or for memory */
    bool is_listed;        /* while it is compared with the rows */
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
    cw_webhook_status status;
} webhook;

struct cw_mcp_webhooks {
    cw_mcp *door;
    cw_message start;
    cw_loop *loop;       /* the first one */
    cw_runtime_loop *rl; /* NULL: it does not deliver */
    cw_loop_hook hook;
    cw_runtime_watch watch;
    cw_list all;
    cw_map by_id;
    cw_fair_queue queue;    /* of those that have something to do */
    cw_fair_slots places;   /* of messages that are sent */
    cw_fair_group *offered; /* the place of the subscription that has its turn */
    cw_deferred turns;
    cw_fetcher *fetcher;
    cw_deadline_list pauses[RETRIES], ticks;
    cw_deadline tick;
    _Atomic(cw_accounts_loop *) home; /* of the loop; NULL: it has not begun */
    uint64_t issuer_generation;       /* that waiting ones have seen; UINT64_MAX: none */
    bool is_loading;                  /* rows are being read */
    bool is_behind;                   /* some row could not be read, or applied */
    uint64_t checked;                 /* when it was last compared with the rows, ms of the loop */
};

static void proceed(webhook *w);
static void enqueue(webhook *w);
static void remove_webhook(webhook *w, bool is_stored);

/* ---- the store ---- */

static void store_row(const webhook *w, cw_str sealed)
{
    cw_accounts *accounts = cw_runtime_accounts(w->all->rl);
    cw_store *store = accounts ? cw_accounts_store(accounts) : NULL;
    if (store)
        cw_webhook_rows_change(store, &(cw_db_webhook){.id = cw_str_make(w->id, CW_WEBHOOK_ID - 1),
                                                       .owner = w->state.owner,
                                                       .state = sealed,
                                                       .expires = w->expires});
}

static void store_state(const webhook *w)
{
    cw_arena arena;
    cw_str sealed;
    cw_arena_init(&arena, ARENA_MAX);
    if (!cw_webhook_seal(&w->state, w->all->door->seal, &arena, &sealed, NULL))
        store_row(w, sealed);
    cw_arena_done(&arena);
}

/* ---- sending ---- */

/* Others may have waited for it. */
static void leave_place(webhook *w)
{
    cw_fair_slots_leave(&w->all->places, w->place);
    w->place = NULL;
    if (cw_fair_count(&w->all->queue))
        cw_loop_defer_next(w->all->loop, &w->all->turns);
}

static void cancel_message(webhook *w)
{
    if (!w->fetch.internal)
        return;
    cw_fetch_cancel(&w->fetch);
    leave_place(w);
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

/* False: the subscription has ended. */
static bool take_success(webhook *w)
{
    w->status.error = NULL;
    w->status.failed_since = 0;
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
        w->status.delivered = cw_clock_wall_ms();
        if (w->events.type)
            cw_event_count_delivered(w->events.type, CW_EVENT_MODE_WEBHOOK, 1);
        break;
    case KIND_TERMINATED:
        remove_webhook(w, /* is_stored= */ true);
        return false;
    }
    drop_message(w);
    return true;
}

/* The category of a failure, in the words of the draft: nothing else of the receiver is passed on. */
static const char *error_of(const webhook *w, const cw_fetch_response *answer)
{
    static const char *const failures[] = {[CW_FETCH_UNREACHABLE] = "connection_refused",
                                           [CW_FETCH_TIMEOUT] = "timeout",
                                           [CW_FETCH_TLS] = "tls_error"};
    if (!answer)
        return failures[w->fetch.failure];
    if (answer->status < 300)
        return "challenge_failed";
    return answer->status < 500 ? "http_4xx" : "http_5xx";
}

static void note_failure(webhook *w, const cw_fetch_response *answer)
{
    w->status.error = error_of(w, answer);
    if (!w->status.failed_since)
        w->status.failed_since = cw_clock_wall_ms();
}

/* False: the subscription has ended. */
static bool take_answer(webhook *w, const cw_fetch_response *answer)
{
    unsigned status = answer ? answer->status : 0;
    bool is_accepted =
        status >= 200 && status < 300 &&
        (w->kind != KIND_CHALLENGE || cw_webhook_is_echo(answer->body, cw_str_from(w->challenge)));
    if (is_accepted || w->kind == KIND_TERMINATED)
        return take_success(w);
    note_failure(w, answer);
    if (status == 410 || status == 413 || w->n_failures == RETRIES)
        return give_up(w);
    cw_loop_set_deadline(w->all->loop, &w->retry, &w->all->pauses[w->n_failures++]);
    return true;
}

static void on_done(cw_fetch *f, const cw_fetch_response *answer, const char *why)
{
    webhook *w = CW_CONTAINER(f, webhook, fetch);
    leave_place(w);
    if (!answer)
        cw_log(CW_LOG_INFO, "events", "a webhook receiver cannot be reached",
               CW_KV("event", w->state.name), CW_KV("problem", cw_str_from(why)));
    if (take_answer(w, answer))
        proceed(w);
}

static void try_later(webhook *w)
{
    cw_loop_set_deadline(w->all->loop, &w->retry, &w->all->pauses[0]);
}

/* A request that cannot start is tried again. */
static void fail_now(webhook *w)
{
    if (w->kind != KIND_TERMINATED && w->n_failures < RETRIES)
        cw_loop_set_deadline(w->all->loop, &w->retry, &w->all->pauses[w->n_failures++]);
    else if (give_up(w))
        try_later(w);
}

static bool has_fetcher(cw_mcp_webhooks *all)
{
    return all->fetcher || !cw_fetcher_new(all->loop, &all->fetcher, NULL);
}

/* Each attempt has a time and signatures of its own. It takes the place that is offered. */
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
                          .may_cut = true,
                          .timeout_ms = CW_WEBHOOK_TIMEOUT_MS,
                          .on_done = on_done};
    if (!is_signed || !has_fetcher(w->all) || cw_fetcher_start(w->all->fetcher, &w->fetch, NULL)) {
        fail_now(w);
        return;
    }
    w->place = w->all->offered;
    w->all->offered = NULL;
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

/* A body that is too long is given up at once: it would not be shorter later. False: nothing can be
 * sent now. */
static bool close_body(webhook *w, cw_json_writer *out)
{
    cw_json_close(out);
    cw_code rc = cw_json_writer_end(out, NULL);
    if (!rc)
        return true;
    if (rc == CW_NOMEM && w->kind != KIND_TERMINATED) {
        drop_message(w);
        try_later(w);
    } else if (give_up(w)) {
        proceed(w);
    }
    return false;
}

static void close_and_post(webhook *w, cw_json_writer *out)
{
    if (close_body(w, out))
        post_message(w);
}

static void send_challenge(webhook *w)
{
    unsigned char bytes[(CHALLENGE - 1) / 2];
    cw_json_writer out;
    if (cw_random_bytes(bytes, sizeof bytes, NULL)) {
        try_later(w);
        return;
    }
    cw_hex_write(w->challenge, bytes, sizeof bytes);
    open_body(w, &out, KIND_CHALLENGE, "verification");
    cw_json_add_string_member(&out, CW_STR("challenge"), cw_str_from(w->challenge));
    close_and_post(w, &out);
}

static void send_gap(webhook *w, const cw_event_hub *hub)
{
    char cursor[CW_EVENT_CURSOR];
    cw_json_writer out;
    cw_event_cursor_write(hub, w->after, cursor);
    open_body(w, &out, KIND_GAP, "gap");
    cw_json_add_string_member(&out, CW_STR("cursor"), cw_str_from(cursor));
    close_and_post(w, &out);
}

/* A change may end all subscriptions at once: the last message waits for its turn, too. */
static void terminate(webhook *w)
{
    cw_json_writer out;
    cancel_message(w);
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
    if (close_body(w, &out))
        enqueue(w);
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
    close_and_post(w, &out);
}

/* The first event of the batch that fits; batch->n: none. CW_NOMEM: not known. */
static cw_code find_match(const webhook *w, const cw_method_event *of, const cw_event_batch *batch,
                          size_t *ret)
{
    bool is_match = false;
    for (*ret = 0; *ret < batch->n; *ret += 1) {
        cw_code rc = cw_mcp_event_match(of, w->arguments, batch->items[*ret], &is_match);
        if (rc || is_match)
            return rc;
    }
    return CW_OK;
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
        if (!is_gap && find_match(w, of, &batch, &i)) {
            cw_event_batch_done(&batch);
            try_later(w);
            return;
        }
        has_more = !is_gap && i == batch.n && batch.has_more;
        w->has_gap = is_gap;
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

/* Find its event with the rights of now; *ret is NULL: it has none, and ends. CW_NOMEM: not known. */
static cw_code judge(webhook *w, const cw_entry **ret)
{
    cw_mcp_webhooks *all = w->all;
    const cw_config *config = cw_runtime_config(all->rl);
    const char *problem;
    cw_view *view = cw_runtime_view(all->rl, w->caller);
    if (!view || cw_webhook_check_url(config, w->state.url, &problem))
        return CW_NOMEM;
    bool is_on = config->mcp.events.enabled && !problem;
    *ret = is_on ? cw_mcp_event_find(view, w->state.name) : NULL;
    return CW_OK;
}

/* Without memory it is tried again. */
static void enqueue(webhook *w)
{
    cw_mcp_webhooks *all = w->all;
    cw_fair_item *lost;
    const cw_fair_key key = cw_account_fair_key(w->state.owner);
    if (cw_list_is_in(&w->turn.node))
        return;
    if (cw_fair_push(&all->queue, &w->turn, &key, UINT32_MAX, &lost))
        try_later(w);
    else
        cw_loop_defer_next(all->loop, &all->turns);
}

/* Whether its caller and its login are known; the end of their check calls proceed again. */
static bool is_judged(webhook *w)
{
    return w->caller && cw_login_watch_is_current(&w->login);
}

/* Only its last message is left. */
static bool is_terminated(const webhook *w)
{
    return w->kind == KIND_TERMINATED && w->has_message;
}

/* There may be something to do. */
static void proceed(webhook *w)
{
    if (w->fetch.internal || w->retry.list)
        return; /* an end of one of these calls it again */
    if (is_terminated(w) || is_judged(w))
        enqueue(w);
}

static void send_something(webhook *w, const cw_method_event *of)
{
    watch_type(w, of->type);
    if (w->has_message)
        post_message(w);
    else if (!w->state.is_verified)
        send_challenge(w);
    else if (w->has_gap)
        send_gap(w, cw_event_type_hub(of->type));
    else
        send_next(w, of);
}

/* It has its turn, and a place. */
static void take_turn(webhook *w)
{
    const cw_entry *entry;
    if (is_terminated(w))
        post_message(w);
    else if (!is_judged(w))
        return;
    else if (cw_accounts_is_away(cw_runtime_accounts(w->all->rl)) || judge(w, &entry))
        try_later(w);
    else if (entry)
        send_something(w, entry->method->event);
    else
        terminate(w);
}

/* The first subscription in turn whose caller may have one more place, which is then offered. */
static webhook *next_in_turn(cw_mcp_webhooks *all)
{
    for (cw_fair_item *next, *item = cw_fair_first(&all->queue); item; item = next) {
        webhook *w = CW_CONTAINER(item, webhook, turn);
        const cw_fair_key key = cw_account_fair_key(w->state.owner);
        cw_code rc = cw_fair_slots_enter(&all->places, &key, CW_WEBHOOK_RUNNING,
                                         CW_WEBHOOK_RUNNING_PER_CALLER, &all->offered);
        if (!rc) {
            cw_fair_take(&all->queue, item);
            return w;
        }
        next = cw_fair_next_caller(&all->queue, item);
        if (rc == CW_NOMEM) {
            cw_fair_remove(&all->queue, item);
            try_later(w);
        }
    }
    return NULL;
}

static void on_turns(cw_deferred *later)
{
    cw_mcp_webhooks *all = CW_CONTAINER(later, cw_mcp_webhooks, turns);
    webhook *w = NULL;
    for (unsigned i = 0; i < STEPS_PER_TURN && (w = next_in_turn(all)); i++) {
        take_turn(w); /* may have freed it */
        cw_fair_slots_leave(&all->places, all->offered);
        all->offered = NULL;
    }
    if (w)
        cw_loop_defer_next(all->loop, &all->turns);
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

/* Whether the account has another password than the one that made the subscription. */
static bool has_other_password(const webhook *w, const cw_caller *now)
{
    const cw_caller_credential *made_by = cw_caller_credential_of(w->subscriber);
    return made_by->kind == CW_CREDENTIAL_PASSWORD &&
           !cw_str_eq(made_by->hash, cw_caller_credential_of(now)->hash);
}

/* The first check always ends here: the caller of a row has no rights until they are read. A password
 * that was changed ends the subscriptions that it made, also if no server ran meanwhile. */
static void on_login_ended(cw_login_watch *login)
{
    webhook *w = CW_CONTAINER(login, webhook, login);
    cw_caller *now = login->now;
    if (!now || has_other_password(w, now) || !cw_caller_is_trusted(now)) {
        terminate(w);
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

/* Begin to watch its login; on_tick tries again if it waits. May free it. */
static void begin(webhook *w)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_caller *caller;
    cw_arena_init(&arena, ARENA_MAX);
    cw_code rc =
        cw_webhook_caller_read(w->state.caller, cw_runtime_accounts(w->all->rl), &arena, &caller);
    w->is_waiting = rc == CW_AGAIN || rc == CW_NOMEM;
    if (rc == CW_NOMEM)
        w->all->issuer_generation = UINT64_MAX;
    if (!rc) {
        cw_caller_unref(w->subscriber);
        w->subscriber = caller;
        watch_login(w, caller);
    } else if (!w->is_waiting) {
        terminate(w);
    }
}

/* ---- the table ---- */

static cw_str id_of(const char *id)
{
    return cw_str_make(id, CW_WEBHOOK_ID - 1);
}

static webhook *find(const cw_mcp_webhooks *all, const char *id)
{
    return cw_map_find(&all->by_id, id_of(id));
}

/* A refresh has taken its place in the map already. */
static void leave_map(const webhook *w)
{
    if (find(w->all, w->id) == w)
        (void)cw_map_remove(&w->all->by_id, id_of(w->id));
}

static void remove_webhook(webhook *w, bool is_stored)
{
    if (is_stored)
        store_row(w, CW_STR(""));
    cancel_message(w);
    cw_deadline_clear(&w->retry);
    cw_event_watch_remove(&w->events);
    cw_login_watch_remove(&w->login);
    cw_list_remove(&w->node);
    leave_map(w);
    if (cw_list_is_in(&w->turn.node))
        cw_fair_remove(&w->all->queue, &w->turn);
    cw_caller_unref(w->caller);
    cw_caller_unref(w->subscriber);
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

/* It is in the map, in place of an old one. CW_PARSE: another server has sealed it; CW_NOMEM. */
static cw_code webhook_new(cw_mcp_webhooks *all, const char *id, cw_str sealed, webhook **ret)
{
    webhook *w = calloc(1, sizeof *w);
    if (!w)
        return CW_NOMEM;
    w->all = all;
    memcpy(w->id, id, CW_WEBHOOK_ID - 1);
    w->events.on_news = on_news;
    w->events.mode = CW_EVENT_MODE_WEBHOOK;
    cw_buf_init(&w->body, CW_WEBHOOK_MAX_BODY);
    cw_arena_init(&w->arena, ARENA_MAX);
    cw_code rc = cw_webhook_open(all->door->seal, sealed, &w->arena, &w->state);
    if (!rc)
        rc = cw_json_read(w->state.arguments, NULL, &w->arena, &w->arguments, NULL, NULL);
    if (!rc && cw_map_put(&all->by_id, id_of(w->id), w, NULL))
        rc = CW_NOMEM;
    if (!rc) {
        *ret = w;
        return CW_OK;
    }
    cw_arena_wipe(&w->arena);
    free(w);
    return rc;
}

/* A refresh: what is known of the old one stays, and with another secret both sign. Events that it waits
 * to send are sent by the new one. */
static void take_over(webhook *w, webhook *old, bool has_cursor)
{
    bool has_other = !cw_str_eq(old->state.secret, w->state.secret);
    cw_str kept = has_other ? old->state.secret : old->state.old_secret;
    w->state.old_secret = cw_arena_dup_str(&w->arena, kept);
    if (!w->state.old_secret.p)
        w->state.old_secret = CW_STR("");
    w->state.is_verified = old->state.is_verified;
    if (old->after && (!has_cursor || w->after < old->after))
        w->after = old->after;
    w->gap_seen = old->gap_seen;
    w->has_gap = old->has_gap;
    w->status = old->status;
    remove_webhook(old, /* is_stored= */ false);
    if (w->state.old_secret.n || w->state.is_verified)
        store_state(w);
}

/* CW_PARSE, CW_NOMEM. */
static cw_code put(cw_mcp_webhooks *all, cw_webhook_change *change, bool has_gap)
{
    webhook *old = find(all, change->id), *w;
    cw_code rc = webhook_new(all, change->id, change->sealed, &w);
    if (rc)
        return rc;
    w->expires = change->expires;
    w->after = change->after;
    w->has_gap = has_gap;
    if (old)
        take_over(w, old, change->has_cursor);
    else if (!w->state.is_verified && is_verified_elsewhere(all, &w->state))
        w->state.is_verified = true;
    cw_list_add(&all->all, &w->node);
    change->is_refresh = old != NULL;
    change->after = w->after;
    change->status = w->status;
    change->status.is_active = w->state.is_verified;
    begin(w);
    return CW_OK;
}

void cw_webhooks_apply(cw_mcp_webhooks *all, cw_webhook_change *change)
{
    if (change->sealed.n) {
        if (put(all, change, /* has_gap= */ false) == CW_NOMEM)
            all->is_behind = true;
        return;
    }
    webhook *w = find(all, change->id);
    if (w)
        remove_webhook(w, /* is_stored= */ false);
}

bool cw_webhooks_post(cw_mcp_webhooks *all, cw_message *message)
{
    cw_accounts_loop *home = atomic_load(&all->home);
    if (home)
        cw_accounts_post(home, message);
    return home;
}

/* ---- the begin ---- */

/* The events of the time in between are lost. */
static cw_code put_row(cw_mcp_webhooks *all, const cw_db_webhook *row)
{
    cw_webhook_change change = {.id = row->id.p, .sealed = row->state, .expires = row->expires};
    if (row->id.n != CW_WEBHOOK_ID - 1 || find(all, row->id.p))
        return CW_OK;
    return put(all, &change, /* has_gap= */ true);
}

/* Those that were read before a failure are fine. */
static void on_rows(void *ctx, const cw_webhook_rows *rows)
{
    cw_mcp_webhooks *all = ctx;
    all->is_loading = false;
    all->is_behind = rows->rc != CW_OK;
    for (size_t i = 0; i < rows->n; i++) {
        if (put_row(all, &rows->items[i]) == CW_NOMEM)
            all->is_behind = true;
    }
}

/* End those that a client has ended at another server. */
static void on_ids(void *ctx, const cw_webhook_rows *rows)
{
    cw_mcp_webhooks *all = ctx;
    all->is_loading = false;
    if (rows->rc)
        return;
    CW_LIST_EACH (node, &all->all)
        CW_CONTAINER(node, webhook, node)->is_listed = false;
    for (size_t i = 0; i < rows->n; i++) {
        webhook *w = cw_map_find(&all->by_id, rows->items[i].id);
        if (w)
            w->is_listed = true;
    }
    CW_LIST_EACH_SAFE (node, &all->all) {
        webhook *w = CW_CONTAINER(node, webhook, node);
        if (!w->is_listed)
            remove_webhook(w, /* is_stored= */ false);
    }
}

/* CW_NOMEM; CW_NOTFOUND: there is no store; CW_LIMIT: it has too much to do. */
static cw_code read_rows(cw_mcp_webhooks *all, bool only_ids)
{
    cw_accounts *accounts = cw_runtime_accounts(all->rl);
    cw_store *store = accounts ? cw_accounts_store(accounts) : NULL;
    cw_accounts_loop *home = store ? cw_accounts_at(accounts, all->loop) : NULL;
    if (!home)
        return store ? CW_NOMEM : CW_NOTFOUND;
    atomic_store(&all->home, home);
    return cw_webhook_rows_read(store, home, only_ids, only_ids ? on_ids : on_rows, all);
}

static void load(cw_mcp_webhooks *all)
{
    if (all->is_loading)
        return;
    cw_code rc = read_rows(all, /* only_ids= */ false);
    all->is_loading = !rc;
    all->is_behind = rc && rc != CW_NOTFOUND;
}

/* A comparison that cannot be made now is made with the next tick. */
static void check_rows(cw_mcp_webhooks *all)
{
    const cw_replicas *replicas = cw_runtime_replicas(all->rl);
    uint64_t now = cw_loop_now(all->loop);
    bool is_due = replicas && cw_replicas_has_others(replicas) && now - all->checked >= CHECK_MS;
    if (!is_due || all->is_loading || cw_list_is_empty(&all->all))
        return;
    all->is_loading = !read_rows(all, /* only_ids= */ true);
    if (all->is_loading)
        all->checked = now;
}

static void on_tick(cw_deadline *d)
{
    cw_mcp_webhooks *all = CW_CONTAINER(d, cw_mcp_webhooks, tick);
    cw_accounts *accounts = cw_runtime_accounts(all->rl);
    uint64_t generation = accounts ? cw_accounts_issuer_generation(accounts) : 0;
    bool has_changed = generation != all->issuer_generation;
    int64_t now = cw_clock_wall_ms();
    all->issuer_generation = generation;
    CW_LIST_EACH_SAFE (node, &all->all) {
        webhook *w = CW_CONTAINER(node, webhook, node);
        if (w->expires <= now)
            remove_webhook(w, /* is_stored= */ true);
        else if (w->is_waiting && has_changed)
            begin(w);
    }
    if (all->is_behind)
        load(all);
    check_rows(all);
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
    cw_loop_cancel_deferred(&all->turns);
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
    cw_map_init(&all->by_id, WEBHOOKS_MAX);
    cw_fair_init(&all->queue);
    cw_fair_slots_init(&all->places);
    all->turns.fn = on_turns;
    *ret = all;
    return CW_OK;
}

void cw_mcp_webhooks_free(cw_mcp_webhooks *all)
{
    if (!all)
        return;
    cw_map_done(&all->by_id);
    cw_fair_done(&all->queue);
    cw_fair_slots_done(&all->places);
    free(all);
}
