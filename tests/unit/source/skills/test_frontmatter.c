/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/skills/folder.h"
#include "support/assert_str.h"
#include "support/oom.h"
#include "support/test.h"

#define HEAD "---\nname: a-b\ndescription: words\n"

static cw_code read_front(const char *text, cw_arena *arena, cw_skill_front *ret, cw_err *err)
{
    cw_arena_init(arena, 1 << 20);
    *err = (cw_err){0};
    return cw_skill_front_read(cw_str_from(text), arena, ret, err);
}

static void assert_json(const char *text, const char *json)
{
    cw_arena arena;
    cw_skill_front front = {0};
    cw_err err;
    cw_code rc = read_front(text, &arena, &front, &err);
    if (rc)
        fail_msg("%s", err.msg);
    assert_str(front.json, json);
    cw_arena_done(&arena);
}

static void assert_problem(const char *text, cw_code code, const char *problem)
{
    cw_arena arena;
    cw_skill_front front = {0};
    cw_err err;
    assert_int_equal(read_front(text, &arena, &front, &err), code);
    assert_string_equal(err.msg, problem);
    cw_arena_done(&arena);
}

TEST(frontmatter_is_rendered_as_hosts_read_it)
{
    assert_json(HEAD "---\nbody", "{\"name\":\"a-b\",\"description\":\"words\"}");
    assert_json("\xef\xbb\xbf---\r\nname: a\r\ndescription: b\r\n--- \r\n",
                "{\"name\":\"a\",\"description\":\"b\"}");
    assert_json(HEAD "a: ~\nb: 'True'\nc: TRUE\nd: 1.0\ne: [x, ~, {f: False}]\ng: |\n  ~\n---\n",
                "{\"name\":\"a-b\",\"description\":\"words\",\"a\":null,\"b\":\"True\",\"c\":true,"
                "\"d\":1.0,\"e\":[\"x\",null,{\"f\":false}],\"g\":\"~\\n\"}");
    assert_json(HEAD "a: 2024-01-01\nb: 1.2.3\nc: 1-2\nd: \"010\"\ne: yes\nf: 1e\n---\n",
                "{\"name\":\"a-b\",\"description\":\"words\",\"a\":\"2024-01-01\",\"b\":\"1.2.3\","
                "\"c\":\"1-2\",\"d\":\"010\",\"e\":\"yes\",\"f\":\"1e\"}");
}

TEST(a_number_that_json_spells_differently_must_be_in_quotes)
{
    static const char *const numbers[] = {"010", "+1", ".5", "1.", "0x1f", "0o17", "-.inf", ".nan"};
    for (size_t i = 0; i < CW_COUNT(numbers); i++) {
        char text[128], problem[128];
        (void)snprintf(text, sizeof text, HEAD "a: %s\n---\n", numbers[i]);
        (void)snprintf(problem, sizeof problem,
                       "frontmatter: '%s' is read as a number by some hosts: put it in quotes",
                       numbers[i]);
        assert_problem(text, CW_PARSE, problem);
    }
}

TEST(bad_frontmatter_is_refused_with_a_reason)
{
    assert_problem("# words", CW_PARSE,
                   "SKILL.md must begin with frontmatter between two lines '---'");
    assert_problem("---\nname: a\n", CW_PARSE,
                   "SKILL.md must begin with frontmatter between two lines '---'");
    assert_problem("---\nname: \xff\n---\n", CW_PARSE, "SKILL.md is not UTF-8");
    assert_problem("---\n- a\n---\n", CW_PARSE, "frontmatter: expected names and values");
    assert_problem("---\nname: a\n---\n", CW_PARSE, "frontmatter: 'description' must be a text");
    assert_problem("---\nname: 1\ndescription: b\n---\n", CW_PARSE,
                   "frontmatter: 'name' must be a text");
    assert_problem("---\nname: a\nname: b\n---\n", CW_PARSE,
                   "frontmatter, line 3: key \"name\" appears twice; it is on line 1 already");
    static const char *const names[] = {"A", "a--b", "-a", "a-", "a_b", "a b"};
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "---\nname: %s\ndescription: b\n---\n", names[i]);
        assert_problem(text, CW_PARSE,
                       "frontmatter: 'name' must have a-z, 0-9 and single hyphens between them, "
                       "maximum 64 characters");
    }
}

TEST(frontmatter_has_a_maximum)
{
    size_t n = CW_SKILL_MAX_FRONTMATTER + 100;
    char *text = malloc(n + 1);
    assert_non_null(text);
    memset(text, 'x', n);
    text[n] = '\0';
    memcpy(text, "---\na: ", 7);
    memcpy(text + n - 5, "\n---\n", 5);
    assert_problem(text, CW_LIMIT, "frontmatter: longer than 65536 bytes");
    memcpy(text, "---\nname: a\ndescription: ", 25);
    memcpy(text + CW_SKILL_MAX_DESCRIPTION + 26, "\n---\n", 6);
    assert_problem(text, CW_LIMIT, "frontmatter: 'description' is longer than 4096 bytes");
    free(text);
}

static void read_once(void *ctx)
{
    cw_arena arena;
    cw_skill_front front = {0};
    cw_err err;
    (void)ctx;
    cw_code rc = read_front(HEAD "a: [1, {b: c}]\n---\n", &arena, &front, &err);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    if (oom_was_hit())
        assert_int_equal(rc, CW_NOMEM);
    cw_arena_done(&arena);
}

TEST(frontmatter_survives_every_failed_allocation)
{
    assert_true(oom_each(read_once, NULL) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frontmatter_is_rendered_as_hosts_read_it),
        cmocka_unit_test(a_number_that_json_spells_differently_must_be_in_quotes),
        cmocka_unit_test(bad_frontmatter_is_refused_with_a_reason),
        cmocka_unit_test(frontmatter_has_a_maximum),
        cmocka_unit_test(frontmatter_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("frontmatter", tests, NULL, NULL);
}
