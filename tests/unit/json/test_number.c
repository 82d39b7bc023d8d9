/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <locale.h>
#include <math.h>

#include "support/json_fixture.h"

/* `head`, `n` times `fill`, `tail`. */
static const char *digits(cw_arena *a, const char *head, char fill, size_t n, const char *tail)
{
    char *p = cw_arena_alloc(a, strlen(head) + n + strlen(tail) + 1);
    assert_non_null(p);
    char *middle = p + strlen(head);
    memcpy(p, head, strlen(head));
    memset(middle, fill, n);
    memcpy(middle + n, tail, strlen(tail) + 1);
    return p;
}

TEST_WITH(order_is_exact, cw_arena *a)
{
    /* Each group is equal within and smaller than the next. */
    const char *const groups[][5] = {
        {"-1e99999999999999999999999999999999999999"},
        {"-1e999999999", "-10e999999998"},
        {"-1e400", "-1E+400", "-0.1e401"},
        {"-9007199254740993", "-9007199254740993.0"},
        {"-9007199254740992", "-9.007199254740992e15"},
        {"-1.5", "-15e-1"},
        {"-1", "-1.0", "-10e-1"},
        {"-1e-400"},
        {"-1e-99999999999999999999999999999999999999"},
        {"0", "-0", "0.0", "0e5", "0e-99999999999999999999"},
        {"1e-99999999999999999999999999999999999999",
         "10e-100000000000000000000000000000000000000"},
        {"1e-400", "0.1e-399"},
        {"0.1", "1e-1", "0.10", "0.01e1", "10e-2"},
        {"0.1000000000000000000000000000000000000001"},
        {"0.3"},
        {"0.9999999999999999999999999999999999999999"},
        {"1", "1.0", "10e-1", "1e0", "0.001e3"},
        {"1.0000000000000000000000000000000000000001"},
        {"2"},
        {"10", "1e1"},
        {"12345678901234567890.5"},
        {"12345678901234567890.51"},
        {"9223372036854775808e3"},
        {"1e400", "10e399", "0.0001e404"},
        {"1.1e400"},
        {"1e999999999", "1000e999999996", "0.001E+1000000002"},
        {"1e9223372036854775807"},
        {"1e9223372036854775808", "10e9223372036854775807"},
        {"1e99999999999999999999999999999999999999", "0.1e100000000000000000000000000000000000000"},
        {"1e100000000000000000000000000000000000000"},
    };
    for (size_t i = 0; i < CW_COUNT(groups); i++) {
        for (size_t j = 0; j < CW_COUNT(groups); j++) {
            for (size_t k = 0; k < 5 && groups[i][k]; k++) {
                for (size_t l = 0; l < 5 && groups[j][l]; l++) {
                    int order = cw_json_compare_numbers(must_read(a, groups[i][k]),
                                                        must_read(a, groups[j][l]));
                    if (order != (i > j) - (i < j))
                        fail_msg("%s against %s gave %d", groups[i][k], groups[j][l], order);
                    assert_int_equal(cw_json_hash(must_read(a, groups[i][k])) ==
                                         cw_json_hash(must_read(a, groups[j][l])),
                                     i == j);
                }
            }
        }
        cw_arena_reset(a);
    }
}

TEST_WITH(two_to_the_53_and_its_successor_differ, cw_arena *a)
{
    assert_int_equal(
        cw_json_compare_numbers(must_read(a, "9007199254740992"), must_read(a, "9007199254740993")),
        -1);
}

TEST_WITH(long_numbers_are_compared_to_the_last_digit, cw_arena *a)
{
    const char *x = digits(a, "1", '0', 100000, "1");
    const char *y = digits(a, "1", '0', 100000, "2");
    const char *z = digits(a, "1.", '0', 99999, "1e100001");
    assert_int_equal(cw_json_compare_numbers(must_read(a, x), must_read(a, y)), -1);
    assert_int_equal(cw_json_compare_numbers(must_read(a, y), must_read(a, x)), 1);
    /* 1.0...01 with the 1 one place earlier. */
    assert_int_equal(cw_json_compare_numbers(must_read(a, x), must_read(a, z)), -1);
    z = digits(a, "1.", '0', 100000, "1e100001");
    assert_int_equal(cw_json_compare_numbers(must_read(a, x), must_read(a, z)), 0);
    assert_true(cw_json_hash(must_read(a, x)) == cw_json_hash(must_read(a, z)));
}

