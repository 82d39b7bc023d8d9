/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is refused by one limit takes nothing of another. */
#include "support/runtime_fixture.h"
#include "support/test.h"

#define HOUR_NS (3600 * UINT64_C(1000000000))

static cw_err err;
static cw_limiter *limiter;
static uint32_t retry_s;

SETUP(begin)
{
    return runtime_fixture_init(1000, /* may_call= */ true, &err) || cw_limiter_new(&limiter, &err)
               ? -1
               : 0;
}

TEARDOWN(end)
{
    cw_limiter_free(limiter);
    runtime_fixture_done();
    return 0;
}

static cw_code enter_from(const char *peer, const cw_rate_limits *limits, const char *method,
                          cw_limiter_slot *place)
{
    cw_view *view = cw_runtime_anonymous(fixture.rl);
    cw_call_request request = {.view = view,
                               .entry = cw_view_find_method(view, cw_str_from(method)),
                               .peer = cw_str_from(peer)};
    assert_non_null(request.entry);
    *place = (cw_limiter_slot){0};
    return cw_limiter_enter(limiter, limits, &request, /* now= */ 1, place, &retry_s, &err);
}

static cw_code enter(const cw_rate_limits *limits, const char *method, cw_limiter_slot *place)
{
    return enter_from("", limits, method, place);
}

TEST(a_busy_source_takes_no_place_of_a_tool)
{
    const cw_rate_limits limits = {.calls_per_tool = 2, .calls_per_source = 1};
    cw_limiter_slot running, place;
    assert_int_equal(enter(&limits, "text", &running), CW_OK);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(enter(&limits, "echo", &place), CW_LIMIT);
        assert_non_null(strstr(err.msg, "of the source "));
        assert_null(place.tool);
        assert_null(place.source);
    }
    cw_limiter_leave(&running);
    assert_int_equal(enter(&limits, "echo", &place), CW_OK);
    cw_limiter_leave(&place);
}

TEST(a_rate_that_is_used_up_takes_no_place_and_no_token)
{
    cw_rate_limits limits = {
        .calls_per_tool = 2, .tool = {HOUR_NS, 2 * HOUR_NS}, .global = {HOUR_NS, 0}};
    cw_limiter_slot place;
    assert_int_equal(enter(&limits, "echo", &place), CW_OK);
    cw_limiter_leave(&place);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(enter(&limits, "echo", &place), CW_LIMIT);
        assert_non_null(strstr(err.msg, "to this server"));
        assert_null(place.tool);
    }
    limits.global = (cw_rate){0};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(enter(&limits, "echo", &place), CW_OK);
        cw_limiter_leave(&place);
    }
    assert_int_equal(enter(&limits, "echo", &place), CW_LIMIT);
}

TEST(a_limit_of_zero_is_any_number)
{
    const cw_rate_limits limits = {.tool = {1, HOUR_NS}};
    cw_limiter_slot places[100];
    for (size_t i = 0; i < CW_COUNT(places); i++)
        assert_int_equal(enter(&limits, "echo", &places[i]), CW_OK);
    for (size_t i = 0; i < CW_COUNT(places); i++)
        cw_limiter_leave(&places[i]);
}

/* The first free place is for a caller that was refused while another one had all of them. */
static void expect_turns(cw_rate_limits limits, const char *method, uint32_t n)
{
    const char *hostile = "203.0.113.9", *healthy = "198.51.100.1";
    cw_limiter_slot running[8], place;
    limits.calls_per_tool = limits.calls_per_tool ? n : 0;
    limits.calls_per_source = limits.calls_per_source ? n : 0;
    cw_limiter_free(limiter);
    assert_int_equal(cw_limiter_new(&limiter, &err), CW_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(enter_from(hostile, &limits, method, &running[i]), CW_OK);
    assert_int_equal(enter_from(healthy, &limits, method, &place), CW_LIMIT);
    cw_limiter_leave(&running[0]);
    assert_int_equal(enter_from(hostile, &limits, method, &running[0]), CW_LIMIT);
    assert_non_null(strstr(err.msg, "are running: try again in 1 s"));
    assert_int_equal(enter_from(healthy, &limits, method, &place), CW_OK);
    cw_limiter_leave(&place);
    for (size_t i = 1; i < n; i++)
        cw_limiter_leave(&running[i]);
}

TEST(threat_A7_places_of_a_tool_and_of_a_source_are_shared_by_callers)
{
    static const uint32_t sizes[] = {1, 2, 3, 8};
    for (size_t i = 0; i < CW_COUNT(sizes); i++) {
        expect_turns((cw_rate_limits){.calls_per_tool = 1}, "text", sizes[i]);
        expect_turns((cw_rate_limits){.calls_per_source = 1}, "text", sizes[i]);
        expect_turns((cw_rate_limits){.calls_per_tool = 1, .calls_per_source = 1}, "echo",
                     sizes[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_busy_source_takes_no_place_of_a_tool, begin, end),
        cmocka_unit_test_setup_teardown(a_rate_that_is_used_up_takes_no_place_and_no_token, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_limit_of_zero_is_any_number, begin, end),
        cmocka_unit_test_setup_teardown(
            threat_A7_places_of_a_tool_and_of_a_source_are_shared_by_callers, begin, end),
    };
    return cmocka_run_group_tests_name("call/limits", tests, NULL, NULL);
}
