/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/snapshot.h"
#include "support/json_fixture.h"

#include "catalogue/tool/mcp_tool.h"
#include "support/oom.h"

static void nothing(cw_source *source)
{
    (void)source;
}

typedef struct fixture {
    cw_param params[1];
    cw_mark mark;
    cw_method method;
    cw_snapshot *snapshot;
} fixture;

static void set_up(fixture *f, const char *schema, const char *annotations)
{
    static const cw_offer_ops ops = {nothing, nothing};
    *f = (fixture){.params = {{.name = CW_STR("p"), .schema = cw_str_from(schema)}},
                   .mark = {.title = CW_STR(""), .annotations = cw_str_from(annotations)}};
    f->method = (cw_method){.id = CW_STR("a.b"),
                            .usage = CW_STR("u"),
                            .params = f->params,
                            .n_params = schema ? 1 : 0,
                            .mark = &f->mark};
    const cw_offer offer = {CW_STR("test"), &f->method, 1, NULL};
    const cw_snapshot_opts opts = {.has_portable_schemas = true};
    assert_int_equal(cw_snapshot_build(&offer, 1, &ops, &opts, &f->snapshot, NULL), CW_OK);
    size_t n;
    (void)cw_snapshot_problems(f->snapshot, &n);
    assert_int_equal(n, 0);
}

static const cw_entry *tool_of(const fixture *f)
{
    const cw_entry *tool = cw_snapshot_find_tool(f->snapshot, CW_STR("a.b"));
    assert_non_null(tool);
    return tool;
}

static void assert_shape(const fixture *f, const cw_tool_mcp_opts *shape, const char *expected)
{
    cw_buf out;
    cw_buf_init(&out, 1 << 24);
    cw_tool_write_mcp(&out, tool_of(f), shape);
    assert_int_equal(out.code, CW_OK);
    assert_str(cw_buf_str(&out), expected);
    cw_buf_done(&out);
}

#define BEGIN(name) "{\"name\":\"" name "\",\"description\":\"u\",\"inputSchema\":"
#define EMPTY "{\"type\":\"object\",\"properties\":{}}"
#define WITH(schema) "{\"type\":\"object\",\"properties\":{\"p\":" schema "}}"

static void assert_annotations(const char *annotations, const char *expected)
{
    fixture f;
    char text[1024];
    set_up(&f, NULL, annotations);
    snprintf(text, sizeof text, BEGIN("a.b") EMPTY "%s}", expected);
    assert_shape(&f, &(cw_tool_mcp_opts){.form = CW_TOOL_ANY_OUTPUT}, text);
    cw_snapshot_unref(f.snapshot);
}

TEST(hints_get_the_names_of_the_protocol)
{
    assert_annotations("", "");
    assert_annotations("{\"readOnlyHint\":true}", ",\"annotations\":{\"readOnlyHint\":true}");
    assert_annotations(
        "{\"destructive\":false,\"readOnly\":true,\"idempotent\":true,\"openWorld\":false}",
        ",\"annotations\":{\"destructiveHint\":false,\"readOnlyHint\":true,"
        "\"idempotentHint\":true,\"openWorldHint\":false}");
    assert_annotations("{\"title\":\"T\",\"read_only\":true,\"open_world\":true}",
                       ",\"annotations\":{\"title\":\"T\",\"readOnlyHint\":true,"
                       "\"openWorldHint\":true}");
}

TEST(the_rest_moves_to_meta)
{
    assert_annotations("{\"category\":\"content\",\"destructive\":false,"
                       "\"auth\":{\"scopes\":[\"a\"]}}",
                       ",\"annotations\":{\"destructiveHint\":false},\"_meta\":{"
                       "\"causeway/annotations\":{\"category\":\"content\","
                       "\"auth\":{\"scopes\":[\"a\"]}}}");
    assert_annotations("{\"category\":\"content\"}",
                       ",\"_meta\":{\"causeway/annotations\":{\"category\":\"content\"}}");
    /* What is not of the type that the protocol wants is no hint. */
    assert_annotations("{\"destructive\":\"no\",\"title\":5,\"readOnlyHint\":null}",
                       ",\"_meta\":{\"causeway/annotations\":{\"destructive\":\"no\",\"title\":5,"
                       "\"readOnlyHint\":null}}");
}

TEST(a_hint_is_given_once)
{
    assert_annotations("{\"destructive\":true,\"destructiveHint\":false}",
                       ",\"annotations\":{\"destructiveHint\":false},\"_meta\":{"
                       "\"causeway/annotations\":{\"destructive\":true}}");
    assert_annotations("{\"readOnly\":true,\"read_only\":false}",
                       ",\"annotations\":{\"readOnlyHint\":true},\"_meta\":{"
                       "\"causeway/annotations\":{\"read_only\":false}}");
}

