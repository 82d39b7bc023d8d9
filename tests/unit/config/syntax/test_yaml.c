/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <yaml.h>

#include "base/buf.h"
#include "config/syntax/yaml.h"
#include "support/oom.h"
#include "support/test.h"

#define ARENA_MAX (64u << 20)

/* ---- libyaml without memory ---- */

static int fail_initialize;
static int fail_parse_at; /* the n-th call fails; 0: none */

int __real_yaml_parser_initialize(yaml_parser_t *parser);
int __wrap_yaml_parser_initialize(yaml_parser_t *parser);
int __real_yaml_parser_parse(yaml_parser_t *parser, yaml_event_t *event);
int __wrap_yaml_parser_parse(yaml_parser_t *parser, yaml_event_t *event);

int __wrap_yaml_parser_initialize(yaml_parser_t *parser)
{
    return fail_initialize ? 0 : __real_yaml_parser_initialize(parser);
}

int __wrap_yaml_parser_parse(yaml_parser_t *parser, yaml_event_t *event)
{
    if (fail_parse_at && --fail_parse_at == 0) {
        parser->error = YAML_MEMORY_ERROR;
        return 0;
    }
    return __real_yaml_parser_parse(parser, event);
}

/* ---- helpers ---- */

typedef struct fixture {
    cw_arena arena;
    cw_yaml doc;
    cw_yaml_pos pos;
    cw_err err;
    cw_code rc;
} fixture;

static fixture read_text(cw_str text)
{
    fixture f = {0};
    cw_arena_init(&f.arena, ARENA_MAX);
    f.rc = cw_yaml_read(text, &f.arena, &f.doc, &f.pos, &f.err);
    return f;
}

static void assert_json(const char *yaml, const char *json)
{
    fixture f = read_text(cw_str_from(yaml));
    if (f.rc)
        fail_msg("%s: %s", yaml, f.err.msg);
    cw_arena arena;
    cw_arena_init(&arena, ARENA_MAX);
    const cw_json *expected;
    assert_int_equal(cw_json_read(cw_str_from(json), NULL, &arena, &expected, NULL, NULL), CW_OK);
    if (!cw_json_equal(f.doc.root, expected))
        fail_msg("%s\nwas read as %.*s\nnot as     %s", yaml, CW_STR_ARG(f.doc.text), json);
    cw_arena_done(&arena);
    cw_arena_done(&f.arena);
}

static void assert_refused(cw_str yaml, cw_code code, unsigned line, unsigned column,
                           const char *message)
{
    fixture f = read_text(yaml);
    if (f.rc != code)
        fail_msg("%.*s: %s", CW_STR_ARG(yaml), f.rc ? f.err.msg : "was accepted");
    assert_string_equal(f.err.msg, message);
    assert_int_equal(f.pos.line, line);
    assert_int_equal(f.pos.column, column);
    cw_arena_done(&f.arena);
}

static void assert_at(const fixture *f, const char *pointer, bool is_key, unsigned line,
                      unsigned column)
{
    const cw_json *v = cw_json_pointer(f->doc.root, cw_str_from(pointer));
    assert_non_null(v);
    cw_yaml_pos pos = cw_yaml_locate(&f->doc, is_key ? v - 1 : v);
    if (pos.line != line || pos.column != column)
        fail_msg("%s: %u:%u, not %u:%u", pointer, pos.line, pos.column, line, column);
}

/* A buffer of `n` times `piece`. */
static cw_buf repeat(const char *front, const char *piece, size_t n, const char *back)
{
    cw_buf b;
    cw_buf_init(&b, 16u << 20);
    cw_buf_add(&b, cw_str_from(front));
    for (size_t i = 0; i < n; i++)
        cw_buf_add(&b, cw_str_from(piece));
    cw_buf_add(&b, cw_str_from(back));
    assert_int_equal(b.code, CW_OK);
    return b;
}