TEST_WITH(wholeness_is_read_from_the_text, cw_arena *a)
{
    static const char *const whole[] = {
        "0",
        "-0",
        "0.0",
        "0e-5",
        "1",
        "-17",
        "1.0",
        "1.000e0",
        "1e3",
        "1.5e1",
        "1.25E+2",
        "100e-2",
        "12345678901234567890123456789012345678901234567890123",
        "1e400",
        "1e99999999999999999999",
        "1.5e99999999999999999999",
        "-10.0e-1",
    };
    static const char *const broken[] = {
        "0.5",
        "1.5",
        "-1.0001",
        "1e-1",
        "15e-1",
        "100e-3",
        "1.25e1",
        "1e-99999999999999999999",
        "12345678901234567890.1",
        "1e-400",
    };
    for (size_t i = 0; i < CW_COUNT(whole); i++)
        assert_true(cw_json_is_integer(must_read(a, whole[i])));
    for (size_t i = 0; i < CW_COUNT(broken); i++)
        assert_false(cw_json_is_integer(must_read(a, broken[i])));
    assert_false(cw_json_is_integer(must_read(a, "\"1\"")));
    assert_false(cw_json_is_integer(NULL));
}

TEST_WITH(int64_is_exact_or_refused, cw_arena *a)
{
    static const struct {
        const char *text;
        bool fits;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"-0.0e5", true, 0},
        {"1", true, 1},
        {"-1", true, -1},
        {"1.0", true, 1},
        {"1e3", true, 1000},
        {"1.5e1", true, 15},
        {"1200e-2", true, 12},
        {"0.001e3", true, 1},
        {"9007199254740993", true, 9007199254740993},
        {"9223372036854775807", true, INT64_MAX},
        {"922337203685477580.7e1", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775808.000", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"18446744073709551616", false, 0},
        {"99999999999999999999999", false, 0},
        {"1e18", true, 1000000000000000000},
        {"1e19", false, 0},
        {"1e999999999", false, 0},
        {"1e99999999999999999999999", false, 0},
        {"0e99999999999999999999999", true, 0},
        {"0.5", false, 0},
        {"1e-1", false, 0},
        {"1e-99999999999999999999999", false, 0},
        {"\"1\"", false, 0},
        {"true", false, 0},
        {"null", false, 0},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        int64_t value = 42;
        assert_int_equal(cw_json_to_i64(must_read(a, cases[i].text), &value), cases[i].fits);
        assert_true(value == (cases[i].fits ? cases[i].value : 42));
    }
    int64_t value;
    assert_false(cw_json_to_i64(NULL, &value));
}

TEST_WITH(uint64_is_exact_or_refused, cw_arena *a)
{
    uint64_t value = 42;
    assert_true(cw_json_to_u64(must_read(a, "18446744073709551615"), &value));
    assert_true(value == UINT64_MAX);
    assert_true(cw_json_to_u64(must_read(a, "1844674407370955161.5e1"), &value));
    assert_true(value == UINT64_MAX);
    assert_true(cw_json_to_u64(must_read(a, "-0"), &value));
    assert_true(value == 0);
    value = 42;
    assert_false(cw_json_to_u64(must_read(a, "18446744073709551616"), &value));
    assert_false(cw_json_to_u64(must_read(a, "-1"), &value));
    assert_false(cw_json_to_u64(must_read(a, "0.1"), &value));
    assert_false(cw_json_to_u64(must_read(a, "{}"), &value));
    assert_true(value == 42);
}

static double as_double(cw_arena *a, const char *text)
{
    double value = 42;
    if (!cw_json_to_double(must_read(a, text), &value))
        fail_msg("%.40s is no double", text);
    return value;
}

