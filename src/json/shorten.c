/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shorten.c - finds the part of a large value that is cut, and writes the value without its rest. */
#include "json/shorten.h"

#include "base/utf8.h"
#include "json/write.h"

#define EMPTY 2u /* bytes of "", [] and {} */

/* A part of the value, and the bytes that it may have. */
typedef struct part {
    const cw_json *v;
    size_t room;
} part;

/* The elements of an array, or the keys of an object. */
static const cw_json *next_child(const cw_json *container, const cw_json *child)
{
    return cw_json_is(container, CW_JSON_OBJECT) ? cw_json_next_key(child) : cw_json_next(child);
}

static const cw_json *value_of(const cw_json *container, const cw_json *child)
{
    return cw_json_is(container, CW_JSON_OBJECT) ? cw_json_value(child) : child;
}

/* Go down to the child that is most of a container, while a cut in it is enough. */
static bool descend(part *at, cw_buf *place)
{
    const cw_json *largest = NULL, *v = at->v;
    size_t most = 0, index = 0, i = 0;
    for (const cw_json *c = cw_json_first(v); c; c = next_child(v, c), i++) {
        size_t n = cw_json_span(value_of(v, c)).n;
        if (n > most) {
            largest = c;
            most = n;
            index = i;
        }
    }
    size_t size = cw_json_span(v).n, excess = size - at->room;
    if (most <= size / 2 || most < excess + EMPTY)
        return false;
    cw_buf_add_char(place, '/');
    if (cw_json_is(v, CW_JSON_OBJECT))
        cw_json_escape_token(place, cw_json_text(largest));
    else
        cw_buf_add_u64(place, index);
    *at = (part){value_of(v, largest), most - excess};
    return true;
}

/* As much of a string as fits. Escapes take more room than what they stand for. */
static bool cut_string(const part *at, cw_buf *out, cw_json_shortened *ret)
{
    cw_str text = cw_json_text(at->v);
    size_t begin = out->n, n = text.n < at->room ? text.n : at->room;
    ret->total = text.n;
    for (;;) {
        n = cw_utf8_cut(text, n);
        out->n = begin;
        cw_json_escape(out, cw_str_make(text.p, n));
        ret->shown = n;
        size_t used = out->n - begin;
        if (out->code || used <= at->room)
            return !out->code;
        if (n == 0)
            return false;
        size_t fits = (size_t)((double)n * (double)at->room / (double)used);
        n = fits < n ? fits : n - 1;
    }
}

static bool cut_container(const part *at, cw_buf *out, cw_json_shortened *ret)
{
    const cw_json *v = at->v;
    bool is_object = cw_json_is(v, CW_JSON_OBJECT);
    ret->total = cw_json_count(v);
    ret->shown = 0;
    if (at->room < EMPTY)
        return false;
    size_t left = at->room - EMPTY;
    cw_buf_add_char(out, is_object ? '{' : '[');
    for (const cw_json *c = cw_json_first(v); c; c = next_child(v, c)) {
        cw_str key = is_object ? cw_json_span(c) : CW_STR("");
        cw_str value = cw_json_span(value_of(v, c));
        size_t n = value.n + (is_object ? key.n + 1 : 0) + (ret->shown ? 1 : 0);
        if (n > left)
            break;
        left -= n;
        if (ret->shown++)
            cw_buf_add_char(out, ',');
        if (is_object) {
            cw_buf_add(out, key);
            cw_buf_add_char(out, ':');
        }
        cw_buf_add(out, value);
    }
    cw_buf_add_char(out, is_object ? '}' : ']');
    return true;
}

bool cw_json_shorten(const cw_json *v, size_t max, cw_buf *out, cw_buf *place,
                     cw_json_shortened *ret)
{
    part at = {v, max};
    while (descend(&at, place))
        ;
    cw_str whole = cw_json_span(v), old = cw_json_span(at.v);
    size_t before = (size_t)(old.p - whole.p);
    ret->type = cw_json_type_of(at.v);
    cw_buf_add_bytes(out, whole.p, before);
    bool is_cut = false;
    if (ret->type == CW_JSON_STRING)
        is_cut = cut_string(&at, out, ret);
    else if (ret->type == CW_JSON_ARRAY || ret->type == CW_JSON_OBJECT)
        is_cut = cut_container(&at, out, ret);
    cw_buf_add_bytes(out, old.p + old.n, whole.n - before - old.n);
    return is_cut && !out->code && !place->code;
}
