/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runtime_fixture.c - one loop, one runtime, one fake source, and calls to it. */
#include "support/runtime_fixture.h"

#include "support/patience.h"

#include "support/test.h"

runtime_fixture fixture;

static void on_progress(cw_sink *sink, const cw_progress *progress)
{
    call_waiter *wt = CW_CONTAINER(sink, call_waiter, sink);
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
    call_waiter *wt = CW_CONTAINER(sink, call_waiter, sink);
    wt->n_done++;
    wt->kind = outcome->kind;
    wt->fault = outcome->fault;
    cw_str text =
        outcome->kind == CW_OUTCOME_RESULT ? cw_json_span(outcome->result) : outcome->message;
    snprintf(wt->text, sizeof wt->text, "%.*s", CW_STR_ARG(text));
    if (wt->on_done)
        wt->on_done(wt);
}

void call_waiter_init(call_waiter *wt)
{
    static const cw_sink_ops ops = {.progress = on_progress, .log = on_log, .done = on_done};
    *wt = (call_waiter){.sink = {&ops}};
}

cw_code runtime_fixture_publish(fake_source *f, cw_source *retired, cw_err *err)
{
    cw_snapshot *snapshot;
    cw_code rc = fake_source_snapshot(f ? f : fixture.source, &snapshot, err);
    if (rc)
        return rc;
    return cw_runtime_publish(fixture.runtime, snapshot, fixture.caller, &fixture.settings,
                              &retired, retired ? 1 : 0, err);
}

static cw_code build(uint32_t call_ms, bool may_call, cw_err *err)
{
    cw_code rc = cw_loop_init(&fixture.loop, 64, err);
    if (rc)
        return rc;
    fixture.has_loop = fixture.loop_runs = true;
    fixture.source = fake_source_new(call_ms);
    if (!fixture.source)
        return cw_fail_nomem(err);
    rc = fake_caller(true, may_call, &fixture.caller, err);
    if (!rc)
        rc = cw_runtime_new(&(cw_runtime_opts){.n_loops = 1}, &fixture.runtime, err);
    if (rc)
        return rc;
    cw_loop *loops[] = {&fixture.loop};
    cw_runtime_attach(fixture.runtime, loops);
    rc = runtime_fixture_publish(NULL, NULL, err);
    if (!rc) {
        cw_runtime_started(fixture.runtime);
        fixture.rl = cw_runtime_at(fixture.runtime, &fixture.loop);
    }
    return rc;
}

cw_code runtime_fixture_init(uint32_t call_ms, bool may_call, cw_err *err)
{
    fixture = (runtime_fixture){.settings = {.calls = 4, .list_ttl_ms = 1000}};
    return build(call_ms, may_call, err);
}

void runtime_fixture_end_loop(void)
{
    if (!fixture.loop_runs)
        return;
    fixture.loop_runs = false;
    cw_loop_end(&fixture.loop);
    cw_loop_run(&fixture.loop);
}

void runtime_fixture_done(void)
{
    runtime_fixture_end_loop();
    cw_runtime_free(fixture.runtime);
    cw_caller_unref(fixture.caller);
    if (fixture.source)
        cw_source_unref(&fixture.source->base);
    if (fixture.has_loop)
        cw_loop_done(&fixture.loop);
    fixture = (runtime_fixture){0};
}

void runtime_fixture_turn(unsigned n)
{
    while (n--)
        uv_run(&fixture.loop.uv, UV_RUN_NOWAIT);
}

void runtime_fixture_until(const unsigned *count, unsigned least)
{
    uint64_t end = cw_clock_ms() + patience(2000);
    while (*count < least) {
        if (cw_clock_ms() > end)
            fail_msg("nothing happened in time");
        uv_run(&fixture.loop.uv, UV_RUN_NOWAIT);
    }
}

cw_code runtime_fixture_call(call_waiter *wt, const char *method, const char *params,
                             cw_call_error *refusal)
{
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    const cw_json *doc = NULL;
    cw_code rc = CW_OK;
    if (params)
        rc = cw_json_read(cw_str_from(params), NULL, &arena, &doc, NULL, &refusal->err);
    if (!rc) {
        cw_view *view = cw_runtime_anonymous(fixture.rl);
        cw_call_request request = {.view = view,
                                   .entry = cw_view_find_method(view, cw_str_from(method)),
                                   .params = doc,
                                   .wants_progress = true,
                                   .sink = &wt->sink};
        assert_non_null(request.entry);
        rc = cw_call_start(fixture.rl, &request, &wt->call, refusal);
    }
    cw_arena_done(&arena); /* the call must not need the request */
    return rc;
}
