/* SPDX-License-Identifier: GPL-2.0-or-later */
/* input.c - the schema of all arguments together, where a method has an `x-input`.
 *
 * The params become its `properties`. Their schemas were roots of their own, so references
 * inside them are rewritten for the deeper place, and their "$schema" moves to the root.
 */
#include "catalogue/schema_bundle.h"
#include "json/write.h"
#include "source/openrpc/openrpc_int.h"

typedef struct maker {
    cw_json_writer w;
    cw_buf text;  /* the whole */
    cw_buf piece; /* one param's schema */
    cw_buf place; /* the pointer to its place in the whole */
    cw_arena *scratch;
} maker;

static void maker_init(maker *m, cw_arena *scratch)
{
    cw_buf_init(&m->text, CW_BUF_MAX);
    cw_buf_init(&m->piece, CW_BUF_MAX);
    cw_buf_init(&m->place, CW_BUF_MAX);
    cw_json_writer_init(&m->w, &m->text, CW_JSON_COMPACT);
    m->scratch = scratch;
}

static void maker_done(maker *m)
{
    cw_buf_done(&m->text);
    cw_buf_done(&m->piece);
    cw_buf_done(&m->place);
}

/* A param's schema, which was kept as text. */
static cw_code read_param(maker *m, const cw_param *param, const cw_json **ret, cw_err *err)
{
    cw_json_opts deep = {.max_depth = CW_JSON_DEPTH_CEILING};
    cw_str text = param->schema.n ? param->schema : CW_STR("{}");
    return cw_json_read(text, &deep, m->scratch, ret, NULL, err);
}

static cw_code write_property(maker *m, const cw_param *param, const cw_json *schema, cw_err *err)
{
    cw_buf_clear(&m->piece);
    cw_buf_clear(&m->place);
    cw_buf_add(&m->place, CW_STR("/properties"));
    cw_bundle_add_token(&m->place, param->name);
    cw_str place = cw_buf_str(&m->place);
    cw_bundle refs = {
        .on_ref = cw_bundle_move,
        .ctx = &place,
        .description = param->description.n ? &param->description : NULL,
        .drop_dialect = true,
    };
    if (m->place.code || cw_bundle_copy(&refs, schema, &m->piece))
        return cw_fail_nomem(err);
    cw_json_add_key(&m->w, param->name);
    cw_json_add_span(&m->w, cw_buf_str(&m->piece));
    return CW_OK;
}

static void write_required(maker *m, const cw_method *method)
{
    cw_json_add_key(&m->w, CW_STR("required"));
    cw_json_open_array(&m->w);
    for (size_t i = 0; i < method->n_params; i++) {
        if (method->params[i].is_required)
            cw_json_add_string(&m->w, method->params[i].name);
    }
    cw_json_close(&m->w);
}

/* The first dialect that a param names. */
static void write_dialect(maker *m, const cw_json *const *schemas, size_t n)
{
    const cw_json *dialect = NULL;
    for (size_t i = 0; i < n && !dialect; i++)
        dialect = cw_json_get(schemas[i], CW_STR("$schema"));
    if (!dialect)
        return;
    cw_json_add_key(&m->w, CW_STR("$schema"));
    cw_json_add_value(&m->w, dialect);
}

/* {…, "type":"object","properties":{…},"required":[…]}: members of `x-input`, then the params. */
static cw_code write_input(maker *m, const cw_json *more, const cw_method *method,
                           const cw_json *const *schemas, cw_err *err)
{
    size_t n_required = 0;
    cw_code rc = CW_OK;
    cw_json_open_object(&m->w);
    if (!cw_json_get(more, CW_STR("$schema")))
        write_dialect(m, schemas, method->n_params);
    for (const cw_json *k = cw_json_first(more); k; k = cw_json_next_key(k)) {
        cw_json_add_key(&m->w, cw_json_text(k));
        cw_json_add_value(&m->w, cw_json_value(k));
    }
    cw_json_add_string_member(&m->w, CW_STR("type"), CW_STR("object"));
    cw_json_add_key(&m->w, CW_STR("properties"));
    cw_json_open_object(&m->w);
    for (size_t i = 0; i < method->n_params && !rc; i++) {
        rc = write_property(m, &method->params[i], schemas[i], err);
        n_required += method->params[i].is_required;
    }
    if (rc)
        return rc;
    cw_json_close(&m->w);
    if (n_required)
        write_required(m, method);
    cw_json_close(&m->w);
    return cw_json_writer_end(&m->w, err);
}

static cw_code check_input(const cw_json *more, cw_err *err)
{
    static const char *const ours[] = {"type", "properties", "required"};
    if (!cw_json_is(more, CW_JSON_OBJECT))
        return cw_openrpc_wrong(err, "an object", more);
    for (size_t i = 0; i < CW_COUNT(ours); i++) {
        if (cw_json_get(more, cw_str_from(ours[i])))
            return cw_fail(err, CW_PARAMS, "'%s' follows from the params", ours[i]);
    }
    return CW_OK;
}

cw_code cw_openrpc_input(const cw_json *object, cw_arena *scratch, cw_arena *arena,
                         cw_method *method, cw_err *err)
{
    const cw_json *more = cw_json_get(object, CW_STR("x-input"));
    if (!more)
        return CW_OK;
    cw_code rc = check_input(more, err);
    if (rc)
        return cw_wrap(err, rc, "x-input");
    const cw_json **schemas = cw_arena_calloc(scratch, method->n_params, sizeof(const cw_json *));
    if (!schemas)
        return cw_arena_fail(scratch, err);
    CW_CLEANUP(maker_done) maker m;
    maker_init(&m, scratch);
    for (size_t i = 0; i < method->n_params && !rc; i++)
        rc = read_param(&m, &method->params[i], &schemas[i], err);
    if (!rc)
        rc = write_input(&m, more, method, schemas, err);
    if (rc)
        return rc;
    cw_str text = cw_arena_dup_str(arena, cw_buf_str(&m.text));
    if (!text.p)
        return cw_arena_fail(arena, err);
    method->input = text;
    return CW_OK;
}
