/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A service that rejects the credentials: what is sent to it, with and without a load that checks them. */
#include "support/test.h"

#include "source/remote/remote_int.h"

#define SOON UINT64_C(1000)
#define LATER (SOON + CW_REMOTE_REFUSED_MS)

static cw_endpoint service;
static cw_remote remote;

SETUP(setup)
{
    service =
        (cw_endpoint){.protocol.has_credentials = true, .config.openrpc = CW_STR_INIT("shop.json")};
    remote = (cw_remote){
        .base.ops = &cw_remote_ops, .service = &service, .health = cw_remote_health_new()};
    assert_non_null(remote.health);
    return 0;
}

TEARDOWN(teardown)
{
    cw_remote_health_unref(remote.health);
    return 0;
}

static void answer(unsigned status, uint64_t now)
{
    cw_client_response answer = {.status = status};
    cw_upstream_reply reply = {.end = CW_CLIENT_OK, .answer = &answer, .why = ""};
    cw_remote_record_end(&remote, now, /* trial= */ false, &reply);
}

static void reject_all(void)
{
    for (unsigned i = 0; i < CW_REMOTE_REFUSALS; i++) {
        assert_false(cw_remote_denies(remote.health, SOON));
        answer(401, SOON);
    }
}

TEST(after_rejections_nothing_is_sent_until_the_pause_is_over)
{
    reject_all();
    assert_true(cw_remote_denies(remote.health, SOON));
    assert_true(cw_remote_denies(remote.health, LATER - 1));
}

TEST(after_the_pause_one_request_decides_about_the_others)
{
    reject_all();
    assert_false(cw_remote_is_refused(remote.health, LATER));
    assert_false(cw_remote_denies(remote.health, LATER));
    assert_true(cw_remote_denies(remote.health, LATER));
    assert_true(cw_remote_denies(remote.health, LATER + 1));
    answer(401, LATER + 2);
    assert_true(cw_remote_denies(remote.health, LATER + CW_REMOTE_SETTLE_MS + 2));
    assert_true(cw_remote_denies(remote.health, LATER + CW_REMOTE_REFUSED_MS));
}

TEST(an_accepted_request_ends_it)
{
    reject_all();
    assert_false(cw_remote_denies(remote.health, LATER));
    answer(200, LATER + 1);
    for (unsigned i = 0; i < 2; i++)
        assert_false(cw_remote_denies(remote.health, LATER + 2));
}

TEST(a_request_without_a_response_is_followed_by_another_one)
{
    reject_all();
    assert_false(cw_remote_denies(remote.health, LATER));
    uint64_t then = LATER + CW_REMOTE_SETTLE_MS;
    assert_true(cw_remote_denies(remote.health, then - 1));
    assert_false(cw_remote_denies(remote.health, then));
    assert_true(cw_remote_denies(remote.health, then));
}

TEST(after_the_pause_403_is_a_rejection_too)
{
    reject_all();
    assert_false(cw_remote_denies(remote.health, LATER));
    answer(403, LATER + 1);
    assert_true(cw_remote_denies(remote.health, LATER + CW_REMOTE_SETTLE_MS + 1));
    assert_true(cw_remote_denies(remote.health, LATER + CW_REMOTE_REFUSED_MS));
    assert_false(cw_remote_denies(remote.health, LATER + 1 + CW_REMOTE_REFUSED_MS));
}

TEST(before_it_403_concerns_one_method)
{
    for (unsigned i = 0; i < 2 * CW_REMOTE_REFUSALS; i++)
        answer(403, SOON);
    assert_false(cw_remote_denies(remote.health, SOON));
}

TEST(the_request_that_is_tried_after_the_pause_may_wait_for_a_place)
{
    reject_all();
    assert_false(cw_remote_denies(remote.health, LATER));
    assert_false(cw_remote_is_refused(remote.health, LATER + 1));
    assert_true(cw_remote_denies(remote.health, LATER + 1));
}

