/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_plugin.c - real workers: what a call hears in every case. */
#include "support/patience.h"
#include "support/plugin_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* Errors reach a call so soon after its worker's death. */
#define SOON_MS (50u * SANITIZER_SLOWNESS)

static plugin_fixture r;

SETUP(set_up)
{
    plugin_fixture_init(&r);
    return 0;
}

TEARDOWN(tear_down)
{
    plugin_fixture_done(&r);
    return 0;
}

static void call(plugin_call *p, const char *method, const char *params)
{
    *p = (plugin_call){0};
    assert_int_equal(plugin_call_start(p, &r.loop, r.source, method, params), CW_OK);
}

/* Run one call to its end; what it heard stays in *p. */
static void run(plugin_call *p, const char *method, const char *params)
{
    call(p, method, params);
    plugin_fixture_until(&r, &p->n_done, 1, 20000);
    cw_arena_done(&p->arena);
}

static int live_workers(void)
{
    return plugin_fixture_count_workers(NULL);
}

static void wait_for_workers(int n)
{
    uint64_t until = cw_clock_ms() + 5000;
    int live = live_workers();
    for (; live != n && cw_clock_ms() < until; live = live_workers())
        plugin_fixture_turn(&r);
    assert_int_equal(live, n);
}

/* The loop learns of the end of a worker after the system. */
static void wait_for_last_reference(void)
{
    uint64_t until = cw_clock_ms() + 5000;
    while (atomic_load(&r.source->refs) != 1 && cw_clock_ms() < until)
        plugin_fixture_turn(&r);
    assert_int_equal(atomic_load(&r.source->refs), 1);
}

/* ---- loading ---- */

TEST(a_plugin_describes_its_methods_and_the_loading_worker_ends)
{
    plugin_fixture_load(&r, "echo");
    assert_true(cw_str_is(r.source->name, "echo"));
    assert_int_equal(r.source->call_ms, 10000);
    const cw_method *m = plugin_fixture_method(r.source, "test.echo");
    assert_non_null(m->mark);
    assert_true(m->is_callable);
    assert_ptr_equal(m->source, r.source);
    assert_ptr_equal(&r.source->methods[m->index], m);
    wait_for_workers(0);
}

TEST(what_cannot_be_loaded_says_why)
{
    assert_false(plugin_fixture_load_file(&r, "none", "/nonexistent/none.so"));
    assert_non_null(strstr(r.problem, "No such file"));
    assert_false(plugin_fixture_load_file(&r, "folder", "/"));
    assert_string_equal(r.problem, "'/' is not a file");
    assert_true(plugin_fixture_load_file(&r, "text", "/etc/passwd"));
    assert_null(r.source);
    assert_non_null(strstr(r.problem, "text"));
    assert_int_equal(r.n_loaded, 1);
}

TEST(a_file_over_the_ceiling_is_refused)
{
    char path[] = "/tmp/causeway-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)CW_PLUGIN_FILE_MAX + 1), 0);
    bool begun = plugin_fixture_load_file(&r, "huge", path);
    close(fd);
    unlink(path);
    assert_false(begun);
    assert_non_null(strstr(r.problem, "is larger than 256 MB"));
}

TEST(a_host_that_is_not_there_is_a_problem)
{
    r.opts.host = "/nonexistent/host";
    char path[1024];
    snprintf(path, sizeof path, "%s/echo.so", plugin_fixture_folder);
    assert_true(plugin_fixture_load_file(&r, "echo", path));
    assert_null(r.source);
    assert_non_null(strstr(r.problem, "cannot be started"));
}

TEST(a_host_that_says_nothing_is_given_up)
{
    r.opts.host = "/bin/cat"; /* refuses its options and exits */
    char path[1024];
    snprintf(path, sizeof path, "%s/echo.so", plugin_fixture_folder);
    assert_true(plugin_fixture_load_file(&r, "echo", path));
    assert_null(r.source);
    assert_non_null(strstr(r.problem, "exited with 1"));
    r.opts.host = "/usr/bin/yes"; /* refuses too; whatever it does, it never gets ready */
    r.opts.load_ms = 100;
    assert_true(plugin_fixture_load_file(&r, "echo", path));
    assert_null(r.source);
}

