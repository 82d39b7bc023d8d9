/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_conn_events.c - a connection that stays open for the events of its service.
 *
 * Each end of the connection is a gap: events that are sent meanwhile are lost. The next begin is a
 * gap too, for readers that have read on in between.
 */
#include "base/log.h"
#include "source/upstream/shared_conn_int.h"

#define PAUSE_MS 250u
#define SHORT_MS 10000u /* a connection that ends sooner makes the next pause longer */
#define SHORT_MAX 6u    /* 16 s */
#define SCRATCH_MAX (1024u * 1024u)

static void open_again(cw_deadline *d)
{
    cw_shared_conn *shared = CW_CONTAINER(d, cw_shared_conn, events.pause);
    cw_shared_conn_events *e = &shared->events;
    if (!e->intake || shared->is_closing || shared->state != CW_SHARED_CONN_CLOSED)
        return;
    uint64_t now = cw_loop_now(shared->opts.loop);
    uint64_t pause = e->short_ones ? (uint64_t)PAUSE_MS << e->short_ones : 0;
    if (now >= shared->retry_at && now >= e->ready_at + pause)
        cw_shared_conn_open(shared);
    else
        cw_loop_set_deadline(shared->opts.loop, &e->pause, &e->pauses);
}

void cw_shared_conn_events_init(cw_shared_conn *shared)
{
    cw_deadline_list_init(&shared->events.pauses, PAUSE_MS, open_again);
    cw_loop_watch(shared->opts.loop, &shared->events.pauses);
}

void cw_shared_conn_events_done(cw_shared_conn *shared)
{
    cw_deadline_clear(&shared->events.pause);
    cw_loop_unwatch(shared->opts.loop, &shared->events.pauses);
    cw_event_intake_unref(shared->events.intake);
    shared->events.intake = NULL;
}

static void wait_a_little(cw_shared_conn *shared)
{
    cw_shared_conn_events *e = &shared->events;
    if (e->intake && !e->is_refused && !shared->is_closing)
        cw_loop_set_deadline(shared->opts.loop, &e->pause, &e->pauses);
}

static cw_code send_subscription(cw_shared_conn *shared, const cw_event_subscription *s,
                                 uint64_t id, cw_arena *arena)
{
    const cw_protocol_opts *protocol = &shared->service->protocol;
    cw_request_template wire;
    char room[CW_REQUEST_TEMPLATE_ROOM];
    cw_str pieces[CW_REQUEST_TEMPLATE_PIECES];
    cw_code rc = cw_request_template_make(protocol, s->method, arena, &wire, NULL);
    if (rc)
        return rc;
    cw_request_template_write(protocol, &wire, id, s->params, room, pieces);
    return cw_channel_send(shared->channel, pieces, CW_REQUEST_TEMPLATE_PIECES);
}

static void log_unsubscribed(const cw_shared_conn *shared, cw_str problem)
{
    cw_log(CW_LOG_WARN, "source", "the service does not send its events",
           CW_KV("source", shared->service->config.name), CW_KV("problem", problem));
}

static void subscribe(cw_shared_conn *shared)
{
    cw_shared_conn_events *e = &shared->events;
    cw_arena arena;
    size_t n;
    const cw_event_subscription *all = cw_event_intake_subscriptions(e->intake, &n);
    cw_arena_init(&arena, SCRATCH_MAX);
    for (size_t i = 0; i < n && shared->channel; i++) {
        uint64_t id = cw_shared_conn_next_id(shared);
        if (i == 0)
            e->first_id = id;
        if (send_subscription(shared, &all[i], id, &arena))
            log_unsubscribed(shared, CW_STR("a call cannot be sent"));
    }
    cw_arena_done(&arena);
}

void cw_shared_conn_events_ready(cw_shared_conn *shared)
{
    cw_shared_conn_events *e = &shared->events;
    e->ready_at = cw_loop_now(shared->opts.loop);
    e->is_refused = false;
    if (!e->intake)
        return;
    if (e->was_away)
        cw_event_intake_gap(e->intake);
    e->was_away = false;
    subscribe(shared);
}

void cw_shared_conn_events_ended(cw_shared_conn *shared, bool was_ready, bool is_refused)
{
    cw_shared_conn_events *e = &shared->events;
    if (!e->intake)
        return;
    bool is_short = was_ready && cw_loop_now(shared->opts.loop) - e->ready_at < SHORT_MS;
    e->short_ones = !is_short ? 0 : e->short_ones < SHORT_MAX ? e->short_ones + 1 : SHORT_MAX;
    e->is_refused = is_refused;
    e->was_away = true;
    if (was_ready)
        cw_event_intake_gap(e->intake);
    wait_a_little(shared);
}

void cw_shared_conn_events_notice(cw_shared_conn *shared, cw_str method, const cw_json *message)
{
    if (shared->events.intake && !shared->is_closing)
        cw_event_intake_receive(shared->events.intake, method, message);
}

void cw_shared_conn_events_lost(cw_shared_conn *shared)
{
    if (shared->events.intake && !shared->is_closing)
        cw_event_intake_gap(shared->events.intake);
}

void cw_shared_conn_events_answer(const cw_shared_conn *shared, uint64_t id,
                                  const cw_json *response)
{
    const cw_shared_conn_events *e = &shared->events;
    size_t n = 0;
    if (e->intake)
        (void)cw_event_intake_subscriptions(e->intake, &n);
    const cw_json *error = cw_json_get(response, CW_STR("error"));
    if (!e->first_id || id < e->first_id || id >= e->first_id + n || !error ||
        cw_json_is(error, CW_JSON_NULL))
        return;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_secrets_write(&shared->service->secrets, cw_json_span(error), &text);
    log_unsubscribed(shared, cw_buf_str(&text));
}

void cw_shared_conn_set_events(cw_shared_conn *shared, cw_event_intake *intake)
{
    cw_shared_conn_events *e = &shared->events;
    if (shared->is_closing || intake == e->intake)
        return;
    cw_event_intake_unref(e->intake);
    e->intake = intake ? cw_event_intake_ref(intake) : NULL;
    e->first_id = 0;
    e->is_refused = false;
    if (!intake)
        return;
    if (shared->state == CW_SHARED_CONN_READY)
        subscribe(shared);
    else
        wait_a_little(shared);
}
