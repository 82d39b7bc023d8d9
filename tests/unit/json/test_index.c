/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/index.h"

#include "support/json_fixture.h"

/* {"o":{"k0":0,…,"a/b":1,"m~n":2},"a":[[0],[1],…]} */
static const cw_json *large(cw_arena *a)
{
    cw_buf b;
    cw_buf_init(&b, 1u << 20);
    cw_buf_add(&b, CW_STR("{\"o\":{"));
    for (int i = 0; i < 500; i++)
        cw_buf_printf(&b, "\"k%d\":%d,", i, i);
    cw_buf_add(&b, CW_STR("\"\":-1,\"a/b\":1,\"m~n\":2},\"a\":["));
    for (int i = 0; i < 500; i++)
        cw_buf_printf(&b, "%s[%d]", i ? "," : "", i);
    cw_buf_add(&b, CW_STR("]}"));
    char *text = cw_arena_dup_str(a, cw_buf_str(&b)).p ? cw_buf_take(&b, NULL) : NULL;
    assert_non_null(text);
    assert_int_equal(cw_arena_hold(a, text, free), CW_OK);
    return must_read(a, text);
}

TEST_WITH(it_leads_where_a_pointer_leads, cw_arena *a)
{
    static const char *const pointers[] = {
        "",        "/o",     "/o/k0",   "/o/k499", "/o/k500", "/o/",    "/o/a~1b", "/o/m~0n",
        "/o/m~2n", "/o/m~",  "/o/k1/x", "/a/0",    "/a/499",  "/a/500", "/a/01",   "/a/-",
        "/a/1/0",  "/a/1/1", "/a/x",    "o",       "/x",      "//",     "/o/a/b",
    };
    const cw_json *doc = large(a);
    cw_json_pointer_index index;
    cw_json_pointer_index_init(&index);
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < CW_COUNT(pointers); i++) {
            cw_str pointer = cw_str_from(pointers[i]);
            if (cw_json_pointer_index_find(&index, doc, pointer) != cw_json_pointer(doc, pointer))
                fail_msg("%s", pointers[i]);
        }
    }
    cw_json_pointer_index_done(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        arena_test(it_leads_where_a_pointer_leads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
