/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call/arguments.h"
#include "schema/rewrite/portable.h"
#include "support/assert_str.h"
#include "support/oom.h"
#include "support/test.h"

static const cw_json seven = {.p = "7", .n = 1, .meta = CW_JSON_NUMBER};
static const cw_param params[] = {
    {.name = CW_STR_INIT("nid"), .is_required = true},
    {.name = CW_STR_INIT("lang\"uage")},
    {.name = CW_STR_INIT("depth"), .default_value = &seven},
    {.name = CW_STR_INIT("last")},
};
static const cw_method named = {
    .id = CW_STR_INIT("m"), .params = params, .n_params = CW_COUNT(params)};
static const cw_method listed = {
    .id = CW_STR_INIT("m"), .params = params, .n_params = CW_COUNT(params), .by_position = true};
static const cw_method optional = {.id = CW_STR_INIT("m"), .params = params + 1, .n_params = 1};
static const cw_method optional_listed = {
    .id = CW_STR_INIT("m"), .params = params + 1, .n_params = 1, .by_position = true};
static const cw_method none = {.id = CW_STR_INIT("m")};

typedef struct row {
    const cw_method *method;
    const char *params; /* NULL: none */
    const char *bound;  /* or the error */
    bool ignores;
} row;

static const row rows[] = {
    /* by name */
    {&named, "{\"nid\":1}", "{\"nid\":1,\"depth\":7}", false},
    {&named, "{ \"depth\" : 2, \"nid\":1 }", "{ \"depth\" : 2, \"nid\":1 }", false},
    {&named, "{\"nid\":null,\"depth\":2}", "{\"nid\":null,\"depth\":2}", false},
    {&named, "{\"lang\\u0022uage\":\"\\u00e4\",\"nid\":1}",
     "{\"nid\":1,\"lang\\\"uage\":\"\\u00e4\",\"depth\":7}", false},
    {&named, "{}", "!Missing required parameter: nid", false},
    {&named, NULL, "!Missing required parameter: nid", false},
    {&named, "[]", "!Missing required parameter: nid", false},
    {&named, "{\"nidd\":1}", "!Unknown parameter: nidd; did you mean nid?", false},
    {&named, "{\"nid\":1,\"something\":1}", "!Unknown parameter: something", false},
    {&named, "{\"nid\":1,\"a\":1,\"b\":1,\"c\":1,\"dept\":1}", "!Unknown parameter: a", false},
    {&named, "{\"nid\":1,\"z\":1,\"depth\":3}", "{\"nid\":1,\"depth\":3}", true},
    {&named, "{\"nidd\":1}", "!Missing required parameter: nid", true},
    {&none, "{}", "{}", false},
    {&none, "[]", "{}", false},
    {&none, NULL, "{}", false},
    {&none, "{\"a\":1}", "!Unknown parameter: a", false},
    {&none, "{\"a\":1}", "{}", true},
    /* by position */
    {&named, "[1]", "{\"nid\":1,\"depth\":7}", false},
    {&named, "[1,\"de\",3]", "{\"nid\":1,\"lang\\\"uage\":\"de\",\"depth\":3}", false},
    {&named, "[1,2,3,4,5]", "!Too many parameters: 5 given, at most 4 taken", false},
    {&named, "[1,2,3,4,5]", "!Too many parameters: 5 given, at most 4 taken", true},
    {&none, "[1]", "!Too many parameters: 1 given, at most 0 taken", false},
    /* a source that takes positions */
    {&listed, "[1,2,3]", "[1,2,3]", false},
    {&listed, "[ 1 , 2 , 3 , 4 ]", "[ 1 , 2 , 3 , 4 ]", false},
    {&listed, "[1]", "[1,null,7]", false},
    {&listed, "{\"nid\":1}", "[1,null,7]", false},
    {&listed, "{\"last\":[4],\"nid\":1}", "[1,null,7,[4]]", false},
    {&optional_listed, "{}", "[]", false},
    {&optional_listed, NULL, "[]", false},
    {&optional, "{}", "{}", false},
};

static void check(const row *r)
{
    cw_arena in, out;
    cw_err err = {0};
    cw_arena_init(&in, 1 << 20);
    cw_arena_init(&out, 1 << 20);
    const cw_json *doc = NULL;
    if (r->params)
        assert_int_equal(cw_json_read(cw_str_from(r->params), NULL, &in, &doc, NULL, &err), CW_OK);
    cw_arguments bound = {0};
    cw_code rc = cw_arguments_bind(r->method, doc, r->ignores, &out, &bound, &err);
    cw_arena_done(&in); /* the result must not need the request */
    if (r->bound[0] == '!') {
        assert_int_equal(rc, CW_PARAMS);
        assert_string_equal(err.msg, r->bound + 1);
        assert_int_equal(bound.lacks_required, strncmp(err.msg, "Missing", 7) == 0);
    } else {
        assert_int_equal(rc, CW_OK);
        assert_int_equal(bound.text.n, strlen(r->bound));
        assert_memory_equal(bound.text.p, r->bound, bound.text.n);
    }
    cw_arena_done(&out);
}

TEST(params_are_bound_by_name_and_by_position)
{
    for (size_t i = 0; i < CW_COUNT(rows); i++)
        check(&rows[i]);
}

TEST(a_long_unknown_name_is_cut_between_characters)
{
    char text[400];
    size_t n = 0;
    text[n++] = '{';
    text[n++] = '"';
    for (int i = 0; i < 100; i++, n += 2)
        memcpy(text + n, "\xC3\xA4", 2);
    memcpy(text + n, "\":1}", 5);
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    cw_err err = {0};
    const cw_json *doc;
    cw_arguments bound;
    assert_int_equal(cw_json_read(cw_str_from(text), NULL, &arena, &doc, NULL, &err), CW_OK);
    assert_int_equal(cw_arguments_bind(&named, doc, false, &arena, &bound, &err), CW_PARAMS);
    assert_int_equal(strlen(err.msg), strlen("Unknown parameter: ") + 100);
    cw_arena_done(&arena);
}