/* ---- values ---- */

TEST(plain_scalars_follow_json)
{
    assert_json("[null, true, false]", "[null,true,false]");
    assert_json("[0, -0, 1, -12, 1.5, 0.25, 1e3, 1E-3, -1.5e+10]",
                "[0,-0,1,-12,1.5,0.25,1e3,1E-3,-1.5e+10]");
    assert_json("- 123456789012345678901234567890\n", "[123456789012345678901234567890]");
    assert_json("a:\nb: ~\n", "{\"a\":null,\"b\":\"~\"}");
}

TEST(everything_else_is_a_string)
{
    static const char *const words[] = {
        "yes",   "no",   "on",   "off",   "Null",  "NULL",       "True", "TRUE",
        "False", "~",    "0x10", "0o10",  "010",   "00",         "1_0",  "+1",
        ".5",    "1.",   "1e",   "1e+",   "-",     "--1",        "-a",   "1.2.3",
        ".inf",  ".nan", "NaN",  "12:30", "1:2:3", "2026-01-01", "nul",  "truee",
        "1e5x",  "1 2",  "=",    "0b1",   "1e1.5", "Infinity",   "-.5",  "127.0.0.1:80",
    };
    for (size_t i = 0; i < CW_COUNT(words); i++) {
        char yaml[64], json[64];
        snprintf(yaml, sizeof yaml, "a: %s\n", words[i]);
        snprintf(json, sizeof json, "{\"a\":\"%s\"}", words[i]);
        if (words[i][0] == '-' && !words[i][1])
            continue;
        assert_json(yaml, json);
    }
}

TEST(quoted_scalars_are_strings)
{
    assert_json("[\"1\", '1', \"true\", 'null', \"\", '']",
                "[\"1\",\"1\",\"true\",\"null\",\"\",\"\"]");
    assert_json("a: 'it''s'", "{\"a\":\"it's\"}");
    assert_json("a: \"\\0\\a\\e\\x41\\u00e9\\U0001F600\\/\\\"\"",
                "{\"a\":\"\\u0000\\u0007\\u001bA\\u00e9\\ud83d\\ude00/\\\"\"}");
    assert_json("a: |\n  1\n", "{\"a\":\"1\\n\"}");
    assert_json("a: |-\n  true\n", "{\"a\":\"true\"}");
    assert_json("a: >-\n  one\n  two\n", "{\"a\":\"one two\"}");
}

TEST(containers_nest)
{
    assert_json("a:\n  - 1\n  - b: [x, {c: d}]\n    e: {}\nf: []\n",
                "{\"a\":[1,{\"b\":[\"x\",{\"c\":\"d\"}],\"e\":{}}],\"f\":[]}");
    assert_json("- - - 1\n", "[[[1]]]");
    assert_json("? a\n: b\n", "{\"a\":\"b\"}");
    assert_json("{a, b: }", "{\"a\":null,\"b\":null}");
    assert_json("[a: 1]", "[{\"a\":1}]");
}

TEST(an_empty_text_is_null)
{
    assert_json("", "null");
    assert_json("# nothing\n\n", "null");
    assert_json("---\n", "null");
    assert_json("---\n...\n", "null");
    assert_json("\xef\xbb\xbf", "null");
    fixture f = read_text(CW_STR(""));
    assert_int_equal(cw_yaml_locate(&f.doc, f.doc.root).line, 1);
    cw_arena_done(&f.arena);
}

TEST(a_version_line_and_a_mark_are_fine)
{
    assert_json("%YAML 1.1\n---\na: 1\n...\n", "{\"a\":1}");
    assert_json("\xef\xbb\xbf"
                "a: 1\r\nb: 2\r\n",
                "{\"a\":1,\"b\":2}");
}

