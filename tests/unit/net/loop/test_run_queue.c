/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/loop/run_queue.h"

#include <unistd.h>

#include "support/oom.h"
#include "support/test.h"

#define MS UINT64_C(1000000)
#define TRIES 20 /* of tests that a machine which stands still for long makes void */

static cw_loop loop;
static cw_run_queue queue;
static char trace[64];

/* Takes `cpu_ns` of the processor and leaves its name in the trace. */
typedef struct worker {
    cw_runner runner;
    char name;
    uint64_t group;
    uint64_t cpu_ns;
    bool wastes, is_large;
} worker;

static worker *worker_of(const cw_runner *runner)
{
    return CW_CONTAINER((cw_runner *)(uintptr_t)runner, worker, runner);
}

static void work(cw_runner *runner)
{
    const worker *w = worker_of(runner);
    size_t n = strlen(trace);
    assert_true(n + 1 < sizeof trace);
    assert_false(cw_run_queue_has(runner));
    trace[n] = w->name;
    for (uint64_t end = cw_clock_thread_ns() + w->cpu_ns; cw_clock_thread_ns() < end;)
        ;
    if (w->wastes)
        cw_run_queue_set_wasted(&queue);
}

static cw_fair_key key_of(const cw_runner *runner)
{
    uint64_t group = worker_of(runner)->group;
    return (cw_fair_key){{group, group, group}};
}

static bool is_large(const cw_runner *runner)
{
    return worker_of(runner)->is_large;
}

static const cw_runner_ops ops = {.run = work, .key = key_of, .is_large = is_large};

static worker worker_new(char name, uint64_t group, uint64_t cpu_ns)
{
    return (worker){.runner = {.ops = &ops}, .name = name, .group = group, .cpu_ns = cpu_ns};
}

static void turn(void)
{
    uv_run(&loop.uv, UV_RUN_NOWAIT);
}

static void run_until(size_t n)
{
    for (int i = 0; i < 20000 && strlen(trace) < n; i++) {
        turn();
        usleep(200);
    }
    assert_int_equal(strlen(trace), n);
}

SETUP(set_up)
{
    memset(trace, 0, sizeof trace);
    if (cw_loop_init(&loop, 64, NULL))
        return -1;
    cw_run_queue_init(&queue, &loop);
    turn();
    return 0;
}

TEARDOWN(tear_down)
{
    cw_loop_end(&loop);
    cw_loop_run(&loop);
    cw_run_queue_done(&queue);
    cw_loop_done(&loop);
    return 0;
}

TEST(a_quick_turn_runs_all_at_once)
{
    worker a = worker_new('a', 1, 0);
    assert_ptr_equal(loop.run_queue, &queue);
    /* The first of a turn runs, however long the machine stands still. */
    assert_true(cw_run_queue_run(&queue, &a.runner));
    turn();
    assert_true(cw_run_queue_run(&queue, &a.runner));
    assert_string_equal(trace, "aa");
}

TEST(after_a_slice_the_groups_of_the_queue_take_turns)
{
    worker a = worker_new('a', 1, CW_RUN_SLICE_NS), b = a, c = a, other = worker_new('o', 2, 0);
    b.name = 'b';
    c.name = 'c';
    assert_true(cw_run_queue_run(&queue, &a.runner));
    assert_false(cw_run_queue_run(&queue, &b.runner));
    assert_false(cw_run_queue_run(&queue, &c.runner));
    assert_false(cw_run_queue_run(&queue, &other.runner));
    assert_false(cw_run_queue_run(&queue, &other.runner)); /* once is enough */
    run_until(4);
    assert_string_equal(trace, "aboc");
}

TEST(a_slice_ends_the_work_of_a_turn)
{
    worker a = worker_new('a', 1, CW_RUN_SLICE_NS), b = a;
    b.name = 'b';
    assert_int_equal(cw_run_queue_add(&queue, &a.runner), CW_OK);
    assert_int_equal(cw_run_queue_add(&queue, &b.runner), CW_OK);
    turn();
    assert_string_equal(trace, "a");
    turn();
    assert_string_equal(trace, "ab");
}

TEST(a_runner_that_is_removed_does_not_run)
{
    worker a = worker_new('a', 1, 0), b = worker_new('b', 1, 0);
    assert_int_equal(cw_run_queue_add(&queue, &a.runner), CW_OK);
    assert_int_equal(cw_run_queue_add(&queue, &b.runner), CW_OK);
    cw_run_queue_remove(&queue, &a.runner);
    cw_run_queue_remove(&queue, &a.runner);
    assert_false(cw_run_queue_has(&a.runner));
    run_until(1);
    assert_string_equal(trace, "b");
}

