/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replica_fixture.c - this server with a loop, a store and keys, and the row of another one. */
#include "support/replica_fixture.h"

#include <unistd.h>

#include "base/clock.h"
#include "store/replica.h"
#include "support/patience.h"
#include "support/store_fixture.h"

static void check(cw_code rc, const cw_err *err)
{
    if (rc)
        fail_msg("%s", err->msg);
}

static void add_other(replica_fixture *f)
{
    cw_err err = {0};
    cw_db_opts opts = {TEMP_DB, .may_create = true, .busy_ms = 2000};
    cw_db_replica row = {.node = REPLICA_FIXTURE_OTHER,
                         .name = CW_STR("other"),
                         .process = CW_STR("p"),
                         .version = CW_STR("9.9.9"),
                         .every = 60000};
    check(cw_db_open(&opts, &f->db, &err), &err);
    check(cw_db_renew_replica(f->db, &row, &f->other, &err), &err);
}

void replica_fixture_open(replica_fixture *f, void (*on_letter)(const cw_letter *letter, void *ctx))
{
    cw_err err = {0};
    cw_replicas_opts opts = {.loop = &f->loop,
                             .seal = &f->seal,
                             .on_letter = on_letter,
                             .is_file = true,
                             .version = "1.2.3"};
    cw_replicas_shown shown = {.name = CW_STR("this")};
    memset(f, 0, sizeof *f);
    check(cw_loop_init(&f->loop, 64, &err), &err);
    check(cw_seal_init(&f->seal, &err), &err);
    check(cw_replicas_new(&opts, &f->replicas, &err), &err);
    add_other(f);
    f->store = store_fixture_start();
    cw_replicas_set_store(f->replicas, f->store);
    cw_replicas_show(f->replicas, &shown);
    cw_replicas_start(f->replicas);
}

void replica_fixture_wait_until(replica_fixture *f, bool (*is_done)(void))
{
    uint64_t end = cw_clock_ms() + patience(10000);
    while (!is_done() && cw_clock_ms() < end) {
        uv_run(&f->loop.uv, UV_RUN_NOWAIT);
        usleep(500);
    }
    assert_true(is_done());
}

void replica_fixture_join(replica_fixture *f)
{
    uint64_t end = cw_clock_ms() + patience(10000);
    cw_replicas_tick(f->replicas);
    while (!cw_replicas_has_others(f->replicas) && cw_clock_ms() < end) {
        uv_run(&f->loop.uv, UV_RUN_NOWAIT);
        usleep(500);
    }
    assert_true(cw_replicas_has_others(f->replicas));
    /* The job of the tick goes on to letters, which a test may read on its own thread: it ends first. */
    check(store_fixture_ask(f->store), &(cw_err){.msg = "the store does not answer"});
}

void replica_fixture_stop(replica_fixture *f)
{
    cw_db_close(f->db);
    cw_store_free(f->store);
    cw_loop_end(&f->loop);
    cw_loop_run(&f->loop);
}

void replica_fixture_close(replica_fixture *f)
{
    cw_loop_done(&f->loop);
    cw_replicas_free(f->replicas);
    cw_seal_done(&f->seal);
}
