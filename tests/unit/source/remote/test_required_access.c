/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/json_fixture.h"
#include "support/oom.h"
#include "support/temp_dir.h"

#include "source/remote/required_access.h"

static const cw_json *parse(const char *text, cw_arena *arena)
{
    const cw_json *v = NULL;
    assert_int_equal(cw_json_read(cw_str_from(text), NULL, arena, &v, NULL, NULL), CW_OK);
    return v;
}

#define AUTH(scope) "{\"x-mcp-tool\":{\"annotations\":{\"auth\":{\"scopes\":[\"" scope "\"]}}}}"
#define METHOD(name, scope)                                                                        \
    "{\"name\":\"" name "\",\"x-mcp-tool\":{\"title\":\"t\",\"annotations\":{\"auth\":{"           \
    "\"scopes\":[\"" scope "\"]}}}}"

/* `outdated`: a method that is written as in `old`; or NULL. */
static void assert_written_but(const char *outdated, const char *doc, const char *old,
                               const char *expected)
{
    cw_arena arena;
    CW_CLEANUP(cw_buf_done) cw_buf out;
    CW_CLEANUP(cw_map_done) cw_map names;
    cw_map_init(&names, 10);
    if (outdated)
        assert_int_equal(cw_map_put(&names, cw_str_from(outdated), &names, NULL), CW_OK);
    cw_buf_init(&out, 10000);
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(
        cw_required_access_write(parse(doc, &arena), old ? parse(old, &arena) : NULL, &names, &out),
        0);
    assert_int_equal(out.code, CW_OK);
    assert_str(cw_buf_str(&out), expected);
    cw_arena_done(&arena);
}

static void assert_written(const char *doc, const char *old, const char *expected)
{
    assert_written_but(NULL, doc, old, expected);
}

TEST(methods_that_ask_something_are_written)
{
    assert_written("{\"methods\":[" METHOD("a", "x") ",{\"name\":\"b\"},{\"name\":5},7]}", NULL,
                   "{\"a\":" AUTH("x") "}");
    assert_written("{\"methods\":{}}", NULL, "{}");
    /* Of two with one name the first counts, and references are followed. */
    assert_written(
        "{\"methods\":[" METHOD("a", "x") "," METHOD("a", "y") ",{\"$ref\":\"#/m\"}],"
                                                               "\"m\":" METHOD("c", "z") "}",
        NULL, "{\"a\":" AUTH("x") ",\"c\":" AUTH("z") "}");
}

#define KEPT(auth) "{\"a\":{\"x-mcp-tool\":{\"annotations\":{\"auth\":" auth "}}}}"
#define MARKED(mark) "{\"methods\":[{\"name\":\"a\",\"x-mcp-tool\":" mark "}]}"

TEST(requirements_that_cannot_be_read_are_written)
{
    assert_written(MARKED("{\"$ref\":\"#/m\"}"), NULL, KEPT("{\"$ref\":\"#/m\"}"));
    assert_written(MARKED("\"required\""), NULL, KEPT("\"required\""));
    assert_written(MARKED("{\"annotations\":[1]}"), NULL, KEPT("[1]"));
    assert_written(MARKED("{\"annotations\":\"x\"}"), NULL, KEPT("\"x\""));
    assert_written(MARKED("{\"annotations\":{\"$ref\":\"#/x\",\"auth\":{}}}"), NULL,
                   KEPT("{\"$ref\":\"#/x\",\"auth\":{}}"));
    assert_written(MARKED("{\"annotations\":[]}"), NULL, "{}");
    assert_written(MARKED("[]"), NULL, "{}");
    assert_written("{\"methods\":[]}", KEPT("[1]"), KEPT("[1]"));
}

TEST(methods_that_are_gone_are_remembered)
{
    const char *old = "{\"a\":" AUTH("x") ",\"gone\":" AUTH("y") ",\"odd\":5}";
    assert_written("{\"methods\":[{\"name\":\"a\"}]}", old, "{\"gone\":" AUTH("y") "}");
    assert_written("{\"methods\":[" METHOD("gone", "z") "]}", old,
                   "{\"gone\":" AUTH("z") ",\"a\":" AUTH("x") "}");
}

