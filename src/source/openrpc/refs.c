/* SPDX-License-Identifier: GPL-2.0-or-later */
/* refs.c - references inside an OpenRPC document.
 *
 * A schema leaves the document when it is published, so it must contain all that it refers
 * to. References are rewritten, and their targets become definitions of the schema:
 *
 *     {"items":{"$ref":"#/components/schemas/Pet"}}
 *     {"items":{"$ref":"#/$defs/Pet"},"$defs":{"Pet":{…}}}
 *
 * A definition may refer to others, and to itself: each target is copied once,
 * and a list of targets grows until all are. A reference that leads nowhere in the
 * document but somewhere inside its own schema (plugins write "#/$defs/x" so) stays
 * with that schema.
 */
#include "base/map.h"
#include "catalogue/schema_bundle.h"
#include "json/write.h"
#include "source/openrpc/openrpc_int.h"

#define FOLLOW_MAX 16u    /* references that name references */
#define TARGETS_MAX 1000u /* definitions of one schema */
#define BUNDLE_MAX ((size_t)16 << 20)
#define SCRATCH_MAX ((size_t)1 << 20)

typedef struct target {
    const cw_json *schema;
    cw_str name;
    cw_str place; /* "/$defs/Pet"; of the root "" */
} target;

typedef struct bundler {
    const cw_json *doc;
    cw_json_pointer_index *index; /* of the document */
    const char *container; /* the root's member that gets the definitions: "$defs" if it is free */
    cw_arena scratch;
    cw_map names;    /* of definitions */
    cw_map places;   /* address of a target's schema -> target */
    target *targets; /* the first is the root */
    size_t n_targets;
    target at; /* what is being copied */
    cw_err *err;
} bundler;

static const cw_json *resolve(cw_json_pointer_index *index, const cw_json *from, cw_str ref)
{
    cw_str pointer = cw_str_make(ref.p + 1, ref.n - 1);
    return index ? cw_json_pointer_index_find(index, from, pointer)
                 : cw_json_pointer(from, pointer);
}

cw_code cw_openrpc_follow(const cw_json *doc, cw_json_pointer_index *index, const cw_json **v,
                          cw_err *err)
{
    for (unsigned i = 0; i < FOLLOW_MAX; i++) {
        const cw_json *ref = cw_json_get(*v, CW_STR("$ref"));
        if (!cw_json_is(ref, CW_JSON_STRING) || cw_json_count(*v) != 1)
            return CW_OK;
        cw_str text = cw_json_text(ref);
        if (!cw_str_starts(text, CW_STR("#/")))
            return cw_fail(err, CW_PARAMS, "$ref '%.*s': only \"#/...\" is followed",
                           CW_STR_ARG(text));
        *v = resolve(index, doc, text);
        if (!*v)
            return cw_fail(err, CW_PARAMS, "$ref '%.*s' leads nowhere", CW_STR_ARG(text));
    }
    return cw_fail(err, CW_PARAMS, "$ref leads to more than %u others", FOLLOW_MAX);
}

/* Most schemas have no references at all and need no copy. */
static bool mentions_refs(const cw_json *schema)
{
    for (const cw_json *v = schema; v < cw_json_after(schema); v++) {
        if (!(v->meta & CW_JSON_KEY))
            continue;
        if (cw_str_is(cw_json_text(v), "$ref") || cw_str_is(cw_json_text(v), "$dynamicRef"))
            return true;
    }
    return false;
}

/* The last part of the reference, with a number behind it when another target has that name. */
static cw_code name_target(bundler *b, cw_str ref, cw_str *ret)
{
    size_t start = ref.n;
    while (ref.p[start - 1] != '/')
        start--;
    cw_str last = cw_str_make(ref.p + start, ref.n - start);
    cw_str name = last;
    for (size_t i = 2; cw_map_find(&b->names, name); i++) {
        char *text = cw_arena_printf(&b->scratch, "%.*s_%zu", CW_STR_ARG(last), i);
        if (!text)
            return cw_arena_fail(&b->scratch, b->err);
        name = cw_str_from(text);
    }
    *ret = name;
    return cw_map_put(&b->names, name, b, NULL) ? cw_fail_nomem(b->err) : CW_OK;
}

static cw_code place_target(bundler *b, target *t)
{
    CW_CLEANUP(cw_buf_done) cw_buf place;
    cw_buf_init(&place, SCRATCH_MAX);
    cw_buf_add_char(&place, '/');
    cw_buf_add(&place, cw_str_from(b->container));
    cw_bundle_add_token(&place, t->name);
    if (place.code)
        return cw_fail(b->err, place.code, "%s", cw_code_text(place.code));
    t->place = cw_arena_dup_str(&b->scratch, cw_buf_str(&place));
    return t->place.p ? CW_OK : cw_arena_fail(&b->scratch, b->err);
}

