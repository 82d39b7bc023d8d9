/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads of services with a shared connection, which end in every way, and state that a source takes over
 * from the one before. */
#include "source/remote/remote_int.h"
#include "support/shared_conn_fixture.h"

#define DOCUMENT                                                                                   \
    "{\"openrpc\":\"1.3.2\",\"info\":{\"title\":\"t\",\"version\":\"1\"},\"methods\":[{"           \
    "\"name\":\"m\",\"params\":[]}]}"
#define DESCRIBED(id) "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":" DOCUMENT "}\n"
#define DISCOVER(id) "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"rpc.discover\"}"

typedef struct load {
    unsigned calls;
    cw_source *source;
    cw_shared_conn *shared;
    char problem[256];
} load;

static void on_loaded(const cw_remote_loaded *loaded, void *ctx)
{
    load *x = ctx;
    x->calls++;
    x->source = loaded->source;
    x->shared = loaded->shared;
    snprintf(x->problem, sizeof x->problem, "%.*s", CW_STR_ARG(loaded->problem));
}

static const cw_config_overlay m[] = {{.method = CW_STR_INIT("m"), .rpc = true}};

static cw_config_remote described(void)
{
    cw_config_remote config = shared_conn_config();
    config.describe = CW_STR("openrpc");
    config.methods = (cw_config_overlays){m, 1};
    return config;
}

/* Only the listener and the loop: loads make connections of their own. */
static void open_service(shared_conn_fixture *l)
{
    memset(l, 0, sizeof *l);
    l->peer = l->listener = -1;
    client_fixture_init(&l->client);
    service_listen(l);
}

static void close_service(shared_conn_fixture *l)
{
    client_run_for(&l->client, 20);
    client_fixture_done(&l->client);
    if (l->peer >= 0)
        close(l->peer);
    close(l->listener);
    unlink(service_path);
}

static cw_code start(shared_conn_fixture *l, load *x, const cw_config_remote *config,
                     const load *before, cw_remote_job **job)
{
    cw_remote_opts opts = {.config = config,
                           .n_loops = 1,
                           .answer_size = SHARED_CONN_BODY_MAX,
                           .shared = before ? before->shared : NULL,
                           .before = before ? before->source : NULL};
    *x = (load){0};
    return cw_remote_load(&l->client.loop, &opts, on_loaded, x, job, NULL);
}

static void release(load *x)
{
    cw_source_unref(x->source);
    cw_shared_conn_close(x->shared, false);
}

static const cw_remote *remote_of(const load *x)
{
    return cw_remote_of(x->source);
}

/* ---- loads that are cancelled ---- */

TEST(a_load_that_is_cancelled_ends_its_connection)
{
    shared_conn_fixture l;
    load x;
    cw_remote_job *job = NULL;
    cw_config_remote config = described();
    config.timeout_ms = 60;
    open_service(&l);
    assert_int_equal(start(&l, &x, &config, NULL, &job), CW_OK);
    service_expect(&l, DISCOVER(1));
    cw_remote_load_cancel(job, false);
    client_run_until(&l.client, service_next_line(&l) == NULL && l.ended);
    client_run_for(&l.client, 150); /* past the time of the call */
    assert_int_equal(x.calls, 0);
    cw_remote_load_cancel(NULL, false);
    close_service(&l);
}

TEST(a_load_may_be_cancelled_at_the_end_of_the_loop)
{
    for (unsigned i = 0; i < 3; i++) {
        shared_conn_fixture l;
        load x;
        cw_remote_job *job = NULL;
        cw_config_remote config = described();
        open_service(&l);
        assert_int_equal(start(&l, &x, &config, NULL, &job), CW_OK);
        if (i == 1)
            client_run_until(&l.client, service_accept(&l));
        if (i == 2)
            service_expect(&l, DISCOVER(1));
        cw_remote_load_cancel(job, true);
        client_fixture_done(&l.client); /* no turn of the loop in between */
        assert_int_equal(x.calls, 0);
        if (l.peer >= 0)
            close(l.peer);
        close(l.listener);
        unlink(service_path);
    }
}

TEST(a_load_that_is_cancelled_leaves_a_connection_that_was_there_before)
{
    shared_conn_fixture l;
    load first, second;
    cw_remote_job *job = NULL;
    cw_config_remote config = described();
    open_service(&l);
    assert_int_equal(start(&l, &first, &config, NULL, &job), CW_OK);
    service_expect(&l, DISCOVER(1));
    service_send(&l, DESCRIBED(1));
    client_run_until(&l.client, first.calls);
    assert_non_null(first.source);
    assert_int_equal(start(&l, &second, &config, &first, &job), CW_OK);
    service_expect(&l, DISCOVER(2));
    cw_remote_load_cancel(job, false);
    client_run_for(&l.client, 20);
    assert_null(service_next_line(&l));
    assert_false(l.ended);
    assert_int_equal(start(&l, &second, &config, &first, &job), CW_OK);
    service_expect(&l, DISCOVER(3));
    service_send(&l, DESCRIBED(3));
    client_run_until(&l.client, second.calls);
    assert_ptr_equal(second.shared, first.shared);
    cw_shared_conn_unref(second.shared);
    cw_source_unref(second.source);
    release(&first);
    close_service(&l);
}

