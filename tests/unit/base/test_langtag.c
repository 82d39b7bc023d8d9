/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/langtag.h"
#include "support/test.h"

TEST(tags_have_a_language_and_parts)
{
    static const char *const right[] = {"de", "gsw", "pt-BR", "zh-Hant-TW", "es-419", "de-1996"};
    static const char *const wrong[] = {
        "",       "d",  "germ",         "d1",      "de-",   "-de", "de_AT", "de--AT", "*",
        "de-a b", "dé", "de-123456789", "de-AT.x", "de/AT", "..",  "de;q",  "de-é"};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        assert_true(cw_langtag_is_valid(cw_str_from(right[i])));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (cw_langtag_is_valid(cw_str_from(wrong[i])))
            fail_msg("'%s' was taken", wrong[i]);
    }
    assert_false(cw_langtag_is_valid(CW_STR("de\0")));
    assert_true(cw_langtag_is_valid(CW_STR("de-12345678-12345678-12345678-12345")));
    assert_false(cw_langtag_is_valid(CW_STR("de-12345678-12345678-12345678-123456")));
}

static void assert_formatted(const char *name, const char *expected)
{
    char out[CW_LANGTAG_MAX + 1] = "";
    size_t n = cw_langtag_format(cw_str_from(name), out);
    assert_int_equal(n, strlen(expected));
    assert_memory_equal(out, expected, n);
}

TEST(names_of_gettext_become_tags)
{
    assert_formatted("DE", "de");
    assert_formatted("pt_br", "pt-BR");
    assert_formatted("ZH_hANT_tw", "zh-Hant-TW");
    assert_formatted("de-1996", "de-1996");
    assert_formatted("sr@latin", "");
    assert_formatted("examples", "");
    assert_formatted("", "");
}

TEST(a_range_covers_whole_parts)
{
    assert_true(cw_langtag_covers(CW_STR("pt"), CW_STR("pt-BR")));
    assert_true(cw_langtag_covers(CW_STR("PT-br"), CW_STR("pt-BR")));
    assert_false(cw_langtag_covers(CW_STR("pt-BR"), CW_STR("pt")));
    assert_false(cw_langtag_covers(CW_STR("de"), CW_STR("deu")));
    assert_false(cw_langtag_covers(CW_STR(""), CW_STR("de")));
    assert_true(cw_str_is(cw_langtag_widen(CW_STR("zh-Hant-TW")), "zh-Hant"));
    assert_true(cw_str_is(cw_langtag_widen(CW_STR("zh")), ""));
    assert_true(cw_str_is(cw_langtag_widen(CW_STR("")), ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_have_a_language_and_parts),
        cmocka_unit_test(names_of_gettext_become_tags),
        cmocka_unit_test(a_range_covers_whole_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
