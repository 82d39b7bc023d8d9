/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/snapshot.h"
#include "support/json_fixture.h"

#include "catalogue/i18n/mo.h"
#include "support/mo_file.h"

#define NONE ((cw_str){NULL, 0})

static const mo_pair pairs[] = {
    {"", MO_HEADER},
    {"List", "Liste"},
    {"List all", "Komplett"},
    {"Zoo", "Zoo ü"},
    {"a.list\4List", "Liste von a"},
};
#define N_PAIRS ((uint32_t)CW_COUNT(pairs))

static void assert_refused(const char *bytes, size_t n, const char *why)
{
    /* In memory of exactly that size, so that a sanitizer sees a step beyond it. */
    char *copy = malloc(n ? n : 1);
    memcpy(copy, bytes, n);
    cw_mo mo = {0};
    cw_err err = {0};
    assert_int_equal(cw_mo_open(cw_str_make(copy, n), &mo, &err), CW_PARAMS);
    if (!strstr(err.msg, why))
        fail_msg("'%s' is not in '%s'", why, err.msg);
    free(copy);
}

TEST(texts_are_found_in_both_byte_orders)
{
    for (unsigned flags = 0; flags <= MO_OTHER_ORDER; flags++) {
        char bytes[MO_MAX];
        cw_mo mo;
        cw_str file = cw_str_make(bytes, mo_build(bytes, pairs, N_PAIRS, flags));
        assert_int_equal(cw_mo_open(file, &mo, NULL), CW_OK);
        assert_str(cw_mo_find(&mo, NONE, CW_STR("List")), "Liste");
        assert_str(cw_mo_find(&mo, NONE, CW_STR("List all")), "Komplett");
        assert_str(cw_mo_find(&mo, NONE, CW_STR("Zoo")), "Zoo ü");
        assert_null(cw_mo_find(&mo, NONE, CW_STR("Lis")).p);
        assert_null(cw_mo_find(&mo, NONE, CW_STR("zoo")).p);
    }
}

TEST(a_context_is_part_of_the_text)
{
    const mo_pair some[] = {{"", MO_HEADER},   {"List", "1"}, {"a\4List", "2"}, {"a\4Lists", "3"},
                            {"ab\4List", "4"}, {"abc", "5"},  {"b\4List", "6"}};
    char bytes[MO_MAX];
    cw_mo mo;
    cw_str file = cw_str_make(bytes, mo_build(bytes, some, CW_COUNT(some), 0));
    assert_int_equal(cw_mo_open(file, &mo, NULL), CW_OK);
    assert_str(cw_mo_find(&mo, NONE, CW_STR("List")), "1");
    assert_str(cw_mo_find(&mo, CW_STR("a"), CW_STR("List")), "2");
    assert_str(cw_mo_find(&mo, CW_STR("a"), CW_STR("Lists")), "3");
    assert_str(cw_mo_find(&mo, CW_STR("ab"), CW_STR("List")), "4");
    assert_str(cw_mo_find(&mo, CW_STR("b"), CW_STR("List")), "6");
    assert_null(cw_mo_find(&mo, CW_STR("abc"), CW_STR("List")).p);
    assert_null(cw_mo_find(&mo, CW_STR("c"), CW_STR("List")).p);
    assert_null(cw_mo_find(&mo, CW_STR(""), CW_STR("List")).p);
    /* Nobody reaches another's context by writing it into a text. */
    assert_null(cw_mo_find(&mo, NONE, CW_STR("a\4List")).p);
}

TEST(the_header_and_empty_translations_are_not_texts)
{
    const mo_pair some[] = {{"", MO_HEADER}, {"one", ""}};
    char bytes[MO_MAX];
    cw_mo mo;
    cw_str file = cw_str_make(bytes, mo_build(bytes, some, CW_COUNT(some), 0));
    assert_int_equal(cw_mo_open(file, &mo, NULL), CW_OK);
    assert_null(cw_mo_find(&mo, NONE, CW_STR("")).p);
    assert_null(cw_mo_find(&mo, NONE, CW_STR("one")).p);
}

TEST(the_first_plural_form_counts)
{
    const mo_pair some[] = {{"one page", "eine Seite"}, {"two", "zwei"}};
    char bytes[MO_MAX];
    cw_mo mo;
    cw_str file = cw_str_make(bytes, mo_build(bytes, some, CW_COUNT(some), 0));
    memcpy(strstr(bytes + 28 + 32, "one page") + 3, "", 1); /* "one\0page" */
    memcpy(bytes + file.n - strlen("eine Seite") - strlen("zwei") - 2 + 4, "", 1);
    assert_int_equal(cw_mo_open(file, &mo, NULL), CW_OK);
    assert_str(cw_mo_find(&mo, NONE, CW_STR("one")), "eine");
    assert_null(cw_mo_find(&mo, NONE, CW_STR("one page")).p);
}

TEST(a_file_without_texts_is_fine)
{
    char bytes[MO_MAX];
    cw_mo mo;
    assert_int_equal(cw_mo_open(cw_str_make(bytes, mo_build(bytes, NULL, 0, 0)), &mo, NULL), CW_OK);
    assert_null(cw_mo_find(&mo, NONE, CW_STR("List")).p);
}

