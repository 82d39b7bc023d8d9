/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that are cancelled, calls with more time than others, and hubs that somebody else takes the
 * place of. */
#include "hub_check.h"

static const cw_config_prelude hello[] = {
    {.method = CW_STR_INIT("hello"), .params = CW_STR_INIT("")},
};
#define HELLO(id) "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"hello\"}"

/* ---- calls ---- */

static void a_call_that_was_cancelled_is_not_sent(void **state)
{
    (void)state;
    line l;
    sent a = {0}, b = {0};
    cw_config_remote config = usual();
    config.prelude = (cw_config_preludes){hello, 1};
    open_line(&l, config);
    listen_at_path(&l);
    begin(&l, &a);
    hear(&l, HELLO(2));
    begin(&l, &b);
    run_until(&l.b, l.hub->waiting.next->next != &l.hub->waiting);
    cw_way_cancel(l.way, &a.req);
    say(&l, REPLY(2));
    hear(&l, CALL(3));
    say(&l, REPLY(3));
    wait_for(&l, &b, CW_CLIENT_OK, "result");
    run_for(&l.b, 20);
    assert_null(next_line(&l));
    assert_int_equal(a.calls, 0);
    assert_int_equal(l.hub->n_all, 0);
    close_line(&l);
}

static void nothing_is_opened_for_a_call_that_was_cancelled(void **state)
{
    (void)state;
    line l;
    sent s = {0};
    open_line(&l, usual());
    listen_at_path(&l);
    begin(&l, &s);
    cw_way_cancel(l.way, &s.req); /* it is still in the mailbox */
    run_for(&l.b, 20);
    assert_false(take_peer(&l));
    assert_int_equal(l.hub->n_all, 0);
    close_line(&l);
}

static void a_call_may_have_more_time_than_the_service(void **state)
{
    (void)state;
    line l;
    sent patient = {.req.limit_ms = 5000}, usual_one = {0};
    cw_config_remote config = usual();
    config.timeout_ms = 60;
    open_line(&l, config);
    listen_at_path(&l);
    begin(&l, &patient);
    begin(&l, &usual_one);
    hear(&l, CALL(1));
    hear(&l, CALL(2));
    wait_for(&l, &usual_one, CW_CLIENT_SLOW, "in time");
    run_for(&l.b, 150);
    assert_int_equal(patient.calls, 0);
    assert_int_equal(l.hub->state, CW_HUB_READY); /* silent, but not for as long as that */
    say(&l, REPLY(1));
    wait_for(&l, &patient, CW_CLIENT_OK, "result");
    close_line(&l);
}

static void patience_ends_too_and_with_it_the_connection(void **state)
{
    (void)state;
    line l;
    sent patient = {.req.limit_ms = 150}, quick = {.req.limit_ms = 1};
    cw_config_remote config = usual();
    config.timeout_ms = 60;
    open_line(&l, config);
    listen_at_path(&l);
    begin(&l, &patient);
    hear(&l, CALL(1));
    uint64_t began = cw_loop_now(&l.b.loop);
    wait_for(&l, &patient, CW_CLIENT_SLOW, "in time");
    assert_true(cw_loop_now(&l.b.loop) - began >= 150);
    run_until(&l.b, next_line(&l) == NULL && l.ended);
    hang_up(&l);
    /* Who has less time is cancelled by whoever gave it. */
    begin(&l, &quick);
    hear(&l, CALL(2));
    wait_for(&l, &quick, CW_CLIENT_SLOW, "in time");
    close_line(&l);
}

/* ---- hubs ---- */

static void a_retired_hub_serves_those_who_use_it(void **state)
{
    (void)state;
    static const cw_str changed[] = {CW_STR_INIT("changed")};
    line l;
    sent a = {0}, b = {0};
    cw_config_remote config = usual();
    config.announcements = (cw_config_strings){changed, 1};
    open_line(&l, config);
    listen_at_path(&l);
    cw_hub_use(l.hub);
    begin(&l, &a);
    hear(&l, CALL(1));
    cw_hub_ref(l.hub);
    cw_hub_retire(l.hub);
    run_for(&l.b, 250);
    say(&l, "{\"jsonrpc\":\"2.0\",\"method\":\"changed\"}\n" REPLY(1));
    wait_for(&l, &a, CW_CLIENT_OK, "result");
    assert_int_equal(l.announced, 0); /* whoever was told may be gone */
    begin(&l, &b);
    hear(&l, CALL(2));
    say(&l, REPLY(2));
    wait_for(&l, &b, CW_CLIENT_OK, "result");
    cw_hub_leave(l.hub);
    run_until(&l.b, next_line(&l) == NULL && l.ended);
    assert_true(l.hub->is_over);
    cw_hub_unref(l.hub);
    l.hub = NULL;
    close_line(&l);
}