static void fail_if_called(const cw_plugin_loaded *loaded, void *ctx)
{
    (void)loaded;
    (void)ctx;
    fail_msg("the callback of a cancelled load was called");
}

TEST(a_load_can_be_cancelled_at_any_time)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/echo.so", plugin_fixture_folder);
    r.opts.host = plugin_fixture_host;
    r.opts.spawner = r.spawner;
    for (int turns = 0; turns < 6; turns++) {
        cw_plugin_job *job;
        assert_int_equal(cw_plugin_load(&r.loop, &r.opts, CW_STR("echo"), path, fail_if_called,
                                        NULL, &job, NULL),
                         CW_OK);
        if (turns > 1) /* not so many that it is loaded: 1 ms each at most */
            uv_run(&r.loop.uv, UV_RUN_NOWAIT);
        cw_plugin_load_cancel(job);
    }
    plugin_fixture_for(&r, 200); /* until the last of them was started */
    wait_for_workers(0);
}

/* ---- calls ---- */

TEST(a_call_returns_what_the_method_returned)
{
    plugin_fixture_load(&r, "echo");
    plugin_call p;
    run(&p, "test.echo", "{\"message\":\"h\\u00e9llo\"}");
    assert_int_equal(p.kind, CW_OUTCOME_RESULT);
    assert_non_null(strstr(p.result, "llo"));
    run(&p, "test.fail", "{\"code\":-5,\"message\":\"no\",\"data\":[1]}");
    assert_int_equal(p.kind, CW_OUTCOME_ERROR);
    assert_int_equal(p.code, -5);
    assert_string_equal(p.message, "no");
    run(&p, "test.log", "{\"message\":\"a line\",\"level\":\"warn\"}");
    assert_int_equal(p.n_log, 1);
    assert_string_equal(p.message, "1 a line");
    assert_int_equal(live_workers(), 1);
}

TEST(the_caller_and_progress_travel)
{
    plugin_fixture_load(&r, "echo");
    cw_caller *caller;
    cw_str permission = CW_STR("access content");
    assert_int_equal(cw_caller_new_anonymous(&permission, 1, &caller, NULL), CW_OK);
    plugin_call p = {.call.caller = caller};
    assert_int_equal(plugin_call_start(&p, &r.loop, r.source, "test.caller", "{}"), CW_OK);
    plugin_fixture_until(&r, &p.n_done, 1, 20000);
    assert_non_null(strstr(p.result, "\"may_access_content\":true"));
    plugin_call_done(&p);
    cw_caller_unref(caller);
    p = (plugin_call){.call.wants_progress = true};
    assert_int_equal(
        plugin_call_start(&p, &r.loop, r.source, "test.progress", "{\"steps\":3,\"ms\":1}"), CW_OK);
    plugin_fixture_until(&r, &p.n_done, 1, 20000);
    assert_int_equal(p.n_progress, 3);
    assert_true(p.progress > 2.9);
    plugin_call_done(&p);
    run(&p, "test.progress", "{\"steps\":2,\"ms\":1}");
    assert_int_equal(p.n_progress, 0);
}

TEST(large_answers_and_arguments_pass_up_to_the_frame)
{
    plugin_fixture_load(&r, "echo");
    plugin_call p;
    run(&p, "test.large", "{\"bytes\":1000000}");
    assert_int_equal(p.kind, CW_OUTCOME_RESULT);
    size_t n = 1024 * 1024;
    char *params = malloc(n + 64);
    assert_non_null(params);
    int head = snprintf(params, 64, "{\"message\":\"");
    memset(params + head, 'x', n);
    snprintf(params + (size_t)head + n, 8, "\"}");
    p = (plugin_call){0};
    cw_code rc = plugin_call_start(&p, &r.loop, r.source, "test.echo", params);
    if (rc == CW_OK) { /* queued first, because no worker was free */
        plugin_fixture_until(&r, &p.n_done, 1, 20000);
        assert_int_equal(p.kind, CW_OUTCOME_FAILED);
    }
    assert_int_equal(p.fault, CW_FAULT_PROTOCOL);
    assert_string_equal(p.message, "The arguments are larger than the plugin takes.");
    plugin_call_done(&p);
    free(params);
}

