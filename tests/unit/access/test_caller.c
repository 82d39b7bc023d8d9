/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/caller.h"
#include "support/oom.h"
#include "support/test.h"

TEST(the_anonymous_caller_has_a_name)
{
    cw_caller *c = NULL;
    assert_int_equal(cw_caller_new_anonymous(NULL, 0, &c, NULL), CW_OK);
    assert_true(cw_caller_is_anonymous(c));
    assert_true(cw_str_is(cw_caller_id(c), "0"));
    assert_true(cw_str_is(cw_caller_name(c), "anonymous"));
    assert_true(cw_str_is(cw_caller_language(c), "en"));
    assert_false(cw_caller_may(c, CW_PERMISSION_CALL));
    assert_false(cw_caller_may(c, CW_STR("")));
    assert_true(
        cw_str_is(cw_caller_json(c),
                  "{\"id\":\"0\",\"name\":\"anonymous\",\"permissions\":[],\"language\":\"en\"}"));
    cw_caller_unref(c);
}

TEST(an_account_has_scopes_only_through_a_token)
{
    static const cw_str given[] = {CW_STR_INIT("b"), CW_STR_INIT("a"), CW_STR_INIT("b")};
    cw_caller *c = NULL;
    cw_caller_opts opts = {.id = CW_STR("7"),
                           .name = CW_STR("alice"),
                           .language = CW_STR("de"),
                           .permissions = given,
                           .n_permissions = 1,
                           .has_token = true,
                           .scopes = given,
                           .n_scopes = 3};
    assert_int_equal(cw_caller_new(&opts, &c, NULL), CW_OK);
    assert_false(cw_caller_is_anonymous(c));
    assert_true(cw_caller_has_language(c));
    assert_true(cw_caller_has_token(c));
    assert_true(cw_caller_has_scope(c, CW_STR("a")));
    assert_true(cw_caller_has_scope(c, CW_STR("b")));
    assert_false(cw_caller_has_scope(c, CW_STR("c")));
    assert_false(cw_caller_may(c, CW_STR("a")));
    assert_true(
        cw_str_is(cw_caller_json(c),
                  "{\"id\":\"7\",\"name\":\"alice\",\"permissions\":[\"b\"],\"language\":\"de\"}"));
    cw_caller_unref(c);
    opts.n_scopes = CW_CALLER_MAX_PERMISSIONS + 1;
    assert_int_equal(cw_caller_new(&opts, &c, NULL), CW_LIMIT);
}

static bool is_equal(const cw_caller_opts *x, const cw_caller_opts *y)
{
    cw_caller *a = NULL, *b = NULL;
    assert_int_equal(cw_caller_new(x, &a, NULL), CW_OK);
    assert_int_equal(cw_caller_new(y, &b, NULL), CW_OK);
    bool is_same = cw_caller_equal(a, b);
    assert_true(cw_caller_equal(a, a));
    assert_false(cw_caller_equal(a, NULL));
    cw_caller_unref(a);
    cw_caller_unref(b);
    return is_same;
}

TEST(callers_are_equal_with_the_same_rights_and_credentials)
{
    static const cw_str given[] = {CW_STR_INIT("b"), CW_STR_INIT("a")};
    static const cw_str sorted[] = {CW_STR_INIT("a"), CW_STR_INIT("b")};
    const cw_caller_opts opts = {
        .id = CW_STR("7"),
        .name = CW_STR("alice"),
        .permissions = given,
        .n_permissions = 2,
        .has_token = true,
        .scopes = given,
        .n_scopes = 2,
        .expires = 5,
        .credential = {.kind = CW_CREDENTIAL_ISSUED_CLAIMS, .roles = given, .n_roles = 2},
    };
    cw_caller_opts same = opts, others[9];
    same.permissions = same.scopes = sorted;
    assert_true(is_equal(&opts, &same));
    for (size_t i = 0; i < 9; i++)
        others[i] = opts;
    others[0].id = CW_STR("8");
    others[1].language = CW_STR("en"); /* chosen, and the default */
    others[2].n_permissions = 1;
    others[3].n_scopes = 1;
    others[4].expires = 6;
    others[5].credential.kind = CW_CREDENTIAL_ISSUED_ACCOUNT;
    others[6].credential.n_roles = 1;
    others[7].credential.hash = CW_STR("x");
    others[8].cannot_log_in = true;
    for (size_t i = 0; i < 9; i++)
        assert_false(is_equal(&opts, &others[i]));
}