static void a_retired_hub_that_nobody_uses_ends_at_once(void **state)
{
    (void)state;
    line l;
    sent a = {0};
    open_line(&l, usual());
    listen_at_path(&l);
    begin(&l, &a);
    hear(&l, CALL(1));
    cw_hub_retire(l.hub);
    l.hub = NULL;
    wait_for(&l, &a, CW_CLIENT_LOST, "taken away");
    cw_hub_retire(NULL);
    close_line(&l);
}

static void a_retired_hub_ends_with_its_loop(void **state)
{
    (void)state;
    line l;
    sent a = {0}, b = {0};
    open_line(&l, usual());
    listen_at_path(&l);
    cw_hub_use(l.hub);
    begin(&l, &a);
    hear(&l, CALL(1));
    begin(&l, &b); /* in the mailbox, which nobody empties */
    cw_way_close(l.way, NULL, NULL);
    l.way = NULL;
    cw_hub_retire(l.hub);
    l.hub = NULL;
    cw_service_unref(l.service);
    bench_close(&l.b); /* with the last reference */
    assert_null(next_line(&l));
    assert_true(l.ended);
    close(l.peer);
    close(l.listener);
    unlink(path);
    assert_int_equal(a.calls + b.calls, 0);
}

static void a_way_may_outlive_a_hub_that_was_dropped(void **state)
{
    (void)state;
    line l;
    sent a = {0}, b = {0};
    open_line(&l, usual());
    listen_at_path(&l);
    begin(&l, &a);
    hear(&l, CALL(1));
    begin(&l, &b);
    cw_hub_close(l.hub, /* loops_ended= */ true);
    cw_way_cancel(l.way, &a.req);
    cw_way_close(l.way, NULL, NULL);
    cw_service_unref(l.service);
    bench_close(&l.b);
    close(l.peer);
    close(l.listener);
    unlink(path);
    assert_int_equal(a.calls + b.calls, 0);
}

/* ---- which hub serves whom ---- */

static cw_service *service_of(cw_config_remote config)
{
    cw_service *s = NULL;
    cw_err err = {0};
    if (cw_service_new(&config, NULL, &s, &err))
        fail_msg("%s", err.msg);
    return s;
}

static void a_hub_fits_what_it_would_be_made_of(void **state)
{
    (void)state;
    static const cw_str changed[] = {CW_STR_INIT("changed")}, other[] = {CW_STR_INIT("other")};
    cw_config_remote from = usual();
    from.announcements = (cw_config_strings){changed, 1};
    from.replies = CW_STR("{\"ping\":1}");
    from.connect_ms = 1000;
    cw_config_remote configs[10];
    for (size_t i = 0; i < CW_COUNT(configs); i++)
        configs[i] = from;
    configs[1].replies = CW_STR("{\"ping\":2}");
    configs[2].announcements = (cw_config_strings){other, 1};
    configs[3].announcements.n = 0;
    configs[4].queue++;
    configs[5].connections++;
    configs[6].connect_ms++;
    configs[7].timeout_ms++;
    configs[8].prelude = (cw_config_preludes){hello, 1};
    configs[9].params = CW_STR("positional");
    line l;
    open_line(&l, from);
    for (size_t i = 0; i < CW_COUNT(configs); i++) {
        cw_service *s = service_of(configs[i]);
        if (cw_hub_fits(l.hub, s, ANSWER_SIZE) != (i == 0))
            fail_msg("row %zu", i);
        assert_true(cw_service_is_same_place(l.service, s));
        cw_service_unref(s);
    }
    assert_false(cw_hub_fits(l.hub, l.service, ANSWER_SIZE + 1));
    from.url = CW_STR("unix:/elsewhere");
    cw_service *s = service_of(from);
    assert_false(cw_hub_fits(l.hub, s, ANSWER_SIZE));
    assert_false(cw_service_is_same_place(l.service, s));
    cw_service_unref(s);
    close_line(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_was_cancelled_is_not_sent),
        cmocka_unit_test(nothing_is_opened_for_a_call_that_was_cancelled),
        cmocka_unit_test(a_call_may_have_more_time_than_the_service),
        cmocka_unit_test(patience_ends_too_and_with_it_the_connection),
        cmocka_unit_test(a_retired_hub_serves_those_who_use_it),
        cmocka_unit_test(a_retired_hub_that_nobody_uses_ends_at_once),
        cmocka_unit_test(a_retired_hub_ends_with_its_loop),
        cmocka_unit_test(a_way_may_outlive_a_hub_that_was_dropped),
        cmocka_unit_test(a_hub_fits_what_it_would_be_made_of),
    };
    return cmocka_run_group_tests(tests, make_path, NULL);
}
