/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/utf8.h"
#include "support/json_fixture.h"

TEST_WITH(escapes_are_decoded_and_their_source_is_kept, cw_arena *a)
{
    static const struct {
        const char *text;
        cw_str decoded;
    } cases[] = {
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", CW_STR_INIT("\"\\/\b\f\n\r\t")},
        {"\"\\u0041\\u00e9\\u20AC\"", CW_STR_INIT("A\xC3\xA9\xE2\x82\xAC")},
        {"\"\\uD83D\\uDE00\"", CW_STR_INIT("\xF0\x9F\x98\x80")},
        {"\"\\uDBFF\\uDFFF\"", CW_STR_INIT("\xF4\x8F\xBF\xBF")},
        {"\"\\ud800\\udc00\"", CW_STR_INIT("\xF0\x90\x80\x80")},
        {"\"\\uFFFF\\uD7FF\\uE000\"", CW_STR_INIT("\xEF\xBF\xBF\xED\x9F\xBF\xEE\x80\x80")},
        {"\"a\\u0000b\"", CW_STR_INIT("a\0b")},
        {"\"\\u0000\"", CW_STR_INIT("\0")},
        {"\"caf\xC3\xA9\\n\xE2\x82\xAC\"", CW_STR_INIT("caf\xC3\xA9\n\xE2\x82\xAC")},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        const cw_json *v = must_read(a, cases[i].text);
        assert_true(cw_str_eq(cw_json_text(v), cases[i].decoded));
        assert_true(v->meta & CW_JSON_DECODED);
        assert_str(span_of(v), cases[i].text);
    }
}

TEST_WITH(strings_without_escapes_stay_in_the_source, cw_arena *a)
{
    cw_str src = CW_STR("[\"plain\",\"caf\xC3\xA9\",\"\",\"\x7F\"]");
    const cw_json *root;
    assert_int_equal(cw_json_read(src, NULL, a, &root, NULL, NULL), CW_OK);
    for (const cw_json *v = cw_json_first(root); v; v = cw_json_next(v)) {
        assert_true(v->p >= src.p && v->p + v->n <= src.p + src.n);
        assert_false(v->meta & CW_JSON_DECODED);
    }
}

TEST_WITH(keys_are_decoded_before_they_are_compared, cw_arena *a)
{
    const cw_json *v = must_read(a, "{\"\\u0069d\":1,\"a\\u0000\":2,\"a\":3}");
    assert_str(text_of(cw_json_get(v, CW_STR("id"))), "1");
    assert_str(text_of(cw_json_get(v, CW_STR("a\0"))), "2");
    assert_str(text_of(cw_json_get(v, CW_STR("a"))), "3");
    assert_str(span_of(cw_json_first(v)), "\"\\u0069d\"");
}

/* What a string with one odd part in it must become; NULL: refused. */
typedef struct part {
    cw_str raw;
    const char *decoded;
} part;

