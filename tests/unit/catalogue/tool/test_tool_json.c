/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/snapshot.h"
#include "support/json_fixture.h"

#include "catalogue/tool/tool_json.h"
#include "json/write.h"
#include "support/oom.h"

typedef struct fixture {
    cw_arena arena;
    cw_param params[4];
    cw_mark mark;
    cw_method method;
    cw_entry entry;
    cw_buf text; /* the tool */
} fixture;

/* A marked method "a.b" that says "Does it." and takes nothing. */
static fixture *new_fixture(void)
{
    fixture *f = calloc(1, sizeof *f);
    cw_arena_init(&f->arena, 1 << 20);
    cw_buf_init(&f->text, 1 << 20);
    f->method = (cw_method){
        .id = CW_STR("a.b"), .usage = CW_STR("Does it."), .params = f->params, .mark = &f->mark};
    f->entry.method = &f->method;
    return f;
}

/* As sources keep it: without white space. */
static cw_str compact(cw_arena *arena, const char *json)
{
    cw_buf text;
    cw_json_writer w;
    cw_buf_init(&text, 1 << 20);
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    cw_json_add_value(&w, json_of(arena, json));
    cw_str copy = cw_arena_dup_str(arena, cw_buf_str(&text));
    cw_buf_done(&text);
    return copy;
}

static void free_fixture(fixture *f)
{
    cw_buf_done(&f->text);
    cw_arena_done(&f->arena);
    free(f);
}

static void add_param(fixture *f, const char *name, const char *schema, const char *description,
                      bool is_required)
{
    f->params[f->method.n_params++] = (cw_param){
        .name = cw_str_from(name),
        .schema = schema ? compact(&f->arena, schema) : CW_STR(""),
        .description = cw_str_from(description),
        .is_required = is_required,
    };
}

static void normalise(fixture *f)
{
    cw_err err = {0};
    if (cw_tool_json(&f->entry, &f->arena, &f->text, &err))
        fail_msg("%s", err.msg);
}

/* The tool in one of its forms, behind what is there already. */
static void assert_written(fixture *f, cw_tool_form form, const char *expected)
{
    cw_buf_clear(&f->text);
    cw_buf_add(&f->text, CW_STR("["));
    cw_tool_write(&f->entry, form, &f->text);
    assert_int_equal(f->text.code, CW_OK);
    assert_str(cw_str_make(f->text.p + 1, f->text.n - 1), expected);
}

/* The tool of `f`, which is freed; the same in both forms. */
static void assert_tool(fixture *f, const char *expected)
{
    normalise(f);
    assert_str(cw_buf_str(&f->text), expected);
    assert_false(f->entry.wraps_output);
    assert_written(f, CW_TOOL_ANY_OUTPUT, expected);
    assert_written(f, CW_TOOL_OBJECT_OUTPUT, expected);
    free_fixture(f);
}

#define HEAD "{\"name\":\"a.b\",\"description\":\"Does it.\","
#define NO_INPUT "\"inputSchema\":{\"type\":\"object\",\"properties\":{}}"

/* check-24, check-32, check-38 */
TEST(a_method_without_anything_has_an_empty_object)
{
    assert_tool(new_fixture(), HEAD NO_INPUT "}");
}

/* check-25, check-26, check-27, check-31 */
TEST(fields_come_in_their_order)
{
    fixture *f = new_fixture();
    add_param(f, "nid", "{\"type\":\"integer\",\"minimum\":1}", "The node", true);
    f->method.output = compact(&f->arena, "{\"type\":\"object\"}");
    f->mark.title = CW_STR("T");
    f->mark.annotations = compact(&f->arena, "{\"category\":\"x\"}");
    assert_tool(f, HEAD "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"nid\":{\"type\":"
                        "\"integer\",\"minimum\":1,\"description\":\"The node\"}},\"required\":["
                        "\"nid\"]},\"outputSchema\":{\"type\":\"object\"},\"title\":\"T\","
                        "\"annotations\":{\"category\":\"x\"}}");
}

