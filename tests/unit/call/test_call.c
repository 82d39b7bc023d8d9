/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The life of a call, ended in every way in every state. */
#include "support/oom.h"
#include "support/runtime_fixture.h"
#include "support/test.h"

static cw_err err;
static cw_call_error refusal;

static void begin(uint32_t call_ms)
{
    assert_int_equal(runtime_fixture_init(call_ms, /* may_call= */ true, &err), CW_OK);
}

/* ---- the ordinary ways ---- */

TEST(a_result_reaches_the_waiter)
{
    call_waiter wt;
    begin(1000);
    call_waiter_init(&wt);
    assert_int_equal(runtime_fixture_call(&wt, "echo", "{\"x\":[1]}", &refusal), CW_OK);
    assert_int_equal(wt.n_done, 0);
    assert_int_equal(fixture.rl->n_running, 1);
    runtime_fixture_until(&wt.n_done, 1);
    assert_int_equal(wt.kind, CW_OUTCOME_RESULT);
    assert_string_equal(wt.text, "{\"x\":[1]}");
    assert_int_equal(fixture.rl->n_running, 0);
    runtime_fixture_done();
}

TEST(errors_and_failures_reach_the_waiter)
{
    call_waiter wt;
    begin(1000);
    call_waiter_init(&wt);
    assert_int_equal(runtime_fixture_call(&wt, "fail", NULL, &refusal), CW_OK);
    runtime_fixture_until(&wt.n_done, 1);
    assert_int_equal(wt.kind, CW_OUTCOME_ERROR);
    assert_string_equal(wt.text, "Invalid params");
    call_waiter_init(&wt);
    assert_int_equal(runtime_fixture_call(&wt, "broken", NULL, &refusal), CW_OK);
    runtime_fixture_until(&wt.n_done, 1);
    assert_int_equal(wt.kind, CW_OUTCOME_FAILED);
    assert_int_equal(wt.fault, CW_FAULT_DIED);
    runtime_fixture_done();
}

TEST(a_result_may_come_right_after_start)
{
    call_waiter wt;
    begin(1000);
    call_waiter_init(&wt);
    assert_int_equal(runtime_fixture_call(&wt, "hold", NULL, &refusal), CW_OK);
    fake_op_result(fake_source_newest(fixture.source), "1");
    assert_int_equal(wt.n_done, 1);
    assert_int_equal(fixture.rl->n_running, 0);
    runtime_fixture_done();
}

TEST(progress_reaches_only_who_wants_it)
{
    call_waiter wt;
    begin(1000);
    call_waiter_init(&wt);
    assert_int_equal(runtime_fixture_call(&wt, "hold", NULL, &refusal), CW_OK);
    fake_op_progress(fake_source_newest(fixture.source), 0.5);
    assert_int_equal(wt.n_progress, 1);
    cw_call_detach(fixture.rl, wt.call, CW_STR(""));
    fake_op_progress(fake_source_newest(fixture.source), 0.7);
    assert_int_equal(wt.n_progress, 1);
    fake_op_result(fake_source_newest(fixture.source), "1");
    assert_int_equal(wt.n_done, 0);
    assert_int_equal(atomic_load(&fixture.source->cancelled), 0);
    runtime_fixture_done();
}

TEST(a_source_that_refuses_is_reported)
{
    call_waiter wt;
    begin(1000);
    call_waiter_init(&wt);
    assert_int_equal(runtime_fixture_call(&wt, "refuse", NULL, &refusal), CW_IO);
    assert_int_equal(refusal.fault, CW_FAULT_UNAVAILABLE);
    assert_string_equal(refusal.err.msg, "Nobody is there.");
    assert_int_equal(wt.call.generation, 0);
    assert_int_equal(fixture.rl->n_running, 0);
    runtime_fixture_done();
}

TEST(wrong_arguments_never_reach_the_source)
{
    call_waiter wt;
    begin(1000);
    call_waiter_init(&wt);
    assert_int_equal(runtime_fixture_call(&wt, "strict", "{\"b\":1}", &refusal), CW_PARAMS);
    assert_string_equal(refusal.err.msg, "Missing required parameter: a");
    assert_int_equal(atomic_load(&fixture.source->started), 0);
    assert_int_equal(runtime_fixture_call(&wt, "strict", "{\"a\":1}", &refusal), CW_OK);
    runtime_fixture_until(&wt.n_done, 1);
    assert_string_equal(wt.text, "{\"a\":1,\"b\":5}");
    runtime_fixture_done();
}

