/* SPDX-License-Identifier: GPL-2.0-or-later */
/* write.c - the writer. Values that are on a tape are written by walk.c. */
#include "json/write.h"

#include <assert.h>
#include <math.h>

#include "base/digits.h"
#include "json/json_int.h"
#include "json/walk.h"

static bool in_object(const cw_json_writer *w)
{
    if (w->depth == 0)
        return false;
    uint32_t level = w->depth - 1;
    return w->is_object[level / 64] >> (level % 64) & 1;
}

/* Write a separator (a comma or nothing, a new line when indenting) and make room for `n` more
 * bytes; exact, so that a text may end at the buffer's very ceiling. NULL, and no more writing, on
 * failure. */
static char *separate(cw_json_writer *w, bool comma, bool line, size_t n)
{
    size_t indent = line ? 1 + 2 * (size_t)w->depth : 0;
    char *o = cw_buf_reserve(w->out, comma + indent + n);
    if (!o) {
        w->code = w->out->code;
        return NULL;
    }
    if (comma)
        *o = ',';
    if (line) {
        o[comma] = '\n';
        memset(o + comma + 1, ' ', indent - 1);
    }
    cw_buf_commit(w->out, comma + indent);
    return o + comma + indent;
}

/* Write the text in front of a key, or of a value without a key. */
static char *begin(cw_json_writer *w, size_t n)
{
    if (w->code)
        return NULL;
    assert(w->depth > 0 || !w->need_comma); /* one root value */
    bool line = w->style == CW_JSON_INDENT && w->depth > 0;
    char *o = w->after_key ? separate(w, false, false, n) : separate(w, w->need_comma, line, n);
    w->need_comma = true;
    w->after_key = false;
    return o;
}

static char *begin_value(cw_json_writer *w, size_t n)
{
    assert(w->code || !in_object(w) || w->after_key);
    return begin(w, n);
}

static void add_bytes(cw_json_writer *w, const char *p, size_t n)
{
    char *o = begin_value(w, n);
    if (!o)
        return;
    memcpy(o, p, n);
    cw_buf_commit(w->out, n);
}

static void open_container(cw_json_writer *w, char bracket)
{
    add_bytes(w, &bracket, 1);
    if (w->depth == CW_JSON_WRITE_DEPTH)
        w->code = CW_LIMIT;
    if (w->code)
        return;
    uint64_t bit = UINT64_C(1) << (w->depth % 64);
    uint64_t *word = &w->is_object[w->depth / 64];
    *word = bracket == '{' ? *word | bit : *word & ~bit;
    w->depth++;
    w->need_comma = false;
}

void cw_json_writer_init(cw_json_writer *w, cw_buf *out, cw_json_style style)
{
    *w = (cw_json_writer){.out = out, .style = style};
}

cw_code cw_json_writer_end(cw_json_writer *w, cw_err *err)
{
    if (w->out->code == CW_NOMEM)
        return cw_fail_nomem(err);
    if (w->out->code)
        return cw_fail(err, w->out->code, "JSON text longer than %zu bytes", w->out->max);
    if (w->code)
        return cw_fail(err, w->code, "JSON nested deeper than %u levels", CW_JSON_WRITE_DEPTH);
    assert(w->depth == 0 && !w->after_key);
    return CW_OK;
}

void cw_json_open_object(cw_json_writer *w)
{
    open_container(w, '{');
}

void cw_json_open_array(cw_json_writer *w)
{
    open_container(w, '[');
}

void cw_json_close(cw_json_writer *w)
{
    if (w->code)
        return;
    assert(w->depth > 0 && !w->after_key);
    char bracket = in_object(w) ? '}' : ']';
    bool empty = !w->need_comma;
    w->depth--;
    w->need_comma = true;
    char *o = separate(w, /* comma= */ false, w->style == CW_JSON_INDENT && !empty, 1);
    if (!o)
        return;
    *o = bracket;
    cw_buf_commit(w->out, 1);
}

void cw_json_add_key(cw_json_writer *w, cw_str name)
{
    assert(w->code || (in_object(w) && !w->after_key));
    if (begin(w, 0)) {
        cw_json_escape(w->out, name);
        cw_buf_add_bytes(w->out, ": ", w->style == CW_JSON_INDENT ? 2 : 1);
    }
    w->after_key = true;
}

void cw_json_add_string(cw_json_writer *w, cw_str text)
{
    if (begin_value(w, 0))
        cw_json_escape(w->out, text);
}

void cw_json_add_i64(cw_json_writer *w, int64_t value)
{
    char text[CW_DIGITS_SIZE];
    cw_str digits = cw_digits_i64(value, text);
    add_bytes(w, digits.p, digits.n);
}

void cw_json_add_u64(cw_json_writer *w, uint64_t value)
{
    char text[CW_DIGITS_SIZE];
    cw_str digits = cw_digits_u64(value, text);
    add_bytes(w, digits.p, digits.n);
}

void cw_json_add_double(cw_json_writer *w, double value)
{
    if (!isfinite(value)) {
        cw_json_add_null(w);
        return;
    }
    char text[CW_JSON_DOUBLE_MAX];
    add_bytes(w, text, cw_json_format_double(value, text));
}

void cw_json_add_bool(cw_json_writer *w, bool value)
{
    cw_json_add_span(w, value ? CW_STR("true") : CW_STR("false"));
}

void cw_json_add_null(cw_json_writer *w)
{
    cw_json_add_span(w, CW_STR("null"));
}

void cw_json_add_span(cw_json_writer *w, cw_str json)
{
    add_bytes(w, json.p, json.n);
}

void cw_json_add_value(cw_json_writer *w, const cw_json *v)
{
    if (begin_value(w, 0))
        cw_json_walk(w->out, v, w->style, w->depth);
}

void cw_json_add_string_member(cw_json_writer *w, cw_str name, cw_str text)
{
    cw_json_add_key(w, name);
    cw_json_add_string(w, text);
}

void cw_json_add_i64_member(cw_json_writer *w, cw_str name, int64_t value)
{
    cw_json_add_key(w, name);
    cw_json_add_i64(w, value);
}

void cw_json_add_bool_member(cw_json_writer *w, cw_str name, bool value)
{
    cw_json_add_key(w, name);
    cw_json_add_bool(w, value);
}