TEST(the_arenas_ceiling_is_kept)
{
    cw_arena in, out;
    cw_arena_init(&in, 1 << 20);
    cw_arena_init(&out, 4096);
    static char text[10000];
    memset(text, ' ', sizeof text - 1);
    memcpy(text, "{\"nid\":1,\"depth\":2", 18);
    text[sizeof text - 2] = '}';
    cw_err err = {0};
    const cw_json *doc;
    cw_arguments bound;
    assert_int_equal(cw_json_read(cw_str_from(text), NULL, &in, &doc, NULL, &err), CW_OK);
    assert_int_equal(cw_arguments_bind(&named, doc, false, &out, &bound, &err), CW_LIMIT);
    cw_arena_done(&in);
    cw_arena_done(&out);
}

static void bind_once(void *ctx)
{
    (void)ctx;
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    cw_err err = {0};
    const cw_json *doc;
    cw_arguments bound;
    cw_code rc = cw_json_read(CW_STR("{\"nid\":1}"), NULL, &arena, &doc, NULL, &err);
    if (!rc)
        rc = cw_arguments_bind(&named, doc, false, &arena, &bound, &err);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_arena_done(&arena);
}

TEST(bind_survives_every_failed_allocation)
{
    assert_true(oom_each(bind_once, NULL) >= 1);
}

static const cw_schema_rename renames[] = {
    {CW_STR_INIT("$x"), CW_STR_INIT("_x")},
    {CW_STR_INIT("a/b"), CW_STR_INIT("a_b")},
};
static const cw_schema_portable shown = {.renames = renames, .n_renames = CW_COUNT(renames)};

static cw_code rename_text(const char *text, cw_arena *arena, const cw_json **ret)
{
    const cw_json *doc = NULL;
    if (text)
        assert_int_equal(cw_json_read(cw_str_from(text), NULL, arena, &doc, NULL, NULL), CW_OK);
    return cw_arguments_own_names(&shown, doc, arena, ret);
}

TEST(shown_names_become_own_names)
{
    static const struct {
        const char *given, *own;
    } cases[] = {
        {"{\"_x\":[ 1 ],\"b\":{\"_x\":1},\"a_b\":null}",
         "{\"$x\":[ 1 ],\"b\":{\"_x\":1},\"a/b\":null}"},
        {"{\"$x\":1, \"b\":2}", "{\"$x\":1, \"b\":2}"},
        {"{\"\\u005fx\":1}", "{\"$x\":1}"},
        {"{}", "{}"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_arena arena;
        const cw_json *own;
        cw_arena_init(&arena, 1 << 16);
        assert_int_equal(rename_text(cases[i].given, &arena, &own), CW_OK);
        assert_str(cw_json_span(own), cases[i].own);
        cw_arena_done(&arena);
    }
}

TEST(an_argument_has_one_name)
{
    cw_arena arena;
    const cw_json *own;
    cw_arena_init(&arena, 1 << 16);
    assert_int_equal(rename_text("{\"_x\":1,\"$x\":1}", &arena, &own), CW_PARAMS);
    assert_int_equal(rename_text("{\"$x\":1,\"_x\":1}", &arena, &own), CW_PARAMS);
    assert_int_equal(rename_text(NULL, &arena, &own), CW_OK);
    assert_null(own);
    cw_arena_done(&arena);
}

TEST(messages_have_the_shown_names)
{
    static const struct {
        const char *before, *after;
    } cases[] = {
        {"Missing required parameter: $x", "Missing required parameter: _x"},
        {"Unknown parameter: $y; did you mean $x?", "Unknown parameter: $y; did you mean _x?"},
        {"/$x/0: expected '$x'; /a~1b: no; /c/$x: no", "/_x/0: expected '_x'; /a_b: no; /c/$x: no"},
        {"/$xy: got \"$x\"", "/$xy: got \"$x\""},
        {"missing property 'a/b', which '$x' requires",
         "missing property 'a_b', which '_x' requires"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_err err;
        (void)cw_fail(&err, CW_PARAMS, "%s", cases[i].before);
        cw_arguments_show_names(&shown, &err);
        assert_string_equal(err.msg, cases[i].after);
    }
}

static void rename_once(void *ctx)
{
    cw_arena arena;
    const cw_json *own;
    cw_arena_init(&arena, 1 << 16);
    cw_code rc = cw_arguments_own_names(&shown, ctx, &arena, &own);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_arena_done(&arena);
}

TEST(renaming_survives_every_failed_allocation)
{
    cw_arena arena;
    const cw_json *doc;
    cw_arena_init(&arena, 1 << 16);
    assert_int_equal(cw_json_read(CW_STR("{\"_x\":1}"), NULL, &arena, &doc, NULL, NULL), CW_OK);
    assert_true(oom_each(rename_once, (void *)(uintptr_t)doc) >= 2);
    cw_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(params_are_bound_by_name_and_by_position),
        cmocka_unit_test(a_long_unknown_name_is_cut_between_characters),
        cmocka_unit_test(the_arenas_ceiling_is_kept),
        cmocka_unit_test(bind_survives_every_failed_allocation),
        cmocka_unit_test(shown_names_become_own_names),
        cmocka_unit_test(an_argument_has_one_name),
        cmocka_unit_test(messages_have_the_shown_names),
        cmocka_unit_test(renaming_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