/* check-28, check-29, check-33, check-35 */
TEST(params_keep_their_order_and_required_only_those_that_are)
{
    fixture *f = new_fixture();
    add_param(f, "z", "{}", "", true);
    add_param(f, "a", "true", "", false);
    add_param(f, "m", NULL, "", true);
    add_param(f, "b", NULL, "Said", false);
    assert_tool(f, HEAD "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"z\":{},\"a\":true,"
                        "\"m\":{},\"b\":{\"description\":\"Said\"}},\"required\":[\"z\",\"m\"]}}");
}

TEST(a_params_description_overwrites_the_schemas)
{
    fixture *f = new_fixture();
    add_param(f, "a", "{\"description\":\"old\",\"type\":\"string\"}", "new", false);
    add_param(f, "b", "{\"description\":\"old\"}", "", false);
    assert_tool(f, HEAD "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{"
                        "\"description\":\"new\",\"type\":\"string\"},\"b\":{\"description\":"
                        "\"old\"}}}}");
}

TEST(a_schema_of_all_arguments_stands_as_it_is)
{
    fixture *f = new_fixture();
    add_param(f, "a", "{\"type\":\"string\"}", "", true);
    f->method.input = CW_STR("{\"type\":\"object\",\"oneOf\":[{\"required\":[\"a\"]}]}");
    assert_tool(f,
                HEAD "\"inputSchema\":{\"type\":\"object\",\"oneOf\":[{\"required\":[\"a\"]}]}}");
}

/* check-30, check-34: nothing that a schema or annotation says is read, sorted or re-spelled. */
TEST(nested_values_are_copied_to_the_letter)
{
    fixture *f = new_fixture();
    add_param(f, "a",
              "{ \"b\": 1.00, \"a\": 12345678901234567890123, \"$defs\": {\"z\": {}, \"y\": {}},\n"
              "  \"anyOf\": [ { \"if\": {}, \"then\": false } ], \"e\": \"\\u00e9\\/\" }",
              "", false);
    f->mark.annotations = compact(&f->arena, "{\"z\":1e0,\"auth\":{\"scopes\":[\"s\"]},\"a\":[ ]}");
    assert_tool(f, HEAD "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"b\":1.00,"
                        "\"a\":12345678901234567890123,\"$defs\":{\"z\":{},\"y\":{}},\"anyOf\":[{"
                        "\"if\":{},\"then\":false}],\"e\":\"\\u00e9\\/\"}}},\"annotations\":{\"z\":"
                        "1e0,\"auth\":{\"scopes\":[\"s\"]},\"a\":[]}}");
}

TEST(references_of_a_param_lead_into_its_property)
{
    fixture *f = new_fixture();
    add_param(f, "a/b c", "{\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"items\":{\"$ref\":\"#\"}}}}",
              "", false);
    assert_tool(f, HEAD "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a/b c\":{\"$ref\":"
                        "\"#/properties/a~1b%20c/$defs/t\",\"$defs\":{\"t\":{\"items\":{\"$ref\":"
                        "\"#/properties/a~1b%20c\"}}}}}}}");
}

TEST(an_empty_title_is_none)
{
    static const char *const none[] = {"", "0"};
    for (size_t i = 0; i < CW_COUNT(none); i++) {
        fixture *f = new_fixture();
        f->mark.title = cw_str_from(none[i]);
        assert_tool(f, HEAD NO_INPUT "}");
    }
    fixture *f = new_fixture();
    f->mark.title = CW_STR("00");
    assert_tool(f, HEAD NO_INPUT ",\"title\":\"00\"}");
}

TEST(empty_annotations_are_none)
{
    fixture *f = new_fixture();
    f->mark.annotations = compact(&f->arena, "{}");
    assert_tool(f, HEAD NO_INPUT "}");
}

TEST(the_size_of_results_is_the_operators)
{
    static const char more[] = "{\"_meta\":{\"anthropic/maxResultSizeChars\":7,\"x\":1}}";
    static const struct {
        bool is_set;
        size_t size;
        const char *meta;
    } cases[] = {
        {false, 100, "{\"anthropic/maxResultSizeChars\":7,\"x\":1}"},
        {true, 100, "{\"anthropic/maxResultSizeChars\":100,\"x\":1}"},
        {true, 600000, "{\"anthropic/maxResultSizeChars\":500000,\"x\":1}"},
        {true, 0, "{\"anthropic/maxResultSizeChars\":7,\"x\":1}"}, /* no limit of ours */
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char expected[256];
        fixture *f = new_fixture();
        f->mark.more = compact(&f->arena, more);
        f->method.has_result_size = cases[i].is_set;
        f->method.result_size = cases[i].size;
        snprintf(expected, sizeof expected, HEAD NO_INPUT ",\"_meta\":%s}", cases[i].meta);
        assert_tool(f, expected);
    }
}

