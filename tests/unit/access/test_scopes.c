/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/scopes.h"
#include "support/test.h"

/* check-10 and check-11 */
TEST(there_are_eight_scopes_with_label_and_description)
{
    static const char *const names[] = {
        "profile",           "content:read", "content:write", "content:delete",
        "content_type:read", "user:read",    "user:write",    "admin:access",
    };
    size_t n;
    const cw_scope *scopes = cw_scopes(&n);
    assert_int_equal(n, CW_COUNT(names));
    for (size_t i = 0; i < n; i++) {
        assert_true(cw_str_is(scopes[i].name, names[i]));
        assert_true(scopes[i].label.n > 0);
        assert_true(scopes[i].description.n > 0);
    }
}

/* check-12 and check-13 */
TEST(only_exact_names_are_known)
{
    static const cw_str others[] = {
        CW_STR_INIT("invalid:scope"), CW_STR_INIT(""),      CW_STR_INIT("content"),
        CW_STR_INIT("user"),          CW_STR_INIT("admin"), CW_STR_INIT("Content:read"),
        CW_STR_INIT("content:read "),
    };
    size_t n;
    const cw_scope *scopes = cw_scopes(&n);
    for (size_t i = 0; i < n; i++)
        assert_ptr_equal(cw_scope_find(scopes[i].name), &scopes[i]);
    for (size_t i = 0; i < CW_COUNT(others); i++)
        assert_null(cw_scope_find(others[i])); /* check-15 */
}

/* check-14 */
TEST(descriptions_say_what_they_allow)
{
    const cw_scope *read = cw_scope_find(CW_STR("content:read"));
    const cw_scope *admin = cw_scope_find(CW_STR("admin:access"));
    assert_true(cw_str_is(read->label, "Read Content"));
    assert_non_null(strstr(read->description.p, "Read access"));
    assert_true(cw_str_is(admin->label, "Administrative Access"));
    assert_non_null(strstr(admin->description.p, "administrative access"));
}

TEST(a_scope_is_printable_ascii)
{
    char longest[129];
    memset(longest, 'a', sizeof longest);
    assert_true(cw_scope_is_valid(CW_STR("tutorial:read")));
    assert_true(cw_scope_is_valid(cw_str_make(longest, 128)));
    assert_false(cw_scope_is_valid(cw_str_make(longest, 129)));
    static const cw_str bad[] = {CW_STR_INIT(""),     CW_STR_INIT("a b"),  CW_STR_INIT("a\"b"),
                                 CW_STR_INIT("a\\b"), CW_STR_INIT("a\nb"), CW_STR_INIT("\xc3\xa4")};
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_false(cw_scope_is_valid(bad[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_are_eight_scopes_with_label_and_description),
        cmocka_unit_test(only_exact_names_are_known),
        cmocka_unit_test(descriptions_say_what_they_allow),
        cmocka_unit_test(a_scope_is_printable_ascii),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