TEST(the_gate_comes_before_arguments_and_source)
{
    call_waiter wt;
    begin(1000);
    call_waiter_init(&wt);
    assert_int_equal(runtime_fixture_call(&wt, "guarded", "{\"q\":1}", &refusal), CW_DECLINED);
    assert_int_equal(refusal.verdict, CW_VERDICT_NEEDS_LOGIN);
    assert_null(cw_view_find_method(cw_runtime_anonymous(fixture.rl), CW_STR("hidden")));
    assert_null(cw_view_find_method(cw_runtime_anonymous(fixture.rl), CW_STR("secret")));
    runtime_fixture_done();
    assert_int_equal(runtime_fixture_init(1000, /* may_call= */ false, &err), CW_OK);
    assert_int_equal(runtime_fixture_call(&wt, "echo", "{\"q\":1}", &refusal), CW_DECLINED);
    assert_int_equal(refusal.verdict, CW_VERDICT_NEEDS_LOGIN);
    assert_int_equal(atomic_load(&fixture.source->started), 0);
    runtime_fixture_done();
}

TEST(the_ceiling_of_running_calls_is_kept)
{
    call_waiter wt[5];
    begin(1000);
    for (size_t i = 0; i < 4; i++) {
        call_waiter_init(&wt[i]);
        assert_int_equal(runtime_fixture_call(&wt[i], "hold", NULL, &refusal), CW_OK);
    }
    call_waiter_init(&wt[4]);
    assert_int_equal(runtime_fixture_call(&wt[4], "hold", NULL, &refusal), CW_IO);
    assert_string_equal(refusal.err.msg, "Too many calls are running.");
    cw_call_cancel(fixture.rl, wt[1].call);
    assert_int_equal(runtime_fixture_call(&wt[4], "hold", NULL, &refusal), CW_OK);
    assert_int_equal(wt[4].call.slot, wt[1].call.slot);
    cw_call_cancel(fixture.rl, wt[1].call); /* an old handle of a slot that is in use again */
    assert_int_equal(fixture.rl->n_running, 4);
    runtime_fixture_done();
}

TEST(a_handle_of_nothing_does_nothing)
{
    begin(1000);
    cw_call_cancel(fixture.rl, (cw_call_handle){0});
    cw_call_cancel(fixture.rl, (cw_call_handle){99, 1});
    cw_call_detach(fixture.rl, (cw_call_handle){99, 1}, CW_STR(""));
    assert_int_equal(fixture.rl->n_running, 0);
    runtime_fixture_done();
}

TEST(a_call_that_takes_too_long_is_cancelled)
{
    call_waiter wt;
    begin(20);
    call_waiter_init(&wt);
    assert_int_equal(runtime_fixture_call(&wt, "hold", NULL, &refusal), CW_OK);
    runtime_fixture_until(&wt.n_done, 1);
    assert_int_equal(wt.kind, CW_OUTCOME_FAILED);
    assert_int_equal(wt.fault, CW_FAULT_TIMEOUT);
    assert_string_equal(wt.text, "The call took longer than 0.02 s.");
    assert_int_equal(atomic_load(&fixture.source->cancelled), 1);
    runtime_fixture_done();
}

static void call_again(call_waiter *wt)
{
    static call_waiter second;
    call_waiter_init(&second);
    assert_int_equal(runtime_fixture_call(&second, "hold", NULL, &refusal), CW_OK);
    assert_int_not_equal(second.call.slot, wt->call.slot);
    cw_call_cancel(fixture.rl, second.call);
}

TEST(a_waiter_may_call_again_while_it_is_told)
{
    call_waiter wt;
    begin(1000);
    call_waiter_init(&wt);
    wt.on_done = call_again;
    assert_int_equal(runtime_fixture_call(&wt, "hold", NULL, &refusal), CW_OK);
    fake_op_result(fake_source_newest(fixture.source), "1");
    assert_int_equal(wt.n_done, 1);
    assert_int_equal(fixture.rl->n_running, 0);
    runtime_fixture_done();
}

