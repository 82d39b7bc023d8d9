/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "docs.h"

#define ROWS 1000

const char *const bench_doc_names[BENCH_DOCS] = {"flat5", "nested3", "uneval", "arr1000"};

#define DRAFT "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
#define UUID(n) "\"5f0c1a2b-3d4e-4f50-8a6b-7c8d9e0f1a0" n "\""

static const char *const schemas[BENCH_DOCS] = {
    [BENCH_FLAT5] =
        DRAFT "\"properties\":{"
              "\"title\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":255,"
              "\"description\":\"What readers see first\"},"
              "\"type\":{\"type\":\"string\",\"enum\":[\"article\",\"page\",\"event\",\"recipe\"]},"
              "\"nid\":{\"type\":\"integer\",\"minimum\":1},\"published\":{\"type\":\"boolean\"},"
              "\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":20}},"
              "\"required\":[\"title\",\"type\"],\"additionalProperties\":false}",
    [BENCH_NESTED3] = DRAFT
    "\"properties\":{\"node\":{\"type\":\"object\",\"properties\":{\"attributes\":{"
    "\"type\":\"object\",\"properties\":{\"title\":{\"type\":\"string\",\"minLength\":1,"
    "\"maxLength\":255},\"status\":{\"type\":\"boolean\"},\"created\":{\"type\":\"string\","
    "\"pattern\":\"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$\"},"
    "\"weight\":{\"type\":\"number\",\"minimum\":-100,\"maximum\":100},\"langcode\":{"
    "\"type\":\"string\",\"pattern\":\"^[a-z]{2}(-[A-Z]{2})?$\"}},\"required\":[\"title\","
    "\"langcode\"],\"additionalProperties\":false},\"relationships\":{\"type\":\"object\","
    "\"properties\":{\"author\":{\"$ref\":\"#/$defs/target\"},\"tags\":{\"type\":\"array\","
    "\"items\":{\"$ref\":\"#/$defs/target\"},\"uniqueItems\":true}},\"required\":[\"author\"],"
    "\"additionalProperties\":false},\"body\":{\"type\":\"object\",\"properties\":{\"format\":{"
    "\"enum\":[\"basic_html\",\"full_html\",\"plain_text\"]},\"value\":{\"type\":\"string\"},"
    "\"summary\":{\"type\":[\"string\",\"null\"]}},\"required\":[\"format\",\"value\"]}},"
    "\"required\":[\"attributes\",\"relationships\"],\"additionalProperties\":false},"
    "\"options\":{\"type\":\"object\",\"properties\":{\"notify\":{\"type\":\"boolean\","
    "\"default\":false},\"revision\":{\"oneOf\":[{\"type\":\"boolean\"},{\"type\":\"string\","
    "\"minLength\":1}]},\"limit\":{\"type\":\"integer\",\"exclusiveMinimum\":0,"
    "\"maximum\":500}},\"additionalProperties\":false}},\"required\":[\"node\"],"
    "\"additionalProperties\":false,\"$defs\":{\"target\":{\"type\":\"object\",\"properties\":{"
    "\"type\":{\"type\":\"string\",\"pattern\":\"^[a-z_]+--[a-z_]+$\"},\"id\":{"
    "\"type\":\"string\",\"minLength\":36,\"maxLength\":36}},\"required\":[\"type\",\"id\"],"
    "\"additionalProperties\":false}}}",
    [BENCH_UNEVAL] = DRAFT
    "\"allOf\":[{\"properties\":{\"id\":{\"type\":\"integer\"},\"kind\":{"
    "\"type\":\"string\"}},\"required\":[\"id\"]},{\"if\":{\"properties\":{\"kind\":{"
    "\"const\":\"user\"}},\"required\":[\"kind\"]},\"then\":{\"properties\":{\"mail\":{"
    "\"type\":\"string\",\"maxLength\":254},\"roles\":{\"type\":\"array\",\"items\":{"
    "\"type\":\"string\"}}},\"required\":[\"mail\"]},\"else\":{\"properties\":{\"title\":{"
    "\"type\":\"string\"}},\"required\":[\"title\"]}}],\"properties\":{\"meta\":{"
    "\"type\":\"object\"}},\"unevaluatedProperties\":false}",
    [BENCH_ARR1000] =
        DRAFT "\"properties\":{\"items\":{\"type\":\"array\",\"minItems\":1,\"items\":{"
              "\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"integer\",\"minimum\":0},"
              "\"name\":{\"type\":\"string\",\"minLength\":1},\"price\":{\"type\":\"number\","
              "\"minimum\":0},\"active\":{\"type\":\"boolean\"},\"kind\":{\"enum\":[\"a\",\"b\","
              "\"c\"]}},\"required\":[\"id\",\"name\",\"price\",\"active\"],"
              "\"additionalProperties\":false}}},\"required\":[\"items\"]}",
};

