/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The real ceiling of an array needs a source of 32 MB and a quarter of a gigabyte for its tape:
 * the same code is built here with a lower one. */
#define MEMBERS_CEILING 1000u
#include "json/read.c"

#include "support/json_fixture.h"

static cw_code read_array(cw_arena *a, size_t elements, cw_err *err)
{
    char *text = cw_arena_alloc(a, 2 * elements + 1);
    assert_non_null(text);
    for (size_t i = 0; i < elements; i++) {
        text[2 * i] = ',';
        text[2 * i + 1] = '0';
    }
    text[0] = '[';
    text[2 * elements] = ']';
    const cw_json *root;
    cw_code rc = cw_json_read(cw_str_make(text, 2 * elements + 1), NULL, a, &root, NULL, err);
    if (rc == CW_OK)
        assert_int_equal(cw_json_count(root), elements);
    return rc;
}

TEST_WITH(an_array_holds_as_many_elements_as_its_count_can_say, cw_arena *a)
{
    cw_err err;
    assert_int_equal(read_array(a, 1000, &err), CW_OK);
    assert_int_equal(read_array(a, 1001, &err), CW_LIMIT);
    assert_string_equal(err.msg, "line 1, column 2002: more than 1000 elements in an array");
}

TEST_WITH(no_option_raises_an_object_above_it, cw_arena *a)
{
    cw_buf b;
    cw_buf_init(&b, 1u << 20);
    for (unsigned i = 0; i <= 1000; i++)
        cw_buf_printf(&b, "%c\"k%u\":0", i ? ',' : '{', i);
    cw_buf_add_char(&b, '}');
    const cw_json_opts opts = {.max_members = UINT32_MAX};
    const cw_json *root;
    assert_int_equal(try_read(a, cw_buf_str(&b), &opts, &root), CW_LIMIT);
    cw_buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        arena_test(an_array_holds_as_many_elements_as_its_count_can_say),
        arena_test(no_option_raises_an_object_above_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
