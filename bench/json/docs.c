/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "docs.h"

#define TOOLS 50
#define ROWS 5257

const char *const bench_doc_names[BENCH_DOCS] = {"call", "response", "list", "array"};

static const char *const words[] = {
    "node",    "page",  "menu",   "block",   "field",  "entity",    "view",     "term",
    "article", "draft", "author", "comment", "image",  "media",     "path",     "alias",
    "content", "route", "cache",  "config",  "theme",  "module",    "user",     "role",
    "token",   "topic", "layout", "region",  "status", "publish",   "update",   "format",
    "filter",  "query", "revise", "archive", "locale", "translate", "taxonomy",
};

/* xorshift64: the same numbers everywhere. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

static unsigned below(uint64_t *state, unsigned n)
{
    return (unsigned)(next_random(state) >> 33) % n;
}

static const char *word(uint64_t *state)
{
    return words[below(state, CW_COUNT(words))];
}

static void add_words(cw_buf *out, uint64_t *state, int n)
{
    for (int i = 0; i < n; i++)
        cw_buf_printf(out, "%s%s", i ? " " : "", word(state));
}

static void add_uuid(cw_buf *out, uint64_t *state)
{
    uint64_t a = next_random(state);
    uint64_t b = next_random(state);
    cw_buf_printf(out, "%08x-%04x-4%03x-8%03x-%012llx", (unsigned)(a >> 32),
                  (unsigned)(a >> 16 & 0xFFFF), (unsigned)(a & 0xFFF), (unsigned)(b >> 48 & 0xFFF),
                  (unsigned long long)(b & 0xFFFFFFFFFFFFull));
}

static void write_call(cw_buf *out)
{
    cw_buf_add(out, CW_STR("{\"jsonrpc\":\"2.0\",\"id\":4711,\"method\":\"tools/call\","
                           "\"params\":{\"name\":\"content.node.create\",\"arguments\":"
                           "{\"title\":\"Autumn gathering\",\"type\":\"article\",\"nid\":4821,"
                           "\"published\":true,\"tags\":[\"news\",\"harvest\",\"garden\"]},"
                           "\"_meta\":{\"progressToken\":\"p4711\","
                           "\"traceId\":\"7f3a9c21e4b0\"}}}"));
}

static void write_response(cw_buf *out)
{
    uint64_t rng = 0x2545F4914F6CDD1Du;
    cw_buf_add(out, CW_STR("{\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{\"content\":[{"
                           "\"type\":\"text\",\"text\":\""));
    add_words(out, &rng, 91);
    cw_buf_add(out, CW_STR("\\nCaf\xC3\xA9 \xC3\xA0 la \\\"carte\\\" "));
    add_words(out, &rng, 91);
    cw_buf_add(out, CW_STR("\"}],\"structuredContent\":{\"nid\":4821,\"vid\":90217,\"uuid\":\""));
    add_uuid(out, &rng);
    cw_buf_add(out, CW_STR("\",\"status\":true,\"promoted\":false,"
                           "\"created\":\"2026-03-14T09:26:53Z\","
                           "\"changed\":\"2026-08-22T17:05:10Z\",\"author\":{\"uid\":12,"
                           "\"name\":\"editor\",\"roles\":[\"author\",\"reviewer\"]},\"tags\":["));
    for (int i = 0; i < 6; i++) {
        unsigned tid = 10 + below(&rng, 90);
        unsigned halves = below(&rng, 18);
        cw_buf_printf(out, "%s{\"tid\":%u,\"name\":\"%s\",\"weight\":%u.%u}", i ? "," : "", tid,
                      word(&rng), halves / 2, halves % 2 * 5);
    }
    cw_buf_add(out, CW_STR("],\"links\":{\"self\":\"https://cms.example.org/node/4821\","
                           "\"edit\":\"https://cms.example.org/node/4821/edit?destination="
                           "/admin/content\"},\"revision\":{\"id\":90217,\"log\":null}},"
                           "\"isError\":false}}"));
}

static void write_tool(cw_buf *out, uint64_t *rng)
{
    const char *a = word(rng);
    const char *b = word(rng);
    const char *c = word(rng);
    cw_buf_printf(out, "{\"name\":\"%s.%s.%s\",\"title\":\"", a, b, c);
    add_words(out, rng, 3);
    cw_buf_add(out, CW_STR("\",\"description\":\""));
    add_words(out, rng, 29);
    cw_buf_add(out, CW_STR("\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"id\":{"
                           "\"type\":\"integer\",\"minimum\":1},\"langcode\":{\"type\":\"string\","
                           "\"maxLength\":12,\"description\":\""));
    add_words(out, rng, 4);
    cw_buf_add(out, CW_STR("\"},\"fields\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},"
                           "\"required\":[\"id\"],\"additionalProperties\":false},"
                           "\"annotations\":{\"readOnlyHint\":true,\"openWorldHint\":false}}"));
}

static void write_list(cw_buf *out)
{
    uint64_t rng = 0x9E3779B97F4A7C15u;
    cw_buf_add(out, CW_STR("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":["));
    for (int i = 0; i < TOOLS; i++) {
        if (i)
            cw_buf_add_char(out, ',');
        write_tool(out, &rng);
    }
    cw_buf_add(out, CW_STR("],\"nextCursor\":\"eyJwYWdlIjoyLCJnZW5lcmF0aW9uIjo3fQ\"}}"));
}

static void write_row(cw_buf *out, uint64_t *rng, int i)
{
    cw_buf_printf(out, "{\"id\":%d,\"uuid\":\"", 1000 + i);
    add_uuid(out, rng);
    cw_buf_add(out, CW_STR("\",\"name\":\""));
    add_words(out, rng, 3);
    unsigned cents = below(rng, 90000);
    unsigned stock = below(rng, 50);
    bool active = below(rng, 2);
    cw_buf_printf(out, "\",\"price\":%u.%02u,\"quantity\":%u,\"active\":%s,", cents / 100,
                  cents % 100, stock, active ? "true" : "false");
    cw_buf_add(out, CW_STR("\"tags\":[\""));
    cw_buf_add(out, cw_str_from(word(rng)));
    cw_buf_add(out, CW_STR("\",\""));
    cw_buf_add(out, cw_str_from(word(rng)));
    cw_buf_add(out, CW_STR("\"],\"note\":"));
    unsigned kind = below(rng, 100);
    if (kind < 29) {
        cw_buf_add(out, CW_STR("null}"));
        return;
    }
    cw_buf_add_char(out, '"');
    add_words(out, rng, 5);
    if (kind >= 93)
        cw_buf_add(out, CW_STR(" \xC3\xBC"
                               "ber\\\"all\\n\xE2\x82\xAC"));
    cw_buf_add(out, CW_STR("\"}"));
}

static void write_array(cw_buf *out)
{
    uint64_t rng = 0xD1B54A32D192ED03u;
    cw_buf_add_char(out, '[');
    for (int i = 0; i < ROWS; i++) {
        if (i)
            cw_buf_add_char(out, ',');
        write_row(out, &rng, i);
    }
    cw_buf_add_char(out, ']');
}

void bench_doc_write(bench_doc which, cw_buf *out)
{
    switch (which) {
    case BENCH_CALL:
        write_call(out);
        break;
    case BENCH_RESPONSE:
        write_response(out);
        break;
    case BENCH_LIST:
        write_list(out);
        break;
    case BENCH_ARRAY:
        write_array(out);
        break;
    case BENCH_DOCS:
        break;
    }
}