/* check-39: the level that follows from scopes is for the gate; the listing has what was written.
 */
TEST(the_effective_level_is_not_written_back)
{
    fixture *f = new_fixture();
    f->method.needs.level = CW_AUTH_REQUIRED;
    f->mark.annotations = compact(&f->arena, "{\"auth\":{\"scopes\":[\"b\",\"a\"]}}");
    assert_tool(f, HEAD NO_INPUT ",\"annotations\":{\"auth\":{\"scopes\":[\"b\",\"a\"]}}}");
}

TEST(a_method_that_says_nothing_is_described_by_its_title_or_id)
{
    fixture *f = new_fixture();
    f->method.usage = CW_STR("");
    f->mark.title = CW_STR("T");
    assert_tool(f, "{\"name\":\"a.b\",\"description\":\"T\"," NO_INPUT ",\"title\":\"T\"}");
    f = new_fixture();
    f->method.usage = CW_STR("");
    f->mark.title = CW_STR("0");
    assert_tool(f, "{\"name\":\"a.b\",\"description\":\"a.b\"," NO_INPUT "}");
    f = new_fixture();
    f->method.usage = CW_STR("");
    f->method.id = CW_STR("a/b c");
    assert_tool(f, "{\"name\":\"a.b_x20c\",\"description\":\"a/b c\"," NO_INPUT "}");
}

TEST(text_is_escaped)
{
    fixture *f = new_fixture();
    f->method.usage = CW_STR("a\"b\n\xc3\xa9");
    f->mark.title = CW_STR("\\");
    add_param(f, "\"", NULL, "", true);
    assert_tool(f, "{\"name\":\"a.b\",\"description\":\"a\\\"b\\n\xc3\xa9\",\"inputSchema\":{"
                   "\"type\":\"object\",\"properties\":{\"\\\"\":{}},\"required\":[\"\\\"\"]},"
                   "\"title\":\"\\\\\"}");
}

/* Schemas with nothing special in them are copied as they are; these only look like it. */
TEST(names_count_however_they_are_spelt)
{
    fixture *f = new_fixture();
    add_param(f, "x", "{\"\\u0024ref\":\"#\"}", "", false);
    assert_tool(f, HEAD "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"x\":"
                        "{\"\\u0024ref\":\"#/properties/x\"}}}}");
    f = new_fixture();
    add_param(f, "x", "{\"descripti\\u006fn\":\"a\"}", "b", false);
    add_param(f, "y", "{\"properties\":{\"description\":{}}}", "c", false);
    assert_tool(f, HEAD "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"x\":"
                        "{\"description\":\"b\"},\"y\":{\"properties\":{\"description\":{}},"
                        "\"description\":\"c\"}}}}");
}

/* What clients that want objects are shown instead of `output`. */
static void assert_wrapped(const char *output, const char *expected)
{
    fixture *f = new_fixture();
    char text[1000];
    f->method.output = compact(&f->arena, output);
    normalise(f);
    snprintf(text, sizeof text, HEAD NO_INPUT ",\"outputSchema\":%s}", output);
    assert_written(f, CW_TOOL_ANY_OUTPUT, text);
    snprintf(text, sizeof text, HEAD NO_INPUT ",\"outputSchema\":%s}", expected);
    assert_written(f, CW_TOOL_OBJECT_OUTPUT, text);
    assert_true(f->entry.wraps_output);
    free_fixture(f);
}

#define WRAPPED(schema)                                                                            \
    "{\"type\":\"object\",\"properties\":{\"result\":" schema "},\"required\":[\"result\"],"       \
    "\"x-fastmcp-wrap-result\":true}"