TEST(an_answer_beyond_the_arena_fails_the_call_and_not_the_worker)
{
    plugin_fixture_load(&r, "echo");
    plugin_call p = {0};
    cw_arena_init(&p.arena, 4096);
    assert_int_equal(plugin_call_start(&p, &r.loop, r.source, "test.large", "{\"bytes\":100000}"),
                     CW_OK);
    plugin_fixture_until(&r, &p.n_done, 1, 20000);
    assert_int_equal(p.fault, CW_FAULT_PROTOCOL);
    assert_string_equal(p.message, "The answer of the plugin is too large.");
    plugin_call_done(&p);
    int before, after;
    assert_int_equal(plugin_fixture_count_workers(&before), 1);
    run(&p, "test.echo", "{\"message\":\"x\"}");
    assert_int_equal(plugin_fixture_count_workers(&after), 1);
    assert_int_equal(before, after);
}

TEST(the_queue_has_a_ceiling)
{
    r.opts.queue = 3;
    r.opts.workers = 1;
    plugin_fixture_load(&r, "echo");
    plugin_call p[5] = {0};
    int n_ok = 0;
    for (size_t i = 0; i < 4; i++)
        n_ok += plugin_call_start(&p[i], &r.loop, r.source, "test.sleep", "{\"ms\":20}") == CW_OK;
    assert_int_equal(n_ok, 3);
    assert_int_equal(p[3].fault, CW_FAULT_FULL);
    assert_string_equal(p[3].message, "Too many calls wait for the plugin 'echo'.");
    for (size_t i = 0; i < 3; i++)
        plugin_fixture_until(&r, &p[i].n_done, 1, 20000);
    /* One after another, in order. */
    assert_true(p[0].done_ms <= p[1].done_ms && p[1].done_ms <= p[2].done_ms);
    for (size_t i = 0; i < CW_COUNT(p); i++)
        plugin_call_done(&p[i]);
}

TEST(slow_calls_get_workers_up_to_the_ceiling_and_spare_ones_end)
{
    r.opts.workers = 3;
    r.opts.idle_ms = 50;
    plugin_fixture_load(&r, "echo");
    wait_for_workers(0);
    plugin_call p[6] = {0};
    for (size_t i = 0; i < CW_COUNT(p); i++)
        call(&p[i], "test.sleep", "{\"ms\":200}");
    int most = 0;
    while (!p[5].n_done) {
        int n = live_workers();
        most = n > most ? n : most;
        plugin_fixture_turn(&r);
    }
    assert_int_equal(most, 3);
    for (size_t i = 0; i < CW_COUNT(p); i++) {
        plugin_fixture_until(&r, &p[i].n_done, 1, 20000);
        plugin_call_done(&p[i]);
    }
    wait_for_workers(1);
    plugin_fixture_for(&r, 120); /* the last one stays */
    assert_int_equal(live_workers(), 1);
}

/* ---- deaths ---- */

static void check_death(const char *method, const char *detail)
{
    plugin_call warm, p;
    run(&warm, "faults.ok", "{}");
    call(&p, method, "{}");
    plugin_fixture_until(&r, &p.n_done, 1, 5000);
    uint64_t took = p.done_ms - p.began_ms;
    cw_arena_done(&p.arena);
    if (p.kind != CW_OUTCOME_FAILED || p.fault != CW_FAULT_DIED || !strstr(p.detail, detail))
        fail_msg("%s: kind %d fault %d detail '%s'", method, (int)p.kind, (int)p.fault, p.detail);
    assert_string_equal(p.message, "The plugin ended unexpectedly while it ran this call.");
    assert_int_equal(strncmp(p.detail, "faults: worker ", 15), 0);
    /* The whole call, so this is more than the time from the death on. */
    if (took > SOON_MS)
        fail_msg("%s: told after %u ms", method, (unsigned)took);
}

