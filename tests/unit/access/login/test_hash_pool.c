/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "access/login/hash_pool.h"
#include "base/attr.h"
#include "support/oom.h"
#include "support/test.h"

typedef struct job {
    cw_hash_job work;
    pthread_mutex_t *gate;
    atomic_bool began;
    atomic_int runs;
    atomic_int fate;
} job;

static void run(cw_hash_job *work, cw_hash_job_outcome fate)
{
    job *j = CW_CONTAINER(work, job, work);
    atomic_store(&j->began, true);
    if (j->gate) {
        pthread_mutex_lock(j->gate);
        pthread_mutex_unlock(j->gate);
    }
    atomic_store(&j->fate, fate);
    atomic_fetch_add(&j->runs, 1);
}

static void wait_until_begun(const job *j)
{
    for (int i = 0; i < 30000 && !atomic_load(&j->began); i++)
        usleep(1000);
    assert_true(atomic_load(&j->began));
}

TEST(every_job_runs_once)
{
    static job jobs[100];
    cw_hash_pool *w;
    assert_int_equal(cw_hash_pool_new(2, 100, &w, NULL), CW_OK);
    for (size_t i = 0; i < CW_COUNT(jobs); i++) {
        jobs[i].work.run = run;
        assert_int_equal(cw_hash_pool_ask(w, &jobs[i].work), CW_OK);
    }
    cw_hash_pool_free(w);
    for (size_t i = 0; i < CW_COUNT(jobs); i++)
        assert_int_equal(atomic_load(&jobs[i].runs), 1);
}

TEST(the_queue_has_a_ceiling)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    job held = {.work = {.run = run}, .gate = &gate};
    job waiting = {.work = {.run = run}}, refused = {.work = {.run = run}};
    cw_hash_pool *w;
    assert_int_equal(cw_hash_pool_new(1, 1, &w, NULL), CW_OK);
    pthread_mutex_lock(&gate);
    assert_int_equal(cw_hash_pool_ask(w, &held.work), CW_OK);
    wait_until_begun(&held);
    assert_int_equal(cw_hash_pool_ask(w, &waiting.work), CW_OK);
    assert_int_equal(cw_hash_pool_ask(w, &refused.work), CW_LIMIT);
    pthread_mutex_unlock(&gate);
    cw_hash_pool_stop(w);
    assert_int_equal(atomic_load(&waiting.runs), 1);
    assert_int_equal(cw_hash_pool_ask(w, &refused.work), CW_LIMIT);
    cw_hash_pool_free(w);
    assert_int_equal(atomic_load(&refused.runs), 0);
}

/* ---- fair shares: one thread, held until all jobs wait ---- */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t order_lock = PTHREAD_MUTEX_INITIALIZER;
static char order[128];

typedef struct letter {
    cw_hash_job work;
    char name;
} letter;

static void write_letter(cw_hash_job *work, cw_hash_job_outcome fate)
{
    char name = CW_CONTAINER(work, letter, work)->name;
    pthread_mutex_lock(&order_lock);
    size_t n = strlen(order);
    order[n] = name;
    order[n + 1] = fate == CW_HASH_JOB_REJECTED ? '!' : 0;
    pthread_mutex_unlock(&order_lock);
}

static cw_hash_pool *hold(job *held, uint32_t max_waiting)
{
    cw_hash_pool *w;
    memset(order, 0, sizeof order);
    *held = (job){.work = {.run = run}, .gate = &gate};
    cw_network_of(CW_STR("192.0.2.99"), &held->work.network);
    assert_int_equal(cw_hash_pool_new(1, max_waiting, &w, NULL), CW_OK);
    pthread_mutex_lock(&gate);
    assert_int_equal(cw_hash_pool_ask(w, &held->work), CW_OK);
    wait_until_begun(held);
    return w;
}

static cw_code put(cw_hash_pool *w, letter *l, char name, const char *address)
{
    *l = (letter){.work = {.run = write_letter}, .name = name};
    cw_network_of(cw_str_from(address), &l->work.network);
    return cw_hash_pool_ask(w, &l->work);
}

