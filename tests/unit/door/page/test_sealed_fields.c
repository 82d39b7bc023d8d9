/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_sealed_fields.c - texts that a browser carries, with the time of the server that sealed them. */
#include "door/page/sealed_fields.h"

#include "base/buf.h"
#include "base/clock.h"
#include "support/test.h"

#define PURPOSE CW_STR("test")
#define LIFETIME_MS 600000

static cw_arena arena;
static cw_seal seal;

SETUP(make_seal)
{
    (void)state;
    cw_arena_init(&arena, 1 << 20);
    return cw_seal_init(&seal, NULL) ? -1 : 0;
}

TEARDOWN(drop_seal)
{
    (void)state;
    cw_arena_done(&arena);
    return 0;
}

/* As a server does whose clock is so many ms ahead of ours. */
static cw_code open_of_clock(int64_t ahead_ms)
{
    CW_CLEANUP(cw_buf_done) cw_buf plain;
    cw_str sealed, field;
    cw_buf_init(&plain, CW_SEALED_FIELDS_MAX_BYTES);
    cw_buf_add_i64(&plain, cw_clock_wall_ms() + ahead_ms);
    cw_buf_add_char(&plain, '\0');
    cw_buf_add(&plain, CW_STR("text"));
    assert_int_equal(cw_seal_close(&seal, PURPOSE, cw_buf_str(&plain), &arena, &sealed, NULL),
                     CW_OK);
    cw_code rc = cw_sealed_fields_open(&seal, PURPOSE, sealed, LIFETIME_MS, &arena, &field, 1);
    assert_true(rc || cw_str_is(field, "text"));
    return rc;
}

TEST(fields_return_as_they_were)
{
    const cw_str given[] = {CW_STR_INIT("a"), CW_STR_INIT(""), CW_STR_INIT("c d")};
    cw_str sealed, found[3];
    assert_int_equal(cw_sealed_fields_close(&seal, PURPOSE, given, 3, &arena, &sealed), CW_OK);
    assert_int_equal(cw_sealed_fields_open(&seal, PURPOSE, sealed, LIFETIME_MS, &arena, found, 3),
                     CW_OK);
    for (size_t i = 0; i < 3; i++)
        assert_true(cw_str_eq(found[i], given[i]));
    assert_int_equal(cw_sealed_fields_open(&seal, PURPOSE, sealed, LIFETIME_MS, &arena, found, 2),
                     CW_PARSE);
    assert_int_equal(
        cw_sealed_fields_open(&seal, CW_STR("other"), sealed, LIFETIME_MS, &arena, found, 3),
        CW_PARSE);
}

TEST(fields_of_a_server_whose_clock_is_ahead_are_opened)
{
    assert_int_equal(open_of_clock(5000), CW_OK);
    assert_int_equal(open_of_clock(-5000), CW_OK);
}

TEST(fields_that_are_too_old_or_far_in_the_future_are_not)
{
    assert_int_equal(open_of_clock(-LIFETIME_MS - 1000), CW_TIMEOUT);
    assert_int_equal(open_of_clock(2 * CW_SEALED_FIELDS_SKEW_MS), CW_TIMEOUT);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make_seal, drop_seal)
    const struct CMUnitTest tests[] = {
        T(fields_return_as_they_were),
        T(fields_of_a_server_whose_clock_is_ahead_are_opened),
        T(fields_that_are_too_old_or_far_in_the_future_are_not),
    };
    return cmocka_run_group_tests_name("sealed_fields", tests, NULL, NULL);
}
