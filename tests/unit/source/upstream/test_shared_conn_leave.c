/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that are cancelled, calls with more time than others, and connections that are replaced. */
#include "support/shared_conn_fixture.h"

static const cw_config_init_call hello[] = {
    {.method = CW_STR_INIT("hello"), .params = CW_STR_INIT("")},
};
#define HELLO(id) "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"hello\"}"

/* ---- calls ---- */

TEST(a_call_that_was_cancelled_is_not_sent)
{
    shared_conn_fixture l;
    shared_conn_call a = {0}, b = {0};
    cw_config_remote config = shared_conn_config();
    config.init_calls = (cw_config_preludes){hello, 1};
    shared_conn_open(&l, config);
    service_listen(&l);
    shared_conn_send(&l, &a);
    service_expect(&l, HELLO(2));
    shared_conn_send(&l, &b);
    client_run_until(&l.client, l.conn->waiting.next->next != &l.conn->waiting);
    cw_upstream_cancel(l.upstream, &a.req);
    service_send(&l, REPLY(2));
    service_expect(&l, CALL(3));
    service_send(&l, REPLY(3));
    shared_conn_expect(&l, &b, CW_CLIENT_OK, "result");
    client_run_for(&l.client, 20);
    assert_null(service_next_line(&l));
    assert_int_equal(a.calls, 0);
    assert_int_equal(l.conn->n_all, 0);
    shared_conn_close(&l);
}

TEST(nothing_is_opened_for_a_call_that_was_cancelled)
{
    shared_conn_fixture l;
    shared_conn_call s = {0};
    shared_conn_open(&l, shared_conn_config());
    service_listen(&l);
    shared_conn_send(&l, &s);
    cw_upstream_cancel(l.upstream, &s.req); /* it is still in the mailbox */
    client_run_for(&l.client, 20);
    assert_false(service_accept(&l));
    assert_int_equal(l.conn->n_all, 0);
    shared_conn_close(&l);
}

TEST(a_call_may_have_more_time_than_the_service)
{
    shared_conn_fixture l;
    shared_conn_call patient = {.req.limit_ms = 5000}, usual_one = {0};
    cw_config_remote config = shared_conn_config();
    config.timeout_ms = 60;
    shared_conn_open(&l, config);
    service_listen(&l);
    shared_conn_send(&l, &patient);
    shared_conn_send(&l, &usual_one);
    service_expect(&l, CALL(1));
    service_expect(&l, CALL(2));
    shared_conn_expect(&l, &usual_one, CW_CLIENT_SLOW, "in time");
    client_run_for(&l.client, 150);
    assert_int_equal(patient.calls, 0);
    assert_int_equal(l.conn->state, CW_SHARED_CONN_READY); /* silent, but not for as long as that */
    service_send(&l, REPLY(1));
    shared_conn_expect(&l, &patient, CW_CLIENT_OK, "result");
    shared_conn_close(&l);
}

TEST(patience_ends_too_and_with_it_the_connection)
{
    shared_conn_fixture l;
    shared_conn_call patient = {.req.limit_ms = 150}, quick = {.req.limit_ms = 1};
    cw_config_remote config = shared_conn_config();
    config.timeout_ms = 60;
    shared_conn_open(&l, config);
    service_listen(&l);
    uint64_t began = cw_loop_now(&l.client.loop);
    shared_conn_send(&l, &patient);
    service_expect(&l, CALL(1));
    shared_conn_expect(&l, &patient, CW_CLIENT_SLOW, "in time");
    assert_true(cw_loop_now(&l.client.loop) - began >= 150);
    client_run_until(&l.client, service_next_line(&l) == NULL && l.ended);
    service_hang_up(&l);
    /* A call with less time than the service is cancelled by its caller. */
    shared_conn_send(&l, &quick);
    service_expect(&l, CALL(2));
    shared_conn_expect(&l, &quick, CW_CLIENT_SLOW, "in time");
    shared_conn_close(&l);
}

/* ---- retired connections ---- */

TEST(a_retired_connection_serves_those_who_use_it)
{
    static const cw_str changed[] = {CW_STR_INIT("changed")};
    shared_conn_fixture l;
    shared_conn_call a = {0}, b = {0};
    cw_config_remote config = shared_conn_config();
    config.change_notifications = (cw_config_strings){changed, 1};
    shared_conn_open(&l, config);
    service_listen(&l);
    cw_shared_conn_acquire(l.conn);
    shared_conn_send(&l, &a);
    service_expect(&l, CALL(1));
    cw_shared_conn_ref(l.conn);
    cw_shared_conn_retire(l.conn);
    client_run_for(&l.client, 250);
    service_send(&l, "{\"jsonrpc\":\"2.0\",\"method\":\"changed\"}\n" REPLY(1));
    shared_conn_expect(&l, &a, CW_CLIENT_OK, "result");
    assert_int_equal(l.announced, 0); /* whoever was told may be gone */
    shared_conn_send(&l, &b);
    service_expect(&l, CALL(2));
    service_send(&l, REPLY(2));
    shared_conn_expect(&l, &b, CW_CLIENT_OK, "result");
    cw_shared_conn_release(l.conn);
    client_run_until(&l.client, service_next_line(&l) == NULL && l.ended);
    assert_true(l.conn->is_closing);
    cw_shared_conn_unref(l.conn);
    l.conn = NULL;
    shared_conn_close(&l);
}

