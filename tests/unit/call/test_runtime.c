/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <unistd.h>

#include "support/oom.h"
#include "support/runtime_fixture.h"
#include "support/test.h"

static cw_err err;
static cw_call_error refusal;

typedef struct watcher {
    cw_runtime_watch watch;
    unsigned n;
    struct watcher *removes; /* when told */
} watcher;

static void on_change(cw_runtime_watch *watch, unsigned lists)
{
    (void)lists;
    watcher *x = CW_CONTAINER(watch, watcher, watch);
    x->n++;
    if (x->removes)
        cw_list_remove(&x->removes->watch.node);
}

static void begin(void)
{
    assert_int_equal(runtime_fixture_init(1000, /* may_call= */ true, &err), CW_OK);
}

/* A source that offers fewer methods. */
static fake_source *smaller(atomic_uint *freed)
{
    fake_source *f = fake_source_new(1000);
    assert_non_null(f);
    f->base.n_methods = 3;
    f->freed = freed;
    return f;
}

TEST(a_published_state_is_in_force_after_the_loop_turns)
{
    begin();
    fake_source *f = smaller(NULL);
    cw_view *before = cw_runtime_anonymous(fixture.rl);
    assert_non_null(cw_view_find_tool(before, CW_STR("fail")));
    fixture.settings.calls = 77;
    assert_int_equal(runtime_fixture_publish(f, NULL, &err), CW_OK);
    assert_ptr_equal(cw_runtime_anonymous(fixture.rl), before);
    runtime_fixture_turn(2);
    assert_ptr_not_equal(cw_runtime_anonymous(fixture.rl), before);
    assert_null(cw_view_find_tool(cw_runtime_anonymous(fixture.rl), CW_STR("fail")));
    assert_int_equal(cw_runtime_settings_of(fixture.rl)->calls, 77);
    cw_source_unref(&f->base);
    runtime_fixture_done();
}

TEST(before_the_start_it_is_in_force_at_once)
{
    assert_int_equal(cw_loop_init(&fixture.loop, 64, &err), CW_OK);
    cw_runtime *b;
    cw_caller *caller;
    fake_source *f = fake_source_new(1);
    cw_loop *loops[] = {&fixture.loop};
    assert_int_equal(fake_caller(true, true, &caller, &err), CW_OK);
    assert_int_equal(cw_runtime_new(&(cw_runtime_opts){.n_loops = 1}, &b, &err), CW_OK);
    cw_runtime_attach(b, loops);
    for (uint32_t i = 1; i <= 3; i++) {
        cw_snapshot *snapshot;
        cw_runtime_settings settings = {.calls = i};
        assert_int_equal(fake_source_snapshot(f, &snapshot, &err), CW_OK);
        assert_int_equal(cw_runtime_publish(b, snapshot, caller, &settings, NULL, 0, &err), CW_OK);
        assert_int_equal(cw_runtime_settings_of(cw_runtime_at(b, &fixture.loop))->calls, i);
    }
    cw_loop_end(&fixture.loop);
    cw_loop_run(&fixture.loop);
    cw_runtime_free(b);
    cw_caller_unref(caller);
    cw_source_unref(&f->base);
    cw_loop_done(&fixture.loop);
    fixture = (runtime_fixture){0};
}

TEST(watchers_are_told_of_a_changed_list_only)
{
    watcher a = {.watch = {.on_change = on_change}}, b = a, c = a;
    begin();
    fake_source *f = smaller(NULL);
    b.removes = &b;
    a.removes = &c;
    cw_runtime_watch_add(fixture.rl, &a.watch);
    cw_runtime_watch_add(fixture.rl, &b.watch);
    cw_runtime_watch_add(fixture.rl, &c.watch);
    assert_int_equal(runtime_fixture_publish(NULL, NULL, &err), CW_OK);
    runtime_fixture_turn(2);
    assert_int_equal(a.n + b.n + c.n, 0);
    assert_int_equal(runtime_fixture_publish(f, NULL, &err), CW_OK);
    runtime_fixture_turn(2);
    assert_int_equal(a.n, 1);
    assert_int_equal(b.n, 1);
    assert_int_equal(c.n, 0);
    assert_true(cw_list_is_in(&a.watch.node));
    assert_false(cw_list_is_in(&b.watch.node) || cw_list_is_in(&c.watch.node));
    assert_int_equal(runtime_fixture_publish(NULL, NULL, &err), CW_OK);
    runtime_fixture_turn(2);
    assert_int_equal(a.n, 2);
    assert_int_equal(b.n, 1);
    cw_list_remove(&a.watch.node);
    cw_list_remove(&a.watch.node);
    assert_int_equal(runtime_fixture_publish(f, NULL, &err), CW_OK);
    runtime_fixture_turn(2);
    assert_int_equal(a.n, 2);
    cw_source_unref(&f->base);
    runtime_fixture_done();
}

