/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lock_diff.c - compares definitions member by member. */
#include "source/remote/lock/lock_diff.h"

#include "base/arena.h"
#include "base/digits.h"

#define SCRATCH_MAX ((size_t)16 * CW_LOCK_MAX_BYTES)

typedef struct differing {
    const cw_lock *lock;
    cw_str source;
    const cw_remote_definition *definitions;
    size_t n;
    cw_arena arena; /* of one tool */
    cw_buf pointer;
    cw_json_writer *w;
} differing;

/* ---- two values ---- */

static void add_value(differing *d, const char *key, const cw_json *value)
{
    cw_json_add_key(d->w, cw_str_from(key));
    if (value)
        cw_json_add_value(d->w, value);
    else
        cw_json_add_null(d->w);
}

static void add_difference(differing *d, const cw_json *old, const cw_json *now)
{
    cw_json_open_object(d->w);
    cw_json_add_string_member(d->w, CW_STR("pointer"), cw_buf_str(&d->pointer));
    add_value(d, "old", old);
    add_value(d, "new", now);
    cw_json_close(d->w);
}

static void compare(differing *d, const cw_json *old, const cw_json *now);

static void compare_at(differing *d, cw_str token, const cw_json *old, const cw_json *now)
{
    size_t n = d->pointer.n;
    cw_buf_add_char(&d->pointer, '/');
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] == '~' || token.p[i] == '/')
            cw_buf_add(&d->pointer, token.p[i] == '~' ? CW_STR("~0") : CW_STR("~1"));
        else
            cw_buf_add_char(&d->pointer, token.p[i]);
    }
    compare(d, old, now);
    if (d->pointer.n > n)
        d->pointer.n = n;
}

static void compare_objects(differing *d, const cw_json *old, const cw_json *now)
{
    for (const cw_json *k = cw_json_first(old); k; k = cw_json_next_key(k))
        compare_at(d, cw_json_text(k), cw_json_value(k), cw_json_get(now, cw_json_text(k)));
    for (const cw_json *k = cw_json_first(now); k; k = cw_json_next_key(k)) {
        if (!cw_json_get(old, cw_json_text(k)))
            compare_at(d, cw_json_text(k), NULL, cw_json_value(k));
    }
}

static void compare_arrays(differing *d, const cw_json *old, const cw_json *now)
{
    const cw_json *a = cw_json_first(old), *b = cw_json_first(now);
    for (uint64_t i = 0; a || b; i++) {
        char digits[CW_DIGITS_SIZE];
        compare_at(d, cw_digits_u64(i, digits), a, b);
        a = a ? cw_json_next(a) : NULL;
        b = b ? cw_json_next(b) : NULL;
    }
}

/* NULL: no value on that side. The depth of the documents bounds the recursion. */
static void compare(differing *d, const cw_json *old, const cw_json *now)
{
    if (old && now && cw_json_equal(old, now))
        return;
    if (cw_json_is(old, CW_JSON_OBJECT) && cw_json_is(now, CW_JSON_OBJECT))
        compare_objects(d, old, now);
    else if (cw_json_is(old, CW_JSON_ARRAY) && cw_json_is(now, CW_JSON_ARRAY))
        compare_arrays(d, old, now);
    else
        add_difference(d, old, now);
}

/* ---- one tool ---- */

static void open_tool(differing *d, cw_str method, const char *change)
{
    cw_json_open_object(d->w);
    cw_json_add_string_member(d->w, CW_STR("source"), d->source);
    cw_json_add_string_member(d->w, CW_STR("method"), method);
    cw_json_add_string_member(d->w, CW_STR("change"), cw_str_from(change));
    cw_lock_add_stamp(d->w, cw_lock_stamp_of(d->lock, d->source, method));
    cw_json_add_key(d->w, CW_STR("differences"));
    cw_json_open_array(d->w);
}

static void close_tool(differing *d)
{
    cw_json_close(d->w);
    cw_json_close(d->w);
}

static cw_code read_json(differing *d, cw_str text, const cw_json **ret)
{
    const cw_json_opts opts = {.max_bytes = text.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    return cw_json_read(text, &opts, &d->arena, ret, NULL, NULL);
}

static cw_code compare_tool(differing *d, const cw_remote_definition *def)
{
    cw_str old = CW_STR("");
    const cw_json *was = NULL, *is = NULL;
    cw_lock_verdict verdict = CW_LOCK_NEW;
    if (d->lock)
        verdict = cw_lock_check(d->lock, d->source, def->method, def->definition, &old);
    if (verdict == CW_LOCK_SAME)
        return CW_OK;
    cw_arena_reset(&d->arena);
    cw_code rc = read_json(d, def->definition, &is);
    if (!rc && old.n)
        rc = read_json(d, old, &was);
    if (rc)
        return rc;
    open_tool(d, def->method, verdict == CW_LOCK_NEW ? "new" : "changed");
    if (was)
        compare(d, was, is);
    else
        add_difference(d, NULL, is);
    close_tool(d);
    return d->pointer.code;
}

static cw_code on_approved(cw_str method, void *ctx)
{
    differing *d = ctx;
    for (size_t i = 0; i < d->n; i++) {
        if (cw_str_eq(d->definitions[i].method, method))
            return CW_OK;
    }
    open_tool(d, method, "gone");
    close_tool(d);
    return CW_OK;
}

cw_code cw_lock_diff(const cw_lock *lock, cw_str source, const cw_remote_definition *definitions,
                     size_t n, cw_json_writer *w)
{
    differing d = {.lock = lock, .source = source, .definitions = definitions, .n = n, .w = w};
    cw_code rc = CW_OK;
    cw_arena_init(&d.arena, SCRATCH_MAX);
    cw_buf_init(&d.pointer, CW_LOCK_MAX_BYTES);
    for (size_t i = 0; i < n && !rc; i++)
        rc = compare_tool(&d, &definitions[i]);
    if (!rc)
        rc = cw_lock_each(lock, source, on_approved, &d);
    cw_arena_done(&d.arena);
    cw_buf_done(&d.pointer);
    return rc;
}