static const char *const words[] = {
    "node",    "page",  "menu",   "block",   "field",  "entity",    "view",     "term",
    "article", "draft", "author", "comment", "image",  "media",     "path",     "alias",
    "content", "route", "cache",  "config",  "theme",  "module",    "user",     "role",
    "token",   "topic", "layout", "region",  "status", "publish",   "update",   "format",
    "filter",  "query", "revise", "archive", "locale", "translate", "taxonomy",
};

/* xorshift64: the same numbers everywhere. */
static unsigned below(uint64_t *state, unsigned n)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return (unsigned)(x >> 33) % n;
}

static void write_nested(cw_buf *out)
{
    uint64_t rng = 0x2545F4914F6CDD1Du;
    cw_buf_add(
        out,
        CW_STR("{\"node\":{\"attributes\":{\"title\":\"Autumn gathering in town\","
               "\"status\":true,\"created\":\"2026-03-14T09:26:53Z\",\"weight\":-12.5,"
               "\"langcode\":\"en-GB\"},\"relationships\":{\"author\":{"
               "\"type\":\"user--user\",\"id\":" UUID(
                   "1") "},\"tags\":[{"
                        "\"type\":\"taxonomy_term--tags\",\"id\":" UUID(
                            "2") "},{"
                                 "\"type\":\"taxonomy_term--tags\",\"id\":" UUID(
                                     "3") "}]},"
                                          "\"body\":{\"format\":\"basic_html\",\"value\":\"<p>"));
    for (int i = 0; i < 30; i++)
        cw_buf_printf(out, "%s%s", i ? " " : "", words[below(&rng, CW_COUNT(words))]);
    cw_buf_add(out, CW_STR("</p>\",\"summary\":null}},\"options\":{\"notify\":true,"
                           "\"revision\":\"second draft\",\"limit\":50}}"));
}

static void write_rows(cw_buf *out)
{
    uint64_t rng = 0x9E3779B97F4A7C15u;
    cw_buf_add(out, CW_STR("{\"items\":["));
    for (int i = 0; i < ROWS; i++) {
        const char *word = words[below(&rng, CW_COUNT(words))];
        unsigned cents = below(&rng, 100000);
        cw_buf_printf(out, "%s{\"id\":%d,\"name\":\"item %s %d\",\"price\":%u", i ? "," : "", i,
                      word, i, cents / 100);
        if (cents % 100)
            cw_buf_printf(out, ".%02u", cents % 100);
        cw_buf_printf(out, ",\"active\":%s,\"kind\":\"%c\"}", below(&rng, 2) ? "true" : "false",
                      "abc"[below(&rng, 3)]);
    }
    cw_buf_add(out, CW_STR("]}"));
}

const char *bench_doc_schema(bench_doc which)
{
    return schemas[which];
}

void bench_doc_write(bench_doc which, cw_buf *out)
{
    switch (which) {
    case BENCH_FLAT5:
        cw_buf_add(out, CW_STR("{\"title\":\"Autumn gathering\",\"type\":\"article\",\"nid\":4821,"
                               "\"published\":true,\"tags\":[\"news\",\"harvest\",\"garden\"]}"));
        break;
    case BENCH_NESTED3:
        write_nested(out);
        break;
    case BENCH_UNEVAL:
        cw_buf_add(out, CW_STR("{\"id\":17,\"kind\":\"user\",\"mail\":\"ada@example.org\","
                               "\"roles\":[\"editor\",\"admin\"],\"meta\":{\"a\":1}}"));
        break;
    case BENCH_ARR1000:
        write_rows(out);
        break;
    case BENCH_DOCS:
        break;
    }
}
