/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/buf.h"
#include "support/assert_str.h"
#include "support/oom.h"
#include "support/test.h"

TEST(appends_grow_the_buffer)
{
    cw_buf b;
    cw_buf_init(&b, 1 << 20);
    assert_int_equal(cw_buf_str(&b).n, 0);
    assert_non_null(cw_buf_str(&b).p);
    for (int i = 0; i < 10000; i++) {
        cw_buf_add(&b, CW_STR("ab"));
        cw_buf_add_char(&b, 'c');
        cw_buf_add_bytes(&b, NULL, 0);
    }
    assert_int_equal(b.code, CW_OK);
    assert_int_equal(b.n, 30000);
    for (size_t i = 0; i < b.n; i++)
        assert_int_equal(b.p[i], "abc"[i % 3]);
    cw_buf_done(&b);
}

TEST(limit_is_sticky)
{
    cw_buf b;
    cw_buf_init(&b, 4);
    cw_buf_add(&b, CW_STR("abcd"));
    assert_int_equal(b.code, CW_OK);
    assert_true(b.cap <= 5);
    cw_buf_add_char(&b, 'e');
    assert_int_equal(b.code, CW_LIMIT);
    assert_int_equal(b.n, 4);
    cw_buf_consume(&b, 4);
    cw_buf_add_char(&b, 'f');
    cw_buf_printf(&b, "%d", 1);
    assert_null(cw_buf_reserve(&b, 0));
    assert_null(cw_buf_take(&b, NULL));
    assert_int_equal(b.n, 0);
    cw_buf_clear(&b);
    cw_buf_add_char(&b, 'g');
    assert_int_equal(b.code, CW_OK);
    assert_int_equal(b.n, 1);
    assert_memory_equal(b.p, "g", 1);
    cw_buf_done(&b);
}

TEST(the_byte_at_the_limit_fits_and_the_next_does_not)
{
    for (size_t max = 0; max < 200; max++) {
        cw_buf b;
        cw_buf_init(&b, max);
        for (size_t i = 0; i < max; i++)
            cw_buf_add_char(&b, 'x');
        assert_int_equal(b.code, CW_OK);
        assert_int_equal(b.n, max);
        cw_buf_add_char(&b, 'x');
        assert_int_equal(b.code, CW_LIMIT);
        assert_int_equal(b.n, max);
        assert_true(b.cap <= max + 1);
        cw_buf_done(&b);
    }
}

TEST(sizes_near_the_end_of_size_t_are_refused)
{
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX);
    cw_buf_add_char(&b, 'x');
    assert_null(cw_buf_reserve(&b, SIZE_MAX));
    assert_int_equal(b.code, CW_LIMIT);
    cw_buf_clear(&b);
    cw_buf_add_char(&b, 'x');
    assert_null(cw_buf_reserve(&b, SIZE_MAX - 1));
    assert_int_equal(b.code, CW_LIMIT);
    cw_buf_done(&b);
}

TEST(a_buffer_without_a_limit_of_its_own_ends_at_the_common_one)
{
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_buf_add_char(&b, 'x');
    assert_null(cw_buf_reserve(&b, CW_BUF_MAX));
    assert_int_equal(b.code, CW_LIMIT);
    assert_true(b.cap < CW_BUF_MAX);
    cw_buf_done(&b);
}

TEST(printf_formats_and_obeys_the_limit)
{
    cw_buf b;
    cw_buf_init(&b, 1000);
    cw_buf_printf(&b, "%s", "");
    assert_int_equal(b.n, 0);
    cw_buf_printf(&b, "%s=%d", "id", 7);
    assert_true(cw_str_is(cw_buf_str(&b), "id=7"));
    cw_buf_printf(&b, "%0*d", 996, 0);
    assert_int_equal(b.code, CW_OK);
    assert_int_equal(b.n, 1000);
    cw_buf_printf(&b, "%s", "");
    assert_int_equal(b.code, CW_OK);
    cw_buf_printf(&b, "%c", 'x');
    assert_int_equal(b.code, CW_LIMIT);
    assert_int_equal(b.n, 1000);
    cw_buf_done(&b);
    cw_buf_init(&b, 0);
    cw_buf_printf(&b, "x");
    assert_int_equal(b.code, CW_LIMIT);
    cw_buf_done(&b);
}