static void write_nothing(cw_buf *out, void *ctx)
{
    (void)ctx;
    cw_buf_add(out, CW_STR("{}"));
}

/* Whether the document is there already; it is afterwards. */
static bool is_kept(cw_view *view)
{
    cw_page *d;
    bool hit;
    cw_page_cache_key key = {.kind = CW_STR("test"), .view = view};
    assert_int_equal(
        cw_page_cache_get(cw_runtime_cache(fixture.rl), &key, write_nothing, NULL, &d, &hit),
        CW_OK);
    cw_page_unref(d);
    return hit;
}

static void keep_both(void)
{
    (void)is_kept(NULL);
    (void)is_kept(cw_runtime_anonymous(fixture.rl));
    assert_true(is_kept(NULL));
    assert_true(is_kept(cw_runtime_anonymous(fixture.rl)));
}

static cw_code publish_again(void)
{
    cw_snapshot *snapshot = cw_snapshot_ref(
        (cw_snapshot *)(uintptr_t)cw_view_snapshot(cw_runtime_anonymous(fixture.rl)));
    return cw_runtime_publish(fixture.runtime, snapshot, fixture.caller, &fixture.settings, NULL, 0,
                              &err);
}

TEST(a_publish_drops_what_follows_from_what_it_replaces)
{
    begin();
    fixture.settings.revision = 1;
    assert_int_equal(publish_again(), CW_OK);
    runtime_fixture_turn(2);
    keep_both();
    /* Other callers: what everybody gets stays. */
    assert_int_equal(publish_again(), CW_OK);
    runtime_fixture_turn(2);
    assert_true(is_kept(NULL));
    assert_false(is_kept(cw_runtime_anonymous(fixture.rl)));
    /* Other settings, or another catalogue: nothing does. */
    keep_both();
    fixture.settings.revision = 2;
    assert_int_equal(publish_again(), CW_OK);
    runtime_fixture_turn(2);
    assert_false(is_kept(NULL));
    keep_both();
    assert_int_equal(runtime_fixture_publish(NULL, NULL, &err), CW_OK);
    runtime_fixture_turn(2);
    assert_false(is_kept(NULL));
    runtime_fixture_done();
}

TEST(documents_are_dropped_on_order)
{
    begin();
    assert_int_equal(runtime_fixture_publish(NULL, NULL, &err), CW_OK);
    runtime_fixture_turn(2);
    keep_both();
    cw_runtime_invalidate(fixture.runtime, CW_PAGE_CACHE_PERMISSIONS);
    runtime_fixture_turn(2);
    assert_true(is_kept(NULL));
    assert_false(is_kept(cw_runtime_anonymous(fixture.rl)));
    keep_both();
    /* Several at once are one. */
    cw_runtime_invalidate(fixture.runtime, CW_PAGE_CACHE_PERMISSIONS);
    cw_runtime_invalidate(fixture.runtime, CW_PAGE_CACHE_DISCOVERY);
    runtime_fixture_turn(2);
    assert_false(is_kept(NULL));
    assert_false(is_kept(cw_runtime_anonymous(fixture.rl)));
    runtime_fixture_done();
}

TEST(a_retired_source_goes_with_its_last_call)
{
    static atomic_uint freed;
    call_waiter wt;
    begin();
    fake_source *f = smaller(&freed);
    call_waiter_init(&wt);
    assert_int_equal(runtime_fixture_publish(f, NULL, &err), CW_OK);
    runtime_fixture_turn(2);
    assert_int_equal(runtime_fixture_call(&wt, "hold", NULL, &refusal), CW_OK);
    cw_source_retire(&f->base);
    assert_int_equal(runtime_fixture_publish(NULL, &f->base, &err), CW_OK);
    runtime_fixture_turn(2);
    assert_int_equal(atomic_load(&f->sweeps), 1);
    fake_op *op = fake_source_newest(f);
    cw_source_unref(&f->base);
    assert_int_equal(atomic_load(&freed), 0);
    fake_op_result(op, "1");
    assert_int_equal(wt.n_done, 1);
    assert_int_equal(atomic_load(&freed), 1);
    runtime_fixture_done();
}

/* A world whose source has answered a call and is retired. */
static fake_source *begin_retired(atomic_uint *freed)
{
    call_waiter wt;
    begin();
    fake_source *f = smaller(freed);
    call_waiter_init(&wt);
    assert_int_equal(runtime_fixture_publish(f, NULL, &err), CW_OK);
    runtime_fixture_turn(2);
    assert_int_equal(runtime_fixture_call(&wt, "echo", NULL, &refusal), CW_OK);
    runtime_fixture_until(&wt.n_done, 1);
    cw_source_retire(&f->base);
    return f;
}

