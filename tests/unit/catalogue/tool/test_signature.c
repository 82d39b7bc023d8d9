/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/tool/signature.h"
#include "support/json_fixture.h"

static void assert_signature(cw_arena *a, const char *schema, const char *expected)
{
    cw_buf out;
    cw_buf_init(&out, CW_BUF_MAX);
    cw_signature_add(&out, must_read(a, schema));
    assert_str(cw_buf_str(&out), expected);
    cw_buf_done(&out);
}

TEST_WITH(arguments_have_names_types_and_a_mark_where_they_are_optional, cw_arena *a)
{
    assert_signature(
        a,
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":"
        "\"integer\",\"minimum\":3},\"c\":{\"type\":\"boolean\"}},\"required\":[\"a\"]}",
        "(a:str,b?:int,c?:bool)");
    assert_signature(a, "{\"type\":\"object\",\"properties\":{}}", "()");
    assert_signature(a, "{\"type\":\"object\"}", "()");
    assert_signature(a, "true", "()");
}

TEST_WITH(choices_lists_and_references_are_spelled_out, cw_arena *a)
{
    assert_signature(
        a,
        "{\"properties\":{\"m\":{\"enum\":[\"on\",\"off\",null]},\"l\":{\"type\":\"array\","
        "\"items\":{"
        "\"type\":\"number\"}},\"any\":{\"type\":\"array\"},\"n\":{\"type\":[\"string\",\"null\"]},"
        "\"k\":{\"const\":7},\"x\":{}}}",
        "(m?:on|off|null,l?:number[],any?:any[],n?:str|null,k?:7,x?:any)");
    assert_signature(
        a,
        "{\"properties\":{\"r\":{\"$ref\":\"#/$defs/t\"},\"u\":{\"anyOf\":[{\"type\":"
        "\"string\"},{\"$ref\":\"#/$defs/t\"}]}},\"$defs\":{\"t\":{\"type\":\"object\"}}}",
        "(r?:object,u?:str|object)");
}

TEST_WITH(references_that_go_in_circles_end, cw_arena *a)
{
    assert_signature(
        a,
        "{\"properties\":{\"r\":{\"$ref\":\"#/$defs/t\"},\"s\":{\"$ref\":\"#/none\"},\"t\":{"
        "\"$ref\":\"http://elsewhere\"}},\"$defs\":{\"t\":{\"$ref\":\"#/$defs/t\"}}}",
        "(r?:any,s?:any,t?:any)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        arena_test(arguments_have_names_types_and_a_mark_where_they_are_optional),
        arena_test(choices_lists_and_references_are_spelled_out),
        arena_test(references_that_go_in_circles_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