TEST(controls_are_escaped_behind_a_place)
{
    cw_buf b;
    cw_buf_init(&b, 64);
    cw_buf_add(&b, CW_STR("a\n"));
    cw_buf_escape_controls(&b, b.n);
    assert_int_equal(b.n, 2);
    cw_buf_add_bytes(&b, "b\nc\0\x7f\xc3\xa9\\", 8);
    cw_buf_escape_controls(&b, 2);
    assert_str(cw_buf_str(&b), "a\nb\\u000ac\\u0000\\u007f\xc3\xa9\\");
    cw_buf_clear(&b);
    for (size_t i = 0; i < 16; i++)
        cw_buf_add_char(&b, '\n');
    cw_buf_escape_controls(&b, 0);
    assert_int_equal(b.code, CW_LIMIT);
    cw_buf_escape_controls(&b, 0); /* sticky */
    assert_int_equal(b.code, CW_LIMIT);
    cw_buf_done(&b);
}

TEST(lines_stay_whole)
{
    cw_buf b;
    cw_buf_init(&b, 16);
    cw_buf_add_line(&b, "%s", "a\nb");
    cw_buf_add_line(&b, "%d", 7);
    assert_str(cw_buf_str(&b), "a\\u000ab\n7");
    cw_buf_add_line(&b, "%s", "c\n");
    assert_int_equal(b.code, CW_LIMIT);
    cw_buf_add_line(&b, "d");
    assert_str(cw_buf_str(&b), "a\\u000ab\n7");
    cw_buf_done(&b);
}

TEST(reserve_and_commit_write_in_place)
{
    cw_buf b;
    cw_buf_init(&b, 100);
    char *p = cw_buf_reserve(&b, 100);
    assert_non_null(p);
    memset(p, 'r', 100);
    cw_buf_commit(&b, 10);
    assert_int_equal(b.n, 10);
    assert_non_null(cw_buf_reserve(&b, 90));
    assert_null(cw_buf_reserve(&b, 91));
    assert_int_equal(b.code, CW_LIMIT);
    cw_buf_done(&b);
}

TEST(consume_drops_the_front)
{
    cw_buf b;
    cw_buf_init(&b, 100);
    cw_buf_consume(&b, 0);
    cw_buf_add(&b, CW_STR("abcdef"));
    cw_buf_consume(&b, 2);
    assert_true(cw_str_is(cw_buf_str(&b), "cdef"));
    cw_buf_consume(&b, 4);
    assert_int_equal(b.n, 0);
    cw_buf_done(&b);
}

TEST(take_moves_the_bytes_to_the_caller)
{
    cw_buf b;
    size_t n = 99;
    cw_buf_init(&b, 3);
    char *empty = cw_buf_take(&b, &n);
    assert_string_equal(empty, "");
    assert_int_equal(n, 0);
    free(empty);
    cw_buf_add(&b, CW_STR("abc"));
    char *text = cw_buf_take(&b, &n);
    assert_string_equal(text, "abc");
    assert_int_equal(n, 3);
    free(text);
    assert_int_equal(b.n, 0);
    assert_null(b.p);
    cw_buf_add(&b, CW_STR("def"));
    assert_int_equal(b.code, CW_OK);
    cw_buf_release(&b);
    assert_null(b.p);
    assert_int_equal(b.max, 3);
    cw_buf_done(&b);
}

static void fill_once(void *ctx)
{
    (void)ctx;
    cw_buf b;
    cw_buf_init(&b, 10000);
    for (int i = 0; i < 300; i++)
        cw_buf_add(&b, CW_STR("text"));
    cw_buf_printf(&b, "%0*d", 3000, 0);
    assert_int_equal(b.code, oom_was_hit() ? CW_NOMEM : CW_OK);
    char *text = cw_buf_take(&b, NULL);
    assert_int_equal(text == NULL, oom_was_hit());
    free(text);
    cw_buf_done(&b);
}

TEST(every_failed_allocation_is_sticky)
{
    assert_true(oom_each(fill_once, NULL) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_grow_the_buffer),
        cmocka_unit_test(limit_is_sticky),
        cmocka_unit_test(the_byte_at_the_limit_fits_and_the_next_does_not),
        cmocka_unit_test(sizes_near_the_end_of_size_t_are_refused),
        cmocka_unit_test(a_buffer_without_a_limit_of_its_own_ends_at_the_common_one),
        cmocka_unit_test(printf_formats_and_obeys_the_limit),
        cmocka_unit_test(controls_are_escaped_behind_a_place),
        cmocka_unit_test(lines_stay_whole),
        cmocka_unit_test(reserve_and_commit_write_in_place),
        cmocka_unit_test(consume_drops_the_front),
        cmocka_unit_test(take_moves_the_bytes_to_the_caller),
        cmocka_unit_test(every_failed_allocation_is_sticky),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