static cw_code add_target(bundler *b, const cw_json *schema, cw_str ref)
{
    if (b->n_targets == TARGETS_MAX)
        return cw_fail(b->err, CW_LIMIT, "more than %u references", TARGETS_MAX - 1);
    target *t = &b->targets[b->n_targets];
    t->schema = schema;
    cw_code rc = name_target(b, ref, &t->name);
    if (!rc)
        rc = place_target(b, t);
    if (rc)
        return rc;
    cw_str key = cw_str_make((const char *)&t->schema, sizeof(const cw_json *));
    if (cw_map_put(&b->places, key, t, NULL))
        return cw_fail_nomem(b->err);
    b->n_targets++;
    return CW_OK;
}

/* A value outside the document does not live as long as the index of the document. */
static cw_json_pointer_index *index_for(const bundler *b, const cw_json *v)
{
    return v >= b->doc && v < cw_json_after(b->doc) ? b->index : NULL;
}

static cw_code on_ref(void *ctx, cw_str ref, cw_buf *out)
{
    bundler *b = ctx;
    const cw_json *schema = ref.n > 1 ? resolve(b->index, b->doc, ref) : NULL;
    if (!schema && resolve(index_for(b, b->at.schema), b->at.schema, ref))
        return cw_bundle_move(&b->at.place, ref, out);
    if (!schema)
        return cw_fail(b->err, CW_PARAMS, "$ref '%.*s' leads nowhere", CW_STR_ARG(ref));
    cw_str key = cw_str_make((const char *)&schema, sizeof(const cw_json *));
    if (!cw_map_find(&b->places, key)) {
        cw_code rc = add_target(b, schema, ref);
        if (rc)
            return rc;
    }
    const target *t = cw_map_find(&b->places, key);
    return cw_bundle_move((void *)(uintptr_t)&t->place, CW_STR("#"), out);
}

static cw_code copy_targets(bundler *b, cw_buf *out)
{
    cw_bundle refs = {.on_ref = on_ref, .ctx = b};
    for (size_t i = 0; i < b->n_targets; i++) {
        b->at = b->targets[i];
        if (i == 1)
            cw_buf_printf(out, ",\"%s\":{", b->container);
        if (i > 0) {
            cw_buf_add(out, i > 1 ? CW_STR(",") : CW_STR(""));
            cw_json_escape(out, b->at.name);
            cw_buf_add_char(out, ':');
        }
        cw_code rc = cw_bundle_copy(&refs, b->at.schema, out);
        if (rc)
            return rc;
        if (i == 0 && b->n_targets > 1)
            out->n--; /* the root stays open for the definitions */
    }
    cw_buf_add(out, b->n_targets > 1 ? CW_STR("}}") : CW_STR(""));
    return out->code;
}

/* A member that the root does not have, so that new names cannot collide with its own. */
static const char *choose_container(const cw_json *root)
{
    static const char *const names[] = {"$defs", "definitions", "x-definitions"};
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        if (!cw_json_get(root, cw_str_from(names[i])))
            return names[i];
    }
    return NULL;
}

static cw_code bundle(bundler *b, const cw_json **schema, cw_arena *arena, size_t *left)
{
    size_t max = *left < BUNDLE_MAX ? *left : BUNDLE_MAX;
    b->container = choose_container(*schema);
    if (!b->container)
        return cw_fail(b->err, CW_PARAMS, "$defs, definitions and x-definitions are all taken");
    b->targets = cw_arena_calloc(&b->scratch, TARGETS_MAX, sizeof *b->targets);
    if (!b->targets)
        return cw_arena_fail(&b->scratch, b->err);
    b->targets[0] = (target){.schema = *schema, .place = CW_STR("")};
    b->n_targets = 1;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, max);
    cw_code rc = copy_targets(b, &text);
    *left -= text.code ? max : text.n;
    if (text.code == CW_LIMIT && max < BUNDLE_MAX)
        return cw_fail(b->err, CW_LIMIT, "what schemas refer to is too much for one document");
    if (text.code == CW_LIMIT)
        return cw_fail(b->err, CW_LIMIT, "longer than %zu bytes with all it refers to", BUNDLE_MAX);
    if (text.code)
        return cw_fail_nomem(b->err);
    if (rc || b->n_targets == 1)
        return rc;
    cw_str copy = cw_arena_dup_str(arena, cw_buf_str(&text));
    if (!copy.p)
        return cw_arena_fail(arena, b->err);
    /* Definitions are deeper here than in their document. */
    cw_json_opts opts = {.max_depth = CW_JSON_DEPTH_CEILING};
    return cw_json_read(copy, &opts, arena, schema, NULL, b->err);
}

cw_code cw_openrpc_bundle(const cw_json *doc, cw_json_pointer_index *index, const cw_json **schema,
                          cw_arena *arena, size_t *left, cw_err *err)
{
    if (!mentions_refs(*schema))
        return CW_OK;
    if (*left == 0) /* checked early: there may be very many such schemas */
        return cw_fail(err, CW_LIMIT, "what schemas refer to is too much for one document");
    bundler b = {.doc = doc, .index = index, .err = err};
    cw_arena_init(&b.scratch, SCRATCH_MAX);
    cw_map_init(&b.names, TARGETS_MAX);
    cw_map_init(&b.places, TARGETS_MAX);
    cw_code rc = bundle(&b, schema, arena, left);
    cw_map_done(&b.places);
    cw_map_done(&b.names);
    cw_arena_done(&b.scratch);
    return rc;
}
