/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/json_fixture.h"

/* The document of RFC 6901, section 5. */
static const char document[] = "{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,"
                               "\"g|h\":4,\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,\"m~n\":8}";

TEST_WITH(the_examples_of_the_rfc_lead_where_it_says, cw_arena *a)
{
    static const struct {
        const char *pointer;
        const char *span;
    } cases[] = {
        {"/foo", "[\"bar\",\"baz\"]"},
        {"/foo/0", "\"bar\""},
        {"/", "0"},
        {"/a~1b", "1"},
        {"/c%d", "2"},
        {"/e^f", "3"},
        {"/g|h", "4"},
        {"/i\\j", "5"},
        {"/k\"l", "6"},
        {"/ ", "7"},
        {"/m~0n", "8"},
    };
    const cw_json *v = must_read(a, document);
    assert_ptr_equal(cw_json_pointer(v, CW_STR("")), v);
    assert_ptr_equal(cw_json_pointer(v, (cw_str){NULL, 0}), v);
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        const cw_json *found = cw_json_pointer(v, cw_str_from(cases[i].pointer));
        assert_non_null(found);
        assert_str(span_of(found), cases[i].span);
    }
}

TEST_WITH(a_pointer_that_leads_nowhere_gives_nothing, cw_arena *a)
{
    static const char *const pointers[] = {
        "foo",
        "/foo/2",
        "/foo/-",
        "/foo/00",
        "/foo/01",
        "/foo/1 ",
        "/foo/",
        "/foo//0",
        "/foo/0/0",
        "/m~n",
        "/m~2n",
        "/m~",
        "//",
        "/x",
        "/foo/+1",
        "/foo/-1",
        "/foo/1e0",
        "/ /",
        "/foo/99999999999999999999999",
        "/foo/18446744073709551616",
    };
    const cw_json *v = must_read(a, document);
    for (size_t i = 0; i < CW_COUNT(pointers); i++)
        assert_null(cw_json_pointer(v, cw_str_from(pointers[i])));
    assert_null(cw_json_pointer(NULL, CW_STR("")));
    assert_null(cw_json_pointer(must_read(a, "1"), CW_STR("/")));
}

TEST_WITH(escapes_are_read_once_and_in_order, cw_arena *a)
{
    const cw_json *v = must_read(a, "{\"~1\":1,\"/\":2,\"~\":3,\"~01\":4,\"a\\u0000~\":5}");
    assert_str(text_of(cw_json_pointer(v, CW_STR("/~01"))), "1");
    assert_str(text_of(cw_json_pointer(v, CW_STR("/~1"))), "2");
    assert_str(text_of(cw_json_pointer(v, CW_STR("/~0"))), "3");
    assert_str(text_of(cw_json_pointer(v, CW_STR("/~001"))), "4");
    assert_str(text_of(cw_json_pointer(v, CW_STR("/a\0~0"))), "5");
    assert_null(cw_json_pointer(v, CW_STR("/~0~0")));
}

TEST_WITH(long_paths_are_followed, cw_arena *a)
{
    const cw_json *v = must_read(a, "{\"a\":[{\"b\":[[0,[1,{\"c\":\"here\"}]]]}]}");
    assert_str(text_of(cw_json_pointer(v, CW_STR("/a/0/b/0/1/1/c"))), "here");
    assert_null(cw_json_pointer(v, CW_STR("/a/0/b/0/1/1/c/d")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        arena_test(the_examples_of_the_rfc_lead_where_it_says),
        arena_test(a_pointer_that_leads_nowhere_gives_nothing),
        arena_test(escapes_are_read_once_and_in_order),
        arena_test(long_paths_are_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