TEST(a_death_fails_its_call_soon_and_says_how)
{
    plugin_fixture_load(&r, "faults");
    for (int round = 0; round < 3; round++) {
        check_death("faults.segv", SANITIZER_SLOWNESS > 1 ? "" : "killed by SIGSEGV");
        check_death("faults.abort", "killed by SIGABRT");
        check_death("faults.exit", "exited with 3");
        check_death("faults.garbage", "sent a");
        check_death("faults.half", "ended inside a frame");
        check_death("faults.oversized", "sent a frame of more than 1048576 bytes");
    }
}

TEST(a_worker_over_its_memory_limit_dies_alone)
{
    if (SANITIZER_SLOWNESS > 1)
        skip(); /* sanitizers reserve more than any limit */
    r.opts.memory = 128u << 20;
    plugin_fixture_load(&r, "faults");
    plugin_call p;
    run(&p, "faults.memory", "{}");
    assert_int_equal(p.fault, CW_FAULT_DIED);
    run(&p, "faults.ok", "{}");
    assert_int_equal(p.kind, CW_OUTCOME_RESULT);
}

TEST(an_idle_worker_that_is_killed_is_replaced)
{
    plugin_fixture_load(&r, "echo");
    plugin_call p;
    run(&p, "test.echo", "{\"message\":\"x\"}");
    int pid = 0;
    assert_int_equal(plugin_fixture_count_workers(&pid), 1);
    kill(pid, SIGKILL);
    wait_for_workers(0);
    plugin_fixture_for(&r, 30);
    run(&p, "test.echo", "{\"message\":\"y\"}");
    assert_int_equal(p.kind, CW_OUTCOME_RESULT);
}

/* Make a method quick, so that calls of it are sent ahead. */
static void warm_up(const char *method, const char *params)
{
    for (int i = 0; i < 200; i++) {
        plugin_call p;
        run(&p, method, params);
    }
}

TEST(calls_behind_a_dead_one_are_sent_again)
{
    r.opts.workers = 1;
    plugin_fixture_load(&r, "echo");
    warm_up("test.echo", "{\"message\":\"x\"}");
    int pid = 0;
    assert_int_equal(plugin_fixture_count_workers(&pid), 1);
    kill(pid, SIGSTOP);
    enum { N = 8 };
    plugin_call p[N];
    for (size_t i = 0; i < N; i++)
        call(&p[i], "test.echo", "{\"message\":\"x\"}");
    plugin_fixture_for(&r, 5);
    kill(pid, SIGKILL);
    for (size_t i = 0; i < N; i++)
        plugin_fixture_until(&r, &p[i].n_done, 1, 5000);
    /* It had one of them in hand, or so we must believe. */
    assert_int_equal(p[0].fault, CW_FAULT_DIED);
    for (size_t i = 1; i < N; i++)
        assert_int_equal(p[i].kind, CW_OUTCOME_RESULT);
    for (size_t i = 0; i < N; i++)
        plugin_call_done(&p[i]);
}

static void call_from(plugin_call *p, const char *peer, const char *method, const char *params)
{
    *p = (plugin_call){.call.peer = cw_str_from(peer)};
    assert_int_equal(plugin_call_start(p, &r.loop, r.source, method, params), CW_OK);
}

