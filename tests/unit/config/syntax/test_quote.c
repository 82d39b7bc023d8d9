/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/utf8.h"
#include "config/syntax/quote.h"
#include "config/syntax/yaml.h"
#include "support/test.h"

static void assert_quoted(cw_str text, const char *expected)
{
    cw_buf out;
    cw_buf_init(&out, 1 << 16);
    cw_quote(&out, text);
    char *exposed = cw_buf_take(&out, NULL);
    assert_string_equal(exposed, expected);
    free(exposed);
}

TEST(what_is_only_looked_at_keeps_its_quotes)
{
    cw_buf out;
    cw_buf_init(&out, 1 << 16);
    cw_quote_shown(&out, CW_STR("{\"a\":\"\\n\"}\n\x1b[31m\xe2\x80\xae"));
    char *exposed = cw_buf_take(&out, NULL);
    assert_string_equal(exposed, "{\"a\":\"\\n\"}\\u000a\\u001b[31m\\u202e");
    free(exposed);
}

TEST(ordinary_text_stays_as_it_is)
{
    assert_quoted(CW_STR(""), "\"\"");
    assert_quoted(CW_STR("plain text/with:things"), "\"plain text/with:things\"");
    assert_quoted(CW_STR("caf\xc3\xa9 \xf0\x9f\x98\x80"), "\"caf\xc3\xa9 \xf0\x9f\x98\x80\"");
}

TEST(what_acts_on_a_terminal_is_escaped)
{
    assert_quoted(CW_STR("a\"b\\c"), "\"a\\\"b\\\\c\"");
    assert_quoted(CW_STR("\x1b[31m\n\t\0\x7f"), "\"\\u001b[31m\\u000a\\u0009\\u0000\\u007f\"");
    assert_quoted(CW_STR("\xc2\x9b"), "\"\\u009b\"");     /* C1 CSI */
    assert_quoted(CW_STR("\xe2\x80\xae"), "\"\\u202e\""); /* right-to-left override */
    assert_quoted(CW_STR("\xe2\x80\xa8"), "\"\\u2028\""); /* line separator */
    assert_quoted(CW_STR("\xe2\x81\xa6"), "\"\\u2066\""); /* isolate */
    assert_quoted(CW_STR("\xe2\x80\x8b"), "\"\\u200b\""); /* zero-width space */
    assert_quoted(CW_STR("\xef\xbb\xbf"), "\"\\ufeff\""); /* byte order mark */
    assert_quoted(CW_STR("\xef\xbf\xbf"), "\"\\uffff\"");
    assert_quoted(CW_STR("\xff\xc3"), "\"\\ufffd\\ufffd\""); /* not UTF-8 */
}

/* The promise that `config show` stands on. */
TEST(every_character_reads_back_from_yaml)
{
    /* All of the first plane that is special somewhere, samples of the rest. */
    for (uint32_t cp = 0; cp <= 0x10ffff;
         cp += cp < 0x3000 || (cp > 0xfe00 && cp < 0x10100) ? 1 : 61) {
        if (cp >= 0xd800 && cp <= 0xdfff)
            continue;
        char raw[4];
        cw_str text = {raw, cw_utf8_encode(cp, raw)};
        cw_buf out;
        cw_buf_init(&out, 64);
        cw_quote(&out, text);
        cw_arena arena;
        cw_arena_init(&arena, 1 << 20);
        cw_yaml doc;
        cw_yaml_pos pos;
        cw_err err = {0};
        cw_code rc = cw_yaml_read(cw_buf_str(&out), &arena, &doc, &pos, &err);
        if (rc || !cw_str_eq(cw_json_text(doc.root), text))
            fail_msg("U+%04X: %s", (unsigned)cp, err.msg);
        cw_arena_done(&arena);
        cw_buf_done(&out);
    }
}

TEST(excerpts_are_cut_and_fit)
{
    char out[CW_EXCERPT_SIZE];
    assert_string_equal(cw_excerpt(CW_STR("short"), out), "\"short\"");
    char forty[41];
    memset(forty, 'x', 41);
    cw_excerpt(cw_str_make(forty, 40), out);
    assert_int_equal(strlen(out), 42);
    cw_excerpt(cw_str_make(forty, 41), out);
    assert_int_equal(strlen(out), 45);
    assert_string_equal(out + 40, "x...\"");
    /* The longest form of every character, and more of them. */
    char controls[100];
    memset(controls, 1, sizeof controls);
    cw_excerpt(cw_str_make(controls, sizeof controls), out);
    assert_int_equal(strlen(out), CW_EXCERPT_SIZE - 1);
    assert_string_equal(out + strlen(out) - 10, "\\u0001...\"");
}

TEST(bare_text_has_no_quotes)
{
    cw_buf out;
    cw_buf_init(&out, 64);
    cw_quote_bare(&out, CW_STR("dir/\x1b]0;x.yaml"));
    assert_true(cw_str_is(cw_buf_str(&out), "dir/\\u001b]0;x.yaml"));
    cw_buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_only_looked_at_keeps_its_quotes),
        cmocka_unit_test(ordinary_text_stays_as_it_is),
        cmocka_unit_test(what_acts_on_a_terminal_is_escaped),
        cmocka_unit_test(every_character_reads_back_from_yaml),
        cmocka_unit_test(excerpts_are_cut_and_fit),
        cmocka_unit_test(bare_text_has_no_quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
