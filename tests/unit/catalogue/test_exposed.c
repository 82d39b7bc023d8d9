/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/exposed.h"
#include "json/json.h"
#include "support/oom.h"
#include "support/test.h"

static cw_err err;

typedef struct match_row {
    const char *template, *uri, *variables; /* NULL: it is none of them */
} match_row;

static const match_row match_rows[] = {
    {"t://{a}", "t://x", "{\"a\":\"x\"}"},
    {"t://{a}", "t://", NULL},
    {"t://{a}", "t:/x", NULL},
    {"t://{a}", "", NULL},
    {"t://{a}", "t://x/y", NULL},
    {"t://{a}", "t://x%2Fy", "{\"a\":\"x/y\"}"},
    {"t://{a}", "t://%c3%A4", "{\"a\":\"\303\244\"}"},
    {"t://{a}", "t://%C3", NULL},
    {"t://{a}", "t://%", NULL},
    {"t://{a}", "t://%4", NULL},
    {"t://{a}", "t://%4g", NULL},
    {"t://{a}", "t://x%00", "{\"a\":\"x\\u0000\"}"},
    {"t://{a}", "t://\",\"b\":\"", "{\"a\":\"\\\",\\\"b\\\":\\\"\"}"},
    {"t://{a}/{b}", "t://x/y", "{\"a\":\"x\",\"b\":\"y\"}"},
    {"t://{a}/{b}", "t://x/", NULL},
    {"t://{a}/{b}", "t:///y", NULL},
    {"t://{a}-{b}.json", "t://1-2-3.json", "{\"a\":\"1\",\"b\":\"2-3\"}"},
    {"t://{a}-{b}.json", "t://1-2.jso", NULL},
    {"t://{a}-{b}.json", "t://1-.json", NULL},
    {"t://{a}.x", "t://1.x.x", "{\"a\":\"1.x\"}"},
    {"{a}", "x", "{\"a\":\"x\"}"},
    {"t://{a}/end", "t://x/end/end", NULL},
    {"t://{a", "t://x", NULL},
    {"t://{a}--{b}", "t://-----", "{\"a\":\"-\",\"b\":\"--\"}"},
    {"t://{a}--{b}", "t://---", NULL},
    {"t://{a}--{b}", "t://-", NULL},
};

TEST(addresses_are_matched)
{
    for (size_t i = 0; i < CW_COUNT(match_rows); i++) {
        const match_row *r = &match_rows[i];
        cw_arena a;
        cw_str got;
        cw_arena_init(&a, 1 << 20);
        bool matches = cw_exposed_match(cw_str_from(r->template), cw_str_from(r->uri), &a, &got);
        if (matches != (r->variables != NULL) ||
            (matches && !cw_str_eq(got, cw_str_from(r->variables))))
            fail_msg("%s, %s: %d %.*s", r->template, r->uri, matches, CW_STR_ARG(got));
        cw_arena_done(&a);
    }
}

TEST(addresses_have_a_ceiling)
{
    static char uri[CW_RESOURCE_MAX_URI + 1];
    cw_arena a;
    cw_str got;
    memset(uri, 'x', sizeof uri);
    memcpy(uri, "t://", 4);
    cw_arena_init(&a, 1 << 20);
    assert_true(cw_exposed_match(CW_STR("t://{a}"), cw_str_make(uri, sizeof uri - 1), &a, &got));
    assert_int_equal(got.n, sizeof uri - 1 - 4 + 8); /* {"a":"…"} */
    assert_false(cw_exposed_match(CW_STR("t://{a}"), cw_str_make(uri, sizeof uri), &a, &got));
    cw_arena_done(&a);
}

/* One that spans a part of the hierarchy is turned down before there is room for it. */
TEST(a_path_needs_no_room)
{
    static char uri[CW_RESOURCE_MAX_URI];
    cw_arena a;
    cw_str got;
    memset(uri, '/', sizeof uri);
    cw_arena_init(&a, CW_RESOURCE_MAX_URI);
    for (int i = 0; i < 10; i++) {
        assert_false(cw_exposed_match(CW_STR("{a}"), cw_str_make(uri, sizeof uri), &a, &got));
        cw_arena_reset(&a);
    }
    cw_arena_done(&a);
}

static void match_once(void *ctx)
{
    (void)ctx;
    cw_arena a;
    cw_str got;
    cw_arena_init(&a, 1 << 20);
    /* Without memory nobody can say that it does not match. */
    assert_true(cw_exposed_match(CW_STR("t://{a}/{b}"), CW_STR("t://x/y"), &a, &got));
    assert_int_equal(got.p == NULL, oom_was_hit());
    cw_arena_done(&a);
}

