/* SPDX-License-Identifier: GPL-2.0-or-later */
/* inline.c - a schema without references.
 *
 * The document is copied value by value; where a subschema has a reference, what it
 * leads to is copied in its place. Siblings that count go into an allOf with it.
 */
#include "json/write.h"
#include "schema/explain/walk.h"
#include "schema/rewrite/rewrite.h"

typedef struct inliner {
    const cw_schema *s;
    cw_json_writer w;
    cw_code code;
    cw_err *err;
} inliner;

/* Subs that are being written: one that is met again contains itself. */
typedef struct open_sub {
    const struct open_sub *up;
    uint32_t sub;
} open_sub;

static void write_sub(inliner *p, uint32_t index, const open_sub *up);

static bool fail_at(inliner *p, const cw_json *at, const char *what)
{
    if (p->code)
        return false;
    cw_buf path;
    cw_buf_init(&path, CW_ERR_MSG_MAX);
    const document *doc = cw_schema_document_of(p->s, at);
    cw_schema_add_pointer(&path, doc->root, at);
    cw_str place = cw_buf_str(&path);
    p->code = cw_fail(p->err, CW_PARAMS, "%.*s: %s", CW_STR_ARG(place), what);
    cw_buf_done(&path);
    return false;
}

/* The target of a subschema's reference; 0 if it has none. */
static uint32_t reference_of(inliner *p, const sub *at)
{
    for (uint32_t i = 0; i < at->count; i++) {
        const keyword *k = &p->s->keywords[at->first + i];
        if (k->id != KW_REF && k->id != KW_DYNAMIC_REF)
            continue;
        uint32_t to = cw_schema_link(p->s, at, k->key + 1);
        if (k->id == KW_DYNAMIC_REF)
            to = cw_schema_static_dynamic(p->s, to);
        if (!to)
            fail_at(p, k->key, "a dynamic reference leads to different places");
        return to;
    }
    return 0;
}

static bool is_identifier(cw_str name)
{
    static const char *const names[] = {"$ref",    "$dynamicRef",    "$defs", "definitions",
                                        "$anchor", "$dynamicAnchor", "$id",   "$vocabulary"};
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        if (cw_str_is(name, names[i]))
            return true;
    }
    return false;
}

/* The value of a keyword: a schema, or a list or map of them. */
static void write_below(inliner *p, const sub *owner, const cw_json *v, const open_sub *up)
{
    uint32_t known = 0;
    if (!cw_json_is(v, CW_JSON_STRING))
        known = cw_schema_link(p->s, owner, v);
    if (known) {
        write_sub(p, known, up);
        return;
    }
    if (cw_json_is(v, CW_JSON_ARRAY)) {
        cw_json_open_array(&p->w);
        for (const cw_json *c = cw_json_first(v); c; c = cw_json_next(c))
            write_below(p, owner, c, up);
        cw_json_close(&p->w);
        return;
    }
    if (cw_json_is(v, CW_JSON_OBJECT)) {
        cw_json_open_object(&p->w);
        for (const cw_json *k = cw_json_first(v); k; k = cw_json_next_key(k)) {
            cw_json_add_key(&p->w, cw_json_text(k));
            write_below(p, owner, k + 1, up);
        }
        cw_json_close(&p->w);
        return;
    }
    cw_json_add_value(&p->w, v);
}

static void write_members(inliner *p, const sub *at, const open_sub *up, cw_str skip)
{
    cw_schema_draft draft = (cw_schema_draft)p->s->resources[at->resource].draft;
    for (const cw_json *k = cw_json_first(at->value); k && !p->code; k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        bool nested = up->up && cw_str_is(name, "$schema");
        if (is_identifier(name) || nested || cw_str_eq(name, skip))
            continue;
        cw_json_add_key(&p->w, name);
        const kw_row *row = cw_schema_keyword(name, draft, VOCAB_STANDARD);
        if (row && row->shape >= SHAPE_SCHEMA)
            write_below(p, at, k + 1, up);
        else
            cw_json_add_value(&p->w, k + 1);
    }
}

/* A reference with siblings: all of theirs, and an allOf that holds their own allOf's members and
 * the target. */
static void write_with_siblings(inliner *p, const sub *at, uint32_t to, const open_sub *up)
{
    cw_json_open_object(&p->w);
    write_members(p, at, up, CW_STR("allOf"));
    cw_json_add_key(&p->w, CW_STR("allOf"));
    cw_json_open_array(&p->w);
    const cw_json *own = cw_json_get(at->value, CW_STR("allOf"));
    for (const cw_json *c = own ? cw_json_first(own) : NULL; c; c = cw_json_next(c))
        write_below(p, at, c, up);
    write_sub(p, to, up);
    cw_json_close(&p->w);
    cw_json_close(&p->w);
}

static void write_sub(inliner *p, uint32_t index, const open_sub *up)
{
    const sub *at = &p->s->subs[index];
    for (const open_sub *o = up; o; o = o->up) {
        if (o->sub == index)
            fail_at(p, at->value, "the schema contains itself");
    }
    /* Over the ceiling nothing more is kept, and nothing more is worth the walk. */
    if (p->code || p->w.out->code || p->w.code) {
        cw_json_add_null(&p->w);
        return;
    }
    const open_sub here = {up, index};
    if (!cw_json_is(at->value, CW_JSON_OBJECT)) {
        cw_json_add_value(&p->w, at->value);
        return;
    }
    uint32_t to = reference_of(p, at);
    bool alone = p->s->resources[at->resource].draft == CW_SCHEMA_DRAFT_07;
    for (const cw_json *k = cw_json_first(at->value); k && to && !alone; k = cw_json_next_key(k)) {
        if (!is_identifier(cw_json_text(k)) && !cw_str_is(cw_json_text(k), "$schema"))
            break;
        alone = !cw_json_next_key(k);
    }
    if (to && alone) {
        write_sub(p, to, &here);
        return;
    }
    if (to) {
        write_with_siblings(p, at, to, &here);
        return;
    }
    cw_json_open_object(&p->w);
    write_members(p, at, &here, CW_STR(""));
    cw_json_close(&p->w);
}

cw_code cw_schema_write_inlined(const cw_schema *s, cw_buf *out, cw_err *err)
{
    inliner p = {.s = s, .err = err};
    cw_json_writer_init(&p.w, out, CW_JSON_COMPACT);
    write_sub(&p, s->root, NULL);
    cw_code rc = cw_json_writer_end(&p.w, p.code ? NULL : err);
    return p.code ? p.code : rc;
}