TEST(tools_go_by_their_portable_names)
{
    fixture f;
    set_up(&f, NULL, "");
    cw_tool_mcp_opts shape = {.has_portable_names = true};
    assert_shape(&f, &shape,
                 BEGIN("a__b") EMPTY ",\"title\":\"a.b\",\"_meta\":{\"causeway/name\":\"a.b\"}}");
    cw_snapshot_unref(f.snapshot);
}

#define REFERS "{\"$defs\":{\"n\":{\"minimum\":1.50}},\"$ref\":\"#/$defs/n\"}"
#define MOVED "{\"$defs\":{\"n\":{\"minimum\":1.50}},\"$ref\":\"#/properties/p/$defs/n\"}"

TEST(references_are_replaced_by_what_they_lead_to)
{
    fixture f;
    set_up(&f, REFERS, "");
    assert_shape(&f, &(cw_tool_mcp_opts){.has_portable_schemas = false},
                 BEGIN("a.b") WITH(MOVED) "}");
    assert_shape(&f, &(cw_tool_mcp_opts){.has_portable_schemas = true},
                 BEGIN("a.b") WITH("{\"minimum\":1.50}") "}");
    cw_snapshot_unref(f.snapshot);
}

TEST(rules_that_a_schema_does_not_show_are_part_of_the_description)
{
    fixture f;
    set_up(&f, "{\"prefixItems\":[true],\"items\":{\"type\":\"null\"}}", "");
    assert_shape(
        &f, &(cw_tool_mcp_opts){.has_portable_schemas = true},
        "{\"name\":\"a.b\",\"description\":\"u The server checks more rules than this "
        "schema shows.\",\"inputSchema\":" WITH("{\"prefixItems\":[true],\"items\":{}}") "}");
    cw_snapshot_unref(f.snapshot);
}

TEST(a_portable_schema_is_shown_byte_for_byte)
{
    fixture f;
    set_up(&f, "{\"type\":\"integer\",\"minimum\":1.50}", "");
    assert_null(tool_of(&f)->portable);
    assert_shape(&f, &(cw_tool_mcp_opts){.has_portable_schemas = true},
                 BEGIN("a.b") WITH("{\"type\":\"integer\",\"minimum\":1.50}") "}");
    cw_snapshot_unref(f.snapshot);
}

/* One of the two copies would have a header that another tool property has. */
TEST(a_header_belongs_to_one_place)
{
    fixture f;
    set_up(&f,
           "{\"type\":\"object\",\"properties\":{\"r\":{\"type\":\"string\","
           "\"x-mcp-header\":\"A\"},\"s\":{\"$ref\":\"#/properties/r\"}}}",
           "");
    assert_true(tool_of(&f)->is_mirrored);
    assert_shape(&f, &(cw_tool_mcp_opts){.has_portable_schemas = true},
                 BEGIN("a.b")
                     WITH("{\"type\":\"object\",\"properties\":{\"r\":{\"type\":\"string\","
                          "\"x-mcp-header\":\"A\"},\"s\":{\"type\":\"string\"}}}") "}");
    cw_snapshot_unref(f.snapshot);
}

/* The next snapshot takes it over. */
TEST(the_rewritten_schema_is_kept_for_the_next_snapshot)
{
    static const cw_offer_ops ops = {nothing, nothing};
    fixture f;
    cw_snapshot *next;
    set_up(&f, REFERS, "");
    const cw_offer offer = {CW_STR("test"), &f.method, 1, NULL};
    cw_snapshot_opts opts = {.has_portable_schemas = true, .previous = f.snapshot};
    assert_int_equal(cw_snapshot_build(&offer, 1, &ops, &opts, &next, NULL), CW_OK);
    assert_true(cw_snapshot_same(f.snapshot, next));
    cw_snapshot_unref(f.snapshot);
    f.snapshot = next;
    assert_shape(&f, &(cw_tool_mcp_opts){.has_portable_schemas = true},
                 BEGIN("a.b") WITH("{\"minimum\":1.50}") "}");
    /* One without them is another catalogue. */
    opts = (cw_snapshot_opts){.previous = f.snapshot};
    assert_int_equal(cw_snapshot_build(&offer, 1, &ops, &opts, &next, NULL), CW_OK);
    assert_false(cw_snapshot_same(f.snapshot, next));
    cw_snapshot_unref(f.snapshot);
    cw_snapshot_unref(next);
}