TEST(json_is_read_to_the_letter)
{
    /* libyaml refuses escaped surrogates and takes U+2028 for a line break. */
    assert_json("{\"a\":\"\\ud83d\\ude00\",\"b\":\"x \xe2\x80\xa8 y\"}",
                "{\"a\":\"\\ud83d\\ude00\",\"b\":\"x \\u2028 y\"}");
    assert_json("\n\t{\n\t\"a\" : [ 1,2 ],\n\t\"b\":{\"c\":null}}\n",
                "{\"a\":[1,2],\"b\":{\"c\":null}}");
    /* Not JSON, but YAML. */
    assert_json("{a: 1, \"b\":2, }", "{\"a\":1,\"b\":2}");
    /* Other JSON values are YAML as well. */
    assert_json("[1,\"a\",{\"b\":[true,null]}]", "[1,\"a\",{\"b\":[true,null]}]");
    assert_json("\"a\"", "\"a\"");
}

/* ---- positions ---- */

TEST(keys_and_values_know_their_place)
{
    fixture f = read_text(CW_STR("# top\n"
                                 "listen:\n"
                                 "  - 127.0.0.1:80\n"
                                 "  - address: \"x\"\n"
                                 "    tls:  true\n"
                                 "limits: {a: 1,\n"
                                 "  b: [2, 3]}\n"
                                 "\xc3\xa9\xc3\xa9: z\n"));
    assert_int_equal(f.rc, CW_OK);
    assert_at(&f, "", false, 2, 1);
    assert_at(&f, "/listen", true, 2, 1);
    assert_at(&f, "/listen", false, 3, 3);
    assert_at(&f, "/listen/0", false, 3, 5);
    assert_at(&f, "/listen/1", false, 4, 5);
    assert_at(&f, "/listen/1/address", true, 4, 5);
    assert_at(&f, "/listen/1/address", false, 4, 14);
    assert_at(&f, "/listen/1/tls", true, 5, 5);
    assert_at(&f, "/listen/1/tls", false, 5, 11);
    assert_at(&f, "/limits", false, 6, 9);
    assert_at(&f, "/limits/a", false, 6, 13);
    assert_at(&f, "/limits/b", true, 7, 3);
    assert_at(&f, "/limits/b/1", false, 7, 10);
    assert_at(&f, "/\xc3\xa9\xc3\xa9", false, 8, 5); /* characters, not bytes */
    cw_arena_done(&f.arena);
}

TEST(json_knows_its_place_too)
{
    fixture f = read_text(CW_STR("{\n  \"a\\u0062\": [1,\n    {\"c\": \"\\n\"}]\n}"));
    assert_int_equal(f.rc, CW_OK);
    assert_null(f.doc.positions);
    assert_at(&f, "", false, 1, 1);
    assert_at(&f, "/ab", true, 2, 3);
    assert_at(&f, "/ab", false, 2, 14);
    assert_at(&f, "/ab/0", false, 2, 15);
    assert_at(&f, "/ab/1/c", true, 3, 6);
    assert_at(&f, "/ab/1/c", false, 3, 11);
    cw_arena_done(&f.arena);
}

/* ---- refusals ---- */

#define ALIASES                                                                                    \
    "anchors and aliases are not supported; put a value that begins with \"&\" or \"*\" in quotes"
#define TAGS "tags are not supported; put a value that begins with \"!\" in quotes"

TEST(anchors_and_aliases_are_refused)
{
    assert_refused(CW_STR("a: &x 1\n"), CW_PARSE, 1, 4, ALIASES);
    assert_refused(CW_STR("a: &x [1]\n"), CW_PARSE, 1, 4, ALIASES);
    assert_refused(CW_STR("&x a: 1\n"), CW_PARSE, 1, 1, ALIASES);
    assert_refused(CW_STR("--- &x\na: 1\n"), CW_PARSE, 1, 5, ALIASES);
    assert_refused(CW_STR("b: *x\n"), CW_PARSE, 1, 4, ALIASES);
    assert_refused(CW_STR("hosts: [*.example.org]\n"), CW_PARSE, 1, 10, ALIASES);
    assert_refused(CW_STR("listen: *:80\n"), CW_PARSE, 1, 10, ALIASES);
    assert_refused(CW_STR("a: &\n"), CW_PARSE, 1, 5, ALIASES);
}

