/* SPDX-License-Identifier: GPL-2.0-or-later */
/* edit.c - edits that are checked, and what the formats share. */
#include "cli/install/edit.h"

#include "base/ascii.h"
#include "json/write.h"

/* ---- for the formats ---- */

void cw_install_copy_to(cw_install_edit *e, size_t at)
{
    if (at <= e->done)
        return;
    cw_buf_add(e->out, cw_str_make(e->text.p + e->done, at - e->done));
    e->done = at;
}

cw_code cw_install_copy_rest(cw_install_edit *e, cw_err *err)
{
    cw_install_copy_to(e, e->text.n);
    return e->out->code ? cw_fail(err, e->out->code, "%s", cw_code_text(e->out->code)) : CW_OK;
}

cw_str cw_install_newline(cw_str text)
{
    const char *end = text.n ? memchr(text.p, '\n', text.n) : NULL;
    size_t n = end ? (size_t)(end - text.p) : text.n;
    return n > 0 && text.p[n - 1] == '\r' ? CW_STR("\r\n") : CW_STR("\n");
}

size_t cw_install_line_begin(cw_str text, size_t at)
{
    while (at > 0 && text.p[at - 1] != '\n')
        at--;
    return at;
}

size_t cw_install_line_end(cw_str text, size_t at)
{
    const char *end = at < text.n ? memchr(text.p + at, '\n', text.n - at) : NULL;
    return end ? (size_t)(end - text.p) + 1 : text.n;
}

bool cw_install_is_blank(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (!cw_is_space(text.p[i]))
            return false;
    }
    return true;
}

void cw_install_add_flow(cw_buf *out, const cw_json *value)
{
    bool is_object = cw_json_is(value, CW_JSON_OBJECT);
    if (cw_json_is(value, CW_JSON_STRING)) {
        cw_json_escape(out, cw_json_text(value));
    } else if (is_object || cw_json_is(value, CW_JSON_ARRAY)) {
        cw_buf_add_char(out, is_object ? '{' : '[');
        const cw_json *v = cw_json_first(value);
        for (bool is_first = true; v; is_first = false) {
            if (!is_first)
                cw_buf_add(out, CW_STR(", "));
            if (is_object) {
                cw_json_escape(out, cw_json_text(v));
                cw_buf_add(out, CW_STR(": "));
            }
            cw_install_add_flow(out, is_object ? cw_json_value(v) : v);
            v = is_object ? cw_json_next_key(v) : cw_json_next(v);
        }
        cw_buf_add_char(out, is_object ? '}' : ']');
    } else {
        cw_buf_add(out, cw_json_span(value));
    }
}

/* ---- checked edits ---- */

/* The parts that an edit must keep, and how much of the new text is the caller's. */
typedef struct check {
    const cw_install_format *format;
    const cw_install_place *at;
    cw_arena *arena;
    cw_buf before, after;
    cw_buf *out;
    size_t from; /* of `out` where the new text begins */
} check;

static cw_code begin(check *c, cw_str text, cw_install_found *ret, cw_err *err)
{
    cw_buf_init(&c->before, 2 * CW_INSTALL_MAX_BYTES);
    cw_buf_init(&c->after, 2 * CW_INSTALL_MAX_BYTES);
    c->from = c->out->n;
    if (text.n > CW_INSTALL_MAX_BYTES)
        return cw_fail(err, CW_LIMIT, "it is larger than %zu bytes", CW_INSTALL_MAX_BYTES);
    return c->format->find(text, c->at, c->arena, &c->before, ret, err);
}

static cw_code compare(check *c, cw_install_found *ret, cw_err *err)
{
    cw_str text = cw_buf_str(c->out);
    text = cw_str_make(text.p + c->from, text.n - c->from);
    cw_code rc = c->format->find(text, c->at, c->arena, &c->after, ret, err);
    if (!rc && (c->before.code || c->after.code))
        rc = cw_fail_nomem(err);
    if (rc)
        return rc == CW_PARSE ? cw_fail(err, CW_PARAMS, "it cannot be edited safely") : rc;
    if (!cw_str_eq(cw_buf_str(&c->before), cw_buf_str(&c->after)))
        return cw_fail(err, CW_PARAMS, "it cannot be edited without a change of other settings");
    return CW_OK;
}