/* A worker is kept from a caller whose call runs already, and is then for the others. */
TEST(a_call_that_is_sent_again_does_not_keep_a_worker_from_others)
{
    const char *const ada = "192.0.2.1", *const bob = "198.51.100.1";
    const char *const text = "{\"message\":\"x\"}";
    plugin_call slow, first, dies, behind, waits;
    r.opts.workers = 2;
    plugin_fixture_load(&r, "echo");
    warm_up("test.echo", text);
    call_from(&slow, ada, "test.sleep", "{\"ms\":60000}");
    call_from(&first, bob, "test.echo", text);
    plugin_fixture_until(&r, &first.n_done, 1, 5000);
    int pid = (int)first.call.pid;
    kill(pid, SIGSTOP);
    call_from(&dies, bob, "test.echo", text);
    call_from(&behind, ada, "test.echo", text);
    call_from(&waits, bob, "test.sleep", "{\"ms\":1}");
    assert_int_equal(dies.call.pid, pid);
    /* On a slow machine the method is not quick, and the call waits with the same outcome. */
    assert_true(behind.call.pid == 0 || behind.call.pid == pid);
    kill(pid, SIGKILL);
    plugin_fixture_until(&r, &waits.n_done, 1, 5000);
    assert_int_equal(waits.kind, CW_OUTCOME_RESULT);
    assert_int_equal(dies.fault, CW_FAULT_DIED);
    assert_int_equal(behind.n_done, 0);
    plugin_call_cancel(&slow);
    plugin_fixture_until(&r, &behind.n_done, 1, 5000);
    assert_int_equal(behind.kind, CW_OUTCOME_RESULT);
    plugin_call *const all[] = {&slow, &first, &dies, &behind, &waits};
    for (size_t i = 0; i < CW_COUNT(all); i++)
        plugin_call_done(all[i]);
}

/* ---- the breaker ---- */

TEST(a_method_that_keeps_dying_is_paused_alone)
{
    plugin_fixture_load(&r, "faults");
    plugin_call p;
    for (unsigned i = 0; i < CW_PLUGIN_DEATHS; i++) {
        run(&p, "faults.exit", "{}");
        assert_int_equal(p.fault, CW_FAULT_DIED);
    }
    p = (plugin_call){0};
    assert_int_not_equal(plugin_call_start(&p, &r.loop, r.source, "faults.exit", "{}"), CW_OK);
    assert_int_equal(p.fault, CW_FAULT_UNAVAILABLE);
    assert_string_equal(p.message,
                        "The method 'faults.exit' has crashed repeatedly and is paused.");
    plugin_call_done(&p);
    run(&p, "faults.ok", "{}");
    assert_int_equal(p.kind, CW_OUTCOME_RESULT);
    run(&p, "faults.abort", "{}");
    assert_int_equal(p.fault, CW_FAULT_DIED);
}

TEST(healthy_calls_in_between_keep_a_method_from_being_paused)
{
    plugin_fixture_load(&r, "faults");
    plugin_call p;
    for (unsigned i = 0; i < 4 * CW_PLUGIN_DEATHS; i++) {
        run(&p, "faults.exit", "{}");
        assert_int_equal(p.fault, CW_FAULT_DIED);
        if (i % (CW_PLUGIN_DEATHS - 1) == 0)
            run(&p, "faults.ok", "{}");
    }
}

/* A host that can be switched off: a script in front of the real one. */
static char script[] = "/tmp/causeway-host-XXXXXX";
static char off_switch[64];

static void make_switch(void)
{
    memcpy(script, "/tmp/causeway-host-XXXXXX", sizeof script);
    int fd = mkstemp(script);
    assert_true(fd >= 0);
    snprintf(off_switch, sizeof off_switch, "%s.off", script);
    dprintf(fd, "#!/bin/sh\n[ -e '%s' ] && exit 9\nexec '%s' \"$@\"\n", off_switch,
            plugin_fixture_host);
    fchmod(fd, 0700);
    close(fd);
    r.opts.host = script;
}

