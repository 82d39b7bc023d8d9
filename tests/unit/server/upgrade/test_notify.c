/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The watchdog; other messages are tested from outside (tests/functional/notify.test.mjs). */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/upgrade/notify.h"
#include "support/oom.h"
#include "support/temp_dir.h"
#include "support/test.h"

typedef struct fixture {
    int manager; /* its socket */
    cw_router router;
    cw_server *server;
    cw_loop loop;
    cw_notify notify;
} fixture;

static void open_manager(fixture *f)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", temp_dir_path("notify"));
    f->manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->manager, (const struct sockaddr *)&address, sizeof address), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    setenv("WATCHDOG_USEC", "20000", 1);
}

static void open_fixture(fixture *f)
{
    cw_server_opts opts = CW_SERVER_DEFAULTS;
    cw_err err = {0};
    *f = (fixture){0};
    open_manager(f);
    cw_router_init(&f->router);
    assert_int_equal(cw_server_new(&f->router, 2, &f->server, &err), CW_OK);
    assert_int_equal(cw_server_configure(f->server, &opts, &err), CW_OK);
    assert_int_equal(cw_server_start(f->server, &err), CW_OK);
    assert_int_equal(cw_loop_init(&f->loop, 64, &err), CW_OK);
    cw_notify_init(&f->notify);
}

static void close_fixture(fixture *f)
{
    cw_notify_close(&f->notify);
    cw_loop_end(&f->loop);
    cw_loop_run(&f->loop);
    cw_server_free(f->server);
    cw_notify_done(&f->notify);
    cw_loop_done(&f->loop);
    cw_router_done(&f->router);
    close(f->manager);
    unlink(temp_dir_path("notify"));
}

/* The messages that have come. */
static unsigned receive_all(const fixture *f)
{
    char text[64];
    unsigned n = 0;
    ssize_t got;
    while ((got = recv(f->manager, text, sizeof text, 0)) > 0) {
        assert_int_equal(got, strlen("WATCHDOG=1"));
        assert_memory_equal(text, "WATCHDOG=1", (size_t)got);
        n++;
    }
    return n;
}

static void on_time(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

static void run_for(fixture *f, uint64_t ms)
{
    uv_timer_t timer;
    uv_update_time(&f->loop.uv);
    uv_timer_init(&f->loop.uv, &timer);
    uv_timer_start(&timer, on_time, ms, 0);
    uv_run(&f->loop.uv, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&f->loop.uv, UV_RUN_NOWAIT);
}

typedef struct blocker {
    cw_message message;
    sem_t entered, released;
} blocker;

static void on_block(cw_message *message)
{
    blocker *b = CW_CONTAINER(message, blocker, message);
    sem_post(&b->entered);
    sem_wait(&b->released);
}

TEST(a_loop_that_hangs_ends_the_messages_of_the_watchdog)
{
    fixture f;
    blocker b = {.message.fn = on_block};
    open_fixture(&f);
    assert_int_equal(cw_notify_watch(&f.notify, &f.loop, f.server, NULL), CW_OK);
    for (int tries = 0, n = 0; n < 3; n += (int)receive_all(&f)) {
        assert_true(tries++ < 1000);
        run_for(&f, 20);
    }
    sem_init(&b.entered, 0, 0);
    sem_init(&b.released, 0, 0);
    cw_loop_post(cw_server_loop_at(f.server, 1), &b.message);
    sem_wait(&b.entered);
    run_for(&f, 30); /* at most one was under way */
    (void)receive_all(&f);
    run_for(&f, 100);
    assert_int_equal(receive_all(&f), 0);
    sem_post(&b.released);
    for (int tries = 0, n = 0; n < 2; n += (int)receive_all(&f)) {
        assert_true(tries++ < 1000);
        run_for(&f, 20);
    }
    close_fixture(&f);
    sem_destroy(&b.entered);
    sem_destroy(&b.released);
}

static void watch_once(void *ctx)
{
    fixture *f = ctx;
    cw_code rc = cw_notify_watch(&f->notify, &f->loop, f->server, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    if (rc)
        return;
    uv_close((uv_handle_t *)&f->notify.timer, NULL);
    uv_run(&f->loop.uv, UV_RUN_NOWAIT);
    free(f->notify.pings);
    f->notify.pings = NULL;
    f->notify.loop = NULL;
}

TEST(watching_survives_every_failed_allocation)
{
    fixture f;
    open_fixture(&f);
    assert_true(oom_each(watch_once, &f) >= 1);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_loop_that_hangs_ends_the_messages_of_the_watchdog,
                                        temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(watching_survives_every_failed_allocation, temp_dir_setup,
                                        temp_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