TEST(what_is_no_mo_file_is_refused)
{
    char bytes[MO_MAX];
    size_t n = mo_build(bytes, pairs, 1, 0);
    assert_refused("", 0, "no .mo file");
    assert_refused("msgid \"\"\nmsgstr \"\"\n# a .po file is text", 40, "no .mo file");
    assert_refused(bytes, 27, "no .mo file");
    mo_put(bytes + 4, 2u << 16, 0);
    assert_refused(bytes, n, "revision 2");
    mo_put(bytes + 4, 1u << 16 | 1u, 0);
    cw_mo mo;
    assert_int_equal(cw_mo_open(cw_str_make(bytes, n), &mo, NULL), CW_OK);
}

TEST(what_leads_out_of_the_file_is_refused)
{
    static const struct {
        size_t at;
        uint32_t value;
        const char *why;
    } cases[] = {
        {8, UINT32_MAX, "a table"},         {8, 1000, "a table"},
        {12, UINT32_MAX, "a table"},        {16, UINT32_MAX - 7, "a table"},
        {28, UINT32_MAX, "reaches behind"}, {32, UINT32_MAX, "reaches behind"},
        {28, 200, "reaches behind"},        {28, 1, "does not end with a NUL"},
        {28 + 8 * 3, 2, "does not end"},
    };
    const mo_pair some[] = {{"", MO_HEADER}, {"abc", "x"}, {"abd", "y"}};
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char bytes[MO_MAX];
        size_t n = mo_build(bytes, some, CW_COUNT(some), 0);
        mo_put(bytes + cases[i].at, cases[i].value, 0);
        assert_refused(bytes, n, cases[i].why);
    }
}

TEST(a_file_that_was_cut_is_refused)
{
    char bytes[MO_MAX];
    size_t n = mo_build(bytes, (mo_pair[]){{"", MO_HEADER}, {"a", "b"}}, 2, 0);
    for (size_t cut = 0; cut < n; cut++)
        assert_refused(bytes, cut, "");
}

/* A thousand rows on one long string would take a thousand times the file to read. */
TEST(strings_on_top_of_each_other_are_refused)
{
    const mo_pair some[] = {
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "x"}, {"b", "y"}, {"c", "z"}};
    char bytes[MO_MAX];
    size_t n = mo_build(bytes, some, 3, 0);
    for (size_t row = 1; row < 6; row++)
        memcpy(bytes + 28 + 8 * row, bytes + 28, 8);
    assert_refused(bytes, n, "share bytes");
}

TEST(ids_out_of_order_are_refused)
{
    char bytes[MO_MAX];
    size_t n = mo_build(bytes, (mo_pair[]){{"b", "x"}, {"a", "y"}}, 2, 0);
    assert_refused(bytes, n, "not sorted");
    n = mo_build(bytes, (mo_pair[]){{"a", "x"}, {"a", "y"}}, 2, 0);
    assert_refused(bytes, n, "not sorted");
}

TEST(what_is_not_utf8_is_refused)
{
    char bytes[MO_MAX];
    size_t n = mo_build(bytes, (mo_pair[]){{"a", "gr\xFC\xDF"}}, 1, 0);
    assert_refused(bytes, n, "not UTF-8");
    n = mo_build(bytes, (mo_pair[]){{"", "Content-Type: text/plain; charset=ISO-8859-1\n"}}, 1, 0);
    assert_refused(bytes, n, "'ISO-8859-1'");
    cw_mo mo;
    n = mo_build(bytes, (mo_pair[]){{"", "X: charset=x\nContent-Type: text/plain; charset=utf-8"}},
                 1, 0);
    assert_int_equal(cw_mo_open(cw_str_make(bytes, n), &mo, NULL), CW_OK);
}

/* Whatever one byte is: refused, or opened and then safe to look into. */
TEST(every_changed_byte_is_survived)
{
    static const unsigned char values[] = {0, 1, 4, 0x7F, 0x80, 0xFF};
    char bytes[MO_MAX];
    const mo_pair some[] = {{"", MO_HEADER}, {"List", "Liste"}, {"a\4List", "A"}};
    size_t n = mo_build(bytes, some, CW_COUNT(some), 0);
    for (size_t at = 0; at < n; at++) {
        for (size_t i = 0; i < CW_COUNT(values); i++) {
            char *copy = malloc(n);
            cw_mo mo;
            memcpy(copy, bytes, n);
            copy[at] = (char)values[i];
            if (!cw_mo_open(cw_str_make(copy, n), &mo, NULL)) {
                (void)cw_mo_find(&mo, NONE, CW_STR("List"));
                (void)cw_mo_find(&mo, CW_STR("a"), CW_STR("List"));
                (void)cw_mo_find(&mo, CW_STR("zzz"), CW_STR("zzz"));
            }
            free(copy);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_found_in_both_byte_orders),
        cmocka_unit_test(a_context_is_part_of_the_text),
        cmocka_unit_test(the_header_and_empty_translations_are_not_texts),
        cmocka_unit_test(the_first_plural_form_counts),
        cmocka_unit_test(a_file_without_texts_is_fine),
        cmocka_unit_test(what_is_no_mo_file_is_refused),
        cmocka_unit_test(what_leads_out_of_the_file_is_refused),
        cmocka_unit_test(a_file_that_was_cut_is_refused),
        cmocka_unit_test(strings_on_top_of_each_other_are_refused),
        cmocka_unit_test(ids_out_of_order_are_refused),
        cmocka_unit_test(what_is_not_utf8_is_refused),
        cmocka_unit_test(every_changed_byte_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
