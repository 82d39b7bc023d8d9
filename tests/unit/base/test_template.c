/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hex.h"
#include "base/template.h"
#include "support/test.h"

TEST(a_template_is_cut_into_parts)
{
    cw_str rest = CW_STR("docs://{a}/x/{}?");
    cw_template_part part;
    assert_true(cw_template_next(&rest, &part));
    assert_true(cw_str_is(part.literal, "docs://"));
    assert_true(cw_str_is(part.name, "a"));
    assert_true(cw_template_next(&rest, &part));
    assert_true(cw_str_is(part.literal, "/x/"));
    assert_non_null(part.name.p);
    assert_int_equal(part.name.n, 0);
    assert_true(cw_template_next(&rest, &part));
    assert_true(cw_str_is(part.literal, "?"));
    assert_null(part.name.p);
    assert_int_equal(rest.n, 0);
    assert_true(cw_template_next(&rest, &part));
    assert_int_equal(part.literal.n, 0);
    assert_null(part.name.p);
}

/* What stands before the mistake is still found. */
TEST(braces_must_match)
{
    static const char *const wrong[] = {"{", "}", "a}", "{a", "{{a}}", "{a{b}", "}{a}"};
    for (size_t i = 0; i < CW_COUNT(wrong); i++) {
        cw_str rest = cw_str_from(wrong[i]);
        cw_template_part part;
        if (cw_template_next(&rest, &part))
            fail_msg("'%s' was taken", wrong[i]);
    }
    assert_true(cw_template_has(CW_STR("x{a}}"), CW_STR("a")));
}

TEST(variables_are_found_by_name)
{
    assert_true(cw_template_has(CW_STR("docs://{a}/{b}"), CW_STR("b")));
    assert_false(cw_template_has(CW_STR("docs://{a}/{b}"), CW_STR("c")));
    assert_false(cw_template_has(CW_STR("docs://a"), CW_STR("")));
    assert_false(cw_template_has(CW_STR(""), CW_STR("a")));
}

TEST(digits_have_values_in_either_case)
{
    static const char digits[] = "0123456789abcdef", capitals[] = "0123456789ABCDEF";
    static const char others[] = "/:@G`g \0\x10\x19\xe1";
    for (int i = 0; i < 16; i++) {
        assert_int_equal(cw_hex_value(digits[i]), i);
        assert_int_equal(cw_hex_value(capitals[i]), i);
    }
    for (size_t i = 0; i < sizeof others; i++)
        assert_int_equal(cw_hex_value(others[i]), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_template_is_cut_into_parts),
        cmocka_unit_test(braces_must_match),
        cmocka_unit_test(variables_are_found_by_name),
        cmocka_unit_test(digits_have_values_in_either_case),
    };
    return cmocka_run_group_tests_name("template", tests, NULL, NULL);
}