TEST(methods_that_were_not_compared_stay_as_they_were)
{
    const char *old = "{\"a\":" AUTH("x") ",\"b\":" AUTH("y") "}";
    assert_written_but("a", "{\"methods\":[" METHOD("a", "w") "," METHOD("b", "z") "]}", old,
                       "{\"b\":" AUTH("z") ",\"a\":" AUTH("x") "}");
    assert_written_but("a", "{\"methods\":[{\"name\":\"a\"}]}", old,
                       "{\"a\":" AUTH("x") ",\"b\":" AUTH("y") "}");
}

TEST(only_a_richer_kind_takes_the_place_of_another)
{
    static const struct {
        const char *old, *now;
        bool is_poorer;
    } cases[] = {
        {"drupal-tools", "drupal-tools", false},
        {"drupal-tools", "drupal-methods", true},
        {"drupal-methods", "drupal-tools", false},
        {"openrpc", "system", true},
        {"system", "openrpc", false},
        {"system", "help", true},
        {"drupal-methods", "drupal-methods", false},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++)
        assert_int_equal(
            cw_required_access_is_weaker(cw_str_from(cases[i].old), cw_str_from(cases[i].now)),
            cases[i].is_poorer);
}

TEST(less_than_before_is_noticed)
{
    static const cw_str ab[] = {CW_STR_INIT("a"), CW_STR_INIT("b")};
    static const cw_str b[] = {CW_STR_INIT("b")};
    const cw_requirements open = {0},
                          optional = {.level = CW_AUTH_OPTIONAL, .scopes = ab, .n_scopes = 2};
    const cw_requirements login = {.level = CW_AUTH_REQUIRED};
    const cw_requirements both = {.level = CW_AUTH_REQUIRED, .scopes = ab, .n_scopes = 2};
    const cw_requirements one = {.level = CW_AUTH_REQUIRED, .scopes = b, .n_scopes = 1};
    cw_str scope;
    assert_true(cw_required_access_covers(&open, &open, &scope));
    assert_true(cw_required_access_covers(&open, &optional, &scope));
    assert_true(cw_required_access_covers(&both, &one, &scope));
    assert_true(cw_required_access_covers(&one, &login, &scope));
    assert_false(cw_required_access_covers(&optional, &both, &scope));
    assert_str(scope, "");
    assert_false(cw_required_access_covers(&open, &login, &scope));
    assert_false(cw_required_access_covers(&one, &both, &scope));
    assert_str(scope, "a");
    assert_false(cw_required_access_covers(&login, &one, &scope));
    assert_str(scope, "b");
}

static void write_once(void *ctx)
{
    (void)ctx;
    cw_arena arena;
    CW_CLEANUP(cw_buf_done) cw_buf out;
    CW_CLEANUP(cw_map_done) cw_map names;
    const cw_json *doc = NULL;
    cw_map_init(&names, 10);
    cw_buf_init(&out, 10000);
    cw_arena_init(&arena, 1 << 20);
    cw_str text = CW_STR("{\"methods\":[" METHOD("a", "x") "]}");
    if (cw_json_read(text, NULL, &arena, &doc, NULL, NULL) == CW_OK) {
        cw_required_access_write(doc, NULL, &names, &out);
        assert_int_equal(out.code, oom_was_hit() ? CW_NOMEM : CW_OK);
    }
    cw_arena_done(&arena);
}

TEST(every_failed_allocation_is_survived)
{
    assert_true(oom_each(write_once, NULL) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_that_ask_something_are_written),
        cmocka_unit_test(requirements_that_cannot_be_read_are_written),
        cmocka_unit_test(methods_that_are_gone_are_remembered),
        cmocka_unit_test(methods_that_were_not_compared_stay_as_they_were),
        cmocka_unit_test(only_a_richer_kind_takes_the_place_of_another),
        cmocka_unit_test(less_than_before_is_noticed),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