TEST(an_output_that_is_no_object_is_wrapped)
{
    assert_wrapped("{}", WRAPPED("{}"));
    assert_wrapped("{\"type\":\"array\",\"items\":{\"type\":\"string\"}}",
                   WRAPPED("{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"));
    assert_wrapped("{\"type\":[\"object\",\"null\"]}", WRAPPED("{\"type\":[\"object\",\"null\"]}"));
    assert_wrapped("{\"properties\":{}}", WRAPPED("{\"properties\":{}}"));
    assert_wrapped("{\"type\":\"Object\"}", WRAPPED("{\"type\":\"Object\"}"));
}

TEST(a_wrapped_output_keeps_its_definitions)
{
    assert_wrapped("{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"object\",\"properties\":{"
                   "\"next\":{\"$ref\":\"#/$defs/a\"},\"all\":{\"$ref\":\"#\"}}}}}",
                   WRAPPED("{\"$ref\":\"#/properties/result/$defs/a\",\"$defs\":{\"a\":{\"type\":"
                           "\"object\",\"properties\":{\"next\":{\"$ref\":\"#/properties/result/"
                           "$defs/a\"},\"all\":{\"$ref\":\"#/properties/result\"}}}}}"));
    assert_wrapped("{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"type\":\"array\"}",
                   "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"type\":\"object\","
                   "\"properties\":{\"result\":{\"type\":\"array\"}},\"required\":[\"result\"],"
                   "\"x-fastmcp-wrap-result\":true}");
    assert_wrapped("{\"$id\":\"urn:x\",\"$ref\":\"#/$defs/a\"}",
                   WRAPPED("{\"$id\":\"urn:x\",\"$ref\":\"#/$defs/a\"}"));
}