/* With room for one call only: the one that is over does not count. */
TEST(a_waiter_may_call_again_in_the_place_of_its_call)
{
    static const struct {
        uint32_t calls, per_tool, per_source;
    } rows[] = {{1, 0, 0}, {4, 1, 0}, {4, 0, 1}};
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        call_waiter wt;
        begin(1000);
        fixture.settings.calls = rows[i].calls;
        fixture.settings.limits = (cw_rate_limits){.is_any = true,
                                                   .calls_per_tool = rows[i].per_tool,
                                                   .calls_per_source = rows[i].per_source};
        assert_int_equal(runtime_fixture_publish(NULL, NULL, &err), CW_OK);
        runtime_fixture_turn(3);
        call_waiter_init(&wt);
        wt.on_done = call_again;
        assert_int_equal(runtime_fixture_call(&wt, "hold", NULL, &refusal), CW_OK);
        fake_op_result(fake_source_newest(fixture.source), "1");
        assert_int_equal(wt.n_done, 1);
        assert_int_equal(fixture.rl->n_running, 0);
        runtime_fixture_done();
    }
}

TEST(a_warm_call_allocates_nothing_in_the_exchange)
{
    call_waiter wt;
    begin(1000);
    for (int i = 0; i < 3; i++) {
        call_waiter_init(&wt);
        oom_reset();
        assert_int_equal(runtime_fixture_call(&wt, "hold", NULL, &refusal), CW_OK);
        if (i == 2)
            assert_int_equal(oom_count(), 1); /* the fake source's own */
        cw_call_cancel(fixture.rl, wt.call);
    }
    runtime_fixture_done();
}

/* ---- every end in every state ---- */

typedef enum moment {
    IN_START,
    WAITING,
    IN_PROGRESS,
    AFTER_PROGRESS,
    IN_DONE,
    AFTER_DONE,
    N_MOMENTS,
} moment;

typedef enum ending { LEAVE, DETACH, DEADLINE, LOOP_END, N_ENDINGS } ending;

static moment now_at;
static ending how;

static void end_it(cw_call_handle call)
{
    switch (how) {
    case LEAVE:
        cw_call_cancel(fixture.rl, call);
        break;
    case DETACH:
        cw_call_detach(fixture.rl, call, CW_STR(""));
        break;
    case DEADLINE:
        for (uint64_t end = cw_clock_ms() + 15; cw_clock_ms() < end;)
            runtime_fixture_turn(1);
        break;
    case LOOP_END:
        runtime_fixture_end_loop();
        break;
    case N_ENDINGS:
        break;
    }
}

/* The loop cannot be run or ended from inside one of its own callbacks. */
static bool is_possible(void)
{
    bool inside = now_at == IN_START || now_at == IN_PROGRESS || now_at == IN_DONE;
    return !inside || how == LEAVE || how == DETACH;
}

static void end_in_start(cw_source_call *call)
{
    (void)call;
    end_it((cw_call_handle){0, 1}); /* nobody else knows it yet: the first slot, first use */
}

static void end_in_progress(call_waiter *wt)
{
    end_it(wt->call);
}

static void run_to_the_end(call_waiter *wt)
{
    if (now_at == WAITING)
        end_it(wt->call);
    if (fake_source_newest(fixture.source) && fixture.loop_runs)
        fake_op_progress(fake_source_newest(fixture.source), 1);
    if (now_at == AFTER_PROGRESS)
        end_it(wt->call);
    if (fake_source_newest(fixture.source) && fixture.loop_runs)
        fake_op_result(fake_source_newest(fixture.source), "1");
    if (now_at == AFTER_DONE)
        end_it(wt->call);
}

static unsigned expected_done(void)
{
    if (now_at == IN_DONE || now_at == AFTER_DONE)
        return 1;
    return how == DEADLINE || how == LOOP_END ? 1 : 0;
}

