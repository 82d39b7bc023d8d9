/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/store_fixture.h"

#include <pthread.h>
#include <sqlite3.h>

#include "base/clock.h"
#include "support/oom.h"
#include "support/patience.h"

static cw_err err;
typedef struct asked {
    cw_store_job job;
    atomic_int done; /* 0: not yet, else code + 1 */
    pthread_mutex_t *gate;
    atomic_bool began;
    atomic_int place; /* in the order in which jobs ran, from 1 */
} asked;

static atomic_int places;

static cw_code run_count(cw_store_job *job, cw_db *db, cw_err *e)
{
    asked *a = CW_CONTAINER(job, asked, job);
    bool has_it;
    atomic_store(&a->began, true);
    atomic_store(&a->place, atomic_fetch_add(&places, 1) + 1);
    if (a->gate) {
        pthread_mutex_lock(a->gate);
        pthread_mutex_unlock(a->gate);
    }
    return cw_db_has_role(db, CW_STR("anonymous"), &has_it, e);
}

static void on_done(cw_store_job *job, cw_code rc)
{
    atomic_store(&CW_CONTAINER(job, asked, job)->done, (int)rc + 1);
}

/* Ask until the answer is this one, for at most five seconds. */
static void ask_until(cw_store *s, cw_code rc)
{
    uint64_t end = cw_clock_ms() + 5000;
    int got = store_fixture_ask(s);
    while (got != (int)rc && cw_clock_ms() < end) {
        usleep(20000);
        got = store_fixture_ask(s);
    }
    assert_int_equal(got, rc);
}

static atomic_int news, n_failing;

static bool on_news(void *ctx, cw_db *db, bool is_new)
{
    (void)ctx;
    assert_non_null(db);
    assert_int_equal(is_new, atomic_fetch_add(&news, 1) == 0);
    return atomic_fetch_add(&n_failing, -1) <= 0;
}

/* Without another change of the database: it may be the last one for long. */
TEST(news_that_could_not_be_read_are_read_again)
{
    cw_store *s = NULL;
    cw_store_opts opts = store_fixture_opts();
    opts.on_news = on_news;
    atomic_store(&news, 0);
    atomic_store(&n_failing, 2);
    assert_int_equal(cw_store_new(&opts, &s, &err), CW_OK);
    store_fixture_wait_for(&news, 3);
    usleep(3 * CW_STORE_POLL_MS * 1000);
    assert_int_equal(atomic_load(&news), 3);
    cw_store_free(s);
}

TEST(it_makes_the_database_when_it_starts)
{
    cw_store *s = store_fixture_start();
    assert_int_equal(store_fixture_ask(s), CW_OK);
    assert_int_equal(access(temp_db_path, F_OK), 0);
    assert_int_equal(atomic_load(&store_downs), 0);
    cw_store_free(s);
}

TEST(a_change_of_somebody_else_raises_the_generation)
{
    cw_db *other;
    cw_store *s = store_fixture_start();
    assert_int_equal(store_fixture_ask(s), CW_OK);
    uint64_t before = cw_store_generation(s);
    int seen = atomic_load(&store_changes);
    cw_db_opts opts = {TEMP_DB, .busy_ms = 1000};
    assert_int_equal(cw_db_open(&opts, &other, &err), CW_OK);
    assert_int_equal(cw_db_add_role(other, CW_STR("x"), &err), CW_OK);
    uint64_t asked_at = cw_clock_ms();
    store_fixture_wait_for(&store_changes, seen + 1);
    assert_true(cw_clock_ms() - asked_at < patience(1000));
    assert_true(cw_store_generation(s) > before);
    cw_db_close(other);
    cw_store_free(s);
}

TEST(a_database_that_vanishes_is_missed_and_not_made_anew)
{
    char away[128];
    cw_store *s = store_fixture_start();
    assert_int_equal(store_fixture_ask(s), CW_OK);
    uint64_t before = cw_store_generation(s);
    snprintf(away, sizeof away, "%s.away", temp_db_path);
    assert_int_equal(rename(temp_db_path, away), 0);
    assert_false(cw_store_is_away(s, 0));
    ask_until(s, CW_NOTFOUND);
    usleep(600000);
    assert_true(cw_store_is_away(s, 100));
    assert_false(cw_store_is_away(s, 3600000));
    assert_int_equal(store_fixture_ask(s), CW_NOTFOUND);
    assert_int_not_equal(access(temp_db_path, F_OK), 0);
    assert_int_equal(atomic_load(&store_downs), 1);
    assert_int_equal(rename(away, temp_db_path), 0);
    ask_until(s, CW_OK);
    assert_false(cw_store_is_away(s, 0));
    assert_int_equal(atomic_load(&store_ups), 1);
    assert_true(cw_store_generation(s) > before);
    cw_store_free(s);
}

TEST(a_broken_database_heals)
{
    FILE *f = fopen(temp_db_path, "w");
    for (int i = 0; i < 1000; i++)
        fputs("this is no database", f);
    fclose(f);
    cw_store *s = store_fixture_start();
    ask_until(s, CW_IO);
    assert_int_equal(atomic_load(&store_downs), 1);
    assert_int_equal(unlink(temp_db_path), 0);
    cw_db *made;
    cw_db_opts opts = {TEMP_DB, .may_create = true, .busy_ms = 1000};
    assert_int_equal(cw_db_open(&opts, &made, &err), CW_OK);
    cw_db_close(made);
    ask_until(s, CW_OK);
    assert_int_equal(atomic_load(&store_downs), 1);
    assert_int_equal(atomic_load(&store_ups), 1);
    cw_store_free(s);
}