TEST(matching_survives_failed_allocations)
{
    assert_true(oom_each(match_once, NULL) >= 2);
}

static cw_code check(const char *template)
{
    static const cw_param params[] = {{.name = CW_STR_INIT("a")}, {.name = CW_STR_INIT("b")}};
    cw_exposed exposed = {.kind = CW_EXPOSED_TEMPLATE, .address = cw_str_from(template)};
    cw_method m = {.id = CW_STR("m"), .params = params, .n_params = 2, .exposed = &exposed};
    return cw_exposed_check(&m, &err);
}

TEST(templates_are_checked)
{
    assert_int_equal(check("t://{a}"), CW_OK);
    assert_int_equal(check("{a}/{b}"), CW_OK);
    assert_int_equal(check("t://"), CW_PARAMS);
    assert_int_equal(check(""), CW_PARAMS);
    assert_int_equal(check("t://{c}"), CW_PARAMS);
    assert_int_equal(check("t://{a}{b}"), CW_PARAMS);
    assert_int_equal(check("t://{a}/{a}"), CW_PARAMS);
    assert_int_equal(check("t://{}"), CW_PARAMS);
    assert_int_equal(check("t://{a"), CW_PARAMS);
    assert_int_equal(check("t://a}"), CW_PARAMS);
    assert_int_equal(check("t://{+a}"), CW_PARAMS);
    assert_int_equal(check("t://{a,b}"), CW_PARAMS);
    assert_int_equal(check("t://{a}}"), CW_PARAMS);
}

TEST(too_many_variables_are_refused)
{
    cw_param params[CW_EXPOSED_MAX_VARIABLES + 1] = {0};
    char names[CW_EXPOSED_MAX_VARIABLES + 1][8], template[1024] = "";
    for (size_t i = 0; i <= CW_EXPOSED_MAX_VARIABLES; i++) {
        snprintf(names[i], sizeof names[i], "v%zu", i);
        params[i].name = cw_str_from(names[i]);
        snprintf(template + strlen(template), sizeof template - strlen(template), "/{%s}",
                 names[i]);
    }
    cw_exposed exposed = {.kind = CW_EXPOSED_TEMPLATE, .address = cw_str_from(template)};
    cw_method m = {.id = CW_STR("m"),
                   .params = params,
                   .n_params = CW_EXPOSED_MAX_VARIABLES + 1,
                   .exposed = &exposed};
    assert_int_equal(cw_exposed_check(&m, &err), CW_LIMIT);
    *strrchr(template, '/') = 0;
    exposed.address = cw_str_from(template);
    assert_int_equal(cw_exposed_check(&m, &err), CW_OK);
}

static const cw_param prompt_params[] = {
    {.name = CW_STR_INIT("a"), .description = CW_STR_INIT("\"A\""), .is_required = true},
    {.name = CW_STR_INIT("b")},
};

static cw_code write_shown(cw_exposed_kind kind, const char *json, cw_arena *a, cw_str *ret)
{
    cw_exposed exposed = {.kind = kind};
    cw_method m = {.id = CW_STR("the.id"),
                   .usage = CW_STR("Usage."),
                   .params = prompt_params,
                   .n_params = 2,
                   .exposed = &exposed};
    cw_code rc = cw_json_read(cw_str_from(json), NULL, a, &exposed.json, NULL, &err);
    return rc ? rc : cw_exposed_write(&m, a, ret, &err);
}

TEST(what_lists_show_is_complete)
{
    cw_arena a;
    cw_str got;
    cw_arena_init(&a, 1 << 20);
    assert_int_equal(write_shown(CW_EXPOSED_RESOURCE, "{\"uri\":\"t://x\"}", &a, &got), CW_OK);
    assert_true(
        cw_str_is(got, "{\"uri\":\"t://x\",\"name\":\"the.id\",\"description\":\"Usage.\"}"));
    assert_int_equal(write_shown(CW_EXPOSED_PROMPT,
                                 "{\"name\":\"p\",\"completes\":[\"a\"],\"description\":\"D\"}", &a,
                                 &got),
                     CW_OK);
    assert_true(cw_str_is(got,
                          "{\"name\":\"p\",\"description\":\"D\",\"arguments\":[{\"name\":\"a\","
                          "\"description\":\"\\\"A\\\"\",\"required\":true},{\"name\":\"b\"}]}"));
    cw_arena_done(&a);
}

static void write_once(void *ctx)
{
    (void)ctx;
    cw_arena a;
    cw_str got;
    cw_arena_init(&a, 1 << 20);
    cw_code rc = write_shown(CW_EXPOSED_PROMPT, "{\"name\":\"p\"}", &a, &got);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_arena_done(&a);
}