/* Nine levels of nine references: a billion values in any reader that expands them. */
TEST(an_alias_bomb_is_refused_at_its_first_anchor)
{
    cw_buf b = repeat("a: &a [\"x\",", "\"x\",", 8, "]\n");
    for (int c = 'b'; c < 'k'; c++) {
        cw_buf_printf(&b, "%c: &%c [", c, c);
        for (int i = 0; i < 9; i++)
            cw_buf_printf(&b, "*%c,", c - 1);
        cw_buf_printf(&b, "]\n");
    }
    assert_refused(cw_buf_str(&b), CW_PARSE, 1, 4, ALIASES);
    cw_buf_done(&b);
}

TEST(tags_are_refused)
{
    assert_refused(CW_STR("a: !!str 1\n"), CW_PARSE, 1, 4, TAGS);
    assert_refused(CW_STR("a: !x {}\n"), CW_PARSE, 1, 4, TAGS);
    assert_refused(CW_STR("a: !x []\n"), CW_PARSE, 1, 4, TAGS);
    assert_refused(CW_STR("a: ! 1\n"), CW_PARSE, 1, 4, TAGS);
    assert_refused(CW_STR("\xc3\xa9: ! [1]\n"), CW_PARSE, 1, 4, TAGS);
    assert_refused(CW_STR("!!python/object:os.system a: 1\n"), CW_PARSE, 1, 1, TAGS);
    assert_refused(CW_STR("a: !x!y 1\n"), CW_PARSE, 1, 4, TAGS);
    assert_refused(CW_STR("%TAG ! tag:x,2000:\n---\na: 1\n"), CW_PARSE, 1, 1, TAGS);
}

TEST(keys_are_strings_and_appear_once)
{
    assert_refused(CW_STR("a: 1\nb: 2\na: 3\n"), CW_PARSE, 3, 1,
                   "key \"a\" appears twice; it is on line 1 already");
    assert_refused(CW_STR("a: 1\n\"\\x61\": 3\n"), CW_PARSE, 2, 1,
                   "key \"a\" appears twice; it is on line 1 already");
    assert_refused(CW_STR("x:\n  - {b: 1, c: 2, b: 3}\n"), CW_PARSE, 2, 18,
                   "key \"b\" appears twice; it is on line 2 already");
    assert_refused(CW_STR("{\"a\":1,\n\"a\":2}"), CW_PARSE, 2, 1,
                   "key \"a\" appears twice; it is on line 1 already");
    assert_json("a: {x: 1}\nb: {x: 1}\n", "{\"a\":{\"x\":1},\"b\":{\"x\":1}}");
    assert_refused(CW_STR("1: a\n"), CW_PARSE, 1, 1, "keys are strings: put \"1\" in quotes");
    assert_refused(CW_STR("null: a\n"), CW_PARSE, 1, 1, "keys are strings: put \"null\" in quotes");
    assert_refused(CW_STR("a:\n  true: b\n"), CW_PARSE, 2, 3,
                   "keys are strings: put \"true\" in quotes");
    assert_refused(CW_STR("?\n: a\n"), CW_PARSE, 1, 2, "a key is missing in front of \":\"");
    assert_json("'1': a\n", "{\"1\":\"a\"}");
    assert_json("'': a\n", "{\"\":\"a\"}");
    assert_refused(CW_STR("[a]: b\n"), CW_PARSE, 1, 1, "a key must be a string, not a list");
    assert_refused(CW_STR("? {a: b}\n: c\n"), CW_PARSE, 1, 3,
                   "a key must be a string, not a mapping");
    assert_refused(CW_STR("<<: {a: 1}\n"), CW_PARSE, 1, 1, "merge keys are not supported");
    assert_json("\"<<\": 1\n", "{\"<<\":1}");
}

