/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/base64.h"
#include "support/test.h"

#define BYTES_MAX 64u

TEST(known_texts_are_right)
{
    static const struct {
        const char *bytes, *text;
    } cases[] = {
        {"", ""},
        {"f", "Zg=="},
        {"ab", "YWI="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xfb\xff\xbf", "+/+/"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_str bytes = cw_str_from(cases[i].bytes), text = cw_str_from(cases[i].text);
        char out[BYTES_MAX];
        size_t n = 99;
        assert_int_equal(cw_base64_encode(bytes, out), text.n);
        assert_int_equal(text.n, CW_BASE64_TEXT(bytes.n));
        assert_memory_equal(out, text.p, text.n);
        assert_true(cw_base64_decode(text, CW_BASE64_PADDED, out, &n));
        assert_true(cw_str_eq(cw_str_make(out, n), bytes));
        assert_true(n <= CW_BASE64_BYTES(text.n));
    }
}

TEST(every_byte_survives_a_round_trip_at_every_place)
{
    for (size_t n = 1; n <= 7; n++)
        for (unsigned byte = 0; byte < 256; byte++)
            for (size_t at = 0; at < n; at++) {
                char bytes[8] = "\x01\xFE\x80\x7F\x55\xAA\xFF", text[12], back[12];
                size_t got = 0;
                bytes[at] = (char)byte;
                size_t len = cw_base64_encode(cw_str_make(bytes, n), text);
                assert_true(cw_base64_decode(cw_str_make(text, len), CW_BASE64_PADDED, back, &got));
                assert_int_equal(got, n);
                assert_memory_equal(back, bytes, n);
            }
}

TEST(padding_may_be_left_out_only_where_allowed)
{
    static const char *const texts[] = {"Zg", "Zm8", "Zm9vYg", "Zm9vYmE"};
    for (size_t i = 0; i < CW_COUNT(texts); i++) {
        char out[BYTES_MAX];
        size_t n = 99;
        assert_false(cw_base64_decode(cw_str_from(texts[i]), CW_BASE64_PADDED, out, &n));
        assert_int_equal(n, 99);
        assert_true(cw_base64_decode(cw_str_from(texts[i]), CW_BASE64_OPTIONAL, out, &n));
        assert_memory_equal(out, "foobar", n);
    }
}

TEST(everything_else_is_refused)
{
    static const char *const wrong[] = {
        "Z",        /* six bits are no byte */
        "Zm9vY",    /* the same */
        "=",        /**/
        "==",       /**/
        "====",     /**/
        "Z===",     /**/
        "Zg=",      /* half the padding */
        "Zg===",    /* more than enough */
        "Zm8==",    /**/
        "Zm9v=",    /* none is due */
        "Zm9v==",   /**/
        "Zm9v====", /**/
        "Zm=v",     /* padding inside */
        "Zg==Zg==", /**/
        "Zh==",     /* bits behind the last byte */
        "Zg8=\n",   /**/
        "Zm9=",     /**/
        "Zh",       /**/
        "Zm9v\n",   /**/
        "Zm 9v",    /**/
        " Zm9",     /**/
        "Zm9-",     /* base64url */
        "Zm9_",     /**/
        "Zm9\x80",  /**/
        "Zm9\xC3",  /**/
    };
    for (size_t i = 0; i < CW_COUNT(wrong); i++)
        for (int padding = CW_BASE64_PADDED; padding <= CW_BASE64_OPTIONAL; padding++) {
            char out[BYTES_MAX];
            size_t n = 99;
            if (cw_base64_decode(cw_str_from(wrong[i]), (cw_base64_padding)padding, out, &n))
                fail_msg("taken: %s", wrong[i]);
            assert_int_equal(n, 99);
        }
    char out[BYTES_MAX];
    size_t n;
    assert_false(cw_base64_decode(cw_str_make("Zm9\0", 4), CW_BASE64_OPTIONAL, out, &n));
}

/* Of all texts of four characters, those that are taken are those that would be written. */
TEST(there_is_one_text_for_each_string_of_bytes)
{
    static const char letters[] = "AQgw+/z9=";
    const size_t base = sizeof letters - 1;
    for (size_t i = 0; i < base * base * base * base; i++) {
        char text[4], out[3], again[4];
        size_t n, rest = i;
        for (size_t at = 0; at < 4; at++, rest /= base)
            text[at] = letters[rest % base];
        if (!cw_base64_decode(cw_str_make(text, 4), CW_BASE64_PADDED, out, &n))
            continue;
        assert_int_equal(cw_base64_encode(cw_str_make(out, n), again), 4);
        assert_memory_equal(again, text, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_texts_are_right),
        cmocka_unit_test(every_byte_survives_a_round_trip_at_every_place),
        cmocka_unit_test(padding_may_be_left_out_only_where_allowed),
        cmocka_unit_test(everything_else_is_refused),
        cmocka_unit_test(there_is_one_text_for_each_string_of_bytes),
    };
    return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
