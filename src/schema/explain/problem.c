/* SPDX-License-Identifier: GPL-2.0-or-later */
/* problem.c - records of problems, in the order of the instance, and their texts. */
#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"
#include "json/write.h"
#include "schema/explain/walk.h"

#define SHORT_MAX 60u
#define PATH_MAX_BYTES 4096u
#define MESSAGE_MAX 6144u /* a pattern fits */

bool cw_schema_walk_stop(walk *w, cw_code code)
{
    if (!w->stop)
        w->stop = code;
    return false;
}

const char *cw_schema_type_text(const cw_json *v)
{
    if (cw_json_is(v, CW_JSON_NUMBER) && cw_json_is_integer(v))
        return "integer";
    return cw_json_type_name(v);
}

cw_str cw_schema_shorten(walk *w, const site *at, const cw_json *v)
{
    if (!cw_schema_problem_wanted(w, at->v))
        return CW_STR("");
    cw_str span = cw_json_span(v);
    if (span.n <= SHORT_MAX) {
        cw_str copy = cw_arena_dup_str(w->arena, span);
        return copy.p ? copy : CW_STR("");
    }
    size_t n = cw_utf8_cut(span, SHORT_MAX - 3);
    char *text = cw_arena_printf(w->arena, "%.*s...", (int)n, span.p);
    return text ? cw_str_from(text) : CW_STR("");
}

static cw_str keep(walk *w, cw_buf *b)
{
    cw_str copy = cw_arena_dup_str(w->arena, cw_buf_str(b));
    cw_buf_done(b);
    return copy.p ? copy : CW_STR("");
}

static void add_frames(cw_buf *out, const frame *f)
{
    if (!f)
        return;
    add_frames(out, f->up);
    cw_buf_add_char(out, '/');
    cw_json_escape_token(out, f->keyword);
    if (f->name) {
        cw_buf_add_char(out, '/');
        cw_json_escape_token(out, cw_json_text(f->name));
    }
    if (f->index >= 0)
        cw_buf_printf(out, "/%lld", (long long)f->index);
}

static cw_str keyword_path(walk *w, const site *at)
{
    cw_buf b;
    cw_buf_init(&b, PATH_MAX_BYTES);
    add_frames(&b, at->frame);
    if (at->key) {
        cw_buf_add_char(&b, '/');
        cw_json_escape_token(&b, cw_json_text(at->key));
    }
    return keep(w, &b);
}

static cw_str pointer_of(walk *w, const cw_json *root, const cw_json *at)
{
    cw_buf b;
    cw_buf_init(&b, PATH_MAX_BYTES);
    cw_schema_add_pointer(&b, root, at);
    return keep(w, &b);
}

/* The index of the problem in the sorted list; the end if the list is full. */
static size_t position(const walk *w, const cw_json *v)
{
    size_t i = w->n;
    while (i > 0 && w->problems[i - 1].instance > v)
        i--;
    return i;
}

bool cw_schema_problem_wanted(const walk *w, const cw_json *v)
{
    if (w->quiet || w->stop || (w->level > 0 && !w->nested))
        return false;
    return w->n < w->max || position(w, v) < w->max;
}

static void fill(walk *w, cw_schema_problem *p, const site *at)
{
    const cw_schema *s = w->s;
    const cw_json *place = at->key ? at->key : s->subs[at->sub].value;
    const document *doc = cw_schema_document_of(s, place);
    p->instance = at->v;
    p->keyword_at = place;
    p->instance_pointer = pointer_of(w, w->root, at->v);
    p->schema_uri = s->resources[s->subs[at->sub].resource].uri;
    p->schema_pointer = pointer_of(w, doc->root, place);
    p->keyword_path = keyword_path(w, at);
    /* A false schema is the doing of the keyword that led to it. */
    p->keyword = at->key     ? cw_json_text(at->key)
                 : at->frame ? at->frame->keyword
                             : CW_STR("false schema");
    p->found = cw_schema_shorten(w, at, at->v);
    p->level = w->level;
    p->order = w->order++;
}

/* Names and values in it may be as long as the instance; a message is not. */
CW_PRINTF(2, 0) static cw_str message_of(walk *w, const char *fmt, va_list args)
{
    char text[MESSAGE_MAX];
    int n = vsnprintf(text, sizeof text, fmt, args);
    if (n < 0)
        return CW_STR("");
    if ((size_t)n < sizeof text)
        return cw_arena_dup_str(w->arena, cw_str_make(text, (size_t)n));
    size_t cut = cw_utf8_cut(cw_str_make(text, sizeof text - 1), sizeof text - 4);
    memcpy(text + cut, "...", sizeof "...");
    return cw_arena_dup_str(w->arena, cw_str_make(text, cut + 3));
}

bool cw_schema_problem_add(walk *w, const site *at, cw_str nearest, const char *fmt, ...)
{
    if (!w->quiet && w->level == 0) {
        w->is_full = w->total == w->max;
        w->total++;
    }
    if (w->is_full)
        return false;
    if (!cw_schema_problem_wanted(w, at->v))
        return false;
    cw_schema_problem p = {.nearest = nearest};
    fill(w, &p, at);
    va_list args;
    va_start(args, fmt);
    p.message = message_of(w, fmt, args);
    va_end(args);
    if (!p.message.p)
        return cw_schema_walk_stop(w, cw_arena_code(w->arena));
    cw_str got = CW_STR(", got ");
    p.expected = p.message;
    for (size_t i = 0; i + got.n <= p.message.n; i++) {
        if (memcmp(p.message.p + i, got.p, got.n) == 0) {
            p.expected.n = i;
            break;
        }
    }
    if (cw_str_starts(p.expected, CW_STR("expected ")))
        p.expected = cw_str_make(p.expected.p + 9, p.expected.n - 9);
    size_t i = position(w, at->v);
    size_t kept = w->n < w->max ? w->n : w->max - 1;
    memmove(w->problems + i + 1, w->problems + i, (kept - i) * sizeof p);
    w->problems[i] = p;
    w->n = kept + 1;
    return false;
}

void cw_schema_problem_text(const cw_schema_problem *p, cw_buf *out)
{
    if (p->instance_pointer.n) {
        cw_buf_add(out, p->instance_pointer);
        cw_buf_add(out, CW_STR(": "));
    }
    cw_buf_add(out, p->message);
    if (p->nearest.n) {
        cw_buf_add(out, CW_STR("; did you mean '"));
        cw_buf_add(out, p->nearest);
        cw_buf_add(out, CW_STR("'?"));
    }
}
