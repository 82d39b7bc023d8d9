/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "access/workers.h"
#include "base/attr.h"
#include "oom.h"

typedef struct job {
    cw_work work;
    pthread_mutex_t *gate;
    atomic_int runs;
    atomic_bool was_ending;
} job;

static void run(cw_work *work, bool is_ending)
{
    job *j = CW_CONTAINER(work, job, work);
    if (j->gate) {
        pthread_mutex_lock(j->gate);
        pthread_mutex_unlock(j->gate);
    }
    atomic_store(&j->was_ending, is_ending);
    atomic_fetch_add(&j->runs, 1);
}

static void every_job_runs_once(void **state)
{
    (void)state;
    static job jobs[100];
    cw_workers *w;
    assert_int_equal(cw_workers_new(2, 100, &w, NULL), CW_OK);
    for (size_t i = 0; i < CW_COUNT(jobs); i++) {
        jobs[i].work.run = run;
        assert_int_equal(cw_workers_ask(w, &jobs[i].work), CW_OK);
    }
    cw_workers_free(w);
    for (size_t i = 0; i < CW_COUNT(jobs); i++)
        assert_int_equal(atomic_load(&jobs[i].runs), 1);
}

static void the_queue_has_a_ceiling(void **state)
{
    (void)state;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    job held = {.work = {.run = run}, .gate = &gate};
    job waiting = {.work = {.run = run}}, refused = {.work = {.run = run}};
    cw_workers *w;
    assert_int_equal(cw_workers_new(1, 1, &w, NULL), CW_OK);
    pthread_mutex_lock(&gate);
    assert_int_equal(cw_workers_ask(w, &held.work), CW_OK);
    usleep(50000); /* the thread has it */
    assert_int_equal(cw_workers_ask(w, &waiting.work), CW_OK);
    assert_int_equal(cw_workers_ask(w, &refused.work), CW_LIMIT);
    pthread_mutex_unlock(&gate);
    cw_workers_stop(w);
    assert_int_equal(atomic_load(&waiting.runs), 1);
    assert_int_equal(cw_workers_ask(w, &refused.work), CW_LIMIT);
    cw_workers_free(w);
    assert_int_equal(atomic_load(&refused.runs), 0);
}

static void make(void *ctx)
{
    cw_workers *w = NULL;
    (void)ctx;
    cw_code rc = cw_workers_new(2, 1, &w, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_workers_free(w);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_true(oom_each(make, NULL) >= 1);
    cw_workers_stop(NULL);
    cw_workers_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_runs_once),
        cmocka_unit_test(the_queue_has_a_ceiling),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