TEST(a_retired_source_without_calls_goes_with_the_sweep)
{
    static atomic_uint freed;
    fake_source *f = begin_retired(&freed);
    assert_int_equal(runtime_fixture_publish(NULL, &f->base, &err), CW_OK);
    cw_source_unref(&f->base);
    assert_int_equal(atomic_load(&freed), 0);
    runtime_fixture_turn(2);
    assert_int_equal(atomic_load(&freed), 1);
    runtime_fixture_done();
}

TEST(what_a_lost_state_retired_is_swept_by_the_next)
{
    static atomic_uint freed;
    fake_source *f = begin_retired(&freed);
    assert_int_equal(runtime_fixture_publish(NULL, NULL, &err), CW_OK);
    runtime_fixture_turn(2);
    assert_int_equal(atomic_load(&f->sweeps), 1);
    cw_source_unref(&f->base);
    assert_int_equal(atomic_load(&freed), 1);
    runtime_fixture_done();
}

TEST(states_are_installed_in_order)
{
    begin();
    fake_source *f = smaller(NULL);
    fixture.settings.calls = 1;
    assert_int_equal(runtime_fixture_publish(f, NULL, &err), CW_OK);
    fixture.settings.calls = 2;
    assert_int_equal(runtime_fixture_publish(NULL, NULL, &err), CW_OK);
    runtime_fixture_turn(2);
    assert_int_equal(cw_runtime_settings_of(fixture.rl)->calls, 2);
    assert_non_null(cw_view_find_tool(cw_runtime_anonymous(fixture.rl), CW_STR("fail")));
    cw_source_unref(&f->base);
    runtime_fixture_done();
}

TEST(a_state_that_no_loop_took_is_freed)
{
    static atomic_uint freed;
    begin();
    fake_source *f = smaller(&freed);
    assert_int_equal(runtime_fixture_publish(f, NULL, &err), CW_OK);
    cw_source_unref(&f->base);
    runtime_fixture_done();
    assert_int_equal(atomic_load(&freed), 1);
}

static void publish_once(void *ctx)
{
    (void)ctx;
    watcher a = {.watch = {.on_change = on_change}};
    cw_code rc = runtime_fixture_init(1000, true, &err);
    if (!rc) {
        cw_runtime_watch_add(fixture.rl, &a.watch);
        rc = runtime_fixture_publish(NULL, NULL, &err);
        runtime_fixture_turn(2);
        cw_list_remove(&a.watch.node);
    }
    if (rc)
        assert_int_equal(rc, CW_NOMEM);
    runtime_fixture_done();
}

TEST(publish_survives_every_failed_allocation)
{
    assert_true(oom_each(publish_once, NULL) >= 8);
}

/* ---- two loops in threads of their own ---- */

static cw_loop threaded[2];

static void end_first(cw_message *message)
{
    (void)message;
    cw_loop_end(&threaded[0]);
}

static void end_second(cw_message *message)
{
    (void)message;
    cw_loop_end(&threaded[1]);
}

TEST(states_reach_all_loops_in_their_threads)
{
    static cw_message ends[] = {{.fn = end_first}, {.fn = end_second}};
    cw_loop *loops = threaded;
    static atomic_uint freed;
    cw_loop *both[] = {&loops[0], &loops[1]};
    cw_runtime *b;
    cw_caller *caller;
    assert_int_equal(fake_caller(true, true, &caller, &err), CW_OK);
    assert_int_equal(cw_runtime_new(&(cw_runtime_opts){.n_loops = 2}, &b, &err), CW_OK);
    cw_runtime_attach(b, both);
    cw_source *old = NULL;
    for (int i = 0; i < 50; i++) {
        fake_source *f = smaller(&freed);
        cw_snapshot *snapshot;
        cw_runtime_settings settings = {.calls = 1};
        assert_int_equal(fake_source_snapshot(f, &snapshot, &err), CW_OK);
        if (old)
            cw_source_retire(old);
        assert_int_equal(
            cw_runtime_publish(b, snapshot, caller, &settings, &old, old ? 1 : 0, &err), CW_OK);
        cw_source_unref(old);
        old = &f->base;
        if (i == 0) {
            for (uint32_t n = 0; n < 2; n++) {
                assert_int_equal(cw_loop_init(&loops[n], 64, &err), CW_OK);
                loops[n].index = n;
                assert_int_equal(cw_loop_start(&loops[n], &err), CW_OK);
            }
            cw_runtime_started(b);
        }
    }
    for (int tries = 0; tries < 30000 && atomic_load(&freed) < 49; tries++)
        usleep(1000);
    assert_int_equal(atomic_load(&freed), 49);
    for (int n = 0; n < 2; n++) {
        cw_loop_post(&loops[n], &ends[n]);
        pthread_join(loops[n].thread, NULL);
        cw_loop_done(&loops[n]);
    }
    cw_runtime_free(b);
    cw_source_unref(old);
    assert_int_equal(atomic_load(&freed), 50);
    cw_caller_unref(caller);
}

