/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/gate.h"
#include "support/test.h"

static const cw_str ab[] = {CW_STR_INIT("a"), CW_STR_INIT("b")};
static const cw_str ac[] = {CW_STR_INIT("a"), CW_STR_INIT("c")};

static cw_caller *anonymous(const cw_str *permissions, size_t n)
{
    cw_caller *c = NULL;
    assert_int_equal(cw_caller_new_anonymous(permissions, n, &c, NULL), CW_OK);
    return c;
}

TEST(a_general_permission_allows_or_asks_to_log_in)
{
    cw_caller *c = anonymous(&CW_PERMISSION_DISCOVER, 1);
    assert_int_equal(cw_gate_permission(c, CW_PERMISSION_DISCOVER), CW_VERDICT_ALLOW);
    assert_int_equal(cw_gate_permission(c, CW_PERMISSION_CALL), CW_VERDICT_NEEDS_LOGIN);
    cw_caller_unref(c);
}

/* check-21: every combination of what the anonymous caller has, the level and the scopes. */
TEST(the_anonymous_caller_is_judged_by_permissions_then_level)
{
    static const struct {
        size_t has; /* of ab */
        cw_auth_level level;
        size_t n_scopes;
        cw_verdict verdict;
    } cases[] = {
        {2, CW_AUTH_NONE, 0, CW_VERDICT_ALLOW},
        {2, CW_AUTH_NONE, 1, CW_VERDICT_ALLOW},
        {2, CW_AUTH_OPTIONAL, 0, CW_VERDICT_ALLOW},
        {2, CW_AUTH_OPTIONAL, 1, CW_VERDICT_ALLOW},
        {2, CW_AUTH_REQUIRED, 0, CW_VERDICT_NEEDS_LOGIN},
        {2, CW_AUTH_REQUIRED, 1, CW_VERDICT_NEEDS_LOGIN},
        {1, CW_AUTH_NONE, 0, CW_VERDICT_HIDDEN},
        {1, CW_AUTH_OPTIONAL, 1, CW_VERDICT_HIDDEN},
        {1, CW_AUTH_REQUIRED, 0, CW_VERDICT_HIDDEN},
        {0, CW_AUTH_REQUIRED, 1, CW_VERDICT_HIDDEN},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_caller *c = anonymous(ab, cases[i].has);
        cw_requirements needs = {.permissions = ab,
                                 .n_permissions = 2,
                                 .level = cases[i].level,
                                 .scopes = ac,
                                 .n_scopes = cases[i].n_scopes};
        assert_int_equal(cw_gate_check(c, &needs), cases[i].verdict);
        needs.hidden_unless_met = true;
        bool is_open = cases[i].verdict == CW_VERDICT_ALLOW;
        assert_int_equal(cw_gate_check(c, &needs), is_open ? CW_VERDICT_ALLOW : CW_VERDICT_HIDDEN);
        /* A challenge is of no use where there is no login to be had. */
        cw_caller *confined = NULL;
        assert_int_equal(cw_caller_new_confined(ab, cases[i].has, &confined, NULL), CW_OK);
        needs.hidden_unless_met = false;
        assert_int_equal(cw_gate_check(confined, &needs),
                         is_open ? CW_VERDICT_ALLOW : CW_VERDICT_HIDDEN);
        cw_caller_unref(confined);
        cw_caller_unref(c);
    }
}

static cw_caller *logged_in(bool has_token, const cw_str *scopes, size_t n)
{
    cw_caller *c = NULL;
    cw_caller_opts opts = {.id = CW_STR("1"),
                           .name = CW_STR("alice"),
                           .permissions = ab,
                           .n_permissions = 2,
                           .has_token = has_token,
                           .scopes = scopes,
                           .n_scopes = n};
    assert_int_equal(cw_caller_new(&opts, &c, NULL), CW_OK);
    return c;
}

