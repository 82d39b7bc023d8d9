/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The schemas of methods: which sources are left out for theirs, and what becomes of the others. */
#include "catalogue/snapshot.h"
#include "support/json_fixture.h"

#include <pthread.h>

#include "catalogue/tool/tool_json.h"
#include "support/oom.h"

static int refs_of[2];

static void ref(cw_source *source)
{
    ++*(int *)(void *)source;
}

static void unref(cw_source *source)
{
    --*(int *)(void *)source;
}

static const cw_offer_ops ops = {ref, unref};
static const cw_mark plain;

static cw_source *source(unsigned i)
{
    return (cw_source *)(void *)&refs_of[i];
}

/* One method with one or two parameters. */
typedef struct fixture {
    cw_arena arena;
    cw_param params[2];
    cw_method method;
} fixture;

static void init(fixture *f, const char *a, const char *b, const char *output)
{
    *f = (fixture){.params = {{.name = CW_STR("a")}, {.name = CW_STR("b")}},
                   .method = {.id = CW_STR("m.x"), .n_params = 2, .mark = &plain}};
    cw_arena_init(&f->arena, 1 << 24);
    f->method.params = f->params;
    f->params[0].schema = cw_str_from(a ? a : "");
    f->params[1].schema = cw_str_from(b ? b : "");
    f->method.output = cw_str_from(output ? output : "");
}

static cw_snapshot *build(const fixture *f, const cw_snapshot_opts *opts)
{
    const cw_offer offer = {CW_STR("s"), &f->method, 1, source(0)};
    cw_snapshot *s = NULL;
    cw_err err = {0};
    if (cw_snapshot_build(&offer, 1, &ops, opts, &s, &err))
        fail_msg("%s", err.msg);
    return s;
}

/* The source is left out for this; NULL: it is not. */
static void assert_problem(const fixture *f, const cw_snapshot_opts *opts, const char *expected)
{
    memset(refs_of, 0, sizeof refs_of);
    cw_snapshot *s = build(f, opts);
    size_t n, n_entries;
    const cw_snapshot_problem *problems = cw_snapshot_problems(s, &n);
    (void)cw_snapshot_entries(s, &n_entries);
    if (n && !expected)
        fail_msg("%.*s", CW_STR_ARG(problems[0].text));
    assert_int_equal(n, expected ? 1 : 0);
    if (expected)
        assert_str(problems[0].text, expected);
    assert_int_equal(n_entries, expected ? 0 : 1);
    assert_int_equal(refs_of[0], expected ? 0 : 1);
    cw_snapshot_unref(s);
    assert_int_equal(refs_of[0], 0);
}