/* ---- what is taken over ---- */

TEST(a_source_counts_as_a_user_of_its_connection)
{
    shared_conn_fixture l;
    load x;
    cw_remote_job *job = NULL;
    cw_config_remote config = described();
    open_service(&l);
    assert_int_equal(start(&l, &x, &config, NULL, &job), CW_OK);
    service_expect(&l, DISCOVER(1));
    service_send(&l, DESCRIBED(1));
    client_run_until(&l.client, x.calls);
    cw_shared_conn_retire(x.shared);
    client_run_for(&l.client, 150);
    assert_null(service_next_line(&l));
    assert_false(l.ended);
    cw_source_unref(x.source);
    client_run_until(&l.client, service_next_line(&l) == NULL && l.ended);
    close_service(&l);
}

TEST(the_breaker_is_that_of_the_source_before)
{
    static const cw_breaker_rule rule = {.failures = CW_REMOTE_FAILURES, .pause_min_ms = 1000};
    shared_conn_fixture l;
    load first, second, third;
    cw_remote_job *job = NULL;
    cw_config_remote config = described();
    config.describe = CW_STR("");
    char file[] = P_tmpdir "/cw-load-XXXXXX";
    int fd = mkstemp(file);
    assert_int_equal(write(fd, DOCUMENT, sizeof DOCUMENT - 1), sizeof DOCUMENT - 1);
    close(fd);
    config.openrpc = cw_str_from(file);
    open_service(&l);
    assert_int_equal(start(&l, &first, &config, NULL, &job), CW_OK);
    client_run_until(&l.client, first.calls);
    for (unsigned i = 0; i < CW_REMOTE_FAILURES; i++)
        cw_breaker_failure(&remote_of(&first)->health->breaker, &rule, false, 1000);
    assert_non_null(cw_remote_trouble(first.source, 1001));
    /* Other settings, the same place: what is known of it stays, also without the old source. */
    config.timeout_ms++;
    assert_int_equal(start(&l, &second, &config, &first, &job), CW_OK);
    release(&first);
    client_run_until(&l.client, second.calls);
    assert_non_null(cw_remote_trouble(second.source, 1001));
    config.url = CW_STR("unix:/elsewhere");
    assert_int_equal(start(&l, &third, &config, &second, &job), CW_OK);
    client_run_until(&l.client, third.calls);
    assert_null(cw_remote_trouble(third.source, 1001));
    release(&second);
    release(&third);
    unlink(file);
    close_service(&l);
}

/* ---- without memory ---- */

/* False: there was memory, and no source. */
static bool load_within(shared_conn_fixture *l, uint32_t timeout_ms)
{
    load x;
    cw_remote_job *job = NULL;
    cw_config_remote config = described();
    config.timeout_ms = timeout_ms;
    cw_code rc = start(l, &x, &config, NULL, &job);
    while (!rc && !x.calls) {
        client_fixture_turn(&l->client);
        if (service_accept(l) && service_next_line(l))
            service_send(l, DESCRIBED(1));
        if (l->peer >= 0 && l->ended)
            service_hang_up(l);
    }
    bool is_loaded = !rc && x.source;
    release(&x);
    client_run_for(&l->client, 5);
    if (service_accept(l))
        service_hang_up(l);
    return is_loaded || oom_was_hit();
}

/* Many failed allocations end in the time limit, so it is short. Where it was too short for a busy
 * machine, the load runs again with a long one. */
static void load_once(void *ctx)
{
    if (!load_within(ctx, 50))
        assert_true(load_within(ctx, 20000));
}

TEST(every_failed_allocation_is_survived)
{
    shared_conn_fixture l;
    open_service(&l);
    assert_true(oom_each(load_once, &l) >= 20);
    close_service(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_that_is_cancelled_ends_its_connection),
        cmocka_unit_test(a_load_may_be_cancelled_at_the_end_of_the_loop),
        cmocka_unit_test(a_load_that_is_cancelled_leaves_a_connection_that_was_there_before),
        cmocka_unit_test(a_source_counts_as_a_user_of_its_connection),
        cmocka_unit_test(the_breaker_is_that_of_the_source_before),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, service_path_setup, NULL);
}