TEST(a_key_with_a_nul_is_another_key)
{
    assert_json("\"a\\0b\": 1\n\"a\\0c\": 2\na: 3\n", "{\"a\\u0000b\":1,\"a\\u0000c\":2,\"a\":3}");
}

TEST(one_document_only)
{
    assert_refused(CW_STR("a: 1\n---\nb: 2\n"), CW_PARSE, 2, 1,
                   "a second document begins; one is allowed");
    assert_refused(CW_STR("---\n---\n"), CW_PARSE, 2, 1,
                   "a second document begins; one is allowed");
}

TEST(utf8_only)
{
    assert_refused(CW_STR("a: 1\nb: x\xff\n"), CW_PARSE, 2, 5, "byte 0xff is not UTF-8");
    assert_refused(CW_STR("\xff\xfe"
                          "a\0:\0"),
                   CW_PARSE, 1, 1, "byte 0xff is not UTF-8");
    assert_refused(CW_STR("a: \xc0\x80\n"), CW_PARSE, 1, 4, "byte 0xc0 is not UTF-8");
    assert_refused(CW_STR("a: \xed\xa0\x80\n"), CW_PARSE, 1, 4, "byte 0xed is not UTF-8");
    assert_refused(CW_STR("\xc3\xa9: \xc3"), CW_PARSE, 1, 4, "byte 0xc3 is not UTF-8");
    assert_refused(CW_STR("{\"a\":\"\xff\"}"), CW_PARSE, 1, 7, "byte 0xff is not UTF-8");
}

TEST(characters_that_mean_something_else_are_refused)
{
    static const struct {
        const char *text;
        unsigned code;
    } cases[] = {
        {"\x01", 1},
        {"\x1b", 0x1b},
        {"\x7f", 0x7f},
        {"\xc2\x80", 0x80},
        {"\xc2\x85", 0x85},
        {"\xe2\x80\xa8", 0x2028},
        {"\xe2\x80\xa9", 0x2029},
        {"\xef\xbb\xbf", 0xfeff},
        {"\xef\xbf\xbe", 0xfffe},
        {"\xef\xbf\xbf", 0xffff},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char yaml[64], message[128];
        snprintf(yaml, sizeof yaml, "a: 1\r\nb: \"%s\"\n", cases[i].text);
        snprintf(message, sizeof message,
                 "character U+%04X is not allowed; write it in double quotes as \\u%04x",
                 cases[i].code, cases[i].code);
        assert_refused(cw_str_from(yaml), CW_PARSE, 2, 5, message);
    }
    assert_refused(CW_STR("a: \0\n"), CW_PARSE, 1, 4,
                   "character U+0000 is not allowed; write it in double quotes as \\u0000");
    assert_refused(CW_STR("a: 1\rb: 1\r\r\nc: \x01"), CW_PARSE, 4, 4,
                   "character U+0001 is not allowed; write it in double quotes as \\u0001");
}

TEST(slips_are_explained)
{
    assert_refused(
        CW_STR("a:\n\tb: 1\n"), CW_PARSE, 2, 1,
        "this character cannot begin a value: indent with spaces, and put text in quotes");
    assert_refused(
        CW_STR("a: @x\n"), CW_PARSE, 1, 4,
        "this character cannot begin a value: indent with spaces, and put text in quotes");
    assert_refused(CW_STR("a: b: c\n"), CW_PARSE, 1, 5,
                   "unexpected \":\": put text that holds \": \" in quotes");
    assert_refused(CW_STR("listen: [::1]:80\n"), CW_PARSE, 1, 10,
                   "expected a value: put text that begins with a bracket or a colon in quotes");
    assert_refused(CW_STR("a: 1\nb\nc: 2\n"), CW_PARSE, 3, 1, "expected \":\" behind the key");
    assert_refused(CW_STR("a: [1, 2\nb: 3\n"), CW_PARSE, 2, 2,
                   "did not find expected ',' or ']' while parsing a flow sequence that begins on "
                   "line 1");
    assert_refused(CW_STR("a: \"x\n"), CW_PARSE, 2, 1,
                   "found unexpected end of stream while scanning a quoted scalar that begins on "
                   "line 1");
}

