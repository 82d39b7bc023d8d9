/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk.c - one pass along the tape, each value copied from its span.
 *
 * The text in front of a value follows from its neighbour on the tape alone:
 * nothing behind a key or an opening bracket, a comma behind a value or an END.
 * So neither a stack nor a depth is needed, except to indent.
 */
#include "json/walk.h"

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

void cw_json_walk(cw_buf *out, const cw_json *v, cw_json_style style, uint32_t depth)
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
