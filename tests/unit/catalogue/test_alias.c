/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helpers.h"

#include "catalogue/alias.h"
#include "oom.h"

static void nothing(cw_source *source)
{
    (void)source;
}

static const cw_mark plain = {.title = CW_STR_INIT("")};

#define MAX 8

static cw_snapshot *snapshot_of(const char *const *ids)
{
    static const cw_offer_ops ops = {nothing, nothing};
    static cw_method methods[MAX]; /* of one snapshot at a time */
    size_t n = 0;
    for (; n < MAX && ids[n]; n++)
        methods[n] = (cw_method){.id = cw_str_from(ids[n]), .mark = &plain};
    const cw_offer offer = {CW_STR("test"), methods, n, NULL};
    cw_snapshot *s = NULL;
    assert_int_equal(cw_snapshot_build(&offer, 1, &ops, NULL, &s, NULL), CW_OK);
    return s;
}

static void assert_alias(const cw_snapshot *s, const char *name, const char *expected)
{
    char room[CW_ALIAS_MAX];
    const cw_aliases *a = cw_snapshot_aliases(s);
    const cw_entry *tool = cw_snapshot_find_tool(s, cw_str_from(name));
    assert_non_null(a);
    assert_non_null(tool);
    cw_str alias = cw_alias_of(a, tool, room);
    assert_text(alias, expected);
    /* It leads back, unless it is the name itself. */
    if (strcmp(name, expected))
        assert_ptr_equal(cw_alias_find(a, alias), tool);
    else
        assert_null(cw_alias_find(a, alias));
}

static void dots_become_underscores(void **state)
{
    (void)state;
    const char *const ids[] = {"examples.contentTypes.list", "echo", "with-dash_1", NULL};
    cw_snapshot *s = snapshot_of(ids);
    assert_alias(s, "examples.contentTypes.list", "examples_contentTypes_list");
    assert_alias(s, "echo", "echo");
    assert_alias(s, "with-dash_1", "with-dash_1");
    assert_null(cw_alias_find(cw_snapshot_aliases(s), CW_STR("nothing")));
    assert_null(cw_alias_find(cw_snapshot_aliases(s), CW_STR("")));
    cw_snapshot_unref(s);
}

#define TEN "abcdefghij"

static void long_names_are_cut_and_told_apart(void **state)
{
    (void)state;
    const char *const ids[] = {
        TEN TEN TEN TEN TEN TEN "abcd",  /* 64: as it is */
        TEN TEN TEN TEN TEN TEN "abcde", /* 65 */
        TEN TEN TEN TEN TEN TEN "abcdf",
        TEN TEN TEN TEN TEN TEN "ab.d", /* 64, with a dot */
        NULL,
    };
    cw_snapshot *s = snapshot_of(ids);
    char room[2][CW_ALIAS_MAX];
    const cw_aliases *a = cw_snapshot_aliases(s);
    assert_alias(s, ids[0], ids[0]);
    assert_alias(s, ids[3], TEN TEN TEN TEN TEN TEN "ab_d");
    cw_str one = cw_alias_of(a, cw_snapshot_find_tool(s, cw_str_from(ids[1])), room[0]);
    cw_str two = cw_alias_of(a, cw_snapshot_find_tool(s, cw_str_from(ids[2])), room[1]);
    assert_int_equal(one.n, CW_ALIAS_MAX);
    assert_int_equal(two.n, CW_ALIAS_MAX);
    assert_false(cw_str_eq(one, two));
    assert_memory_equal(one.p, two.p, CW_ALIAS_MAX - 8);
    cw_snapshot_unref(s);
}

static void names_win_and_doubles_lose(void **state)
{
    (void)state;
    /* "a_b" is a tool of its own; two others would both be "x_y_z". */
    const char *const ids[] = {"a.b", "a_b", "x.y_z", "x_y.z", NULL};
    cw_snapshot *s = snapshot_of(ids);
    char room[CW_ALIAS_MAX];
    const cw_aliases *a = cw_snapshot_aliases(s);
    assert_alias(s, "a_b", "a_b");
    assert_null(cw_alias_find(a, CW_STR("a_b")));
    assert_null(cw_alias_find(a, CW_STR("x_y_z")));
    for (size_t i = 0; ids[i]; i++) {
        const cw_entry *tool = cw_snapshot_find_tool(s, cw_str_from(ids[i]));
        cw_str alias = cw_alias_of(a, tool, room);
        if (i == 1)
            continue;
        assert_int_equal(alias.n, strlen(ids[i]) + 9);
        assert_ptr_equal(cw_alias_find(a, alias), tool);
    }
    cw_snapshot_unref(s);

    /* Alone it is what it always is: the digest depends on nothing else. */
    const char *const alone[] = {"x.y_z", NULL};
    s = snapshot_of(alone);
    assert_alias(s, "x.y_z", "x_y_z");
    cw_snapshot_unref(s);
}

static void aliases_are_made_once(void **state)
{
    (void)state;
    const char *const ids[] = {"a.b", NULL};
    cw_snapshot *s = snapshot_of(ids);
    const cw_aliases *first = cw_snapshot_aliases(s);
    assert_non_null(first);
    assert_ptr_equal(cw_snapshot_aliases(s), first);
    cw_snapshot_unref(s);
    cw_aliases_free(NULL);
}

static void make_once(void *ctx)
{
    cw_snapshot *s = ctx;
    cw_aliases *a = cw_aliases_new(s);
    assert_int_equal(a == NULL, oom_was_hit());
    cw_aliases_free(a);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    const char *const ids[] = {"a.b", "a_b", "x.y_z", "x_y.z", NULL};
    cw_snapshot *s = snapshot_of(ids);
    assert_true(oom_each(make_once, s) >= 3);
    cw_snapshot_unref(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dots_become_underscores),
        cmocka_unit_test(long_names_are_cut_and_told_apart),
        cmocka_unit_test(names_win_and_doubles_lose),
        cmocka_unit_test(aliases_are_made_once),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
