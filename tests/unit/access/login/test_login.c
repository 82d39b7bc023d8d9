/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_login.c - the end of a login whose loop has ended. */
#include "access/login/login.c" /* NOLINT(bugprone-suspicious-include) */
#include "support/test.h"

TEST(a_result_after_the_end_of_its_loop_is_not_cached)
{
    cw_accounts_loop ended = {0};
    cw_login_op t = {.status = CW_LOGIN_WRONG, .is_issued = true};
    cache_token_login(&ended, &t, true);
    assert_null(ended.tokens);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_after_the_end_of_its_loop_is_not_cached),
    };
    return cmocka_run_group_tests_name("access/login", tests, NULL, NULL);
}
