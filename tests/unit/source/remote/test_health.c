/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A service that rejects the credentials, and whose description is a file: no load can check them. */
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
    remote = (cw_remote){.service = &service, .health = cw_remote_health_new()};
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

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(after_rejections_nothing_is_sent_until_the_pause_is_over),
        T(after_the_pause_one_request_decides_about_the_others),
        T(an_accepted_request_ends_it),
        T(a_request_without_a_response_is_followed_by_another_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