/* ---- ceilings ---- */

TEST(depth_has_a_ceiling)
{
    cw_buf ok = repeat("", "[", CW_CONFIG_MAX_DEPTH, "");
    for (unsigned i = 0; i < CW_CONFIG_MAX_DEPTH; i++)
        cw_buf_add_char(&ok, ']');
    fixture f = read_text(cw_buf_str(&ok));
    assert_int_equal(f.rc, CW_OK);
    cw_arena_done(&f.arena);
    cw_buf_done(&ok);

    cw_buf deep = repeat("", "[", CW_CONFIG_MAX_DEPTH + 1, "");
    assert_refused(cw_buf_str(&deep), CW_LIMIT, 1, CW_CONFIG_MAX_DEPTH + 1,
                   "nested deeper than 32 levels");
    cw_buf_done(&deep);
    deep = repeat("", "{\"a\":", CW_CONFIG_MAX_DEPTH + 1, "");
    assert_refused(cw_buf_str(&deep), CW_LIMIT, 1, CW_CONFIG_MAX_DEPTH * 5 + 1,
                   "nested deeper than 32 levels");
    cw_buf_done(&deep);
    deep = repeat("", "- ", 500000, "");
    assert_refused(cw_buf_str(&deep), CW_LIMIT, 1, CW_CONFIG_MAX_DEPTH * 2 + 1,
                   "nested deeper than 32 levels");
    cw_buf_done(&deep);
}

TEST(size_has_a_ceiling)
{
    cw_buf b = repeat("", "#", CW_CONFIG_MAX_BYTES, "");
    fixture f = read_text(cw_buf_str(&b));
    assert_int_equal(f.rc, CW_OK);
    cw_arena_done(&f.arena);
    cw_buf_add_char(&b, '#');
    assert_refused(cw_buf_str(&b), CW_LIMIT, 1, 1, "the file is larger than 1048576 bytes");
    cw_buf_done(&b);
}

TEST(keys_have_a_ceiling)
{
    cw_buf b;
    cw_buf_init(&b, CW_CONFIG_MAX_BYTES);
    for (unsigned i = 0; i < CW_JSON_MAX_MEMBERS; i++)
        cw_buf_printf(&b, "k%u: 1\n", i);
    fixture f = read_text(cw_buf_str(&b));
    assert_int_equal(f.rc, CW_OK);
    assert_int_equal(cw_json_count(f.doc.root), CW_JSON_MAX_MEMBERS);
    cw_arena_done(&f.arena);
    cw_buf_printf(&b, "more: 1\n");
    assert_refused(cw_buf_str(&b), CW_LIMIT, CW_JSON_MAX_MEMBERS + 1, 1,
                   "more than 10000 keys in one mapping");
    cw_buf_done(&b);
}

/* The densest texts of a whole megabyte stay within the memory that config.c grants. */
TEST(the_densest_text_fits_its_arena)
{
    static const struct {
        const char *front, *piece, *back;
    } cases[] = {
        {"[", "a: b,", "]"},
        {"[", "0,", "]"},
        {"", "-\n", ""},
        {"a: \"", "\\0", "\""},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        size_t n = (CW_CONFIG_MAX_BYTES - 8) / strlen(cases[i].piece);
        cw_buf b = repeat(cases[i].front, cases[i].piece, n, cases[i].back);
        fixture f = read_text(cw_buf_str(&b));
        if (f.rc)
            fail_msg("%s: %s", cases[i].piece, f.err.msg);
        cw_arena_done(&f.arena);
        cw_buf_done(&b);
    }
}

