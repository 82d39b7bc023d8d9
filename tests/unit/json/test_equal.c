/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <time.h>

#include "support/json_fixture.h"
#include "support/oom.h"

typedef struct pair {
    const char *a;
    const char *b;
} pair;

TEST_WITH(equal_values_are_equal_and_hash_alike, cw_arena *arena)
{
    static const pair pairs[] = {
        {"null", " null "},
        {"true", "true"},
        {"1", "1.0"},
        {"-2", "-2.0"},
        {"100", "1e2"},
        {"0", "-0.0"},
        {"\"a\"", "\"\\u0061\""},
        {"\"a\\u0000b\"", "\"\\u0061\\u0000b\""},
        {"\"/\"", "\"\\/\""},
        {"[]", "[ ]"},
        {"[1,[2,{}]]", "[1.0,[2.0,{}]]"},
        {"{}", "{ }"},
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}"},
        {"{\"a\":{\"x\":[1],\"y\":{}},\"b\":[{\"p\":1,\"q\":2}]}",
         "{\"b\":[{\"q\":2.0,\"p\":1}],\"a\":{\"y\":{},\"x\":[1e0]}}"},
        {"{\"a\":1,\"b\":2,\"c\":3}", "{\"a\":1,\"c\":3,\"b\":2}"},
        {"{\"__proto__\":1,\"constructor\":2}", "{\"constructor\":2,\"__proto__\":1}"},
    };
    for (size_t i = 0; i < CW_COUNT(pairs); i++) {
        const cw_json *a = must_read(arena, pairs[i].a);
        const cw_json *b = must_read(arena, pairs[i].b);
        if (!cw_json_equal(a, b) || !cw_json_equal(b, a))
            fail_msg("%s is not %s", pairs[i].a, pairs[i].b);
        assert_true(cw_json_hash(a) == cw_json_hash(b));
    }
}

TEST_WITH(different_values_differ, cw_arena *arena)
{
    static const char *const values[] = {
        "null",
        "true",
        "false",
        "0",
        "1",
        "-1",
        "0.1",
        "10",
        "9007199254740992",
        "9007199254740993",
        "\"\"",
        "\"0\"",
        "\"a\"",
        "\"A\"",
        "\"a\\u0000\"",
        "\"\xC3\xA9\"",
        "\"e\xCC\x81\"",
        "\"null\"",
        "[]",
        "[[]]",
        "[0]",
        "[1]",
        "[true]",
        "[false]",
        "[null]",
        "[1,2]",
        "[2,1]",
        "[[1],2]",
        "[1,[2]]",
        "{}",
        "[{}]",
        "{\"a\":1}",
        "{\"a\":2}",
        "{\"b\":1}",
        "{\"a\":true}",
        "{\"a\":1,\"b\":2}",
        "{\"a\":2,\"b\":1}",
        "{\"a\":[1]}",
        "{\"a\":{\"a\":1}}",
        "[\"a\",1]",
        "{\"b\":1,\"c\":2}",
        "{\"\":{}}",
        "{\"\":[]}",
    };
    for (size_t i = 0; i < CW_COUNT(values); i++) {
        for (size_t j = 0; j < CW_COUNT(values); j++) {
            const cw_json *a = must_read(arena, values[i]);
            const cw_json *b = must_read(arena, values[j]);
            if (cw_json_equal(a, b) != (i == j))
                fail_msg("%s and %s", values[i], values[j]);
            assert_int_equal(cw_json_hash(a) == cw_json_hash(b), i == j);
        }
    }
}

/* {"k0":<value>,...}, forwards or backwards; member `odd` has another value. */
static void write_members(cw_buf *b, int n, bool backwards, int odd, const char *value)
{
    cw_buf_add_char(b, '{');
    for (int i = 0; i < n; i++) {
        int k = backwards ? n - 1 - i : i;
        cw_buf_printf(b, "%s\"k%d\":%s", i ? "," : "", k, k == odd ? "\"odd\"" : value);
    }
    cw_buf_add_char(b, '}');
}

TEST_WITH(order_does_not_matter_at_any_size, cw_arena *a)
{
    static const int sizes[] = {1, 2, 15, 16, 17, 18, 33, 100, 1000};
    cw_buf x;
    cw_buf y;
    cw_buf_init(&x, 1u << 20);
    cw_buf_init(&y, 1u << 20);
    for (size_t i = 0; i < CW_COUNT(sizes); i++) {
        for (int odd = -1; odd < sizes[i]; odd += 1 + sizes[i] / 10) {
            cw_buf_clear(&x);
            cw_buf_clear(&y);
            write_members(&x, sizes[i], false, -1, "[1]");
            write_members(&y, sizes[i], true, odd, "[1.0]");
            const cw_json *v = must_read_opts(a, cw_buf_str(&x), NULL);
            const cw_json *w = must_read_opts(a, cw_buf_str(&y), NULL);
            assert_int_equal(cw_json_equal(v, w), odd < 0);
            assert_int_equal(cw_json_hash(v) == cw_json_hash(w), odd < 0);
        }
        cw_arena_reset(a);
    }
    cw_buf_done(&x);
    cw_buf_done(&y);
}

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

