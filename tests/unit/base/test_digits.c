/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "base/buf.h"
#include "support/test.h"

static void check(int64_t value)
{
    char text[CW_DIGITS_SIZE], expected[32];
    cw_str got = cw_digits_i64(value, text);
    snprintf(expected, sizeof expected, "%" PRId64, value);
    assert_int_equal(got.n, strlen(expected));
    assert_memory_equal(got.p, expected, got.n);
    got = cw_digits_u64((uint64_t)value, text);
    snprintf(expected, sizeof expected, "%" PRIu64, (uint64_t)value);
    assert_int_equal(got.n, strlen(expected));
    assert_memory_equal(got.p, expected, got.n);
}

TEST(numbers_around_every_power_of_ten_are_right)
{
    for (uint64_t power = 1; power <= UINT64_C(1000000000000000000); power *= 10)
        for (uint64_t near = 0; near < 3; near++) {
            check((int64_t)(power - 1 + near));
            check(-(int64_t)(power - 1 + near));
        }
}

TEST(the_ends_of_both_ranges_fit)
{
    check(0);
    check(INT64_MAX);
    check(INT64_MIN);
    check(-1); /* UINT64_MAX */
}

TEST(a_buffer_takes_digits_and_keeps_its_ceiling)
{
    cw_buf b;
    cw_buf_init(&b, 42);
    cw_buf_add_i64(&b, INT64_MIN);
    cw_buf_add_u64(&b, UINT64_MAX);
    cw_buf_add_u64(&b, 0);
    assert_true(cw_str_is(cw_buf_str(&b), "-9223372036854775808184467440737095516150"));
    cw_buf_add_i64(&b, -1);
    assert_int_equal(b.code, CW_LIMIT);
    assert_int_equal(b.n, 41);
    cw_buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_around_every_power_of_ten_are_right),
        cmocka_unit_test(the_ends_of_both_ranges_fit),
        cmocka_unit_test(a_buffer_takes_digits_and_keeps_its_ceiling),
    };
    return cmocka_run_group_tests_name("digits", tests, NULL, NULL);
}
