/* SPDX-License-Identifier: GPL-2.0-or-later */
/* write.c - the writer, and values of documents back to text. */
#include "json/write.h"

#include <assert.h>
#include <math.h>

#include "base/digits.h"
#include "json/json_int.h"

/* ---- values of a document ----
 *
 * One pass along the tape, each value copied from its span. The text in front of a value follows
 * from its neighbour on the tape alone: nothing behind a key or an opening bracket, a comma behind a
 * value or an END. So neither a stack nor a depth is needed, except to indent.
 */

#define ROOM_STEP 4096u

/* The part of the buffer that is reserved and not yet committed. */
typedef struct sink {
    cw_buf *out;
    char *o;
    char *limit;
    size_t wish; /* how much to reserve beyond the need of the moment */
} sink;

static CW_NOINLINE bool make_room(sink *s, size_t need)
{
    cw_buf *out = s->out;
    if (s->o)
        cw_buf_commit(out, (size_t)(s->o - (out->p + out->n)));
    size_t room = out->max - out->n;
    size_t n = s->wish > need ? s->wish : need;
    if (n > room && need <= room)
        n = room;
    s->wish = ROOM_STEP;
    s->o = cw_buf_reserve(out, n);
    s->limit = s->o ? s->o + n : NULL;
    return s->o != NULL;
}

/* memcpy for mostly short text: two moves that overlap instead of a call. */
CW_INLINE void copy_text(char *o, const char *p, size_t n)
{
    if (n > 32) {
        memcpy(o, p, n);
    } else if (n >= 16) {
        memcpy(o, p, 16);
        memcpy(o + n - 16, p + n - 16, 16);
    } else if (n >= 8) {
        memcpy(o, p, 8);
        memcpy(o + n - 8, p + n - 8, 8);
    } else if (n >= 4) {
        memcpy(o, p, 4);
        memcpy(o + n - 4, p + n - 4, 4);
    } else {
        for (size_t i = 0; i < n; i++)
            o[i] = p[i];
    }
}

CW_INLINE char *break_line(char *o, size_t depth)
{
    *o++ = '\n';
    memset(o, ' ', 2 * depth);
    return o + 2 * depth;
}

/* The text of an entry of the tape; a bracket is its own text. */
CW_INLINE cw_str entry_text(const cw_json *v, uint32_t type)
{
    if (type >= CW_JSON_ARRAY)
        return cw_str_make(v->p, 1);
    if (type == CW_JSON_STRING) {
        if (CW_UNLIKELY(v->meta & CW_JSON_DECODED))
            return cw_json_span(v);
        return cw_str_make(v->p - 1, (size_t)v->n + 2);
    }
    return cw_str_make(v->p, v->n);
}

/* The entry written last decides the text in front of the next one. */
typedef enum after {
    AFTER_NOTHING,
    AFTER_KEY,
    AFTER_OPENING,
    AFTER_VALUE,
} after;

/* Whether an entry stands on a line of its own. */
CW_INLINE bool breaks_line(after last, bool closes)
{
    return last == AFTER_VALUE || (last == AFTER_OPENING && !closes);
}

/* Exactly the bytes that an entry with separators takes: the buffer's last one may be used. */
static size_t exact_need(const cw_json *v, size_t text, after last, bool indent, size_t depth)
{
    bool closes = (v->meta & 7u) == CW_JSON_END;
    size_t need = text + (last == AFTER_VALUE && !closes);
    if (v->meta & CW_JSON_KEY)
        need += 1 + indent;
    if (indent && breaks_line(last, closes))
        need += 1 + 2 * depth;
    return need;
}

/* `indent` is a constant at both calls. */
CW_INLINE void walk(sink *s, const cw_json *root, bool indent, size_t depth)
{
    const cw_json *stop = cw_json_after(root);
    after last = AFTER_NOTHING;
    for (const cw_json *v = root; v < stop; v++) {
        uint32_t type = v->meta & 7u;
        bool key = v->meta & CW_JSON_KEY;
        bool closes = type == CW_JSON_END;
        depth -= closes;
        cw_str text = entry_text(v, type);
        size_t enough = text.n + 2 + (indent ? 2 * depth + 2 : 0);
        if (CW_UNLIKELY((size_t)(s->limit - s->o) < enough) &&
            !make_room(s, exact_need(v, text.n, last, indent, depth)))
            return;
        char *o = s->o;
        if (last == AFTER_VALUE && !closes)
            *o++ = ',';
        if (indent && breaks_line(last, closes))
            o = break_line(o, depth);
        copy_text(o, text.p, text.n);
        o += text.n;
        last = AFTER_VALUE;
        if (key) {
            *o++ = ':';
            if (indent)
                *o++ = ' ';
            last = AFTER_KEY;
        } else if (type == CW_JSON_ARRAY || type == CW_JSON_OBJECT) {
            depth++;
            last = AFTER_OPENING;
        }
        s->o = o;
    }
    cw_buf_commit(s->out, (size_t)(s->o - (s->out->p + s->out->n)));
}

/* Append `v`. Strings and numbers keep the spelling of their source; white space is the style's, for a
 * value that stands at `depth`. Any depth of its own; failures are the buffer's. */
static void write_tape(cw_buf *out, const cw_json *v, cw_json_style style, uint32_t depth)
{
    /* Compact text is no longer than what was read; indented text is somewhat. */
    sink s = {.out = out, .wish = cw_json_span(v).n + 4};
    if (!make_room(&s, 1))
        return;
    if (style == CW_JSON_COMPACT)
        walk(&s, v, /* indent= */ false, depth);
    else
        walk(&s, v, /* indent= */ true, depth);
}

/* ---- compact, with strings as they read ---- */
CW_INLINE bool needs_comma(after last, const cw_json *v)
{
    return last == AFTER_VALUE && (v->meta & 7u) != CW_JSON_END;
}

CW_INLINE after after_entry(const cw_json *v)
{
    uint32_t type = v->meta & 7u;
    if (v->meta & CW_JSON_KEY)
        return AFTER_KEY;
    return type == CW_JSON_ARRAY || type == CW_JSON_OBJECT ? AFTER_OPENING : AFTER_VALUE;
}

void cw_json_add_compact(cw_buf *out, const cw_json *root)
{
    const cw_json *stop = cw_json_after(root);
    after last = AFTER_NOTHING;
    for (const cw_json *v = root; v < stop; v++) {
        if (needs_comma(last, v))
            cw_buf_add_char(out, ',');
        if ((v->meta & 7u) == CW_JSON_STRING && (v->meta & CW_JSON_DECODED))
            cw_json_escape(out, cw_json_text(v));
        else
            cw_buf_add(out, entry_text(v, v->meta & 7u));
        last = after_entry(v);
        if (last == AFTER_KEY)
            cw_buf_add_char(out, ':');
    }
}

bool cw_json_is_compact(const cw_json *root)
{
    const cw_json *stop = cw_json_after(root);
    after last = AFTER_NOTHING;
    size_t n = 0;
    for (const cw_json *v = root; v < stop; v++) {
        uint32_t type = v->meta & 7u;
        if (type == CW_JSON_STRING && (v->meta & CW_JSON_DECODED))
            return false;
        n += needs_comma(last, v) + entry_text(v, type).n;
        last = after_entry(v);
        n += last == AFTER_KEY;
    }
    return n == cw_json_span(root).n;
}

/* ---- the writer ---- */

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
        write_tape(w->out, v, w->style, w->depth);
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
