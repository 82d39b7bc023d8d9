/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/assert_str.h"
#include "support/install_fixture.h"

#define ARENA_MAX ((size_t)1 << 24)

typedef struct edited {
    cw_arena arena;
    cw_buf out;
    cw_err err;
} edited;

static int edited_setup(void **state)
{
    static edited e;
    e = (edited){0};
    cw_arena_init(&e.arena, ARENA_MAX);
    cw_buf_init(&e.out, ARENA_MAX);
    *state = &e;
    return 0;
}

static int edited_teardown(void **state)
{
    edited *e = *state;
    cw_buf_done(&e->out);
    cw_arena_done(&e->arena);
    return 0;
}

static const cw_install_place in_s = {.section = "s", .name = "ours"};
static const cw_install_place in_list = {.section = "s", .name = "ours", .is_list = true};

TEST_WITH(an_earlier_entry_replaces_the_present_one, edited *e)
{
    const struct {
        const cw_install_format *format;
        const cw_install_place *at;
        const char *text, *entry, *expected;
    } rows[] = {
        {&cw_install_json, &in_s, "{\"s\": {\"ours\": 1, \"b\": 2}}", "{\"old\": [ 1 ]}",
         "{\"s\": {\"ours\": {\"old\": [ 1 ]}, \"b\": 2}}"},
        {&cw_install_toml, &in_s, "a = 1\n[s.ours]\nb = 1\n[c]\n", "[s.ours] # old\nx = 2\n",
         "a = 1\n[s.ours] # old\nx = 2\n[c]\n"},
        {&cw_install_yaml, &in_s, "s:\n  ours:\n    a: 1\n  b: 2\n", "  ours: {old: 1} # c\n",
         "s:\n  ours: {old: 1} # c\n  b: 2\n"},
        {&cw_install_yaml, &in_list, "s:\n- name: ours\n- b: 1\n", "- {name: ours, old: 1}\n",
         "s:\n- {name: ours, old: 1}\n- b: 1\n"},
    };
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        cw_buf_clear(&e->out);
        cw_code rc = cw_install_restore(rows[i].format, cw_str_from(rows[i].text), rows[i].at,
                                        cw_str_from(rows[i].entry), &e->arena, &e->out, &e->err);
        assert_int_equal(rc, CW_OK);
        assert_str(cw_buf_str(&e->out), rows[i].expected);
    }
}

TEST_WITH(an_earlier_entry_that_would_change_others_is_refused, edited *e)
{
    const struct {
        const cw_install_format *format;
        const char *text, *entry;
    } rows[] = {
        {&cw_install_json, "{\"s\": {\"ours\": 1}}", "1, \"b\": 2"},
        {&cw_install_json, "{\"s\": {\"ours\": 1}}", "{"},
        {&cw_install_toml, "[s.ours]\na = 1\n", "[s.other]\na = 1\n"},
        {&cw_install_toml, "[s.ours]\na = 1\n", "[s.ours]\n[b]\n"},
        {&cw_install_yaml, "s:\n  ours:\n    a: 1\n  b: 2\n", "    ours: {}\n"},
        {&cw_install_yaml, "s:\n  ours:\n    a: 1\n  b: 2\n", "  ours: {}\n  c: 3\n"},
    };
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        cw_code rc = cw_install_restore(rows[i].format, cw_str_from(rows[i].text), &in_s,
                                        cw_str_from(rows[i].entry), &e->arena, &e->out, &e->err);
        assert_int_equal(rc, CW_PARAMS);
        assert_int_equal(e->out.n, 0);
    }
}

TEST_WITH(a_text_without_the_entry_cannot_lose_it, edited *e)
{
    cw_str text = CW_STR("{\"s\": {\"b\": 2}}");
    assert_int_equal(
        cw_install_remove(&cw_install_json, text, &in_s, true, &e->arena, &e->out, &e->err),
        CW_NOTFOUND);
    assert_int_equal(
        cw_install_restore(&cw_install_json, text, &in_s, CW_STR("1"), &e->arena, &e->out, &e->err),
        CW_NOTFOUND);
    assert_true(str_has(cw_str_from(e->err.msg), "no entry \"ours\""));
}

TEST_WITH(the_origin_of_a_text_is_recognised, edited *e)
{
    cw_str base = CW_STR("a = 1\n[b]\n");
    cw_str made = CW_STR("a = 1\n[b]\n\n[s.ours]\nx = 1\n[s.ours.env]\ny = 2\n");
    cw_str changed = CW_STR("a = 2\n[b]\n\n[s.ours]\nx = 1\n");
    cw_str longer = CW_STR("a = 1\n[b]\n\n[s.ours]\nx = 1\n[c]\n");
    assert_true(cw_install_is_from(&cw_install_toml, made, base, &in_s, &e->arena));
    assert_false(cw_install_is_from(&cw_install_toml, changed, base, &in_s, &e->arena));
    assert_false(cw_install_is_from(&cw_install_toml, longer, base, &in_s, &e->arena));
    assert_false(cw_install_is_from(&cw_install_toml, base, base, &in_s, &e->arena));
    assert_false(cw_install_is_from(&cw_install_toml, made, CW_STR("a ="), &in_s, &e->arena));
}

#define edited_test(f) cmocka_unit_test_setup_teardown(f, edited_setup, edited_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        edited_test(an_earlier_entry_replaces_the_present_one),
        edited_test(an_earlier_entry_that_would_change_others_is_refused),
        edited_test(a_text_without_the_entry_cannot_lose_it),
        edited_test(the_origin_of_a_text_is_recognised),
    };
    return cmocka_run_group_tests_name("cli/install/edit", tests, NULL, NULL);
}
