/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/install_fixture.h"
#include "support/oom.h"

static const edit_fixture cursor = {&cw_install_json,
                                    {.section = "mcpServers", .name = "ours"},
                                    "{\"command\": \"/x\", \"args\": [\"a\", \"b\"]}"};
static const edit_fixture small = {
    &cw_install_json, {.section = "servers", .name = "ours"}, "{\"url\": \"u\"}"};

#define OURS "\"ours\": {\n      \"command\": \"/x\",\n      \"args\": [\"a\", \"b\"]\n    }"

TEST(an_empty_text_becomes_an_object)
{
    assert_put(&cursor, "", "{\n  \"mcpServers\": {\n    " OURS "\n  }\n}\n");
    assert_put(&cursor, " \n\n", "{\n  \"mcpServers\": {\n    " OURS "\n  }\n}\n");
    assert_put(&small, "{}",
               "{\n  \"servers\": {\n    \"ours\": {\n      \"url\": \"u\"\n    }\n  }\n}");
}

TEST(members_before_get_a_comma)
{
    assert_put(&small, "{\n\t\"a\": 1 // one\n}\n",
               "{\n\t\"a\": 1, // one\n\t\"servers\": {\n\t\t\"ours\": {\n\t\t\t\"url\": "
               "\"u\"\n\t\t}\n\t}\n}\n");
    assert_put(&small, "{\"servers\": {\"a\": {}}}",
               "{\"servers\": {\"a\": {},\n    \"ours\": {\n      \"url\": \"u\"\n    }\n  }}");
}

TEST(a_trailing_comma_stays_trailing)
{
    assert_put(&small, "{\n  \"servers\": {\n    \"a\": {},\n  },\n}",
               "{\n  \"servers\": {\n    \"a\": {},\n    \"ours\": {\n      \"url\": \"u\"\n    "
               "},\n  },\n}");
}

TEST(line_breaks_of_the_text_are_used)
{
    assert_put(&small, "{\r\n  \"servers\": {\r\n  }\r\n}\r\n",
               "{\r\n  \"servers\": {\r\n    \"ours\": {\r\n      \"url\": \"u\"\r\n    }\r\n  "
               "}\r\n}\r\n");
}

TEST(an_entry_is_replaced_in_place)
{
    assert_put(&small,
               "{\"servers\": {\"ours\": {\"url\": \"old\", \"env\": {}}, /* c */ \"b\": 1}}",
               "{\"servers\": {\"ours\": {\n      \"url\": \"u\"\n    }, /* c */ \"b\": 1}}");
}

TEST(removing_keeps_comments_of_others)
{
    assert_removed(&small, "{\"servers\": {\"a\": 1, // one, \"x\": {\n  \"ours\": {}\n}}", false,
                   "{\"servers\": {\"a\": 1 // one, \"x\": {\n}}");
    assert_removed(&small, "{\"servers\": {\n  // first\n  \"ours\": {}, // mine\n  \"b\": 2\n}}",
                   false, "{\"servers\": {\n  // first\n   // mine\n  \"b\": 2\n}}");
    assert_removed(&small, "{\"servers\": {\n  \"a\": 1,\n  \"ours\": {}}\n}", false,
                   "{\"servers\": {\n  \"a\": 1\n  }\n}");
    assert_removed(&small, "{\"servers\": {\"ours\": {} /* c */ , \"b\": 2}}", false,
                   "{\"servers\": { /* c */  \"b\": 2}}");
}

TEST(removing_leaves_an_empty_section_unless_told)
{
    assert_removed(&small, "{\"a\": 1, \"servers\": {\"ours\": {}}}", false,
                   "{\"a\": 1, \"servers\": {}}");
    assert_removed(&small, "{\"a\": 1, \"servers\": {\"ours\": {}}}", true, "{\"a\": 1}");
    assert_removed(&small, "{\"servers\": {\"ours\": {}, \"b\": 1}}", true,
                   "{\"servers\": { \"b\": 1}}");
}

TEST(adding_and_removing_gives_the_same_bytes)
{
    assert_round_trip(&cursor, "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n");
    assert_round_trip(&cursor,
                      "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}, // c\n  }\n}\n");
    assert_round_trip(&cursor, "{\n\t\"theme\": \"dark\" /* c */\n}");
    assert_round_trip(&cursor, "// head\r\n{\r\n  \"a\": [1, 2],\r\n}\r\n// tail\r\n");
}