/* A call is rejected, and the load because of it ends with this result. */
static void doubt(cw_remote_credentials found)
{
    service.config.openrpc = CW_STR("");
    assert_false(cw_remote_denies(remote.health, SOON));
    answer(401, SOON);
    assert_true(cw_remote_denies(remote.health, SOON));
    assert_true(cw_remote_needs_recheck(&remote.base));
    cw_remote_set_credentials(&remote.base, found);
    assert_false(cw_remote_needs_recheck(&remote.base));
}

static unsigned count_sent(uint64_t now)
{
    unsigned n = 0;
    for (unsigned i = 0; i < 20; i++) {
        if (cw_remote_denies(remote.health, now))
            continue;
        answer(401, now);
        n++;
    }
    return n;
}

TEST(a_load_without_a_result_leaves_few_calls_that_are_rejected)
{
    doubt(CW_REMOTE_CREDENTIALS_UNKNOWN);
    assert_int_equal(count_sent(SOON + 1), CW_REMOTE_REFUSALS - 1);
    assert_int_equal(count_sent(SOON + CW_REMOTE_RECHECK_MS), 0);
    cw_remote_set_credentials(&remote.base, CW_REMOTE_CREDENTIALS_UNKNOWN);
    assert_int_equal(count_sent(SOON + 2 * CW_REMOTE_RECHECK_MS), 0);
    assert_int_equal(count_sent(LATER + 1), 1);
}

TEST(calls_that_are_rejected_during_a_long_load_count)
{
    service.config.openrpc = CW_STR("");
    answer(401, SOON);
    assert_int_equal(count_sent(SOON + CW_REMOTE_SETTLE_MS), CW_REMOTE_REFUSALS - 1);
}

TEST(a_later_load_that_is_accepted_ends_the_pause)
{
    doubt(CW_REMOTE_CREDENTIALS_UNKNOWN);
    assert_int_equal(count_sent(SOON + 1), CW_REMOTE_REFUSALS - 1);
    cw_remote_set_credentials(&remote.base, CW_REMOTE_CREDENTIALS_ACCEPTED);
    assert_false(cw_remote_denies(remote.health, SOON + 2));
}

TEST(a_load_that_is_rejected_ends_all_calls)
{
    doubt(CW_REMOTE_CREDENTIALS_REFUSED);
    assert_true(cw_remote_denies(remote.health, LATER + CW_REMOTE_REFUSED_MS));
}

TEST(a_service_that_rejects_one_method_is_not_paused)
{
    doubt(CW_REMOTE_CREDENTIALS_ACCEPTED);
    assert_int_equal(count_sent(SOON + 1), 20);
}

TEST(a_file_that_was_read_says_nothing_about_the_credentials)
{
    reject_all();
    cw_remote_set_credentials(&remote.base, CW_REMOTE_CREDENTIALS_ACCEPTED);
    assert_true(cw_remote_denies(remote.health, LATER - 1));
    cw_remote_set_credentials(&remote.base, CW_REMOTE_CREDENTIALS_NEW);
    assert_false(cw_remote_denies(remote.health, LATER - 1));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(after_rejections_nothing_is_sent_until_the_pause_is_over),
        T(after_the_pause_one_request_decides_about_the_others),
        T(an_accepted_request_ends_it),
        T(a_request_without_a_response_is_followed_by_another_one),
        T(after_the_pause_403_is_a_rejection_too),
        T(before_it_403_concerns_one_method),
        T(the_request_that_is_tried_after_the_pause_may_wait_for_a_place),
        T(a_load_without_a_result_leaves_few_calls_that_are_rejected),
        T(calls_that_are_rejected_during_a_long_load_count),
        T(a_later_load_that_is_accepted_ends_the_pause),
        T(a_load_that_is_rejected_ends_all_calls),
        T(a_service_that_rejects_one_method_is_not_paused),
        T(a_file_that_was_read_says_nothing_about_the_credentials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