TEST(permissions_are_copied_sorted_and_unique)
{
    char text[] = "use jsonrpc services";
    const cw_str given[] = {cw_str_from(text), CW_STR("b"),  CW_STR("a \"quoted\" one"),
                            CW_STR("b"),       CW_STR("ab"), CW_STR("b")};
    cw_caller *c = NULL;
    assert_int_equal(cw_caller_new_anonymous(given, CW_COUNT(given), &c, NULL), CW_OK);
    memset(text, 'x', sizeof text - 1);
    assert_true(
        cw_str_is(cw_caller_json(c),
                  "{\"id\":\"0\",\"name\":\"anonymous\",\"permissions\":[\"a \\\"quoted\\\" "
                  "one\",\"ab\",\"b\",\"use jsonrpc services\"],\"language\":\"en\"}"));
    cw_caller_unref(c);
}

TEST(a_caller_may_exactly_what_it_was_given)
{
    cw_str given[100];
    char names[100][8];
    for (unsigned i = 0; i < 100; i++) {
        snprintf(names[i], sizeof names[i], "p%02u", i);
        given[i] = cw_str_from(names[i]);
    }
    for (size_t n = 0; n <= 100; n += 1) {
        cw_caller *c = NULL;
        assert_int_equal(cw_caller_new_anonymous(given, n, &c, NULL), CW_OK);
        for (size_t i = 0; i < 100; i++)
            assert_int_equal(cw_caller_may(c, given[i]), i < n);
        assert_false(cw_caller_may(c, CW_STR("p")));
        assert_false(cw_caller_may(c, CW_STR("p000")));
        assert_false(cw_caller_may(c, CW_STR("z")));
        cw_caller_unref(c);
    }
}

TEST(references_keep_a_caller)
{
    cw_caller *c = NULL;
    assert_int_equal(cw_caller_new_anonymous(&CW_PERMISSION_DISCOVER, 1, &c, NULL), CW_OK);
    assert_ptr_equal(cw_caller_ref(c), c);
    cw_caller_unref(c);
    assert_true(cw_caller_may(c, CW_PERMISSION_DISCOVER));
    cw_caller_unref(c);
    cw_caller_unref(NULL);
}

TEST(permissions_have_a_ceiling)
{
    size_t n = CW_CALLER_MAX_PERMISSIONS + 1;
    cw_str *given = calloc(n, sizeof *given);
    for (size_t i = 0; i < n; i++)
        given[i] = CW_STR("x");
    cw_caller *c = NULL;
    cw_err err = {0};
    assert_int_equal(cw_caller_new_anonymous(given, n, &c, &err), CW_LIMIT);
    assert_string_equal(err.msg, "a caller has 10001 permissions, the limit is 10000");
    assert_null(c);
    assert_int_equal(cw_caller_new_anonymous(given, n - 1, &c, &err), CW_OK);
    cw_caller_unref(c);
    free(given);
}

static void make_once(void *ctx)
{
    (void)ctx;
    static const char long_name[4000] = "long";
    const cw_str given[] = {CW_STR("a"), CW_STR("b"), cw_str_make(long_name, sizeof long_name)};
    cw_caller *c = NULL;
    cw_err err = {0};
    cw_code rc = cw_caller_new_anonymous(given, CW_COUNT(given), &c, &err);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    assert_int_equal(err.code, rc);
    cw_caller_unref(c);
}

TEST(every_failed_allocation_is_reported)
{
    assert_true(oom_each(make_once, NULL) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_anonymous_caller_has_a_name),
        cmocka_unit_test(an_account_has_scopes_only_through_a_token),
        cmocka_unit_test(callers_are_equal_with_the_same_rights_and_credentials),
        cmocka_unit_test(permissions_are_copied_sorted_and_unique),
        cmocka_unit_test(a_caller_may_exactly_what_it_was_given),
        cmocka_unit_test(references_keep_a_caller),
        cmocka_unit_test(permissions_have_a_ceiling),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