static void publish_to_two(cw_runtime *b, cw_caller *caller, uint32_t n_methods)
{
    cw_snapshot *snapshot;
    fake_source *f = smaller(NULL);
    f->base.n_methods = n_methods;
    assert_int_equal(fake_source_snapshot(f, &snapshot, &err), CW_OK);
    assert_int_equal(
        cw_runtime_publish(b, snapshot, caller, &(cw_runtime_settings){.calls = 1}, NULL, 0, &err),
        CW_OK);
    cw_source_unref(&f->base);
}

static void turn_until(const cw_loop *only, const watcher *w, unsigned n)
{
    for (int i = 0; i < 8 && w->n < n; i++) {
        for (int k = 0; k < 2; k++) {
            if (!only || only == &threaded[k])
                uv_run(&threaded[k].uv, UV_RUN_NOWAIT);
        }
    }
}

/* A client that is notified may ask another loop. */
TEST(watchers_are_told_once_all_loops_have_the_state)
{
    cw_loop *both[] = {&threaded[0], &threaded[1]};
    watcher w = {.watch = {.on_change = on_change}};
    cw_runtime *b;
    cw_caller *caller;
    size_t before = oom_live();
    assert_int_equal(fake_caller(true, true, &caller, &err), CW_OK);
    assert_int_equal(cw_runtime_new(&(cw_runtime_opts){.n_loops = 2}, &b, &err), CW_OK);
    cw_runtime_attach(b, both);
    for (uint32_t n = 0; n < 2; n++) {
        assert_int_equal(cw_loop_init(&threaded[n], 64, &err), CW_OK);
        threaded[n].index = n;
    }
    publish_to_two(b, caller, 3);
    cw_runtime_started(b);
    cw_runtime_watch_add(cw_runtime_at(b, &threaded[0]), &w.watch);
    publish_to_two(b, caller, 2);
    turn_until(&threaded[0], &w, 1);
    assert_int_equal(w.n, 0);
    assert_false(cw_runtime_wait(b, 1));
    turn_until(NULL, &w, 1);
    assert_int_equal(w.n, 1);
    assert_true(cw_runtime_wait(b, 1));
    /* The next state arrives before the notices of this one. */
    publish_to_two(b, caller, 3);
    turn_until(&threaded[0], &w, 2);
    publish_to_two(b, caller, 2);
    turn_until(&threaded[1], &w, 2);
    turn_until(NULL, &w, 3);
    assert_int_equal(w.n, 3);
    cw_list_remove(&w.watch.node);
    for (int n = 0; n < 2; n++) {
        cw_loop_end(&threaded[n]);
        cw_loop_run(&threaded[n]);
        cw_loop_done(&threaded[n]);
    }
    cw_runtime_free(b);
    cw_caller_unref(caller);
    assert_int_equal(oom_live(), before);
}

/* A loop that ends does not read all its mail. */
TEST(what_nobody_reads_any_more_is_freed)
{
    size_t before = oom_live();
    begin();
    cw_change_sink *port = cw_runtime_changes(fixture.runtime);
    port->tell(port, &(cw_change){.lists = CW_CHANGED_TOOLS, .uri = CW_STR("a://b")});
    runtime_fixture_turn(2);
    port->tell(port, &(cw_change){.lists = CW_CHANGED_TOOLS});
    port->tell(port, &(cw_change){.uri = CW_STR("a://b")});
    runtime_fixture_done();
    assert_int_equal(oom_live(), before);
}

int main(void)
{
    (void)!cw_log_configure(&(cw_log_opts){.level = CW_LOG_OFF}, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_published_state_is_in_force_after_the_loop_turns),
        cmocka_unit_test(before_the_start_it_is_in_force_at_once),
        cmocka_unit_test(watchers_are_told_of_a_changed_list_only),
        cmocka_unit_test(a_publish_drops_what_follows_from_what_it_replaces),
        cmocka_unit_test(documents_are_dropped_on_order),
        cmocka_unit_test(a_retired_source_goes_with_its_last_call),
        cmocka_unit_test(a_retired_source_without_calls_goes_with_the_sweep),
        cmocka_unit_test(what_a_lost_state_retired_is_swept_by_the_next),
        cmocka_unit_test(states_are_installed_in_order),
        cmocka_unit_test(a_state_that_no_loop_took_is_freed),
        cmocka_unit_test(publish_survives_every_failed_allocation),
        cmocka_unit_test(states_reach_all_loops_in_their_threads),
        cmocka_unit_test(watchers_are_told_once_all_loops_have_the_state),
        cmocka_unit_test(what_nobody_reads_any_more_is_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
