/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

world w;

static void on_progress(cw_sink *sink, const cw_progress *progress)
{
    waiter *wt = CW_CONTAINER(sink, waiter, sink);
    wt->n_progress++;
    wt->progress = progress->progress;
    if (wt->on_progress)
        wt->on_progress(wt);
}

static void on_log(cw_sink *sink, cw_log_level level, cw_str message)
{
    (void)sink;
    (void)level;
    (void)message;
}

static void on_done(cw_sink *sink, const cw_outcome *outcome)
{
    waiter *wt = CW_CONTAINER(sink, waiter, sink);
    wt->n_done++;
    wt->kind = outcome->kind;
    wt->fault = outcome->fault;
    cw_str text =
        outcome->kind == CW_OUTCOME_RESULT ? cw_json_span(outcome->result) : outcome->message;
    snprintf(wt->text, sizeof wt->text, "%.*s", CW_STR_ARG(text));
    if (wt->on_done)
        wt->on_done(wt);
}

void waiter_init(waiter *wt)
{
    static const cw_sink_ops ops = {on_progress, on_log, on_done};
    *wt = (waiter){.sink = {&ops}};
}

cw_code world_publish(fake *f, cw_source *retired, cw_err *err)
{
    cw_snapshot *snapshot;
    cw_code rc = fake_snapshot(f ? f : w.source, &snapshot, err);
    if (rc)
        return rc;
    return cw_bridge_publish(w.bridge, snapshot, w.caller, &w.settings, &retired, retired ? 1 : 0,
                             err);
}

static cw_code build(uint32_t call_ms, bool may_call, cw_err *err)
{
    cw_code rc = cw_loop_init(&w.loop, 64, err);
    if (rc)
        return rc;
    w.has_loop = w.loop_runs = true;
    w.source = fake_new(call_ms);
    if (!w.source)
        return cw_fail_nomem(err);
    rc = fake_caller(true, may_call, &w.caller, err);
    if (!rc)
        rc = cw_bridge_new(&w.loop, 1, &w.bridge, err);
    if (rc)
        return rc;
    cw_loop *loops[] = {&w.loop};
    cw_bridge_attach(w.bridge, loops);
    rc = world_publish(NULL, NULL, err);
    if (!rc) {
        cw_bridge_started(w.bridge);
        w.bl = cw_bridge_at(w.bridge, &w.loop);
    }
    return rc;
}

cw_code world_init(uint32_t call_ms, bool may_call, cw_err *err)
{
    w = (world){.settings = {.calls = 4, .batch = 10, .list_ttl_ms = 1000}};
    return build(call_ms, may_call, err);
}

void world_end_loop(void)
{
    if (!w.loop_runs)
        return;
    w.loop_runs = false;
    cw_loop_end(&w.loop);
    cw_loop_run(&w.loop);
}

void world_done(void)
{
    world_end_loop();
    cw_bridge_free(w.bridge);
    cw_caller_unref(w.caller);
    if (w.source)
        cw_source_unref(&w.source->base);
    if (w.has_loop)
        cw_loop_done(&w.loop);
    w = (world){0};
}

void world_turn(unsigned n)
{
    while (n--)
        uv_run(&w.loop.uv, UV_RUN_NOWAIT);
}

void world_until(const unsigned *count, unsigned least)
{
    uint64_t end = cw_clock_ms() + 2000;
    while (*count < least) {
        if (cw_clock_ms() > end)
            fail_msg("nothing happened for two seconds");
        uv_run(&w.loop.uv, UV_RUN_NOWAIT);
    }
}

cw_code world_call(waiter *wt, const char *method, const char *params, cw_call_refusal *refusal)
{
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    const cw_json *doc = NULL;
    cw_code rc = CW_OK;
    if (params)
        rc = cw_json_read(cw_str_from(params), NULL, &arena, &doc, NULL, &refusal->err);
    if (!rc) {
        cw_view *view = cw_bridge_anonymous(w.bl);
        cw_call_request request = {.view = view,
                                   .entry = cw_view_find_method(view, cw_str_from(method)),
                                   .params = doc,
                                   .wants_progress = true,
                                   .sink = &wt->sink};
        assert_non_null(request.entry);
        rc = cw_call_start(w.bl, &request, &wt->call, refusal);
    }
    cw_arena_done(&arena); /* the call must not need the request */
    return rc;
}