TEST(texts_that_are_not_ours_to_edit_are_refused)
{
    assert_refused(&cursor, CW_STR("{\"mcpServers\": "), CW_PARSE, "line 1");
    assert_refused(&cursor, CW_STR("{} x"), CW_PARSE, "line 1");
    assert_refused(&cursor, CW_STR("{\"a\": 1,, \"b\": 2}"), CW_PARSE, "line 1");
    assert_refused(&cursor, CW_STR("{} /* x * /"), CW_PARSE, "a comment is not closed");
    assert_refused(&cursor, CW_STR("{} /*/"), CW_PARSE, "a comment is not closed");
    assert_refused(&cursor, CW_STR("[]"), CW_PARAMS, "not a JSON object");
    assert_refused(&cursor, CW_STR("{\"mcpServers\": []}"), CW_PARAMS, "not an object");
    assert_refused(&cursor, CW_STR("{\"mcpServers\": {}, \"mcpServers\": {}}"), CW_PARSE, "line 1");
    assert_refused(&cursor, CW_STR("{\"mcpServers\": {\"ours\": 1, \"ours\": 2}}"), CW_PARSE,
                   "line 1");
    assert_refused(&cursor, CW_STR("{\"a\": \"\xff\"}"), CW_PARSE, "line 1");
}

TEST(nesting_and_size_have_a_limit)
{
    enum { DEPTH = 100, BIG = 17 << 20 };
    char deep[2 * DEPTH + 16];
    int n = snprintf(deep, sizeof deep, "{\"a\": ");
    memset(deep + n, '[', DEPTH);
    memset(deep + n + DEPTH, ']', DEPTH);
    memcpy(deep + n + 2 * DEPTH, "}", 2);
    assert_refused(&cursor, cw_str_from(deep), CW_LIMIT, "");
    char *big = malloc(BIG);
    assert_non_null(big);
    memset(big, ' ', BIG);
    assert_refused(&cursor, cw_str_make(big, BIG), CW_LIMIT, "larger than");
    free(big);
}

TEST(every_cut_is_edited_properly_or_refused)
{
    assert_all_cuts(&cursor,
                    "// mine\n{\n  \"theme\": \"da\\\"rk\", /* a, b */\n  \"mcpServers\": {\n"
                    "    \"a\": {\"command\": \"x\", \"args\": [1, 2.5e3, true, null,],},\n"
                    "    // \"ours\": {\n    \"b\": {}\n  },\n  \"z\": {}\n}\n");
    assert_all_cuts(&cursor,
                    "{\"a\": 1, \"mcpServers\": {\"ours\": {\"command\": \"y\"}, \"b\": {}}}\r\n");
}

static void put_once(void *ctx)
{
    const char *text = ctx;
    cw_arena arena;
    cw_buf out;
    const cw_json *value = NULL;
    cw_arena_init(&arena, (size_t)1 << 20);
    cw_buf_init(&out, (size_t)1 << 20);
    cw_code rc = cw_json_read(CW_STR("{\"a\": 1}"), NULL, &arena, &value, NULL, NULL);
    if (!rc)
        rc = cw_install_put(&cw_install_json, cw_str_from(text), &cursor.at, value, &arena, &out,
                            NULL);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    if (oom_was_hit())
        assert_int_equal(rc, CW_NOMEM);
    cw_buf_done(&out);
    cw_arena_done(&arena);
}

TEST(every_failed_allocation_is_an_error)
{
    char text[] = "{\"mcpServers\": {\"a\": {\"b\": [1, 2, 3]}}}";
    assert_true(oom_each(put_once, text) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_text_becomes_an_object),
        cmocka_unit_test(members_before_get_a_comma),
        cmocka_unit_test(a_trailing_comma_stays_trailing),
        cmocka_unit_test(line_breaks_of_the_text_are_used),
        cmocka_unit_test(an_entry_is_replaced_in_place),
        cmocka_unit_test(removing_keeps_comments_of_others),
        cmocka_unit_test(removing_leaves_an_empty_section_unless_told),
        cmocka_unit_test(adding_and_removing_gives_the_same_bytes),
        cmocka_unit_test(texts_that_are_not_ours_to_edit_are_refused),
        cmocka_unit_test(nesting_and_size_have_a_limit),
        cmocka_unit_test(every_cut_is_edited_properly_or_refused),
        cmocka_unit_test(every_failed_allocation_is_an_error),
    };
    return cmocka_run_group_tests_name("cli/install/json", tests, NULL, NULL);
}
