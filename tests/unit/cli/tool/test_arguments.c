/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/tool/arguments.h"
#include "support/oom.h"
#include "support/test.h"

#define BYTES_MAX 65536u

static const cw_param params[] = {
    {.name = CW_STR_INIT("text"), .schema = CW_STR_INIT("{\"type\":\"string\"}")},
    {.name = CW_STR_INIT("n"), .schema = CW_STR_INIT("{\"type\":\"integer\"}")},
    {.name = CW_STR_INIT("any"), .schema = CW_STR_INIT("")},
    {.name = CW_STR_INIT("list"), .schema = CW_STR_INIT("{\"type\":[\"array\",\"null\"]}")},
    {.name = CW_STR_INIT("mixed"), .schema = CW_STR_INIT("{\"type\":[\"string\",\"integer\"]}")},
    {.name = CW_STR_INIT("ref"),
     .schema = CW_STR_INIT("{\"$ref\":\"#/$defs/d\",\"$defs\":{\"d\":{\"type\":\"boolean\"}}}")},
};
static const cw_method method = {.params = params, .n_params = CW_COUNT(params)};

static cw_code make(const char *const *items, size_t n, cw_buf *out, cw_err *err)
{
    cw_buf_init(out, BYTES_MAX);
    return cw_cli_arguments_make(&method, items, n, out, err);
}

static void assert_made(const char *const *items, size_t n, const char *expected)
{
    cw_buf out;
    cw_err err = {0};
    if (make(items, n, &out, &err))
        fail_msg("%s", err.msg);
    cw_buf_add_char(&out, 0);
    assert_string_equal(out.p, expected);
    cw_buf_done(&out);
}

static void assert_refused(const char *const *items, size_t n, const char *expected)
{
    cw_buf out;
    cw_err err = {0};
    assert_int_equal(make(items, n, &out, &err), CW_PARAMS);
    assert_non_null(strstr(err.msg, expected));
    cw_buf_done(&out);
}

TEST(texts_stand_as_they_are)
{
    assert_made((const char *[]){"text=17"}, 1, "{\"text\":\"17\"}");
    assert_made((const char *[]){"text="}, 1, "{\"text\":\"\"}");
    assert_made((const char *[]){"text=a=b"}, 1, "{\"text\":\"a=b\"}");
    assert_made((const char *[]){"text=\"q\""}, 1, "{\"text\":\"\\\"q\\\"\"}");
    assert_made((const char *[]){"any=17"}, 1, "{\"any\":\"17\"}");
    assert_made((const char *[]){"mixed=17"}, 1, "{\"mixed\":\"17\"}");
    assert_made((const char *[]){"unknown=[1]"}, 1, "{\"unknown\":\"[1]\"}");
}

TEST(others_are_json)
{
    assert_made((const char *[]){"n=17", "list=[1,\"a\"]", "ref=true"}, 3,
                "{\"n\":17,\"list\":[1,\"a\"],\"ref\":true}");
    /* What does not fit its schema is the call's to refuse. */
    assert_made((const char *[]){"n=\"x\""}, 1, "{\"n\":\"x\"}");
    assert_made((const char *[]){"n=12345678901234567890123"}, 1,
                "{\"n\":12345678901234567890123}");
    assert_made(NULL, 0, "{}");
}

TEST(mistakes_are_named)
{
    assert_refused((const char *[]){"n"}, 1, "--arg \"n\": write it as NAME=VALUE");
    assert_refused((const char *[]){"=1"}, 1, "write it as NAME=VALUE");
    assert_refused((const char *[]){"n=x"}, 1, "--arg \"n\": its value must be JSON: ");
    assert_refused((const char *[]){"n="}, 1, "its value must be JSON");
    assert_refused((const char *[]){"n=1", "text=a", "n=2"}, 3, "given twice");
}

TEST(a_schema_says_its_types)
{
    static const struct {
        const char *schema, *types;
    } cases[] = {
        {"", ""},
        {"{}", ""},
        {"true", ""},
        {"{", ""},
        {"{\"type\":\"object\"}", "object"},
        {"{\"type\":[\"string\",\"null\"]}", "null string"},
        {"{\"const\":1}", "integer"},
        {"{\"enum\":[1.5,\"a\",true,null,[],{}]}", "null boolean number string array object"},
        {"{\"anyOf\":[{\"type\":\"array\"},{\"type\":\"object\"}]}", "array object"},
        {"{\"oneOf\":[{\"type\":\"array\"},{}]}", ""},
        {"{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"number\"}}}", "number"},
        {"{\"$ref\":\"#\"}", ""}, /* round and round */
        {"{\"$ref\":\"other.json\"}", ""},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_buf out;
        unsigned types = cw_cli_schema_types(cw_str_from(cases[i].schema));
        cw_buf_init(&out, BYTES_MAX);
        for (unsigned bit = 0; bit < CW_TYPES_N; bit++) {
            if (types & 1u << bit)
                cw_buf_printf(&out, "%s%s", out.n ? " " : "", cw_cli_type_name_of(bit));
        }
        cw_buf_add_char(&out, 0);
        assert_string_equal(out.p, cases[i].types);
        cw_buf_done(&out);
    }
}

static void make_once(void *ctx)
{
    (void)ctx;
    cw_buf out;
    cw_err err = {0};
    const char *const items[] = {"text=a", "n=1", "list=[1,2,{\"a\":[]}]", "ref=false"};
    cw_code rc = make(items, CW_COUNT(items), &out, &err);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_buf_done(&out);
}

TEST(every_failed_allocation_is_told)
{
    assert_true(oom_each(make_once, NULL) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_stand_as_they_are),
        cmocka_unit_test(others_are_json),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(a_schema_says_its_types),
        cmocka_unit_test(every_failed_allocation_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
