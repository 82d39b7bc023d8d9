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

static cw_code enter(const cw_rate_limits *limits, const char *method, cw_limiter_slot *place)
{
    cw_view *view = cw_runtime_anonymous(fixture.rl);
    cw_call_request request = {.view = view,
                               .entry = cw_view_find_method(view, cw_str_from(method))};
    assert_non_null(request.entry);
    *place = (cw_limiter_slot){0};
    return cw_limiter_enter(limiter, limits, &request, /* now= */ 1, place, &retry_s, &err);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_busy_source_takes_no_place_of_a_tool, begin, end),
        cmocka_unit_test_setup_teardown(a_rate_that_is_used_up_takes_no_place_and_no_token, begin,
                                        end),
    };
    return cmocka_run_group_tests_name("call/limits", tests, NULL, NULL);
}