/* row-D12, row-D14 and check-84: an explicit level wins, and only a token satisfies scopes. */
TEST(a_caller_who_has_logged_in_needs_scopes_too)
{
    static const struct {
        bool has_token;
        size_t has_scopes; /* of ac */
        cw_auth_level level;
        size_t n_scopes; /* of ac */
        cw_verdict verdict;
    } cases[] = {
        {false, 0, CW_AUTH_REQUIRED, 0, CW_VERDICT_ALLOW},
        {false, 0, CW_AUTH_REQUIRED, 1, CW_VERDICT_NEEDS_LOGIN},
        {false, 0, CW_AUTH_OPTIONAL, 2, CW_VERDICT_ALLOW},
        {false, 0, CW_AUTH_NONE, 2, CW_VERDICT_ALLOW},
        {true, 0, CW_AUTH_REQUIRED, 0, CW_VERDICT_ALLOW},
        {true, 0, CW_AUTH_REQUIRED, 1, CW_VERDICT_NEEDS_SCOPES},
        {true, 1, CW_AUTH_REQUIRED, 1, CW_VERDICT_ALLOW},
        {true, 1, CW_AUTH_REQUIRED, 2, CW_VERDICT_NEEDS_SCOPES},
        {true, 2, CW_AUTH_REQUIRED, 2, CW_VERDICT_ALLOW},
        {true, 0, CW_AUTH_OPTIONAL, 2, CW_VERDICT_ALLOW},
        {true, 0, CW_AUTH_NONE, 2, CW_VERDICT_ALLOW},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_caller *c = logged_in(cases[i].has_token, ac, cases[i].has_scopes);
        cw_requirements needs = {.permissions = ab,
                                 .n_permissions = 2,
                                 .level = cases[i].level,
                                 .scopes = ac,
                                 .n_scopes = cases[i].n_scopes};
        assert_int_equal(cw_gate_check(c, &needs), cases[i].verdict);
        /* Hidden from whom it would challenge, and from nobody else. */
        needs.hidden_unless_met = true;
        bool is_open = cases[i].verdict == CW_VERDICT_ALLOW;
        assert_int_equal(cw_gate_check(c, &needs), is_open ? CW_VERDICT_ALLOW : CW_VERDICT_HIDDEN);
        needs.permissions = ac;
        assert_int_equal(cw_gate_check(c, &needs), CW_VERDICT_HIDDEN);
        assert_int_equal(cw_gate_permission(c, CW_PERMISSION_CALL), CW_VERDICT_FORBIDDEN);
        cw_caller_unref(c);
    }
}

TEST(nothing_needed_is_allowed)
{
    cw_caller *c = anonymous(NULL, 0);
    assert_int_equal(cw_gate_check(c, &(cw_requirements){0}), CW_VERDICT_ALLOW);
    cw_caller_unref(c);
}

TEST(levels_are_three_words)
{
    cw_auth_level level = CW_AUTH_OPTIONAL;
    assert_true(cw_auth_level_parse(CW_STR("none"), &level));
    assert_int_equal(level, CW_AUTH_NONE);
    assert_true(cw_auth_level_parse(CW_STR("optional"), &level));
    assert_int_equal(level, CW_AUTH_OPTIONAL);
    assert_true(cw_auth_level_parse(CW_STR("required"), &level));
    assert_int_equal(level, CW_AUTH_REQUIRED);
    static const char *const wrong[] = {"", "None", "NONE", "require", "required "};
    for (size_t i = 0; i < CW_COUNT(wrong); i++)
        assert_false(cw_auth_level_parse(cw_str_from(wrong[i]), &level));
    assert_int_equal(level, CW_AUTH_REQUIRED);
}

TEST(visibility_is_one_of_two_words)
{
    bool hidden_unless_met = false;
    assert_true(cw_visibility_parse(CW_STR("hide"), &hidden_unless_met));
    assert_true(hidden_unless_met);
    assert_false(cw_visibility_parse(CW_STR("Challenge"), &hidden_unless_met));
    assert_false(cw_visibility_parse(CW_STR(""), &hidden_unless_met));
    assert_true(hidden_unless_met);
    assert_true(cw_visibility_parse(CW_STR("challenge"), &hidden_unless_met));
    assert_false(hidden_unless_met);
}

TEST(sorting_drops_doubles)
{
    cw_str items[] = {CW_STR("b"), CW_STR("a"), CW_STR("b"), CW_STR("a"), CW_STR("")};
    assert_int_equal(cw_requirements_sort(items, CW_COUNT(items)), 3);
    assert_true(cw_str_is(items[0], ""));
    assert_true(cw_str_is(items[1], "a"));
    assert_true(cw_str_is(items[2], "b"));
    assert_int_equal(cw_requirements_sort(items, 1), 1);
    assert_int_equal(cw_requirements_sort(NULL, 0), 0);
}