TEST_WITH(ten_thousand_members_backwards_are_not_quadratic, cw_arena *a)
{
    cw_buf x;
    cw_buf y;
    cw_buf_init(&x, 1u << 20);
    cw_buf_init(&y, 1u << 20);
    write_members(&x, 10000, false, -1, "1");
    write_members(&y, 10000, true, -1, "1");
    const cw_json *v = must_read_opts(a, cw_buf_str(&x), NULL);
    const cw_json *w = must_read_opts(a, cw_buf_str(&y), NULL);
    double start = milliseconds();
    assert_true(cw_json_equal(v, w));
    double spent = milliseconds() - start;
    print_message("[          ] 10000 members backwards: %.2f ms\n", spent);
    assert_true(spent < (IS_SANITIZED ? 200 : 20));
    cw_buf_done(&x);
    cw_buf_done(&y);
}

/* At every level the last two members change places, so each level is found to differ in order only
 * after what it contains has been compared. */
static void write_shuffled(cw_buf *b, int depth, bool swap)
{
    for (int i = 0; i < depth; i++)
        cw_buf_add(b, CW_STR("{\"in\":"));
    cw_buf_add_char(b, '0');
    for (int i = 0; i < depth; i++)
        cw_buf_add(b, swap ? CW_STR(",\"b\":1,\"a\":2}") : CW_STR(",\"a\":2,\"b\":1}"));
}

TEST_WITH(nesting_does_not_multiply_the_work, cw_arena *a)
{
    const cw_json_opts opts = {.max_depth = CW_JSON_DEPTH_CEILING};
    cw_buf x;
    cw_buf y;
    cw_buf_init(&x, 1u << 20);
    cw_buf_init(&y, 1u << 20);
    write_shuffled(&x, CW_JSON_DEPTH_CEILING, false);
    write_shuffled(&y, CW_JSON_DEPTH_CEILING, true);
    const cw_json *v = must_read_opts(a, cw_buf_str(&x), &opts);
    const cw_json *w = must_read_opts(a, cw_buf_str(&y), &opts);
    double start = milliseconds();
    assert_true(cw_json_equal(v, w));
    assert_true(cw_json_hash(v) == cw_json_hash(w));
    assert_true(milliseconds() - start < 100);
    cw_buf_done(&x);
    cw_buf_done(&y);
}

typedef struct twins {
    const cw_json *a, *b, *other;
} twins;

static void compare_twins(void *ctx)
{
    const twins *t = ctx;
    assert_true(cw_json_equal(t->a, t->b));
    assert_false(cw_json_equal(t->a, t->other));
}

TEST_WITH(without_memory_the_answer_is_the_same, cw_arena *a)
{
    cw_buf b[3];
    const cw_json *v[3];
    for (int i = 0; i < 3; i++) {
        cw_buf_init(&b[i], 1u << 20);
        write_members(&b[i], 300, i > 0, i == 2 ? 7 : -1, "{\"x\":[]}");
        v[i] = must_read_opts(a, cw_buf_str(&b[i]), NULL);
        cw_buf_done(&b[i]);
    }
    twins t = {v[0], v[1], v[2]};
    assert_true(oom_each(compare_twins, &t) >= 2);
}

TEST_WITH(duplicate_keys_do_no_harm, cw_arena *a)
{
    const cw_json_opts opts = {.allow_duplicates = true};
    const cw_json *v = must_read_opts(a, CW_STR("{\"a\":1,\"a\":2,\"b\":3}"), &opts);
    const cw_json *w = must_read_opts(a, CW_STR("{\"b\":3,\"a\":2,\"a\":1}"), &opts);
    assert_true(cw_json_equal(v, v));
    (void)cw_json_equal(v, w);
    assert_true(cw_json_hash(v) == cw_json_hash(w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        arena_test(equal_values_are_equal_and_hash_alike),
        arena_test(different_values_differ),
        arena_test(order_does_not_matter_at_any_size),
        arena_test(ten_thousand_members_backwards_are_not_quadratic),
        arena_test(nesting_does_not_multiply_the_work),
        arena_test(without_memory_the_answer_is_the_same),
        arena_test(duplicate_keys_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
