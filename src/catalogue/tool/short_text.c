/* SPDX-License-Identifier: GPL-2.0-or-later */
/* short_text.c - first sentences of descriptions. */
#include "catalogue/tool/short_text.h"

#include "base/ascii.h"
#include "base/utf8.h"
#include "json/write.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The first byte at or behind `i` that is not white space. */
static size_t skip_blanks(cw_str text, size_t i, size_t *ret_lines)
{
    *ret_lines = 0;
    for (; i < text.n && is_blank(text.p[i]); i++)
        *ret_lines += text.p[i] == '\n';
    return i;
}

static bool is_end(char c)
{
    return c == '.' || c == '!' || c == '?';
}

/* The end of the first sentence. */
static size_t sentence_end(cw_str text)
{
    size_t lines;
    for (size_t i = 0; i < text.n; i++) {
        if (!is_blank(text.p[i]))
            continue;
        size_t next = skip_blanks(text, i, &lines);
        bool is_over = next == text.n || lines > 1;
        if (is_over || (i && is_end(text.p[i - 1]) && !cw_is_lower(text.p[next])))
            return i;
        i = next - 1;
    }
    return text.n;
}

/* At most `max` bytes, cut between words. */
static cw_str cut_words(cw_str text, size_t max)
{
    if (text.n <= max)
        return text;
    size_t n = cw_utf8_cut(text, max), end = n;
    while (end && !is_blank(text.p[end]))
        end--;
    return cw_str_make(text.p, end ? end : n);
}

void cw_short_text_add(cw_buf *out, cw_str text)
{
    size_t lines, first = skip_blanks(text, 0, &lines);
    text = cw_str_make(text.p + first, text.n - first);
    text.n = sentence_end(text);
    cw_str cut = cut_words(text, CW_SHORT_TEXT_MAX);
    for (size_t i = 0; i < cut.n; i++) {
        if (!is_blank(cut.p[i])) {
            cw_buf_add_char(out, cut.p[i]);
            continue;
        }
        i = skip_blanks(cut, i, &lines) - 1;
        if (i + 1 < cut.n)
            cw_buf_add_char(out, ' ');
    }
    if (cut.n < text.n)
        cw_buf_add(out, CW_STR(" …"));
}

static void add_description(cw_buf *out, const cw_json *v)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_SHORT_TEXT_MAX + 8);
    cw_short_text_add(&text, cw_json_text(v));
    cw_json_escape(out, cw_buf_str(&text));
    if (text.code && !out->code)
        out->code = text.code;
}

static bool is_value(cw_str keyword)
{
    return cw_str_is(keyword, "enum") || cw_str_is(keyword, "const") ||
           cw_str_is(keyword, "default") || cw_str_is(keyword, "examples");
}

static void add_array(cw_buf *out, const cw_json *list)
{
    char separator = '[';
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v)) {
        cw_buf_add_char(out, separator);
        cw_short_text_add_schema(out, v);
        separator = ',';
    }
    cw_buf_add(out, separator == '[' ? CW_STR("[]") : CW_STR("]"));
}

/* A schema, or a map of schemas: its members tell. As deep as the reader of JSON allows. */
void cw_short_text_add_schema(cw_buf *out, const cw_json *schema)
{
    char separator = '{';
    if (cw_json_is(schema, CW_JSON_ARRAY)) {
        add_array(out, schema);
        return;
    }
    if (!cw_json_is(schema, CW_JSON_OBJECT)) {
        cw_buf_add(out, cw_json_span(schema));
        return;
    }
    for (const cw_json *k = cw_json_first(schema); k; k = cw_json_next_key(k)) {
        const cw_json *v = cw_json_value(k);
        cw_buf_add_char(out, separator);
        cw_buf_add(out, cw_json_span(k));
        cw_buf_add_char(out, ':');
        separator = ',';
        if (cw_str_is(cw_json_text(k), "description") && cw_json_is(v, CW_JSON_STRING))
            add_description(out, v);
        else if (is_value(cw_json_text(k)))
            cw_buf_add(out, cw_json_span(v));
        else
            cw_short_text_add_schema(out, v);
    }
    cw_buf_add(out, separator == '{' ? CW_STR("{}") : CW_STR("}"));
}
