/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_postgres_listen.c - notifications of a database server. Runs with with-postgres.sh alone. */
#include "store/postgres/postgres_listen.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "support/oom.h"
#include "support/patience.h"
#include "support/temp_db.h"

#define PROBE_MS 20u
#define PROBES 40

static cw_err err;
static atomic_int hints;

static void on_hint(void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&hints, 1);
}

static cw_code start(const char *url, uint32_t probe_ms, cw_postgres_listener **ret)
{
    const cw_postgres_listener_opts opts = {
        .db = {.where = url, .timeout_ms = 5000}, .probe_ms = probe_ms, .on_hint = on_hint};
    atomic_store(&hints, 0);
    return cw_postgres_listener_new(&opts, ret, &err);
}

static void wait_for_hints(int n)
{
    uint64_t until = cw_clock_ms() + patience(20000);
    while (atomic_load(&hints) < n && cw_clock_ms() < until)
        usleep(500);
    assert_true(atomic_load(&hints) >= n);
}

TEST(a_listener_stays_connected_while_its_own_notifications_arrive)
{
    cw_postgres_listener *l = NULL;
    assert_int_equal(start(temp_db_path, PROBE_MS, &l), CW_OK);
    wait_for_hints(1);
    assert_true(cw_postgres_listener_is_alive(l));
    for (int n = 2; n <= PROBES; n++) {
        wait_for_hints(n);
        assert_true(cw_postgres_listener_is_alive(l));
    }
    cw_postgres_listener_free(l);
}

TEST(a_notification_of_another_program_is_a_hint_and_that_of_another_listener_is_none)
{
    cw_postgres_listener *l = NULL;
    assert_int_equal(start(temp_db_path, CW_POSTGRES_PROBE_MS, &l), CW_OK);
    wait_for_hints(1);
    temp_db_run("SELECT pg_notify('causeway', 'another node')");
    assert_int_equal(atomic_load(&hints), 1);
    temp_db_run("SELECT pg_notify('causeway', '')");
    wait_for_hints(2);
    assert_int_equal(atomic_load(&hints), 2);
    cw_postgres_listener_free(l);
}

TEST(a_listener_that_loses_its_connection_listens_again)
{
    cw_postgres_listener *l = NULL;
    assert_int_equal(start(temp_db_path, CW_POSTGRES_PROBE_MS, &l), CW_OK);
    wait_for_hints(1);
    temp_db_run("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE application_name = 'causeway'");
    wait_for_hints(2);
    assert_true(cw_postgres_listener_is_alive(l));
    cw_postgres_listener_free(l);
}

TEST(a_listener_ends_while_its_server_is_away)
{
    cw_postgres_listener *l = NULL;
    assert_int_equal(start("postgresql://causeway@/postgres?host=/nonexistent", 1, &l), CW_OK);
    assert_false(cw_postgres_listener_is_alive(l));
    cw_postgres_listener_free(l);
    assert_false(cw_postgres_listener_is_alive(NULL));
}

/* The thread allocates too: what fails there is tried again. */
static void start_once(void *ctx)
{
    cw_postgres_listener *l = NULL;
    (void)ctx;
    cw_code rc = start(temp_db_path, CW_POSTGRES_PROBE_MS, &l);
    assert_true(rc == CW_OK || (rc == CW_NOMEM && oom_was_hit()) || rc == CW_IO);
    cw_postgres_listener_free(l);
}

TEST(a_listener_survives_every_failed_allocation)
{
    assert_true(oom_each(start_once, NULL) >= 2);
}

int main(void)
{
    if (!temp_db_is_server())
        return 77;
#define T(name) cmocka_unit_test_setup_teardown(name, temp_db_setup, temp_db_teardown)
    const struct CMUnitTest tests[] = {
        T(a_listener_stays_connected_while_its_own_notifications_arrive),
        T(a_notification_of_another_program_is_a_hint_and_that_of_another_listener_is_none),
        T(a_listener_that_loses_its_connection_listens_again),
        T(a_listener_ends_while_its_server_is_away),
        T(a_listener_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