TEST(an_output_that_is_no_schema_object_is_refused)
{
    static const struct {
        const char *output, *message;
    } cases[] = {
        {"true", "output schema: expected an object, got boolean"},
        {"[]", "output schema: expected an object, got array"},
        {"null", "output schema: expected an object, got null"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        fixture *f = new_fixture();
        f->method.output = compact(&f->arena, cases[i].output);
        cw_err err = {0};
        assert_int_equal(cw_tool_json(&f->entry, &f->arena, &f->text, &err), CW_PARAMS);
        assert_string_equal(err.msg, cases[i].message);
        free_fixture(f);
    }
}

TEST(a_method_without_a_name_is_refused)
{
    fixture *f = new_fixture();
    f->method.id = CW_STR("");
    cw_err err = {0};
    assert_int_equal(cw_tool_json(&f->entry, &f->arena, &f->text, &err), CW_PARAMS);
    assert_string_equal(err.msg, "an empty id has no tool name");
    free_fixture(f);
}

/* ---- names ---- */

static void assert_name(const char *id, const char *expected)
{
    cw_arena arena;
    cw_arena_init(&arena, 1 << 16);
    cw_str name = {0};
    assert_int_equal(cw_tool_name(cw_str_from(id), &arena, &name, NULL), CW_OK);
    assert_str(name, expected);
    cw_arena_done(&arena);
}

TEST(names_within_the_set_stay)
{
    assert_name("examples.article.toMarkdown", "examples.article.toMarkdown");
    assert_name("A-Z_0.9", "A-Z_0.9");
    assert_name("a_x20", "a_x20");
    assert_name("list", "list");
    assert_name("describe", "describe");
    assert_name("invoke", "invoke");
    assert_name(".", ".");
}

TEST(other_names_are_mapped)
{
    assert_name("textDocument/hover", "textDocument.hover");
    assert_name("$/cancel", "_x24.cancel");
    assert_name("a b", "a_x20b");
    assert_name("a:b", "a_x3Ab");
    assert_name("\xc3\xa9", "_xC3_xA9");
    assert_name("/", ".");
    /* An underscore that would read as an escape is one itself; any other is not. */
    assert_name("a_x20 b", "a_x5Fx20_x20b");
    assert_name("_x2G _x2", "_x2G_x20_x2");
    assert_name("a_xab c", "a_xab_x20c");
}

TEST(names_have_a_length)
{
    cw_arena arena;
    cw_arena_init(&arena, 1 << 16);
    char id[200];
    memset(id, 'a', sizeof id);
    cw_str name = {0};
    cw_err err = {0};
    assert_int_equal(cw_tool_name(cw_str_make(id, 128), &arena, &name, &err), CW_OK);
    assert_int_equal(name.n, 128);
    assert_int_equal(cw_tool_name(cw_str_make(id, 129), &arena, &name, &err), CW_PARAMS);
    assert_string_equal(err.msg, "its tool name would be longer than 128 characters");
    memset(id, ' ', sizeof id);
    assert_int_equal(cw_tool_name(cw_str_make(id, 32), &arena, &name, &err), CW_OK);
    assert_int_equal(name.n, 128);
    assert_int_equal(cw_tool_name(cw_str_make(id, 33), &arena, &name, &err), CW_PARAMS);
    assert_int_equal(cw_tool_name(cw_str_make(id, 200), &arena, &name, &err), CW_PARAMS);
    memset(id, 'a', 127);
    assert_int_equal(cw_tool_name(cw_str_make(id, 128), &arena, &name, &err), CW_PARAMS);
    assert_int_equal(cw_tool_name(CW_STR(""), &arena, &name, &err), CW_PARAMS);
    cw_arena_done(&arena);
}

/* ---- no memory ---- */

static void normalise_once(void *ctx)
{
    fixture *f = ctx;
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    cw_entry entry = {.method = &f->method};
    cw_err err = {0};
    cw_buf text;
    cw_buf_init(&text, SIZE_MAX / 2);
    cw_code rc = cw_tool_json(&entry, &arena, &text, &err);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    assert_int_equal(err.code, rc);
    if (!rc) {
        cw_tool_write(&entry, CW_TOOL_OBJECT_OUTPUT, &text);
        assert_int_equal(text.code, oom_was_hit() ? CW_NOMEM : CW_OK);
    }
    cw_buf_done(&text);
    cw_arena_done(&arena);
}

TEST(every_failed_allocation_is_reported)
{
    fixture *f = new_fixture();
    static char usage[3000];
    memset(usage, 'u', sizeof usage);
    f->method.usage = cw_str_make(usage, sizeof usage);
    add_param(f, "a-rather-long-name-that-needs-room-of-its-own-where-it-is-put-together",
              "{\"$ref\":\"#/$defs/a\"}", "d", true);
    add_param(f, "b", NULL, "d", true);
    f->method.output = compact(&f->arena, "{\"$ref\":\"#/$defs/a\"}");
    f->mark.title = CW_STR("T");
    f->mark.annotations = compact(&f->arena, "{\"a\":1}");
    assert_true(oom_each(normalise_once, f) >= 6);
    free_fixture(f);
}

TEST(a_full_arena_is_reported)
{
    fixture *f = new_fixture();
    cw_arena arena;
    cw_arena_init(&arena, 16);
    cw_err err = {0};
    f->method.id = CW_STR("a/b"); /* the name of another needs no room */
    assert_int_equal(cw_tool_json(&f->entry, &arena, &f->text, &err), CW_LIMIT);
    cw_arena_done(&arena);
    free_fixture(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_method_without_anything_has_an_empty_object),
        cmocka_unit_test(fields_come_in_their_order),
        cmocka_unit_test(params_keep_their_order_and_required_only_those_that_are),
        cmocka_unit_test(a_params_description_overwrites_the_schemas),
        cmocka_unit_test(a_schema_of_all_arguments_stands_as_it_is),
        cmocka_unit_test(nested_values_are_copied_to_the_letter),
        cmocka_unit_test(references_of_a_param_lead_into_its_property),
        cmocka_unit_test(an_empty_title_is_none),
        cmocka_unit_test(empty_annotations_are_none),
        cmocka_unit_test(the_size_of_results_is_the_operators),
        cmocka_unit_test(the_effective_level_is_not_written_back),
        cmocka_unit_test(a_method_that_says_nothing_is_described_by_its_title_or_id),
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(names_count_however_they_are_spelt),
        cmocka_unit_test(an_output_that_is_no_object_is_wrapped),
        cmocka_unit_test(a_wrapped_output_keeps_its_definitions),
        cmocka_unit_test(an_output_that_is_no_schema_object_is_refused),
        cmocka_unit_test(a_method_without_a_name_is_refused),
        cmocka_unit_test(names_within_the_set_stay),
        cmocka_unit_test(other_names_are_mapped),
        cmocka_unit_test(names_have_a_length),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(a_full_arena_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
