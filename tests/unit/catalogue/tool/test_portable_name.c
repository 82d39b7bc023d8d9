/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/snapshot.h"
#include "support/json_fixture.h"

#include "catalogue/tool/portable_name.h"
#include "support/oom.h"

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

static void assert_portable(const char *name, const char *expected)
{
    char room[CW_PORTABLE_NAME_MAX];
    assert_str(cw_portable_name(cw_str_from(name), room), expected);
}

#define TEN "abcdefghij"
#define FORTY TEN TEN TEN TEN

TEST(names_that_will_do_stay)
{
    const char *const names[] = {"echo", "a", "with-dash_1", "Upper_Case_", "a-", FORTY "abcdefgh"};
    for (size_t i = 0; i < CW_COUNT(names); i++)
        assert_portable(names[i], names[i]);
}

TEST(a_dot_between_words_becomes_two_underscores)
{
    assert_portable("pub.get", "pub__get");
    assert_portable("examples.contentTypes.list", "examples__contentTypes__list");
    assert_portable("a.1.-", "a__1__-");
    assert_portable("x_y.z", "x_y__z");
    assert_portable("x.y_z", "x__y_z");
    assert_portable(FORTY "abcde.f", FORTY "abcde__f"); /* 48 with both */
}

static bool is_portable(cw_str name)
{
    bool is_right = name.n && name.n <= 48 && ((name.p[0] | 0x20) >= 'a');
    for (size_t i = 0; i < name.n; i++)
        is_right = is_right && name.p[i] != '.';
    return is_right;
}

TEST(any_other_name_gets_its_digest)
{
    static const char *const names[] = {
        ".",
        "..",
        "_",
        "-",
        "1",
        "1.a",
        "a.",
        ".a",
        "a..b",
        "a._b",
        "a_.b",
        "a__b",
        "a___b",
        FORTY "abcdefghi",
        FORTY "abcdef.h",
        FORTY FORTY FORTY "1",
        FORTY FORTY FORTY "2",
        "a__b___1f0c44d2a7",
    };
    char rooms[CW_COUNT(names)][CW_PORTABLE_NAME_MAX];
    cw_str names_of[CW_COUNT(names)];
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        names_of[i] = cw_portable_name(cw_str_from(names[i]), rooms[i]);
        assert_true(is_portable(names_of[i]));
        assert_true(names_of[i].n > 13);
        assert_memory_equal(names_of[i].p + names_of[i].n - 13, "___", 3);
        for (size_t j = 0; j < i; j++)
            assert_false(cw_str_eq(names_of[i], names_of[j]));
    }
    /* As sha256sum says. */
    assert_portable("a.", "a____5ab640fad5");
    assert_portable("1", "t1___6b86b273ff");
}

static void assert_leads_back(const cw_portable_names *a, const char *portable, const char *name)
{
    const cw_portable_tool *one = cw_portable_names_find(a, cw_str_from(portable));
    assert_non_null(one);
    assert_str(one->tool->tool_name, name);
    assert_null(one->next);
}

TEST(a_portable_name_leads_back)
{
    const char *const ids[] = {"pub.get", "pub_get", "pub__get", "x.y_z", "x_y.z", "1", NULL};
    cw_snapshot *s = snapshot_of(ids);
    const cw_portable_names *a = cw_snapshot_portable_names(s);
    assert_non_null(a);
    assert_leads_back(a, "pub__get", "pub.get");
    assert_leads_back(a, "x__y_z", "x.y_z");
    assert_leads_back(a, "x_y__z", "x_y.z");
    assert_leads_back(a, "t1___6b86b273ff", "1");
    /* A name that is portable is looked up as a name. */
    assert_null(cw_portable_names_find(a, CW_STR("pub_get")));
    assert_null(cw_portable_names_find(a, CW_STR("")));
    cw_snapshot_unref(s);
}

TEST(portable_names_are_made_once)
{
    const char *const ids[] = {"a.b", NULL};
    cw_snapshot *s = snapshot_of(ids);
    const cw_portable_names *first = cw_snapshot_portable_names(s);
    assert_non_null(first);
    assert_ptr_equal(cw_snapshot_portable_names(s), first);
    cw_snapshot_unref(s);
    cw_portable_names_free(NULL);
}

static void make_once(void *ctx)
{
    cw_snapshot *s = ctx;
    cw_portable_names *a = cw_portable_names_new(s);
    assert_int_equal(a == NULL, oom_was_hit());
    cw_portable_names_free(a);
}

TEST(every_failed_allocation_is_reported)
{
    const char *const ids[] = {"a.b", "a_b", "x.y_z", "x_y.z", NULL};
    cw_snapshot *s = snapshot_of(ids);
    assert_true(oom_each(make_once, s) >= 3);
    cw_snapshot_unref(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_will_do_stay),
        cmocka_unit_test(a_dot_between_words_becomes_two_underscores),
        cmocka_unit_test(any_other_name_gets_its_digest),
        cmocka_unit_test(a_portable_name_leads_back),
        cmocka_unit_test(portable_names_are_made_once),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