TEST(writing_survives_failed_allocations)
{
    assert_true(oom_each(write_once, NULL) >= 2);
}

/* Templates of MCP servers: any of RFC 6570. */
TEST(addresses_of_relayed_templates_are_matched)
{
    static const struct {
        const char *template, *uri;
        bool covers;
    } rows[] = {
        {"t://{a}", "t://x", true},
        {"t://{a}", "t://", false},
        {"t://{a}", "t://x/y", false},
        {"t://{a}", "t://x?y", false},
        {"t://{a}", "t://x%2Fy", true},
        {"t://{a}/{b}.txt", "t://x/y.txt", true},
        {"t://{a}/{b}.txt", "t://x/y.tx", false},
        {"t://{a}/{b}.txt", "t://x/.txt", false},
        {"t://{+path}", "t://x/y/z", true},
        {"t://{+path}", "t://", false},
        {"t://{path*}", "t://x/y/z", true},
        {"t://x{/path*}", "t://x/y/z", true},
        {"t://x{/path*}", "t://x", true},
        {"t://x{/path*}", "t://xy", false},
        {"t://s{?q,n}", "t://s?q=1&n=2", true},
        {"t://s{?q,n}", "t://s", true},
        {"t://s{?q,n}", "t://sq", false},
        {"t://{a}{?q}", "t://x?q=1", true},
        {"t://{a}{?q}", "t://x", true},
        {"t://{a}{#f}", "t://x#y", true},
        {"t://{+a}/end", "t://x/y/end", true},
        {"t://{+a}/end", "t://x/y/en", false},
        {"t://a/b{.x}", "t://a/b.json", true},
        {"t://{a}{b}", "t://xy", false},
        /* A server that resolves these would leave what the operator exposed. */
        {"t://pub/{+path}", "t://pub/../secret", false},
        {"t://pub/{+path}", "t://pub/a/..", false},
        {"t://pub/{+path}", "t://pub/%2e%2E/secret", false},
        {"t://pub/{a}", "t://pub/..%2fsecret", false},
        {"t://pub/{a}", "t://pub/..%5Csecret", false},
        {"t://pub/{+path}", "t://pub/..a/b..", true},
        {"t://{", "t://x", false},
        {"t://}", "t://}", false},
        {"t://{}", "t://x", false},
    };
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        if (cw_exposed_covers(cw_str_from(rows[i].template), cw_str_from(rows[i].uri)) !=
            rows[i].covers)
            fail_msg("%s, %s", rows[i].template, rows[i].uri);
    }
    static char uri[CW_RESOURCE_MAX_URI + 1];
    memset(uri, 'x', sizeof uri);
    assert_true(cw_exposed_covers(CW_STR("{a}"), cw_str_make(uri, sizeof uri - 1)));
    assert_false(cw_exposed_covers(CW_STR("{a}"), cw_str_make(uri, sizeof uri)));
}

TEST(variables_of_relayed_templates_are_listed_once)
{
    cw_str names[CW_EXPOSED_MAX_VARIABLES];
    size_t n;
    assert_int_equal(cw_exposed_variables(CW_STR("t://{a}{/b*}{?c:3,a,d}"), names, &n, &err),
                     CW_OK);
    assert_int_equal(n, 4);
    assert_true(cw_str_is(names[1], "b"));
    assert_true(cw_str_is(names[2], "c"));
    assert_true(cw_str_is(names[3], "d"));
    static const char *const wrong[] = {"t://x",     "t://{", "t://{}", "t://{a,}",
                                        "t://{a b}", "t://}", "t://{?}"};
    for (size_t i = 0; i < CW_COUNT(wrong); i++) {
        if (cw_exposed_variables(cw_str_from(wrong[i]), names, &n, &err) != CW_PARAMS)
            fail_msg("%s", wrong[i]);
    }
    char many[8 * (CW_EXPOSED_MAX_VARIABLES + 1) + 1] = "";
    for (unsigned i = 0; i <= CW_EXPOSED_MAX_VARIABLES; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "{v%u}/", i);
    assert_int_equal(cw_exposed_variables(cw_str_from(many), names, &n, &err), CW_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_matched),
        cmocka_unit_test(addresses_have_a_ceiling),
        cmocka_unit_test(a_path_needs_no_room),
        cmocka_unit_test(matching_survives_failed_allocations),
        cmocka_unit_test(templates_are_checked),
        cmocka_unit_test(too_many_variables_are_refused),
        cmocka_unit_test(what_lists_show_is_complete),
        cmocka_unit_test(writing_survives_failed_allocations),
        cmocka_unit_test(addresses_of_relayed_templates_are_matched),
        cmocka_unit_test(variables_of_relayed_templates_are_listed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