static void end_held(cw_hash_pool *w, size_t n)
{
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < 5000; i++) {
        pthread_mutex_lock(&order_lock);
        size_t written = strlen(order);
        pthread_mutex_unlock(&order_lock);
        if (written >= n)
            break;
        usleep(1000);
    }
    cw_hash_pool_free(w);
}

TEST(networks_take_turns)
{
    static const struct {
        char name;
        const char *address;
    } jobs[] = {
        {'a', "192.0.2.1"}, {'a', "192.0.2.1"}, {'a', "::ffff:192.0.2.1"}, {'a', "192.0.2.1"},
        {'b', "192.0.2.2"}, {'b', "192.0.2.2"}, {'c', "192.0.2.3"},        {'a', "192.0.2.1"},
    };
    static letter letters[CW_COUNT(jobs)];
    job held;
    cw_hash_pool *w = hold(&held, 100);
    for (size_t i = 0; i < CW_COUNT(jobs); i++)
        assert_int_equal(put(w, &letters[i], jobs[i].name, jobs[i].address), CW_OK);
    end_held(w, CW_COUNT(jobs));
    assert_string_equal(order, "abcabaaa");
}

TEST(many_networks_of_one_customer_are_one)
{
    static const struct {
        char name;
        const char *address;
    } jobs[] = {
        {'a', "2001:db8:1:0101::1"}, {'a', "2001:db8:1:0101::2"}, {'b', "2001:db8:1:0102::1"},
        {'c', "2001:db8:1:0201::1"}, {'d', "2001:db8:1:0301::1"}, {'x', "2001:db8:2:1::1"},
        {'x', "2001:db8:2:1::2"},    {'x', "2001:db8:2:1::3"},
    };
    static letter letters[CW_COUNT(jobs)];
    job held;
    cw_hash_pool *w = hold(&held, 100);
    for (size_t i = 0; i < CW_COUNT(jobs); i++)
        assert_int_equal(put(w, &letters[i], jobs[i].name, jobs[i].address), CW_OK);
    end_held(w, CW_COUNT(jobs));
    /* One /48 after the other; in the first, one /56 after the other; a and b are one /56. */
    assert_string_equal(order, "axcxdxba");
}

TEST(a_full_queue_has_room_for_a_network_with_fewer_jobs)
{
    static letter letters[8];
    job held;
    cw_hash_pool *w = hold(&held, 3);
    assert_int_equal(put(w, &letters[0], 'a', "2001:db8:1:1::1"), CW_OK);
    assert_int_equal(put(w, &letters[1], 'b', "2001:db8:1:2::1"), CW_OK);
    assert_int_equal(put(w, &letters[2], 'c', "2001:db8:1:2::2"), CW_OK);
    assert_int_equal(put(w, &letters[3], 'd', "2001:db8:1:2::3"), CW_LIMIT);
    assert_int_equal(put(w, &letters[4], 'x', "192.0.2.1"), CW_OK);
    assert_string_equal(order, "c!");
    /* Now nobody has more than the newcomer would have. */
    assert_int_equal(put(w, &letters[5], 'x', "192.0.2.1"), CW_LIMIT);
    assert_int_equal(put(w, &letters[6], 'e', "2001:db8:1:3::1"), CW_LIMIT);
    end_held(w, 5);
    assert_string_equal(order, "c!axb");
}

static void make(void *ctx)
{
    cw_hash_pool *w = NULL;
    (void)ctx;
    cw_code rc = cw_hash_pool_new(2, 1, &w, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_hash_pool_free(w);
}

TEST(every_failed_allocation_is_reported)
{
    assert_true(oom_each(make, NULL) >= 1);
    cw_hash_pool_stop(NULL);
    cw_hash_pool_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_runs_once),
        cmocka_unit_test(the_queue_has_a_ceiling),
        cmocka_unit_test(networks_take_turns),
        cmocka_unit_test(many_networks_of_one_customer_are_one),
        cmocka_unit_test(a_full_queue_has_room_for_a_network_with_fewer_jobs),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
