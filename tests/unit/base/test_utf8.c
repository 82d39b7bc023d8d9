/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/utf8.h"
#include "support/test.h"

TEST(every_character_survives_a_round_trip)
{
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
        if (cp >= 0xD800 && cp <= 0xDFFF)
            continue;
        char text[4];
        uint32_t back = 0;
        unsigned len = cw_utf8_encode(cp, text);
        unsigned expected = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
        if (len != expected || cw_utf8_decode(text, len, &back) != len || back != cp)
            fail_msg("U+%04X: length %u, back U+%04X", (unsigned)cp, len, (unsigned)back);
        /* Every shorter piece is ill-formed. */
        for (unsigned n = 0; n < len; n++)
            if (cw_utf8_len(text, n) != 0)
                fail_msg("U+%04X cut to %u bytes is taken", (unsigned)cp, n);
    }
}

TEST(ill_formed_sequences_are_refused)
{
    static const char *const bad[] = {
        "\x80",     /* tail alone */
        "\xBF",     /**/
        "\xC0\x80", /* overlong NUL */
        "\xC1\xBF", /* overlong DEL */
        "\xC2",     /* cut short */
        "\xC2 ",    /* no tail */
        "\xE0\x80\x80",
        "\xE0\x9F\xBF", /* overlong */
        "\xED\xA0\x80",
        "\xED\xBF\xBF", /* surrogates */
        "\xE2\x82",     /* cut short */
        "\xE2\x28\xA1", /* bad second byte */
        "\xF0\x80\x80\x80",
        "\xF0\x8F\xBF\xBF", /* overlong */
        "\xF4\x90\x80\x80", /* above U+10FFFF */
        "\xF5\x80\x80\x80",
        "\xF8\x88\x80\x80\x80",
        "\xFE",
        "\xFF",
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        uint32_t cp = 0x1234;
        assert_int_equal(cw_utf8_decode(bad[i], strlen(bad[i]), &cp), 0);
        assert_int_equal(cp, 0x1234);
        assert_false(cw_utf8_is_valid(cw_str_from(bad[i])));
    }
}

/* All strings of one to three bytes with the lead bytes where rules change, against a plain
 * restatement of the definition. */
TEST(decode_agrees_with_encode_on_all_short_strings)
{
    static const unsigned char leads[] = {0x7F, 0x80, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0,
                                          0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF4};
    for (size_t i = 0; i < CW_COUNT(leads); i++) {
        for (unsigned rest = 0; rest < 0x10000; rest++) {
            const char text[3] = {(char)leads[i], (char)(rest >> 8), (char)rest};
            char again[4];
            uint32_t cp = 0;
            unsigned len = cw_utf8_decode(text, sizeof(text), &cp);
            if (len > 0 && (cw_utf8_encode(cp, again) != len || memcmp(text, again, len) != 0))
                fail_msg("%02X %04X decodes to U+%04X", leads[i], rest, (unsigned)cp);
            bool good2 = leads[i] >= 0xC2 && leads[i] <= 0xDF && (rest >> 14) == 2;
            if (leads[i] < 0xE0 && len != (leads[i] < 0x80 ? 1 : good2 ? 2 : 0))
                fail_msg("%02X %04X has length %u", leads[i], rest, len);
        }
    }
}

TEST(valid_checks_every_position)
{
    char text[40];
    for (size_t n = 0; n <= sizeof(text); n++) {
        memset(text, 'a', sizeof(text));
        assert_true(cw_utf8_is_valid(cw_str_make(text, n)));
        for (size_t at = 0; at < n; at++) {
            text[at] = (char)0xFF;
            assert_false(cw_utf8_is_valid(cw_str_make(text, n)));
            text[at] = 'a';
        }
        for (size_t at = 0; at + 4 <= n; at++) {
            assert_int_equal(cw_utf8_encode(0x1F600, text + at), 4);
            assert_true(cw_utf8_is_valid(cw_str_make(text, n)));
            assert_false(cw_utf8_is_valid(cw_str_make(text, at + 3)));
            memset(text + at, 'a', 4);
        }
    }
    assert_true(cw_utf8_is_valid((cw_str){NULL, 0}));
}

TEST(cut_never_splits_a_character)
{
    cw_str s = CW_STR("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z");
    static const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (size_t max = 0; max < CW_COUNT(expected); max++)
        assert_int_equal(cw_utf8_cut(s, max), expected[max]);
}

TEST(cut_of_ill_formed_text_is_as_long_as_it_may_be)
{
    assert_int_equal(cw_utf8_cut(CW_STR("\x80\x80\x80\x80\x80\x80"), 4), 4);
    assert_int_equal(cw_utf8_cut(CW_STR("a\x80\x80"), 2), 2);
    assert_int_equal(cw_utf8_cut(CW_STR("\xE2\x82"), 1), 1);
    assert_int_equal(cw_utf8_cut(CW_STR("\xC3\xA9\xA9\xA9"), 3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_survives_a_round_trip),
        cmocka_unit_test(ill_formed_sequences_are_refused),
        cmocka_unit_test(decode_agrees_with_encode_on_all_short_strings),
        cmocka_unit_test(valid_checks_every_position),
        cmocka_unit_test(cut_never_splits_a_character),
        cmocka_unit_test(cut_of_ill_formed_text_is_as_long_as_it_may_be),
    };
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