TEST(a_locked_database_is_waited_for)
{
    cw_store *s = store_fixture_start();
    assert_int_equal(store_fixture_ask(s), CW_OK);
    cw_store_free(s);
    sqlite3 *other;
    assert_int_equal(sqlite3_open(temp_db_path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other,
                                  "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;"
                                  "INSERT INTO role (name) VALUES ('x')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    s = store_fixture_start();
    ask_until(s, CW_TIMEOUT);
    assert_int_equal(atomic_load(&store_downs), 1);
    sqlite3_close(other);
    ask_until(s, CW_OK);
    assert_int_equal(atomic_load(&store_ups), 1);
    cw_store_free(s);
}

/* A store whose thread has a job that waits for the gate, which is locked. */
static cw_store *start_busy(asked *first, pthread_mutex_t *gate)
{
    *first = (asked){.job = {.run = run_count, .done = on_done}, .gate = gate};
    cw_store *s = store_fixture_start();
    assert_int_equal(store_fixture_ask(s), CW_OK);
    pthread_mutex_lock(gate);
    atomic_store(&places, 0);
    assert_int_equal(cw_store_ask(s, &first->job), CW_OK);
    for (int i = 0; i < 30000 && !atomic_load(&first->began); i++)
        usleep(1000);
    assert_true(atomic_load(&first->began));
    return s;
}

static asked job_of(uint64_t caller)
{
    return (asked){.job = {.run = run_count, .done = on_done, .by = {{caller, caller, caller}}}};
}

TEST(callers_take_turns)
{
    enum { JOBS = 200 };
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    static asked many[JOBS];
    asked first, other = job_of(2), own = job_of(0);
    cw_store *s = start_busy(&first, &gate);
    for (size_t i = 0; i < JOBS; i++) {
        many[i] = job_of(1);
        assert_int_equal(cw_store_ask(s, &many[i].job), CW_OK);
    }
    assert_int_equal(cw_store_ask(s, &other.job), CW_OK);
    assert_int_equal(cw_store_ask(s, &own.job), CW_OK);
    pthread_mutex_unlock(&gate);
    store_fixture_wait_for(&many[JOBS - 1].done, 1);
    assert_int_equal(atomic_load(&many[0].place), 2);
    assert_int_equal(atomic_load(&other.place), 3);
    assert_int_equal(atomic_load(&own.place), 4);
    for (size_t i = 1; i < JOBS; i++)
        assert_int_equal(atomic_load(&many[i].place), i + 4);
    cw_store_free(s);
}

TEST(a_full_queue_has_a_place_for_another_caller)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    static asked many[CW_STORE_MAX_JOBS];
    asked first, other = job_of(2);
    cw_store *s = start_busy(&first, &gate);
    for (size_t i = 0; i < CW_COUNT(many); i++) {
        many[i] = job_of(1);
        assert_int_equal(cw_store_ask(s, &many[i].job), CW_OK);
    }
    assert_int_equal(cw_store_ask(s, &other.job), CW_OK);
    pthread_mutex_unlock(&gate);
    store_fixture_wait_for(&other.done, 1);
    store_fixture_wait_for(&many[CW_COUNT(many) - 2].done, 1);
    assert_int_equal(atomic_load(&other.done), CW_OK + 1);
    assert_int_equal(atomic_load(&many[0].done), CW_OK + 1);
    /* The newest job of the caller with the most is answered, too. */
    assert_int_equal(atomic_load(&many[CW_COUNT(many) - 1].done), CW_TIMEOUT + 1);
    cw_store_free(s);
}

TEST(the_queue_has_a_ceiling_and_ends_with_the_store)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    asked first;
    static asked rest[CW_STORE_MAX_JOBS + 1];
    cw_store *s = start_busy(&first, &gate);
    for (size_t i = 0; i < CW_COUNT(rest); i++) {
        rest[i] = (asked){.job = {.run = run_count, .done = on_done}};
        assert_int_equal(cw_store_ask(s, &rest[i].job), i < CW_STORE_MAX_JOBS ? CW_OK : CW_LIMIT);
    }
    pthread_mutex_unlock(&gate);
    cw_store_free(s);
    assert_int_equal(atomic_load(&first.done), CW_OK + 1);
    for (size_t i = 0; i < CW_STORE_MAX_JOBS; i++) {
        int done = atomic_load(&rest[i].done);
        assert_true(done == CW_OK + 1 || done == CW_GONE + 1);
    }
    assert_int_equal(atomic_load(&rest[CW_STORE_MAX_JOBS].done), 0);
}

static void begin_once(void *ctx)
{
    cw_store *s = NULL;
    (void)ctx;
    cw_store_opts opts = store_fixture_opts();
    cw_code rc = cw_store_new(&opts, &s, &err);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    asked a = job_of(0);
    if (!rc)
        rc = cw_store_ask(s, &a.job);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    while (!rc && !atomic_load(&a.done)) /* without memory it is CW_NOMEM, and then it works */
        usleep(500);
    cw_store_free(s);
}

TEST(every_failed_allocation_is_survived)
{
    assert_true(oom_each(begin_once, NULL) >= 3);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, temp_db_setup, temp_db_teardown)
    const struct CMUnitTest tests[] = {
        T(it_makes_the_database_when_it_starts),
        T(news_that_could_not_be_read_are_read_again),
        T(a_change_of_somebody_else_raises_the_generation),
        T(a_database_that_vanishes_is_missed_and_not_made_anew),
        T(a_broken_database_heals),
        T(a_locked_database_is_waited_for),
        T(callers_take_turns),
        T(a_full_queue_has_a_place_for_another_caller),
        T(the_queue_has_a_ceiling_and_ends_with_the_store),
        T(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