TEST(a_retired_connection_without_users_ends_at_once)
{
    shared_conn_fixture l;
    shared_conn_call a = {0};
    shared_conn_open(&l, shared_conn_config());
    service_listen(&l);
    shared_conn_send(&l, &a);
    service_expect(&l, CALL(1));
    cw_shared_conn_retire(l.conn);
    l.conn = NULL;
    shared_conn_expect(&l, &a, CW_CLIENT_LOST, "taken away");
    cw_shared_conn_retire(NULL);
    shared_conn_close(&l);
}

TEST(a_retired_connection_ends_with_its_loop)
{
    shared_conn_fixture l;
    shared_conn_call a = {0}, b = {0};
    shared_conn_open(&l, shared_conn_config());
    service_listen(&l);
    cw_shared_conn_acquire(l.conn);
    shared_conn_send(&l, &a);
    service_expect(&l, CALL(1));
    shared_conn_send(&l, &b); /* in the mailbox, which nobody empties */
    cw_upstream_close(l.upstream, NULL, NULL);
    l.upstream = NULL;
    cw_shared_conn_retire(l.conn);
    l.conn = NULL;
    cw_endpoint_unref(l.endpoint);
    client_fixture_done(&l.client); /* with the last reference */
    assert_null(service_next_line(&l));
    assert_true(l.ended);
    close(l.peer);
    close(l.listener);
    unlink(service_path);
    assert_int_equal(a.calls + b.calls, 0);
}

TEST(an_upstream_may_outlive_a_connection_that_was_dropped)
{
    shared_conn_fixture l;
    shared_conn_call a = {0}, b = {0};
    shared_conn_open(&l, shared_conn_config());
    service_listen(&l);
    shared_conn_send(&l, &a);
    service_expect(&l, CALL(1));
    shared_conn_send(&l, &b);
    cw_loop_drop_messages(&l.client.loop);
    cw_shared_conn_close(l.conn, /* loops_ended= */ true);
    cw_upstream_cancel(l.upstream, &a.req);
    cw_upstream_close(l.upstream, NULL, NULL);
    cw_endpoint_unref(l.endpoint);
    client_fixture_done(&l.client);
    close(l.peer);
    close(l.listener);
    unlink(service_path);
    assert_int_equal(a.calls + b.calls, 0);
}

/* ---- which connection serves which calls ---- */

static cw_endpoint *service_of(cw_config_remote config)
{
    cw_endpoint *s = NULL;
    cw_err err = {0};
    if (cw_endpoint_new(&config, NULL, &s, &err))
        fail_msg("%s", err.msg);
    return s;
}

TEST(a_connection_fits_what_it_would_be_made_of)
{
    static const cw_str changed[] = {CW_STR_INIT("changed")}, other[] = {CW_STR_INIT("other")};
    cw_config_remote from = shared_conn_config();
    from.change_notifications = (cw_config_strings){changed, 1};
    from.replies = CW_STR("{\"ping\":1}");
    from.connect_ms = 1000;
    cw_config_remote configs[10];
    for (size_t i = 0; i < CW_COUNT(configs); i++)
        configs[i] = from;
    configs[1].replies = CW_STR("{\"ping\":2}");
    configs[2].change_notifications = (cw_config_strings){other, 1};
    configs[3].change_notifications.n = 0;
    configs[4].queue++;
    configs[5].connections++;
    configs[6].connect_ms++;
    configs[7].timeout_ms++;
    configs[8].init_calls = (cw_config_preludes){hello, 1};
    configs[9].params = CW_STR("positional");
    shared_conn_fixture l;
    shared_conn_open(&l, from);
    for (size_t i = 0; i < CW_COUNT(configs); i++) {
        cw_endpoint *s = service_of(configs[i]);
        if (cw_shared_conn_is_compatible(l.conn, s, SHARED_CONN_BODY_MAX) != (i == 0))
            fail_msg("row %zu", i);
        assert_true(cw_endpoint_is_same_address(l.endpoint, s));
        cw_endpoint_unref(s);
    }
    assert_false(cw_shared_conn_is_compatible(l.conn, l.endpoint, SHARED_CONN_BODY_MAX + 1));
    from.url = CW_STR("unix:/elsewhere");
    cw_endpoint *s = service_of(from);
    assert_false(cw_shared_conn_is_compatible(l.conn, s, SHARED_CONN_BODY_MAX));
    assert_false(cw_endpoint_is_same_address(l.endpoint, s));
    cw_endpoint_unref(s);
    shared_conn_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_was_cancelled_is_not_sent),
        cmocka_unit_test(nothing_is_opened_for_a_call_that_was_cancelled),
        cmocka_unit_test(a_call_may_have_more_time_than_the_service),
        cmocka_unit_test(patience_ends_too_and_with_it_the_connection),
        cmocka_unit_test(a_retired_connection_serves_those_who_use_it),
        cmocka_unit_test(a_retired_connection_without_users_ends_at_once),
        cmocka_unit_test(a_retired_connection_ends_with_its_loop),
        cmocka_unit_test(an_upstream_may_outlive_a_connection_that_was_dropped),
        cmocka_unit_test(a_connection_fits_what_it_would_be_made_of),
    };
    return cmocka_run_group_tests(tests, service_path_setup, NULL);
}
