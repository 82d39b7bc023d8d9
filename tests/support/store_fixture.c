/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_fixture.c - a store with the database of a test, and counts of its reports. */
#include "support/store_fixture.h"

#include <unistd.h>

#include "base/clock.h"
#include "support/patience.h"

atomic_int store_downs, store_ups, store_changes;

static void on_status(void *ctx, const cw_err *problem)
{
    (void)ctx;
    atomic_fetch_add(problem ? &store_downs : &store_ups, 1);
}

static void on_change(void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&store_changes, 1);
}

cw_store_opts store_fixture_opts(void)
{
    return (cw_store_opts){
        .db = {TEMP_DB, .may_create = true}, .on_status = on_status, .on_change = on_change};
}

cw_store *store_fixture_start(void)
{
    cw_err err = {0};
    cw_store *s = NULL;
    cw_store_opts opts = store_fixture_opts();
    atomic_store(&store_downs, 0);
    atomic_store(&store_ups, 0);
    atomic_store(&store_changes, 0);
    if (cw_store_new(&opts, &s, &err))
        fail_msg("%s", err.msg);
    return s;
}

typedef struct asked {
    cw_store_job job;
    atomic_int done; /* 0: not yet, else code + 1 */
} asked;

static cw_code run(cw_store_job *job, cw_db *db, cw_err *err)
{
    bool has_it;
    (void)job;
    return cw_db_has_role(db, CW_STR("anonymous"), &has_it, err);
}

static void on_done(cw_store_job *job, cw_code rc)
{
    atomic_store(&CW_CONTAINER(job, asked, job)->done, (int)rc + 1);
}

cw_code store_fixture_ask(cw_store *s)
{
    asked a = {.job = {.run = run, .done = on_done}};
    assert_int_equal(cw_store_ask(s, &a.job), CW_OK);
    while (!atomic_load(&a.done))
        usleep(500);
    return (cw_code)(atomic_load(&a.done) - 1);
}

void store_fixture_wait_for(const atomic_int *count, int value)
{
    uint64_t end = cw_clock_ms() + patience(30000);
    while (atomic_load(count) < value && cw_clock_ms() < end)
        usleep(1000);
    assert_true(atomic_load(count) >= value);
}