static const part parts[] = {
    {CW_STR_INIT("\\n"), "\n"},
    {CW_STR_INIT("\\u00e9"), "\xC3\xA9"},
    {CW_STR_INIT("\\ud83d\\ude00"), "\xF0\x9F\x98\x80"},
    {CW_STR_INIT("\xC3\xA9"), "\xC3\xA9"},
    {CW_STR_INIT("\xE2\x82\xAC"), "\xE2\x82\xAC"},
    {CW_STR_INIT("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80"},
    {CW_STR_INIT("\x7F"), "\x7F"},
    {CW_STR_INIT(" "), " "},
    {CW_STR_INIT("!#[]"), "!#[]"},
    {CW_STR_INIT("\x1F"), NULL},
    {CW_STR_INIT("\0"), NULL},
    {CW_STR_INIT("\x80"), NULL},
    {CW_STR_INIT("\xC3"), NULL},
    {CW_STR_INIT("\xE2\x82"), NULL},
    {CW_STR_INIT("\xF0\x9F\x98"), NULL},
    {CW_STR_INIT("\\"), NULL},
    {CW_STR_INIT("\\u123"), NULL},
    {CW_STR_INIT("\\ud83d"), NULL},
};

/* Every part at every place of strings of every length around the vector's sixteen bytes, at the
 * very end of the memory and with text behind it. */
TEST(every_byte_is_seen_at_every_place)
{
    cw_arena a;
    cw_arena_init(&a, TEST_ARENA_MAX);
    for (size_t k = 0; k < CW_COUNT(parts); k++) {
        for (size_t before = 0; before < 36; before++) {
            for (size_t after = 0; after < 36; after += before < 18 ? 1 : 5) {
                char text[128];
                char want[128];
                memset(text, 'x', sizeof text);
                memset(want, 'x', sizeof want);
                text[0] = '"';
                memcpy(text + 1 + before, parts[k].raw.p, parts[k].raw.n);
                size_t n = 1 + before + parts[k].raw.n + after;
                text[n++] = '"';
                const cw_json *v;
                cw_code rc = try_read(&a, cw_str_make(text, n), NULL, &v);
                if (!parts[k].decoded) {
                    assert_int_equal(rc, CW_PARSE);
                } else {
                    size_t m = strlen(parts[k].decoded);
                    memcpy(want + before, parts[k].decoded, m);
                    assert_int_equal(rc, CW_OK);
                    assert_true(cw_str_eq(cw_json_text(v), cw_str_make(want, before + m + after)));
                }
                cw_arena_reset(&a);
            }
        }
    }
    cw_arena_done(&a);
}

static void check_sequence(cw_arena *a, const char bytes[4])
{
    for (size_t n = 1; n <= 4; n++) {
        char text[6] = {'"'};
        memcpy(text + 1, bytes, n);
        text[n + 1] = '"';
        const cw_json *v;
        cw_str src = cw_str_make(text, n + 2);
        bool valid = cw_utf8_is_valid(cw_str_make(bytes, n)) && !memchr(bytes, '\0', n);
        assert_int_equal(cw_json_read(src, NULL, a, &v, NULL, NULL), valid ? CW_OK : CW_PARSE);
    }
}

/* Every pair of first and second byte, with what may follow, against the check in base. */
TEST_WITH(utf8_is_checked_as_base_checks_it, cw_arena *a)
{
    static const uint32_t tails[] = {0x0000, 0x8080, 0x80BF, 0xBF80, 0xBFBF, 0x7F80,
                                     0x807F, 0xC080, 0x80C0, 0x9080, 0x8F80};
    for (uint32_t lead = 0x80; lead <= 0xFF; lead++) {
        for (uint32_t second = 0x20; second <= 0xFF; second++) {
            if (second == '"' || second == '\\')
                continue;
            for (size_t t = 0; t < CW_COUNT(tails); t++) {
                char bytes[4] = {(char)lead, (char)second, (char)(tails[t] >> 8), (char)tails[t]};
                check_sequence(a, bytes);
            }
        }
        cw_arena_reset(a);
    }
}

typedef struct hex_case {
    const char *name;
    const char *hex;
} hex_case;

/* Original bytes of the parsing suite's files that are not UTF-8; a copy of the suite that went
 * through text has lost them. All must be refused. */
static const hex_case not_utf8[] = {
    {"i UTF-16LE with BOM", "fffe5b002200e90022005d00"},
    {"i UTF-8 invalid sequence", "5b22e697a5d188fa225d"},
    {"i UTF8 surrogate U+D800", "5b22eda080225d"},
    {"i invalid utf-8", "5b22ff225d"},
    {"i iso latin 1", "5b22e9225d"},
    {"i lone continuation byte", "5b2281225d"},
    {"i not in unicode range", "5b22f4bfbfbf225d"},
    {"i overlong 2 bytes", "5b22c0af225d"},
    {"i overlong 6 bytes", "5b22fc83bfbfbfbf225d"},
    {"i overlong 6 bytes null", "5b22fc8080808080225d"},
    {"i truncated utf-8", "5b22e0ff225d"},
    {"i utf16BE no BOM", "005b002200e90022005d"},
    {"i utf16LE no BOM", "5b002200e90022005d00"},
    {"n array a invalid utf8", "5b61e55d"},
    {"n array invalid utf8", "5bff5d"},
    {"n invalid utf-8 in bigger int", "5b313233e55d"},
    {"n invalid utf-8 in exponent", "5b316531e55d"},
    {"n invalid utf-8 in int", "5b30e55d0a"},
    {"n real, invalid utf8 after e", "5b3165e55d"},
    {"n continuation byte in key, trailing comma", "7b22b9223a2230222c7d"},
    {"n invalid utf-8 in escape", "5b225c75e5225d"},
    {"n invalid utf8 after escape", "5b225ce5225d"},
    {"n incomplete UTF8 BOM", "efbb7b7d"},
    {"n lone invalid utf-8", "e5"},
    {"n single eacute", "e9"},
    {"transform: 1 invalid code point", "5b22eda080225d"},
    {"transform: 2 invalid code points", "5b22eda080eda080225d"},
    {"transform: 3 invalid code points", "5b22eda080eda080eda080225d"},
    /* Ours: the same bytes in a key, behind a vector of plain ones, and at the very end. */
    {"key", "7b2261ff223a317d"},
    {"after 16 plain bytes", "2261616161616161616161616161616161c028"},
    {"truncated 4 bytes at the end", "22f09f98"},
    {"overlong 3 bytes", "22e0808022"},
    {"overlong 4 bytes", "22f080808022"},
    {"above U+10FFFF", "22f490808022"},
    {"surrogate pair in UTF-8", "22eda0bdedb88022"},
};

static cw_str from_hex(cw_arena *a, const char *hex)
{
    size_t n = strlen(hex) / 2;
    char *p = cw_arena_alloc(a, n);
    assert_non_null(p);
    for (size_t i = 0; i < n; i++) {
        char byte[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        p[i] = (char)strtoul(byte, NULL, 16);
    }
    return cw_str_make(p, n);
}

TEST_WITH(bytes_that_are_not_utf8_are_refused, cw_arena *a)
{
    for (size_t i = 0; i < CW_COUNT(not_utf8); i++) {
        const cw_json *root;
        cw_str src = from_hex(a, not_utf8[i].hex);
        if (cw_json_read(src, NULL, a, &root, NULL, NULL) != CW_PARSE)
            fail_msg("%s was accepted", not_utf8[i].name);
    }
}

TEST_WITH(a_long_string_is_read_as_one, cw_arena *a)
{
    enum { N = 300000 };
    char *text = cw_arena_alloc(a, N);
    memset(text, 'a', N);
    text[0] = text[N - 1] = '"';
    const cw_json *v = must_read_opts(a, cw_str_make(text, N), NULL);
    assert_int_equal(v->n, N - 2);
    memcpy(text + N / 2, "\\n", 2);
    v = must_read_opts(a, cw_str_make(text, N), NULL);
    assert_int_equal(v->n, N - 3);
    assert_int_equal(cw_json_span(v).n, N);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        arena_test(escapes_are_decoded_and_their_source_is_kept),
        arena_test(strings_without_escapes_stay_in_the_source),
        arena_test(keys_are_decoded_before_they_are_compared),
        cmocka_unit_test(every_byte_is_seen_at_every_place),
        arena_test(utf8_is_checked_as_base_checks_it),
        arena_test(bytes_that_are_not_utf8_are_refused),
        arena_test(a_long_string_is_read_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
