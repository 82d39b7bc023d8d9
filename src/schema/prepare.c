/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prepare.c - an instance with defaults added and strings read as what they must mean.
 *
 * With every value goes the set of subs that apply to it in any case. Sets are small:
 * a schema, what it refers to, the members of its allOf.
 */
#include "schema/explain_int.h"
#include "schema/project.h"
#include "json/write.h"

#define SUBS_MAX 32u
#define CHANGES_STEP 8u

typedef struct set {
    uint32_t subs[SUBS_MAX];
    uint32_t n;
} set;

typedef struct preparer {
    const cw_schema *s;
    cw_schema_prepare_opts opts;
    const cw_json *root;
    cw_json_writer w;
    cw_arena *arena;
    cw_schema_changes changes;
    cw_code code;
} preparer;

static void write_value(preparer *p, const set *applies, const cw_json *v);

/* A sub and all that applies with it. Past SUBS_MAX the rest is left alone. */
static void set_add(const preparer *p, set *to, uint32_t index)
{
    for (uint32_t i = 0; i < to->n; i++) {
        if (to->subs[i] == index)
            return;
    }
    if (to->n == SUBS_MAX)
        return;
    to->subs[to->n++] = index;
    const sub *at = &p->s->subs[index];
    for (uint32_t i = 0; i < at->count; i++) {
        const keyword *k = &p->s->keywords[at->first + i];
        if (k->id == KW_REF)
            set_add(p, to, cw_schema_link(p->s, at, k->key + 1));
        if (k->id != KW_ALL_OF)
            continue;
        for (const cw_json *c = cw_json_first(k->key + 1); c; c = cw_json_next(c))
            set_add(p, to, cw_schema_link(p->s, at, c));
    }
}

static void set_add_value(const preparer *p, set *to, uint32_t owner, const cw_json *schema)
{
    if (schema)
        set_add(p, to, cw_schema_link(p->s, &p->s->subs[owner], schema));
}

static const cw_json *value_of(const preparer *p, uint32_t index, kw_id id)
{
    const keyword *k = cw_schema_find_keyword(p->s, index, id);
    return k ? k->key + 1 : NULL;
}

static void note(preparer *p, cw_str pointer, cw_str from, cw_str to)
{
    cw_schema_changes *c = &p->changes;
    if (c->n % CHANGES_STEP == 0) {
        size_t old = c->n * sizeof c->items[0];
        void *more =
            cw_arena_resize(p->arena, c->items, old, old + CHANGES_STEP * sizeof c->items[0]);
        if (!more) {
            p->code = cw_arena_code(p->arena);
            return;
        }
        c->items = more;
    }
    c->items[c->n++] = (cw_schema_change){pointer, from, to};
}

/* The pointer to v, or to a member of it that is not there. */
static cw_str pointer_of(preparer *p, const cw_json *v, const cw_json *member)
{
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 4);
    cw_schema_add_pointer(&b, p->root, v);
    if (member) {
        cw_buf_add_char(&b, '/');
        cw_json_escape_token(&b, cw_json_text(member));
    }
    cw_str text = b.code ? (cw_str){0} : cw_arena_dup_str(p->arena, cw_buf_str(&b));
    cw_buf_done(&b);
    if (!text.p && !p->code)
        p->code = CW_NOMEM;
    return text;
}

/* ------------------------------------------------------------------ strings */

/* What a string is the JSON text of, when that is the only type that is allowed. */
static bool reads_as(const preparer *p, const set *applies, cw_str text)
{
    uint32_t number = TYPE_BIT(CW_JSON_NUMBER);
    uint32_t types = TYPE_ANY;
    bool whole = false;
    for (uint32_t i = 0; i < applies->n; i++) {
        const cw_json *type = value_of(p, applies->subs[i], KW_TYPE);
        if (!type)
            continue;
        uint32_t bits = cw_schema_type_bits(type);
        whole |= (bits & TYPE_INTEGER) && !(bits & number);
        types &= bits | (bits & TYPE_INTEGER ? number : 0);
    }
    cw_arena arena;
    cw_arena_init(&arena, 65536);
    const cw_json *v = NULL;
    bool ok = false;
    if (cw_json_read(text, NULL, &arena, &v, NULL, NULL) == CW_OK) {
        uint32_t bit = TYPE_BIT(cw_json_type_of(v));
        uint32_t boolean = TYPE_BIT(CW_JSON_TRUE) | TYPE_BIT(CW_JSON_FALSE);
        bool only = types == (bit & boolean ? boolean : bit);
        /* The whole string, without white space around it. */
        ok = only && cw_json_count(v) == 0 && cw_json_type_of(v) < CW_JSON_STRING &&
             v->n == text.n && (!whole || cw_json_is_integer(v));
    }
    cw_arena_done(&arena);
    return ok;
}

