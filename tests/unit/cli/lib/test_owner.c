/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command of root goes on as the user of the server. Only root can test that. */
#include "cli/lib/owner.h"

#include <grp.h>
#include <stdio.h>
#include <string.h>

#include "support/temp_dir.h"

#define SERVER_USER 65534u

/* Back to root: the real user is still root. */
static void return_to_root(mode_t mask)
{
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(0), 0);
    umask(mask);
}

TEST(root_goes_on_as_the_owner_of_the_directory)
{
    gid_t groups[1];
    cw_err err = {0};
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(temp_dir, SERVER_USER, SERVER_USER), 0);
    assert_int_equal(setgroups(1, &(gid_t){0}), 0);
    mode_t mask = umask(022);
    cw_code rc = cw_cli_become_owner(temp_dir_path("causeway.db"), &err);
    uid_t user = geteuid();
    gid_t group = getegid();
    int n_groups = getgroups(1, groups);
    mode_t new_mask = umask(077);
    return_to_root(mask);
    assert_int_equal(rc, CW_OK);
    assert_int_equal(user, SERVER_USER);
    assert_int_equal(group, SERVER_USER);
    assert_int_equal(n_groups, 0);
    assert_int_equal(new_mask, 077);
}

TEST(root_stays_root_in_its_own_directory_and_without_one)
{
    cw_err err = {0};
    if (geteuid() != 0)
        skip();
    assert_int_equal(cw_cli_become_owner(temp_dir_path("causeway.db"), &err), CW_OK);
    assert_int_equal(cw_cli_become_owner("causeway.db", &err), CW_OK);
    assert_int_equal(cw_cli_become_owner("/causeway.db", &err), CW_OK);
    assert_int_equal(geteuid(), 0);
}

TEST(a_directory_that_is_missing_is_named)
{
    cw_err err = {0};
    if (geteuid() != 0)
        skip();
    assert_int_equal(cw_cli_become_owner("/no/such/causeway.db", &err), CW_IO);
    assert_non_null(strstr(err.msg, "directory '/no/such'"));
    assert_int_equal(geteuid(), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, temp_dir_setup, temp_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(root_goes_on_as_the_owner_of_the_directory),
        T(root_stays_root_in_its_own_directory_and_without_one),
        T(a_directory_that_is_missing_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