static void end_once(void)
{
    call_waiter wt;
    begin(10);
    call_waiter_init(&wt);
    if (now_at == IN_START)
        fixture.source->on_start = end_in_start;
    if (now_at == IN_PROGRESS)
        wt.on_progress = end_in_progress;
    if (now_at == IN_DONE)
        wt.on_done = end_in_progress;
    assert_int_equal(runtime_fixture_call(&wt, "hold", NULL, &refusal), CW_OK);
    run_to_the_end(&wt);
    assert_int_equal(wt.n_done, expected_done());
    assert_int_equal(fixture.rl->n_running, 0);
    assert_null(fake_source_newest(fixture.source));
    /* Exactly one end for the source. */
    assert_int_equal(atomic_load(&fixture.source->done) + atomic_load(&fixture.source->cancelled) +
                         atomic_load(&fixture.source->dropped),
                     1);
    if (how == LEAVE && now_at < IN_DONE)
        assert_int_equal(atomic_load(&fixture.source->cancelled), 1);
    if (how == LOOP_END && now_at < IN_DONE)
        assert_int_equal(atomic_load(&fixture.source->dropped), 1);
    runtime_fixture_done();
}

TEST(every_end_in_every_state_is_clean)
{
    for (int m = 0; m < N_MOMENTS; m++) {
        for (int e = 0; e < N_ENDINGS; e++) {
            now_at = (moment)m;
            how = (ending)e;
            if (is_possible())
                end_once();
        }
    }
}

TEST(a_detached_call_ends_with_the_loop)
{
    call_waiter wt;
    begin(60000);
    call_waiter_init(&wt);
    assert_int_equal(runtime_fixture_call(&wt, "hold", NULL, &refusal), CW_OK);
    cw_call_detach(fixture.rl, wt.call, CW_STR(""));
    runtime_fixture_end_loop();
    assert_int_equal(wt.n_done, 0);
    assert_int_equal(atomic_load(&fixture.source->dropped), 1);
    runtime_fixture_done();
}

/* ---- without memory ---- */

static void call_once(void *ctx)
{
    const char *method = ctx;
    call_waiter wt;
    call_waiter_init(&wt);
    cw_code rc = runtime_fixture_init(1000, true, &err);
    if (!rc) {
        rc = runtime_fixture_call(&wt, method, "{\"x\":1}", &refusal);
        if (!rc)
            runtime_fixture_turn(3);
        if (!rc && wt.n_done == 0)
            cw_call_cancel(fixture.rl, wt.call);
    }
    if (rc)
        assert_int_equal(rc, CW_NOMEM);
    if (!oom_was_hit())
        assert_int_equal(rc, CW_OK);
    runtime_fixture_done();
}

TEST(a_call_survives_every_failed_allocation)
{
    char echo[] = "echo", steps[] = "steps", hold[] = "hold";
    assert_true(oom_each(call_once, echo) >= 8);
    oom_each(call_once, steps);
    oom_each(call_once, hold);
}

int main(void)
{
    (void)!cw_log_configure(&(cw_log_opts){.level = CW_LOG_OFF}, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_reaches_the_waiter),
        cmocka_unit_test(errors_and_failures_reach_the_waiter),
        cmocka_unit_test(a_result_may_come_right_after_start),
        cmocka_unit_test(progress_reaches_only_who_wants_it),
        cmocka_unit_test(a_source_that_refuses_is_reported),
        cmocka_unit_test(wrong_arguments_never_reach_the_source),
        cmocka_unit_test(the_gate_comes_before_arguments_and_source),
        cmocka_unit_test(the_ceiling_of_running_calls_is_kept),
        cmocka_unit_test(a_handle_of_nothing_does_nothing),
        cmocka_unit_test(a_call_that_takes_too_long_is_cancelled),
        cmocka_unit_test(a_waiter_may_call_again_while_it_is_told),
        cmocka_unit_test(a_waiter_may_call_again_in_the_place_of_its_call),
        cmocka_unit_test(a_warm_call_allocates_nothing_in_the_exchange),
        cmocka_unit_test(every_end_in_every_state_is_clean),
        cmocka_unit_test(a_detached_call_ends_with_the_loop),
        cmocka_unit_test(a_call_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
