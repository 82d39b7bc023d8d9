/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/uri.h"
#include "support/test.h"

#define SCHEME "must begin with a scheme, as in \"docs://readme\""
#define CHARACTER "has a character that must be written as %XX"
#define PERCENT "'%' needs two hexadecimal digits behind it"

typedef struct uri_case {
    const char *text;
    const char *problem; /* NULL: none */
} uri_case;

static void expect_problem(const char *found, const char *problem)
{
    if (problem)
        assert_string_equal(found ? found : "no problem", problem);
    else
        assert_null(found);
}

TEST(addresses_have_a_scheme_and_plain_characters)
{
    static const uri_case cases[] = {
        {"docs://readme", NULL},
        {"urn:isbn:0451450523", NULL},
        {"a+b-c.1:x?y=z#f", NULL},
        {"file:///a%20b%C3%A9", NULL},
        {"x:", NULL},
        {"", SCHEME},
        {"readme", SCHEME},
        {"/readme", SCHEME},
        {"1a://x", SCHEME},
        {":x", SCHEME},
        {"a b://x", SCHEME},
        {"docs://a b", CHARACTER},
        {"docs://{a}", CHARACTER},
        {"docs://\xc3\xa9", CHARACTER},
        {"docs://a\"", CHARACTER},
        {"docs://a\\", CHARACTER},
        {"docs://a\x7f", CHARACTER},
        {"docs://%", PERCENT},
        {"docs://%2", PERCENT},
        {"docs://%2g", PERCENT},
        {"docs://%g2", PERCENT},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++)
        expect_problem(cw_uri_problem(cw_str_from(cases[i].text)), cases[i].problem);
    /* A NUL inside is no end. */
    expect_problem(cw_uri_problem(CW_STR("docs://a\0b")), CHARACTER);
}

TEST(templates_have_variables_that_can_be_found_again)
{
    static const char scheme[] = "must begin with a scheme, as in \"docs://page/{name}\"";
    static const char pairs[] = "'{' and '}' do not match";
    static const char plain[] = "only {name} is possible, of letters, digits and '_'";
    static const uri_case cases[] = {
        {"docs://{name}", NULL},
        {"docs://{a}/{b_2}/c", NULL},
        {"docs:{a}", NULL},
        {"{a}://x", scheme},
        {"{a}", scheme},
        {"", scheme},
        {"docs://x", "has no {variable}; use CW_RESOURCE and .uri"},
        {"docs://{a", pairs},
        {"docs://a}", pairs},
        {"docs://{{a}}", pairs},
        {"docs://{a}}{b}", pairs},
        {"docs://{a}/{b", pairs},
        {"docs://{a{b}", pairs},
        {"docs://{}", plain},
        {"docs://{+a}", plain},
        {"docs://{a,b}", plain},
        {"docs://{a*}", plain},
        {"docs://{a:3}", plain},
        {"docs://{a-b}", plain},
        {"docs://{a}{b}", "two variables side by side cannot be told apart"},
        {"docs://{a}/{a}", "the same variable is there twice"},
        {"docs://{a}/b c", CHARACTER},
        {"docs://%x/{a}", PERCENT},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++)
        expect_problem(cw_template_problem(cw_str_from(cases[i].text)), cases[i].problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_have_a_scheme_and_plain_characters),
        cmocka_unit_test(templates_have_variables_that_can_be_found_again),
    };
    return cmocka_run_group_tests_name("uri", tests, NULL, NULL);
}
