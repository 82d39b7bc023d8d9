/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/roles.h"
#include "support/oom.h"
#include "support/test.h"

static const cw_str editing[] = {CW_STR_INIT("edit"), CW_STR_INIT("publish")};
static const cw_role two[] = {{CW_STR_INIT("editor"), editing, 2}, {CW_STR_INIT("none"), NULL, 0}};

TEST(roles_are_found_by_name)
{
    cw_roles *roles;
    assert_int_equal(cw_roles_new(two, 2, false, &roles, NULL), CW_OK);
    cw_roles *same = cw_roles_ref(roles);
    cw_roles_unref(roles);
    const cw_role *editor = cw_roles_find(same, CW_STR("editor"));
    assert_int_equal(editor->n_permissions, 2);
    assert_true(cw_str_is(editor->permissions[1], "publish"));
    assert_ptr_not_equal(editor->permissions, editing);
    assert_int_equal(cw_roles_find(same, CW_STR("none"))->n_permissions, 0);
    assert_null(cw_roles_find(same, CW_STR("Editor")));
    assert_null(cw_roles_find(NULL, CW_STR("editor")));
    cw_roles_unref(same);
}

TEST(roles_are_equal_when_they_give_the_same)
{
    static const cw_role fewer[] = {{CW_STR_INIT("editor"), editing, 1},
                                    {CW_STR_INIT("none"), NULL, 0}};
    cw_roles *all[5];
    assert_int_equal(cw_roles_new(two, 2, false, &all[0], NULL), CW_OK);
    assert_int_equal(cw_roles_new(two, 2, false, &all[1], NULL), CW_OK);
    assert_int_equal(cw_roles_new(two, 2, true, &all[2], NULL), CW_OK);
    assert_int_equal(cw_roles_new(two, 1, false, &all[3], NULL), CW_OK);
    assert_int_equal(cw_roles_new(fewer, 2, false, &all[4], NULL), CW_OK);
    assert_true(cw_roles_equal(all[0], all[1]));
    assert_true(cw_roles_equal(NULL, NULL));
    assert_false(cw_roles_equal(all[0], NULL));
    for (int i = 2; i < 5; i++)
        assert_false(cw_roles_equal(all[0], all[i]));
    for (int i = 0; i < 5; i++)
        cw_roles_unref(all[i]);
}

static void make(void *ctx)
{
    cw_roles *roles = NULL;
    (void)ctx;
    cw_code rc = cw_roles_new(two, 2, false, &roles, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_roles_unref(roles);
}

TEST(every_failed_allocation_is_reported)
{
    assert_true(oom_each(make, NULL) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles_are_found_by_name),
        cmocka_unit_test(roles_are_equal_when_they_give_the_same),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