TEST(wrong_headers_are_left_out_and_right_ones_stay)
{
    fixture f;
    set_up(&f, "{\"type\":\"number\",\"x-mcp-header\":\"A\"}", "");
    assert_false(tool_of(&f)->is_mirrored);
    assert_shape(&f, &(cw_tool_mcp_opts){0}, BEGIN("a.b") WITH("{\"type\":\"number\"}") "}");
    cw_snapshot_unref(f.snapshot);
    set_up(&f, "{\"type\":\"integer\",\"x-mcp-header\":\"A\"}", "");
    assert_true(tool_of(&f)->is_mirrored);
    assert_shape(&f, &(cw_tool_mcp_opts){0},
                 BEGIN("a.b") WITH("{\"type\":\"integer\",\"x-mcp-header\":\"A\"}") "}");
    cw_snapshot_unref(f.snapshot);
}

/* Each level holds the one below twice. */
TEST(references_that_multiply_stay_references)
{
    fixture f;
    cw_buf schema, out;
    cw_buf_init(&schema, 1 << 16);
    cw_buf_init(&out, 1 << 24);
    cw_buf_add(&schema, CW_STR("{\"$defs\":{\"l0\":{\"minimum\":1}"));
    for (unsigned i = 1; i <= 20; i++)
        cw_buf_printf(&schema,
                      ",\"l%u\":{\"allOf\":[{\"$ref\":\"#/$defs/l%u\"},"
                      "{\"$ref\":\"#/$defs/l%u\"}]}",
                      i, i - 1, i - 1);
    cw_buf_add(&schema, CW_STR("},\"$ref\":\"#/$defs/l20\"}"));
    cw_buf_add_char(&schema, '\0');
    set_up(&f, schema.p, "");
    cw_tool_write_mcp(&out, tool_of(&f), &(cw_tool_mcp_opts){.has_portable_schemas = true});
    assert_int_equal(out.code, CW_OK);
    assert_true(out.n < 2 * schema.n + 1024);
    assert_non_null(memmem(out.p, out.n, "$ref", 4));
    cw_snapshot_unref(f.snapshot);
    cw_buf_done(&schema);
    cw_buf_done(&out);
}

static void shape_once(void *ctx)
{
    const fixture *f = ctx;
    cw_tool_mcp_opts shape = {.has_portable_names = true, .has_portable_schemas = true};
    cw_buf out;
    cw_buf_init(&out, 1 << 20);
    cw_tool_write_mcp(&out, tool_of(f), &shape);
    assert_int_equal(out.code, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_buf_done(&out);
}

TEST(every_failed_allocation_is_reported)
{
    fixture f;
    set_up(&f, REFERS, "{\"destructive\":true,\"x\":{\"y\":1}}");
    assert_true(oom_each(shape_once, &f) >= 5);
    cw_snapshot_unref(f.snapshot);
}

static void build_once(void *ctx)
{
    static const cw_offer_ops ops = {nothing, nothing};
    const fixture *f = ctx;
    const cw_offer offer = {CW_STR("test"), &f->method, 1, NULL};
    cw_snapshot *first = NULL, *second = NULL;
    cw_snapshot_opts opts = {.has_portable_schemas = true};
    cw_code rc = cw_snapshot_build(&offer, 1, &ops, &opts, &first, NULL);
    opts.previous = first;
    if (!rc)
        rc = cw_snapshot_build(&offer, 1, &ops, &opts, &second, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_snapshot_unref(first);
    cw_snapshot_unref(second);
}

TEST(a_failed_allocation_leaves_no_half_made_schema)
{
    fixture f;
    set_up(&f, REFERS, "");
    f.params[0].name = CW_STR("$p");
    assert_true(oom_each(build_once, &f) >= 20);
    cw_snapshot_unref(f.snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hints_get_the_names_of_the_protocol),
        cmocka_unit_test(the_rest_moves_to_meta),
        cmocka_unit_test(a_hint_is_given_once),
        cmocka_unit_test(tools_go_by_their_portable_names),
        cmocka_unit_test(references_are_replaced_by_what_they_lead_to),
        cmocka_unit_test(rules_that_a_schema_does_not_show_are_part_of_the_description),
        cmocka_unit_test(a_portable_schema_is_shown_byte_for_byte),
        cmocka_unit_test(a_header_belongs_to_one_place),
        cmocka_unit_test(the_rewritten_schema_is_kept_for_the_next_snapshot),
        cmocka_unit_test(wrong_headers_are_left_out_and_right_ones_stay),
        cmocka_unit_test(references_that_multiply_stay_references),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(a_failed_allocation_leaves_no_half_made_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