TEST(a_source_with_a_bad_schema_is_left_out)
{
    static const struct {
        const char *a, *b, *output, *problem;
    } cases[] = {
        {"{\"minimum\":\"1\"}", NULL, NULL,
         "method 'm.x': param 'a': schema: /minimum: must be a number"},
        {NULL, "{\"properties\":{\"x\":{\"type\":\"int\"}}}", NULL,
         "method 'm.x': param 'b': schema: /properties/x/type: 'int' is not a type"},
        {"{\"type\":\"string\"}", "{\"type\":\"string\"}", "{\"required\":\"x\"}",
         "method 'm.x': result: schema: /required: must be an array of strings"},
        {"{\"$ref\":\"https://example.org/x\"}", NULL, NULL,
         "method 'm.x': param 'a': schema: /$ref: 'https://example.org/x' is outside this "
         "document, "
         "and nothing is fetched"},
        {NULL, NULL, "{\"$schema\":\"http://json-schema.org/draft-04/schema#\"}",
         "method 'm.x': result: schema: /$schema: dialect "
         "'http://json-schema.org/draft-04/schema#' "
         "is not supported: draft-07 and 2020-12 are"},
        {"{\"pattern\":\"(\"}", NULL, NULL,
         "method 'm.x': param 'a': schema: /pattern: is no pattern: at 1: a group is not closed"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        fixture f;
        init(&f, cases[i].a, cases[i].b, cases[i].output);
        assert_problem(&f, NULL, cases[i].problem);
        /* What can be called without a mark is held to the same. */
        f.method.mark = NULL;
        f.method.is_callable = true;
        assert_problem(&f, NULL, cases[i].problem);
        cw_arena_done(&f.arena);
    }
}

TEST(every_ceiling_of_a_schema_is_a_problem_of_its_source)
{
    char *text = malloc(200000);
    size_t n = 0;
    for (int i = 0; i < 10001; i++)
        n += (size_t)snprintf(text + n, 20, "%s{}", i ? "," : "{\"allOf\":[");
    snprintf(text + n, 3, "]}");
    fixture f;
    init(&f, text, NULL, NULL);
    assert_problem(
        &f, NULL,
        "method 'm.x': param 'a': schema: /allOf/9999: there are more than 10000 subschemas");
    cw_arena_done(&f.arena);
    free(text);
}

TEST(the_policy_says_how_schemas_are_read)
{
    fixture f;
    const cw_snapshot_opts old = {.policy = {.draft = CW_SCHEMA_DRAFT_07}};
    init(&f, "{\"items\":[{\"type\":\"string\"}]}", NULL, NULL);
    assert_problem(&f, &old, NULL);
    assert_problem(
        &f, NULL,
        "method 'm.x': param 'a': schema: /items: must be a schema: an object or a boolean");
    cw_arena_done(&f.arena);
}

/* Alone each is right; together they are one document. */
TEST(what_is_published_is_valid_as_a_whole)
{
    fixture f;
    init(&f, "{\"$id\":\"urn:a\"}", "{\"$id\":\"urn:b\",\"$anchor\":\"x\"}", NULL);
    assert_problem(&f, NULL, NULL);
    cw_arena_done(&f.arena);
    init(&f, "{\"$id\":\"urn:a\"}", "{\"$id\":\"urn:a\"}", NULL);
    assert_problem(
        &f, NULL, "method 'm.x': inputSchema: /properties/b/$id: identifier 'urn:a' is used twice");
    cw_arena_done(&f.arena);
    init(&f, "{\"$anchor\":\"x\"}", "{\"$anchor\":\"x\"}", NULL);
    assert_problem(
        &f, NULL,
        "method 'm.x': inputSchema: /properties/b/$anchor: identifier '#x' is used twice");
    f.method.mark = NULL; /* nothing is published */
    f.method.is_callable = true;
    assert_problem(&f, NULL, NULL);
    cw_arena_done(&f.arena);
    /* The dialect of a parameter goes to the root, where it counts. */
    init(&f, "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"items\":[true]}", NULL,
         NULL);
    cw_snapshot *s = build(&f, NULL);
    const cw_entry *entry = cw_snapshot_find_tool(s, CW_STR("m.x"));
    assert_non_null(entry);
    cw_buf text;
    cw_buf_init(&text, 1 << 16);
    cw_tool_write(entry, CW_TOOL_ANY_OUTPUT, &text);
    cw_buf_add_char(&text, 0);
    const cw_json *tool = json_of(&f.arena, text.p);
    const cw_json *dialect = cw_json_pointer(tool, CW_STR("/inputSchema/$schema"));
    assert_str(cw_json_text(dialect), "http://json-schema.org/draft-07/schema#");
    cw_buf_done(&text);
    cw_snapshot_unref(s);
    cw_arena_done(&f.arena);
}

/* ---- what is compiled ---- */

static const cw_schema *param(const cw_entry *entry, size_t i)
{
    const cw_schema *schema = NULL;
    assert_int_equal(cw_method_schemas_param(entry->schemas, entry->method, i, &schema, NULL),
                     CW_OK);
    return schema;
}

TEST(schemas_are_compiled_once_for_each_text)
{
    fixture f;
    init(&f, "{\"type\":\"string\"}", "{\"type\":\"string\"}", "{}");
    cw_snapshot *s = build(&f, NULL);
    const cw_entry *entry = cw_snapshot_find_method(s, CW_STR("m.x"));
    size_t live = oom_live();
    const cw_schema *a = param(entry, 0);
    assert_non_null(a);
    assert_true(oom_live() > live); /* not before it is needed */
    live = oom_live();
    assert_ptr_equal(param(entry, 0), a);
    assert_ptr_equal(param(entry, 1), a);
    assert_int_equal(oom_live(), live);
    const cw_schema *output = a;
    assert_int_equal(cw_method_schemas_result(entry->schemas, entry->method, &output, NULL), CW_OK);
    assert_null(output); /* says nothing, costs nothing */
    assert_int_equal(cw_schema_validate(a, json_of(&f.arena, "\"x\""), NULL), CW_OK);
    assert_int_equal(cw_schema_validate(a, json_of(&f.arena, "1"), NULL), CW_PARAMS);
    cw_snapshot_unref(s);
    cw_arena_done(&f.arena);
}

TEST(the_next_catalogue_takes_over_what_is_compiled)
{
    fixture f;
    init(&f, "{\"type\":\"string\",\"format\":\"date\"}", NULL, NULL);
    cw_snapshot *first = build(&f, NULL);
    const cw_schema *a = param(cw_snapshot_find_method(first, CW_STR("m.x")), 0);
    cw_snapshot_opts opts = {.previous = first};
    cw_snapshot *second = build(&f, &opts);
    cw_snapshot_unref(first);
    const cw_json *text = json_of(&f.arena, "\"no date\"");
    assert_ptr_equal(param(cw_snapshot_find_method(second, CW_STR("m.x")), 0), a);
    assert_int_equal(cw_schema_validate(a, text, NULL), CW_PARAMS);
    /* Unless schemas are to be read otherwise. */
    opts = (cw_snapshot_opts){.policy = {.annotate_formats = true}, .previous = second};
    cw_snapshot *third = build(&f, &opts);
    cw_snapshot_unref(second);
    a = param(cw_snapshot_find_method(third, CW_STR("m.x")), 0);
    assert_int_equal(cw_schema_validate(a, text, NULL), CW_OK);
    cw_snapshot_unref(third);
    cw_arena_done(&f.arena);
}

static void *compile_all(void *arg)
{
    const cw_entry *entry = arg;
    const cw_schema *schema = NULL;
    cw_err err;
    if (cw_method_schemas_param(entry->schemas, entry->method, 0, &schema, &err))
        return NULL;
    return (void *)(uintptr_t)schema;
}

TEST(loops_that_compile_at_once_share_one)
{
    fixture f;
    init(&f, "{\"type\":\"string\",\"pattern\":\"^[a-z]+([0-9]{2})*$\"}", NULL, NULL);
    for (int round = 0; round < 20; round++) {
        cw_snapshot *s = build(&f, NULL);
        const cw_entry *entry = cw_snapshot_find_method(s, CW_STR("m.x"));
        pthread_t threads[4];
        void *schemas[4];
        for (size_t i = 0; i < CW_COUNT(threads); i++)
            assert_int_equal(
                pthread_create(&threads[i], NULL, compile_all, (void *)(uintptr_t)entry), 0);
        for (size_t i = 0; i < CW_COUNT(threads); i++)
            assert_int_equal(pthread_join(threads[i], &schemas[i]), 0);
        assert_non_null(schemas[0]);
        for (size_t i = 1; i < CW_COUNT(threads); i++)
            assert_ptr_equal(schemas[i], schemas[0]);
        cw_snapshot_unref(s);
    }
    cw_arena_done(&f.arena);
}

/* ---- no memory ---- */

static void build_once(void *ctx)
{
    const fixture *f = ctx;
    const cw_offer offer = {CW_STR("s"), &f->method, 1, source(0)};
    cw_snapshot *s = NULL;
    const cw_schema *schema = NULL;
    cw_code rc = cw_snapshot_build(&offer, 1, &ops, NULL, &s, NULL);
    if (!rc) {
        const cw_entry *entry = cw_snapshot_find_method(s, CW_STR("m.x"));
        assert_non_null(entry); /* a lack of memory is no problem of the source */
        rc = cw_method_schemas_param(entry->schemas, entry->method, 0, &schema, NULL);
        if (!rc)
            rc = cw_method_schemas_result(entry->schemas, entry->method, &schema, NULL);
    }
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_snapshot_unref(s);
}

TEST(every_failed_allocation_is_reported)
{
    fixture f;
    init(&f, "{\"$id\":\"urn:a\",\"pattern\":\"^a+b\"}", "{\"enum\":[1,2]}",
         "{\"type\":\"object\",\"required\":[\"x\"]}");
    cw_snapshot_unref(build(&f, NULL)); /* the meta-schema stays */
    assert_true(oom_each(build_once, &f) >= 30);
    cw_arena_done(&f.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_source_with_a_bad_schema_is_left_out),
        cmocka_unit_test(every_ceiling_of_a_schema_is_a_problem_of_its_source),
        cmocka_unit_test(the_policy_says_how_schemas_are_read),
        cmocka_unit_test(what_is_published_is_valid_as_a_whole),
        cmocka_unit_test(schemas_are_compiled_once_for_each_text),
        cmocka_unit_test(the_next_catalogue_takes_over_what_is_compiled),
        cmocka_unit_test(loops_that_compile_at_once_share_one),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
