/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <float.h>
#include <math.h>

#include "support/json_fixture.h"

static cw_str format(cw_buf *b, double value)
{
    cw_buf_clear(b);
    cw_json_writer w;
    cw_json_writer_init(&w, b, CW_JSON_COMPACT);
    cw_json_add_double(&w, value);
    assert_int_equal(cw_json_writer_end(&w, NULL), CW_OK);
    return cw_buf_str(b);
}

TEST(doubles_are_written_with_the_fewest_digits)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {5, "5"},
        {-1, "-1"},
        {0.1, "0.1"},
        {0.5, "0.5"},
        {0.3, "0.3"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {123456.789, "123456.789"},
        {1e15, "1000000000000000"},
        {9007199254740993.0, "9007199254740992"},
        {1e20, "100000000000000000000"},
        {1e21, "1e+21"},
        {1.5e300, "1.5e+300"},
        {0.000001, "0.000001"},
        {0.0000001, "1e-7"},
        {1.25e-9, "1.25e-9"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {5e-324, "5e-324"},
        {1e-310, "1e-310"},
        {-123.456e-100, "-1.23456e-98"},
        {HUGE_VAL, "null"},
        {-HUGE_VAL, "null"},
        {(double)NAN, "null"},
    };
    cw_buf b;
    cw_buf_init(&b, 100);
    for (size_t i = 0; i < CW_COUNT(cases); i++)
        assert_str(format(&b, cases[i].value), cases[i].text);
    cw_buf_done(&b);
}

TEST_WITH(what_is_written_reads_back_as_the_same_bits, cw_arena *a)
{
    cw_buf b;
    cw_buf_init(&b, 100);
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        double value;
        /* Every other one with small exponents, whose digits are in front of the point. */
        uint64_t bits = i % 2 ? x : (x & ~(UINT64_C(0x7FF) << 52)) | (1023 + x % 70) << 52;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        const cw_json *v = must_read_opts(a, format(&b, value), NULL);
        double again;
        assert_true(cw_json_to_double(v, &again));
        assert_memory_equal(&again, &value, sizeof value);
        if (i % 1000 == 0)
            cw_arena_reset(a);
    }
    cw_buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_are_written_with_the_fewest_digits),
        arena_test(what_is_written_reads_back_as_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
