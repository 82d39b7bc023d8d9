/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_plugin_oom.c - load, call, die, cancel and retire with each allocation failing in turn. */
#include "support/patience.h"
#include "support/plugin_fixture.h"

#include "support/oom.h"

/* How long a call waits for a worker that cannot be started. */
#define LOAD_MS (100u * SANITIZER_SLOWNESS)

static plugin_fixture r;

typedef struct step {
    const char *method, *params;
    bool cancelled, dies;
} step;

typedef struct play {
    const char *plugin;
    step steps[6];
} play;

/* Without a failed allocation only the machine can have been too slow to start a worker. */
static bool was_late(const plugin_call *p, const step *st)
{
    return !oom_was_hit() && !st->cancelled && !st->dies && p->kind == CW_OUTCOME_FAILED &&
           strcmp(p->message, "The plugin could not be started.") == 0;
}

static void check(const plugin_call *p, const step *st)
{
    if (p->n_done > 1)
        fail_msg("%s: told twice", st->method);
    if (oom_was_hit() || st->cancelled)
        return;
    cw_outcome_kind want = st->dies ? CW_OUTCOME_FAILED : CW_OUTCOME_RESULT;
    if (p->n_done != 1 || p->kind != want)
        fail_msg("%s: done %d, kind %d, %s", st->method, p->n_done, (int)p->kind, p->message);
}

/* False: a worker started too late, and the steps are to run again with `is_patient`. */
static bool run_steps(const play *pl, bool is_patient)
{
    bool is_late = false;
    plugin_call probes[CW_COUNT(pl->steps)] = {0};
    bool runs[CW_COUNT(pl->steps)] = {false};
    int wanted = 0;
    int told = 0;
    for (size_t i = 0; i < CW_COUNT(probes) && pl->steps[i].method; i++) {
        probes[i].total = &told;
        probes[i].call.wants_progress = true;
        cw_code rc = plugin_call_start(&probes[i], &r.loop, r.source, pl->steps[i].method,
                                       pl->steps[i].params);
        if (rc)
            assert_int_equal(probes[i].fault, CW_FAULT_NOMEM);
        runs[i] = !rc;
        wanted += runs[i] && !pl->steps[i].cancelled;
    }
    plugin_fixture_for(&r, 5);
    for (size_t i = 0; i < CW_COUNT(probes) && pl->steps[i].method; i++) {
        if (!runs[i] || !pl->steps[i].cancelled)
            continue;
        if (probes[i].n_done) /* it failed before */
            told--;
        else
            plugin_call_cancel(&probes[i]);
    }
    plugin_fixture_until(&r, &told, wanted, (uint32_t)patience(5000 * SANITIZER_SLOWNESS));
    for (size_t i = 0; i < CW_COUNT(probes) && pl->steps[i].method; i++) {
        bool is_this_late = runs[i] && !is_patient && was_late(&probes[i], &pl->steps[i]);
        is_late |= is_this_late;
        if (runs[i] && !is_this_late)
            check(&probes[i], &pl->steps[i]);
        plugin_call_done(&probes[i]);
    }
    return !is_late;
}

/* Many failed allocations end in the time limit of a start, so it is short. Where it was too short
 * for a busy machine, the play runs again with a long one. False: it was too short. */
static bool play_once(const play *pl, bool is_patient)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.so", plugin_fixture_folder, pl->plugin);
    uint32_t short_ms = r.opts.load_ms;
    r.opts.load_ms = is_patient ? short_ms * 100 : short_ms;
    r.source = NULL;
    plugin_fixture_load_file(&r, pl->plugin, path);
    r.opts.load_ms = short_ms;
    if (!r.source) {
        assert_true(oom_was_hit() || !is_patient);
        assert_true(strlen(r.problem) > 0);
        plugin_fixture_settle(&r);
        return oom_was_hit();
    }
    bool was_in_time = run_steps(pl, is_patient);
    cw_source_retire(r.source);
    r.source->ops->sweep(r.source, &r.loop, false);
    plugin_fixture_settle(&r);
    assert_int_equal(atomic_load(&r.source->refs), 1);
    cw_source_unref(r.source);
    r.source = NULL;
    return was_in_time;
}

static void run_play(void *ctx)
{
    if (!play_once(ctx, /* is_patient= */ false))
        play_once(ctx, /* is_patient= */ true);
}

SETUP(set_up)
{
    plugin_fixture_init(&r);
    r.opts.load_ms = (uint32_t)patience(LOAD_MS);
    r.opts.workers = 2;
    r.opts.grace_ms = 20;
    return 0;
}

TEARDOWN(tear_down)
{
    plugin_fixture_done(&r);
    return 0;
}

TEST(healthy_calls_survive_every_failed_allocation)
{
    play pl = {"echo",
               {
                   {.method = "test.echo", .params = "{\"message\":\"x\"}"},
                   {.method = "test.log", .params = "{\"message\":\"x\"}"},
                   {.method = "test.progress", .params = "{\"steps\":2,\"ms\":1}"},
                   {.method = "test.sleep", .params = "{\"ms\":5000}", .cancelled = true},
                   {.method = "test.large", .params = "{\"bytes\":200000}"},
               }};
    /* The first schema that is compiled makes those of the drafts, which stay. */
    run_play(&pl);
    assert_true(oom_each(run_play, &pl) > 20);
}

TEST(deaths_survive_every_failed_allocation)
{
    play pl = {"faults",
               {
                   {.method = "faults.ok", .params = "{}"},
                   {.method = "faults.exit", .params = "{}", .dies = true},
                   {.method = "faults.ok", .params = "{}"},
                   {.method = "faults.half", .params = "{}", .dies = true},
                   {.method = "faults.deadlock", .params = "{}", .cancelled = true},
                   {.method = "faults.ok", .params = "{}"},
               }};
    assert_true(oom_each(run_play, &pl) > 20);
}

int main(int argc, char **argv)
{
    PLUGIN_FIXTURE_MAIN(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(healthy_calls_survive_every_failed_allocation, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(deaths_survive_every_failed_allocation, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("integration/plugin_oom", tests, NULL, NULL);
}