static void write_string(preparer *p, const set *applies, const cw_json *v)
{
    cw_str text = cw_json_text(v);
    if (!p->opts.coerce || text.n > 64 || !reads_as(p, applies, text)) {
        cw_json_add_value(&p->w, v);
        return;
    }
    cw_str copy = cw_arena_dup_str(p->arena, text);
    cw_json_add_span(&p->w, text);
    if (copy.p)
        note(p, pointer_of(p, v, NULL), cw_json_span(v), copy);
    else
        p->code = cw_arena_code(p->arena);
}

/* --------------------------------------------------------------- containers */

static const cw_json *default_of(const preparer *p, const set *applies)
{
    for (uint32_t i = 0; i < applies->n; i++) {
        const cw_json *found = cw_json_get(p->s->subs[applies->subs[i]].value, CW_STR("default"));
        if (found)
            return found;
    }
    return NULL;
}

static bool declared_before(const preparer *p, const set *applies, uint32_t before, cw_str name)
{
    for (uint32_t i = 0; i < before; i++) {
        if (cw_json_get(value_of(p, applies->subs[i], KW_PROPERTIES), name))
            return true;
    }
    return false;
}

static void set_add_member(const preparer *p, set *to, const set *applies, cw_str name)
{
    for (uint32_t i = 0; i < applies->n; i++) {
        const cw_json *properties = value_of(p, applies->subs[i], KW_PROPERTIES);
        set_add_value(p, to, applies->subs[i], cw_json_get(properties, name));
    }
}

/* Declared members that are missing and have a default, in the order of the schema. */
static void write_missing(preparer *p, const set *applies, const cw_json *v)
{
    for (uint32_t i = 0; i < applies->n; i++) {
        const cw_json *properties = value_of(p, applies->subs[i], KW_PROPERTIES);
        const cw_json *k = properties ? cw_json_first(properties) : NULL;
        for (; k && !p->code; k = cw_json_next_key(k)) {
            cw_str name = cw_json_text(k);
            if (cw_json_get(v, name) || declared_before(p, applies, i, name))
                continue;
            set member = {.n = 0};
            set_add_member(p, &member, applies, name);
            const cw_json *value = default_of(p, &member);
            if (!value)
                continue;
            cw_json_add_key(&p->w, name);
            cw_json_add_value(&p->w, value);
            note(p, pointer_of(p, v, k), CW_STR(""), cw_json_span(value));
        }
    }
}

static void write_object(preparer *p, const set *applies, const cw_json *v)
{
    cw_json_open_object(&p->w);
    for (const cw_json *k = cw_json_first(v); k && !p->code; k = cw_json_next_key(k)) {
        set member = {.n = 0};
        set_add_member(p, &member, applies, cw_json_text(k));
        cw_json_add_key(&p->w, cw_json_text(k));
        write_value(p, &member, k + 1);
    }
    if (p->opts.defaults)
        write_missing(p, applies, v);
    cw_json_close(&p->w);
}

/* The schemas of item `i`: by its place, or the rest's. */
static void set_add_item(const preparer *p, set *to, uint32_t owner, size_t i)
{
    const cw_json *items = value_of(p, owner, KW_ITEMS);
    const cw_json *prefix = value_of(p, owner, KW_PREFIX_ITEMS);
    if (cw_json_is(items, CW_JSON_ARRAY)) {
        prefix = items;
        items = value_of(p, owner, KW_ADDITIONAL_ITEMS);
    }
    const cw_json *own = cw_json_at(prefix, i);
    set_add_value(p, to, owner, own ? own : items);
}

static void write_array(preparer *p, const set *applies, const cw_json *v)
{
    size_t i = 0;
    cw_json_open_array(&p->w);
    for (const cw_json *c = cw_json_first(v); c && !p->code; c = cw_json_next(c), i++) {
        set item = {.n = 0};
        for (uint32_t j = 0; j < applies->n; j++)
            set_add_item(p, &item, applies->subs[j], i);
        write_value(p, &item, c);
    }
    cw_json_close(&p->w);
}

static void write_value(preparer *p, const set *applies, const cw_json *v)
{
    if (applies->n == 0)
        cw_json_add_value(&p->w, v);
    else if (cw_json_is(v, CW_JSON_OBJECT))
        write_object(p, applies, v);
    else if (cw_json_is(v, CW_JSON_ARRAY))
        write_array(p, applies, v);
    else if (cw_json_is(v, CW_JSON_STRING))
        write_string(p, applies, v);
    else
        cw_json_add_value(&p->w, v);
}

cw_code cw_schema_prepare(const cw_schema *s, const cw_json *instance,
                          const cw_schema_prepare_opts *opts, cw_arena *arena, cw_buf *out,
                          cw_schema_changes *ret, cw_err *err)
{
    preparer p = {.s = s, .opts = *opts, .root = instance, .arena = arena};
    cw_json_writer_init(&p.w, out, CW_JSON_COMPACT);
    set applies = {.n = 0};
    set_add(&p, &applies, s->root);
    write_value(&p, &applies, instance);
    cw_code rc = cw_json_writer_end(&p.w, err);
    if (rc)
        return rc;
    if (p.code)
        return cw_fail(err, p.code, "%s", cw_code_text(p.code));
    *ret = p.changes;
    return CW_OK;
}