TEST_WITH(doubles_are_the_nearest, cw_arena *a)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "0.1",
        "0.3",
        "1e22",
        "1e23",
        "9007199254740993",
        "123456789012345678",
        "1.7976931348623157e308",
        "-1.7976931348623157e308",
        "2.2250738585072014e-308",
        "2.2250738585072011e-308",
        "5e-324",
        "4.9406564584124654e-324",
        "3e-324",
        "2e-324",
        "6.02214076e23",
        "0.000001",
        "123456.789e-3",
        "8.988465674311579e307",
        "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203124",
        "1.00000000000000011102230246251565404236316680908203126",
        "100000000000000000000000000000000000000000000000001",
    };
    for (size_t i = 0; i < CW_COUNT(texts); i++) {
        double want = strtod(texts[i], NULL);
        double got = as_double(a, texts[i]);
        assert_memory_equal(&got, &want, sizeof want);
    }
}

TEST_WITH(a_tie_is_decided_by_a_digit_far_away, cw_arena *a)
{
    /* Half way between 1 and its successor, then a 1 beyond any buffer. */
    const char *tie = "1.00000000000000011102230246251565404236316680908203125";
    assert_true(as_double(a, tie) == 1.0);
    assert_true(as_double(a, digits(a, tie, '0', 5000, "")) == 1.0);
    assert_true(as_double(a, digits(a, tie, '0', 5000, "1")) == nextafter(1.0, 2.0));
    assert_true(as_double(a, digits(a, "", '9', 100000, "e-100000")) == 1.0);
    assert_true(as_double(a, digits(a, "0.", '0', 100000, "25e100002")) == 25.0);
}

TEST_WITH(doubles_beyond_the_range_are_refused_and_tiny_ones_are_zero, cw_arena *a)
{
    static const char *const huge[] = {
        "1e309",         "-1e309",      "1.7976931348623159e308",
        "1e400",         "1e999999999", "1e99999999999999999999999999",
        "123456789e301",
    };
    double value = 42;
    for (size_t i = 0; i < CW_COUNT(huge); i++)
        assert_false(cw_json_to_double(must_read(a, huge[i]), &value));
    assert_false(cw_json_to_double(must_read(a, digits(a, "1", '0', 400, "")), &value));
    assert_false(cw_json_to_double(must_read(a, "\"1\""), &value));
    assert_false(cw_json_to_double(NULL, &value));
    assert_true(value == 42);
    assert_true(as_double(a, "1e-400") == 0);
    assert_true(as_double(a, "1e-99999999999999999999999999") == 0);
    assert_true(signbit(as_double(a, "-1e-400")));
    assert_true(as_double(a, digits(a, "1", '0', 400, "e-400")) == 1.0);
}

TEST_WITH(the_locale_does_not_matter, cw_arena *a)
{
    /* Any locale with a decimal comma; where none is installed the test is the plain one. */
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
    for (size_t i = 0; i < CW_COUNT(names) && !setlocale(LC_NUMERIC, names[i]); i++)
        ;
    double value = as_double(a, "0.12345678901234567890123");
    cw_buf b;
    cw_buf_init(&b, 100);
    cw_json_writer w;
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    cw_json_add_double(&w, value);
    setlocale(LC_NUMERIC, "C");
    assert_int_equal(cw_json_writer_end(&w, NULL), CW_OK);
    assert_true(value == 0.12345678901234567890123);
    assert_str(cw_buf_str(&b), "0.12345678901234568");
    cw_buf_done(&b);
}

TEST_WITH(random_decimals_agree_with_strtod, cw_arena *a)
{
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        char text[64];
        snprintf(text, sizeof text, "%s%llu.%llue%d", x & 1 ? "-" : "",
                 (unsigned long long)(x >> (x & 63)), (unsigned long long)(x * 31 >> (x >> 6 & 63)),
                 (int)(x >> 12 & 511) - 256);
        double want = strtod(text, NULL);
        double got = as_double(a, text);
        assert_memory_equal(&got, &want, sizeof want);
        if (i % 1000 == 0)
            cw_arena_reset(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        arena_test(order_is_exact),
        arena_test(two_to_the_53_and_its_successor_differ),
        arena_test(long_numbers_are_compared_to_the_last_digit),
        arena_test(wholeness_is_read_from_the_text),
        arena_test(int64_is_exact_or_refused),
        arena_test(uint64_is_exact_or_refused),
        arena_test(doubles_are_the_nearest),
        arena_test(a_tie_is_decided_by_a_digit_far_away),
        arena_test(doubles_beyond_the_range_are_refused_and_tiny_ones_are_zero),
        arena_test(the_locale_does_not_matter),
        arena_test(random_decimals_agree_with_strtod),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