TEST(equal_needs_are_equal_in_all_parts)
{
    const cw_str ab_again[] = {CW_STR("a"), CW_STR("b")};
    const cw_requirements needs = {ab, 2, CW_AUTH_REQUIRED, ac, 2, false};
    const cw_requirements same = {ab_again, 2, CW_AUTH_REQUIRED, ac, 2, false};
    assert_true(cw_requirements_equal(&needs, &same));
    assert_true(cw_requirements_hash(&needs) == cw_requirements_hash(&same));
    const cw_requirements others[] = {
        {ac, 2, CW_AUTH_REQUIRED, ac, 2, false}, {ab, 1, CW_AUTH_REQUIRED, ac, 2, false},
        {ab, 2, CW_AUTH_OPTIONAL, ac, 2, false}, {ab, 2, CW_AUTH_REQUIRED, ab, 2, false},
        {ab, 2, CW_AUTH_REQUIRED, ac, 1, false}, {ab, 2, CW_AUTH_REQUIRED, NULL, 0, false},
        {NULL, 0, CW_AUTH_NONE, NULL, 0, false}, {ab, 2, CW_AUTH_REQUIRED, ac, 2, true},
    };
    for (size_t i = 0; i < CW_COUNT(others); i++) {
        assert_false(cw_requirements_equal(&needs, &others[i]));
        assert_true(cw_requirements_hash(&needs) != cw_requirements_hash(&others[i]));
    }
}

/* A permission is no scope, wherever the line between the two lists is drawn. */
TEST(lists_do_not_run_into_each_other)
{
    const cw_requirements left = {ab, 2, CW_AUTH_NONE, NULL, 0, false};
    const cw_requirements middle = {ab, 1, CW_AUTH_NONE, ab + 1, 1, false};
    const cw_requirements right = {NULL, 0, CW_AUTH_NONE, ab, 2, false};
    assert_false(cw_requirements_equal(&left, &middle));
    assert_false(cw_requirements_equal(&middle, &right));
    assert_true(cw_requirements_hash(&left) != cw_requirements_hash(&middle));
    assert_true(cw_requirements_hash(&middle) != cw_requirements_hash(&right));
    assert_true(cw_requirements_hash(&left) != cw_requirements_hash(&right));
}

/* ---- the gate tells what it looks at ---- */

typedef struct recorder {
    cw_gate_trace trace;
    char text[512];
} recorder;

static void on_step(cw_gate_trace *trace, const char *rule, cw_str what, bool passes)
{
    recorder *r = CW_CONTAINER(trace, recorder, trace);
    size_t n = strlen(r->text);
    snprintf(r->text + n, sizeof r->text - n, "%s%s:%.*s ", passes ? "+" : "-", rule,
             CW_STR_ARG(what));
}

static void assert_explained(const cw_caller *caller, const cw_requirements *needs,
                             const char *steps)
{
    recorder r = {.trace = {on_step}};
    assert_int_equal(cw_gate_explain(caller, needs, &r.trace), cw_gate_check(caller, needs));
    assert_string_equal(r.text, steps);
}

TEST(each_rule_is_told_in_order_with_its_outcome)
{
    cw_caller *anonymous, *token;
    const cw_caller_opts opts = {.id = CW_STR("1"),
                                 .name = CW_STR("x"),
                                 .permissions = ab,
                                 .n_permissions = 2,
                                 .has_token = true,
                                 .scopes = ab,
                                 .n_scopes = 1};
    assert_int_equal(cw_caller_new_anonymous(ab, 1, &anonymous, NULL), CW_OK);
    assert_int_equal(cw_caller_new(&opts, &token, NULL), CW_OK);
    const cw_requirements none = {NULL, 0, CW_AUTH_NONE, NULL, 0, false};
    const cw_requirements all = {ab, 2, CW_AUTH_REQUIRED, ac, 2, true};
    const cw_requirements exposed = {ab, 1, CW_AUTH_REQUIRED, ac, 2, false};
    assert_explained(anonymous, &none, "+level:none ");
    assert_explained(anonymous, &all, "+permission:a -permission:b ");
    assert_explained(anonymous, &exposed, "+permission:a -level:required +visibility:challenge ");
    assert_explained(token, &all,
                     "+permission:a +permission:b +level:required +token:scopes need a token "
                     "+scope:a -scope:c -visibility:hide ");
    recorder r = {.trace = {on_step}};
    assert_int_equal(cw_gate_explain_permission(token, CW_STR("z"), &r.trace),
                     CW_VERDICT_FORBIDDEN);
    assert_string_equal(r.text, "-permission:z ");
    cw_caller_unref(anonymous);
    cw_caller_unref(token);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_general_permission_allows_or_asks_to_log_in),
        cmocka_unit_test(the_anonymous_caller_is_judged_by_permissions_then_level),
        cmocka_unit_test(a_caller_who_has_logged_in_needs_scopes_too),
        cmocka_unit_test(nothing_needed_is_allowed),
        cmocka_unit_test(levels_are_three_words),
        cmocka_unit_test(visibility_is_one_of_two_words),
        cmocka_unit_test(sorting_drops_doubles),
        cmocka_unit_test(equal_needs_are_equal_in_all_parts),
        cmocka_unit_test(lists_do_not_run_into_each_other),
        cmocka_unit_test(each_rule_is_told_in_order_with_its_outcome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