/* Serve a long step of group 1, and then one of each group. */
static void contest(worker *a, worker *other, bool is_contested)
{
    memset(trace, 0, sizeof trace);
    queue.measured_ns = 0; /* of the try before: its first step would pause the group already */
    for (int i = 0; i < 2; i++) { /* the first one is the reason to measure */
        if (is_contested)
            cw_run_queue_set_contested(&queue, cw_clock_ns());
        turn();
        assert_true(cw_run_queue_run(&queue, &a->runner));
    }
    assert_int_equal(cw_run_queue_add(&queue, &a->runner), CW_OK);
    assert_int_equal(cw_run_queue_add(&queue, &other->runner), CW_OK);
    run_until(4);
}

TEST(a_group_with_long_steps_pauses_while_others_use_the_loop)
{
    worker a = worker_new('a', 1, 20 * MS), other = worker_new('o', 2, 0);
    for (int i = 0; i < TRIES && strcmp(trace, "aaoa") != 0; i++) {
        usleep(200000); /* the pause of the try before is over */
        contest(&a, &other, /* is_contested= */ true);
    }
    assert_string_equal(trace, "aaoa");
}

TEST(a_group_alone_does_not_pause)
{
    worker a = worker_new('a', 1, 20 * MS), other = worker_new('o', 2, 0);
    contest(&a, &other, /* is_contested= */ false);
    assert_string_equal(trace, "aaao");
}

TEST(after_a_wasted_step_large_ones_of_its_group_pause_for_longer)
{
    worker a = worker_new('a', 1, 3 * MS), small = worker_new('s', 1, 0), large = small;
    a.wastes = large.is_large = true;
    large.name = 'l';
    for (int i = 0; i < TRIES && strcmp(trace, "aasl") != 0; i++) {
        usleep(300000); /* the pause of the try before is over */
        memset(trace, 0, sizeof trace);
        for (int k = 0; k < 2; k++) {
            cw_run_queue_set_contested(&queue, cw_clock_ns());
            turn();
            (void)cw_run_queue_run(&queue, &a.runner);
        }
        assert_int_equal(cw_run_queue_add(&queue, &large.runner), CW_OK);
        for (uint64_t end = cw_clock_ns() + 20 * MS; cw_clock_ns() < end;)
            turn(); /* the usual pause is over, that of large steps is not */
        assert_int_equal(cw_run_queue_add(&queue, &small.runner), CW_OK);
        run_until(4);
    }
    assert_string_equal(trace, "aasl");
}

TEST(without_memory_for_the_queue_a_runner_runs_at_once)
{
    worker a = worker_new('a', 1, CW_RUN_SLICE_NS), b = a;
    b.name = 'b';
    assert_true(cw_run_queue_run(&queue, &a.runner));
    oom_fail_at(1);
    assert_int_equal(cw_run_queue_add(&queue, &b.runner), CW_NOMEM);
    oom_fail_at(1);
    assert_true(cw_run_queue_run(&queue, &b.runner));
    oom_reset();
    assert_string_equal(trace, "ab");
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST(a_short_pause_does_not_end_the_one_after_waste)
{
    worker a = worker_new('a', 1, 3 * MS);
    const uint64_t *end = &queue.pauses[1].large_until_ns;
    a.wastes = true;
    for (int i = 0; i < TRIES && *end < cw_clock_ns() + 20 * MS; i++) {
        cw_run_queue_set_contested(&queue, cw_clock_ns());
        turn();
        (void)cw_run_queue_run(&queue, &a.runner);
        queue.pauses[1].until_ns = 0;
    }
    uint64_t before = *end;
    assert_true(before > 0);
    a.wastes = false;
    for (int i = 0; i < TRIES && queue.pauses[1].until_ns == 0; i++) {
        cw_run_queue_set_contested(&queue, cw_clock_ns());
        turn();
        (void)cw_run_queue_run(&queue, &a.runner);
    }
    assert_true(queue.pauses[1].until_ns > 0);
    assert_true(*end >= before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_quick_turn_runs_all_at_once),
        T(after_a_slice_the_groups_of_the_queue_take_turns),
        T(a_slice_ends_the_work_of_a_turn),
        T(a_runner_that_is_removed_does_not_run),
        T(a_group_with_long_steps_pauses_while_others_use_the_loop),
        T(a_group_alone_does_not_pause),
        T(after_a_wasted_step_large_ones_of_its_group_pause_for_longer),
        T(a_short_pause_does_not_end_the_one_after_waste),
        T(without_memory_for_the_queue_a_runner_runs_at_once),
    };
    return cmocka_run_group_tests_name("run_queue", tests, NULL, NULL);
}