static void switch_off(void)
{
    close(open(off_switch, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

TEST(a_plugin_that_does_not_start_is_paused_and_comes_back)
{
    make_switch();
    plugin_fixture_load(&r, "echo");
    switch_off();
    plugin_call p;
    uint64_t began = cw_clock_ms();
    run(&p, "test.echo", "{\"message\":\"x\"}");
    uint64_t took = cw_clock_ms() - began;
    assert_int_equal(p.fault, CW_FAULT_UNAVAILABLE);
    assert_string_equal(p.message, "The plugin has crashed repeatedly and is paused.");
    /* Back-off: 100 + 200 + 400 + 800 ms. */
    assert_true(took >= 1500);
    p = (plugin_call){0};
    assert_int_not_equal(plugin_call_start(&p, &r.loop, r.source, "test.echo", "{}"), CW_OK);
    assert_string_equal(p.message, "The plugin 'echo' has crashed repeatedly and is paused.");
    assert_int_equal(p.fault, CW_FAULT_UNAVAILABLE);
    unlink(off_switch);
    plugin_fixture_for(&r, CW_PLUGIN_PAUSE_MIN_MS);
    run(&p, "test.echo", "{\"message\":\"x\"}");
    assert_int_equal(p.kind, CW_OUTCOME_RESULT);
    unlink(script);
}

TEST(a_process_that_cannot_be_started_makes_calls_wait)
{
    make_switch();
    r.opts.load_ms = 700;
    plugin_fixture_load(&r, "echo");
    chmod(script, 0600); /* EACCES from exec, as EAGAIN from fork */
    if (access(script, X_OK) == 0)
        rename(script, off_switch);
    plugin_call p;
    uint64_t began = cw_clock_ms();
    run(&p, "test.echo", "{\"message\":\"x\"}");
    assert_int_equal(p.fault, CW_FAULT_UNAVAILABLE);
    assert_string_equal(p.message, "The plugin could not be started.");
    uint64_t took = cw_clock_ms() - began;
    assert_true(took >= 690 && took < 700 + patience(500));
    call(&p, "test.echo", "{\"message\":\"x\"}");
    plugin_fixture_for(&r, 100);
    assert_int_equal(p.n_done, 0);
    rename(off_switch, script);
    chmod(script, 0700);
    plugin_fixture_until(&r, &p.n_done, 1, 5000);
    unlink(script);
    unlink(off_switch);
    plugin_call_done(&p);
}

/* ---- cancelling ---- */

TEST(a_waiting_call_is_cancelled_without_a_word)
{
    r.opts.workers = 1;
    plugin_fixture_load(&r, "echo");
    plugin_call runs, waits, other;
    call(&runs, "test.sleep", "{\"ms\":50}");
    call(&waits, "test.sleep", "{\"ms\":5000}");
    call(&other, "test.echo", "{\"message\":\"x\"}");
    plugin_call_cancel(&waits);
    plugin_fixture_until(&r, &other.n_done, 1, 2000);
    assert_int_equal(runs.kind, CW_OUTCOME_RESULT);
    assert_int_equal(waits.n_done, 0);
    plugin_call_done(&runs);
    plugin_call_done(&waits);
    plugin_call_done(&other);
}

TEST(a_running_call_that_listens_ends_and_its_worker_lives)
{
    r.opts.grace_ms = 2000;
    r.opts.workers = 1;
    plugin_fixture_load(&r, "echo");
    plugin_call p, next;
    run(&p, "test.echo", "{\"message\":\"x\"}");
    int before, after;
    plugin_fixture_count_workers(&before);
    call(&p, "test.sleep", "{\"ms\":5000}");
    plugin_fixture_for(&r, 20);
    uint64_t began = cw_clock_ms();
    plugin_call_cancel(&p);
    run(&next, "test.echo", "{\"message\":\"x\"}");
    assert_true(cw_clock_ms() - began < patience(500) * SANITIZER_SLOWNESS);
    assert_int_equal(p.n_done, 0);
    plugin_fixture_count_workers(&after);
    assert_int_equal(before, after);
    plugin_call_done(&p);
}

TEST(a_running_call_that_is_deaf_is_killed_after_the_grace_period)
{
    r.opts.workers = 1;
    plugin_fixture_load(&r, "faults");
    const char *const kinds[] = {"faults.hang", "faults.deadlock"};
    for (unsigned i = 0; i < 4 * CW_PLUGIN_DEATHS; i++) {
        plugin_call p, next;
        run(&next, "faults.ok", "{}"); /* so that a worker is there */
        call(&p, kinds[i % 2], "{}");
        plugin_fixture_for(&r, 5);
        uint64_t began = cw_clock_ms();
        plugin_call_cancel(&p);
        run(&next, "faults.ok", "{}");
        assert_int_equal(next.kind, CW_OUTCOME_RESULT);
        uint64_t took = cw_clock_ms() - began;
        assert_true(took >= 90);
        assert_true(took < 100 + patience(1000) * SANITIZER_SLOWNESS); /* it would hang for ever */
        assert_int_equal(p.n_done, 0);
        plugin_call_done(&p);
    }
}

TEST(calls_behind_a_killed_one_are_sent_again)
{
    r.opts.workers = 1;
    plugin_fixture_load(&r, "faults");
    warm_up("faults.ok", "{}");
    int pid = 0;
    plugin_fixture_count_workers(&pid);
    kill(pid, SIGSTOP);
    enum { N = 6 };
    plugin_call p[N];
    for (size_t i = 0; i < N; i++)
        call(&p[i], "faults.ok", "{}");
    plugin_fixture_for(&r, 3);
    plugin_call_cancel(&p[0]); /* runs, as far as we know */
    plugin_call_cancel(&p[3]); /* behind */
    for (size_t i = 1; i < N; i++) {
        if (i != 3)
            plugin_fixture_until(&r, &p[i].n_done, 1, 3000);
    }
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(p[i].n_done, i == 0 || i == 3 ? 0 : 1);
        assert_int_equal(p[i].kind, CW_OUTCOME_RESULT);
        plugin_call_done(&p[i]);
    }
}

TEST(a_cancelled_call_behind_is_answered_and_forgotten)
{
    r.opts.workers = 1;
    plugin_fixture_load(&r, "echo");
    warm_up("test.echo", "{\"message\":\"x\"}");
    int before, after;
    plugin_fixture_count_workers(&before);
    plugin_call p[4];
    for (size_t i = 0; i < 4; i++)
        call(&p[i], "test.echo", "{\"message\":\"x\"}");
    plugin_call_cancel(&p[1]);
    plugin_call_cancel(&p[3]);
    plugin_fixture_until(&r, &p[2].n_done, 1, 3000);
    plugin_fixture_for(&r, 200); /* longer than the grace period */
    plugin_fixture_count_workers(&after);
    assert_int_equal(before, after);
    assert_int_equal(p[0].n_done, 1);
    assert_int_equal(p[1].n_done + p[3].n_done, 0);
    for (size_t i = 0; i < 4; i++)
        plugin_call_done(&p[i]);
}

static plugin_call *victim;

static void cancel_victim(plugin_call *p)
{
    (void)p;
    plugin_call_cancel(victim);
}

TEST(one_call_may_cancel_another_from_its_done)
{
    r.opts.workers = 1;
    r.opts.load_ms = 300;
    make_switch();
    plugin_fixture_load(&r, "echo");
    rename(script, off_switch); /* both fail together, because nothing starts */
    plugin_call a, b;
    call(&a, "test.echo", "{\"message\":\"x\"}");
    call(&b, "test.echo", "{\"message\":\"x\"}");
    a.on_done = cancel_victim;
    victim = &b;
    plugin_fixture_until(&r, &a.n_done, 1, 3000);
    plugin_fixture_for(&r, 20);
    assert_int_equal(b.n_done, 0);
    unlink(off_switch);
    plugin_call_done(&a);
    plugin_call_done(&b);
}

/* ---- the end ---- */

TEST(a_retired_plugin_ends_its_calls_first)
{
    plugin_fixture_load(&r, "echo");
    plugin_call p;
    call(&p, "test.sleep", "{\"ms\":100}");
    plugin_fixture_for(&r, 10);
    cw_source_retire(r.source);
    r.source->ops->sweep(r.source, &r.loop, false);
    plugin_fixture_until(&r, &p.n_done, 1, 2000);
    assert_int_equal(p.kind, CW_OUTCOME_RESULT);
    plugin_call_done(&p);
    wait_for_workers(0);
    wait_for_last_reference();
    /* A late call of an old snapshot still works, and leaves nothing behind. */
    run(&p, "test.echo", "{\"message\":\"late\"}");
    assert_int_equal(p.kind, CW_OUTCOME_RESULT);
    wait_for_workers(0);
    wait_for_last_reference();
}

TEST(an_idle_retired_plugin_is_swept_at_once)
{
    plugin_fixture_load(&r, "echo");
    plugin_call p;
    run(&p, "test.echo", "{\"message\":\"x\"}");
    r.source->ops->sweep(r.source, &r.loop, false); /* not retired: stays */
    assert_int_equal(atomic_load(&r.source->refs), 2);
    cw_source_retire(r.source);
    r.source->ops->sweep(r.source, &r.loop, false);
    wait_for_workers(0);
}

TEST(cancelling_the_last_call_of_a_retired_plugin_closes_it)
{
    plugin_fixture_load(&r, "faults");
    plugin_call p;
    call(&p, "faults.hang", "{}");
    plugin_fixture_for(&r, 30);
    cw_source_retire(r.source);
    r.source->ops->sweep(r.source, &r.loop, false);
    plugin_fixture_for(&r, 20);
    assert_int_equal(live_workers(), 1);
    plugin_call_cancel(&p);
    wait_for_workers(0);
    plugin_call_done(&p);
}

TEST(the_end_of_the_loop_drops_what_runs)
{
    /* At every moment of a worker's life. */
    for (unsigned turns = 0; turns < 12; turns++) {
        plugin_fixture_load(&r, "echo");
        plugin_call p[6] = {0};
        for (size_t i = 0; i < CW_COUNT(p); i++)
            call(&p[i], "test.sleep", "{\"ms\":3000}");
        for (unsigned i = 0; i < turns; i++)
            plugin_fixture_turn(&r);
        if (turns % 2)
            r.source->ops->sweep(r.source, &r.loop, true);
        uint64_t began = cw_clock_ms();
        plugin_fixture_done(&r);
        assert_true(cw_clock_ms() - began < patience(1000));
        for (size_t i = 0; i < CW_COUNT(p); i++) {
            assert_int_equal(p[i].n_done, 0);
            assert_null(p[i].call.op);
            plugin_call_done(&p[i]);
        }
        plugin_fixture_init(&r);
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    PLUGIN_FIXTURE_MAIN(argc, argv);
    const struct CMUnitTest tests[] = {
        T(a_plugin_describes_its_methods_and_the_loading_worker_ends),
        T(what_cannot_be_loaded_says_why),
        T(a_file_over_the_ceiling_is_refused),
        T(a_host_that_is_not_there_is_a_problem),
        T(a_host_that_says_nothing_is_given_up),
        T(a_load_can_be_cancelled_at_any_time),
        T(a_call_returns_what_the_method_returned),
        T(the_caller_and_progress_travel),
        T(large_answers_and_arguments_pass_up_to_the_frame),
        T(an_answer_beyond_the_arena_fails_the_call_and_not_the_worker),
        T(the_queue_has_a_ceiling),
        T(slow_calls_get_workers_up_to_the_ceiling_and_spare_ones_end),
        T(a_death_fails_its_call_soon_and_says_how),
        T(a_worker_over_its_memory_limit_dies_alone),
        T(an_idle_worker_that_is_killed_is_replaced),
        T(calls_behind_a_dead_one_are_sent_again),
        T(a_call_that_is_sent_again_does_not_keep_a_worker_from_others),
        T(a_method_that_keeps_dying_is_paused_alone),
        T(healthy_calls_in_between_keep_a_method_from_being_paused),
        T(a_plugin_that_does_not_start_is_paused_and_comes_back),
        T(a_process_that_cannot_be_started_makes_calls_wait),
        T(a_waiting_call_is_cancelled_without_a_word),
        T(a_running_call_that_listens_ends_and_its_worker_lives),
        T(a_running_call_that_is_deaf_is_killed_after_the_grace_period),
        T(calls_behind_a_killed_one_are_sent_again),
        T(a_cancelled_call_behind_is_answered_and_forgotten),
        T(one_call_may_cancel_another_from_its_done),
        T(a_retired_plugin_ends_its_calls_first),
        T(an_idle_retired_plugin_is_swept_at_once),
        T(cancelling_the_last_call_of_a_retired_plugin_closes_it),
        T(the_end_of_the_loop_drops_what_runs),
    };
    return cmocka_run_group_tests_name("integration/plugin", tests, NULL, NULL);
}