static cw_code end(check *c, cw_code rc)
{
    cw_buf_done(&c->before);
    cw_buf_done(&c->after);
    if (rc && !c->out->code)
        c->out->n = c->from;
    return rc;
}

cw_code cw_install_put(const cw_install_format *format, cw_str text, const cw_install_place *at,
                       const cw_json *value, cw_arena *arena, cw_buf *out, cw_err *err)
{
    check c = {.format = format, .at = at, .arena = arena, .out = out};
    cw_install_found found = {0};
    cw_code rc = begin(&c, text, &found, err);
    if (!rc)
        rc = format->put(text, at, value, arena, out, err);
    if (!rc)
        rc = compare(&c, &found, err);
    if (!rc && !found.entry.p)
        rc = cw_fail(err, CW_PARAMS, "it cannot be edited safely");
    return end(&c, rc);
}

cw_code cw_install_remove(const cw_install_format *format, cw_str text, const cw_install_place *at,
                          bool drops_section, cw_arena *arena, cw_buf *out, cw_err *err)
{
    check c = {.format = format, .at = at, .arena = arena, .out = out};
    cw_install_found found = {0};
    cw_code rc = begin(&c, text, &found, err);
    if (!rc && !found.entry.p)
        rc = cw_fail(err, CW_NOTFOUND, "it has no entry \"%s\"", at->name);
    if (!rc)
        rc = format->remove(text, at, drops_section, arena, out, err);
    if (!rc)
        rc = compare(&c, &found, err);
    if (!rc && found.entry.p)
        rc = cw_fail(err, CW_PARAMS, "it cannot be edited safely");
    return end(&c, rc);
}

cw_code cw_install_restore(const cw_install_format *format, cw_str text, const cw_install_place *at,
                           cw_str entry, cw_arena *arena, cw_buf *out, cw_err *err)
{
    check c = {.format = format, .at = at, .arena = arena, .out = out};
    cw_install_edit e = {.text = text, .out = out};
    cw_install_found found = {0};
    cw_code rc = begin(&c, text, &found, err);
    if (!rc && !found.entry.p)
        rc = cw_fail(err, CW_NOTFOUND, "it has no entry \"%s\"", at->name);
    if (!rc) {
        cw_install_copy_to(&e, (size_t)(found.entry.p - text.p));
        cw_buf_add(out, entry);
        e.done += found.entry.n;
        rc = cw_install_copy_rest(&e, err);
    }
    if (!rc)
        rc = compare(&c, &found, err);
    if (!rc && (!found.entry.p || !cw_str_eq(found.entry, entry)))
        rc = cw_fail(err, CW_PARAMS, "it cannot be edited safely");
    return end(&c, rc);
}

/* ---- origin ---- */

static const cw_json *any_value(const cw_install_place *at, cw_arena *arena)
{
    const cw_json *value = NULL;
    const char *text = cw_arena_printf(arena, "{\"name\": \"%s\"}", at->name);
    cw_code rc = text ? cw_json_read(cw_str_from(text), NULL, arena, &value, NULL, NULL) : CW_NOMEM;
    return rc ? NULL : value;
}

static bool equal_around(cw_str a, cw_str a_entry, cw_str b, cw_str b_entry)
{
    size_t n = (size_t)(a_entry.p - a.p), behind = a.n - n - a_entry.n;
    if (n != (size_t)(b_entry.p - b.p) || behind != b.n - n - b_entry.n)
        return false;
    return memcmp(a.p, b.p, n) == 0 && memcmp(a.p + a.n - behind, b.p + b.n - behind, behind) == 0;
}

bool cw_install_is_from(const cw_install_format *format, cw_str text, cw_str base,
                        const cw_install_place *at, cw_arena *arena)
{
    cw_buf made;
    cw_install_found ours = {0}, theirs = {0};
    const cw_json *value = any_value(at, arena);
    cw_buf_init(&made, 2 * CW_INSTALL_MAX_BYTES);
    bool is_from = value && !cw_install_put(format, base, at, value, arena, &made, NULL) &&
                   !format->find(cw_buf_str(&made), at, arena, NULL, &ours, NULL) &&
                   !format->find(text, at, arena, NULL, &theirs, NULL) && ours.entry.p &&
                   theirs.entry.p &&
                   equal_around(cw_buf_str(&made), ours.entry, text, theirs.entry);
    cw_buf_done(&made);
    return is_from;
}