/* ---- no memory ---- */

static const char ordinary[] =
    "listen:\n  - address: \"a:1\"\n    tls: true\nlimits: {a: 1, b: [2, 3]}\n";

static void read_once(void *ctx)
{
    fixture f = read_text(cw_str_from(ctx));
    assert_true(f.rc == CW_OK || f.rc == CW_NOMEM);
    if (oom_was_hit()) {
        assert_int_equal(f.rc, CW_NOMEM);
        assert_int_equal(f.pos.line, 0);
        assert_string_equal(f.err.msg, "out of memory");
    }
    cw_arena_done(&f.arena);
}

TEST(every_failed_allocation_is_reported)
{
    char yaml[sizeof ordinary];
    memcpy(yaml, ordinary, sizeof yaml);
    assert_true(oom_each(read_once, yaml) >= 4);
    char json[] = "{\"a\":[1,2,{\"b\":\"c\\n\"}]}";
    assert_true(oom_each(read_once, json) >= 1);
}

TEST(libyaml_without_memory_is_reported)
{
    fail_initialize = 1;
    fixture f = read_text(cw_str_from(ordinary));
    fail_initialize = 0;
    assert_int_equal(f.rc, CW_NOMEM);
    assert_int_equal(f.pos.line, 0);
    cw_arena_done(&f.arena);
    for (int n = 1;; n++) {
        fail_parse_at = n;
        f = read_text(cw_str_from(ordinary));
        bool is_over = fail_parse_at > 0;
        fail_parse_at = 0;
        cw_arena_done(&f.arena);
        if (is_over) {
            assert_int_equal(f.rc, CW_OK);
            assert_true(n > 20);
            break;
        }
        assert_int_equal(f.rc, CW_NOMEM);
        assert_int_equal(f.pos.line, 0);
    }
}

TEST(a_full_arena_is_reported)
{
    cw_arena arena;
    cw_arena_init(&arena, 4096);
    cw_buf b = repeat("[", "0,", 5000, "]");
    cw_yaml doc;
    cw_yaml_pos pos;
    cw_err err = {0};
    assert_int_equal(cw_yaml_read(cw_buf_str(&b), &arena, &doc, &pos, &err), CW_LIMIT);
    assert_true(err.msg[0]);
    cw_buf_done(&b);
    cw_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_scalars_follow_json),
        cmocka_unit_test(everything_else_is_a_string),
        cmocka_unit_test(quoted_scalars_are_strings),
        cmocka_unit_test(containers_nest),
        cmocka_unit_test(an_empty_text_is_null),
        cmocka_unit_test(a_version_line_and_a_mark_are_fine),
        cmocka_unit_test(json_is_read_to_the_letter),
        cmocka_unit_test(keys_and_values_know_their_place),
        cmocka_unit_test(json_knows_its_place_too),
        cmocka_unit_test(anchors_and_aliases_are_refused),
        cmocka_unit_test(an_alias_bomb_is_refused_at_its_first_anchor),
        cmocka_unit_test(tags_are_refused),
        cmocka_unit_test(keys_are_strings_and_appear_once),
        cmocka_unit_test(a_key_with_a_nul_is_another_key),
        cmocka_unit_test(one_document_only),
        cmocka_unit_test(utf8_only),
        cmocka_unit_test(characters_that_mean_something_else_are_refused),
        cmocka_unit_test(slips_are_explained),
        cmocka_unit_test(depth_has_a_ceiling),
        cmocka_unit_test(size_has_a_ceiling),
        cmocka_unit_test(keys_have_a_ceiling),
        cmocka_unit_test(the_densest_text_fits_its_arena),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(libyaml_without_memory_is_reported),
        cmocka_unit_test(a_full_arena_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
