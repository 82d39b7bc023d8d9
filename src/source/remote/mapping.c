/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mapping.c - making a plan: what is shown and what is sent, from one overlay. */
#include "json/write.h"
#include "source/remote/mapping_int.h"

#define NEAR 3u /* edits, for "did you mean" */

typedef struct builder {
    const cw_protocol_opts *protocol;
    const cw_config_overlay *overlay;
    cw_arena *arena;
    cw_param *exposed;
    size_t n_shown;
    cw_param_map_entry *slots;
    size_t n;
} builder;

static cw_code nomem(const builder *x, cw_err *err)
{
    return cw_arena_fail(x->arena, err);
}

static cw_code keep(const builder *x, cw_str text, cw_str *ret, cw_err *err)
{
    *ret = cw_arena_dup_str(x->arena, text);
    return ret->p ? CW_OK : nomem(x, err);
}

/* ---- one param ---- */

static const cw_config_param *find(const cw_config_params *all, cw_str name)
{
    for (size_t i = 0; i < all->n; i++) {
        if (cw_str_eq(all->items[i].name, name))
            return &all->items[i];
    }
    return NULL;
}

static cw_code make_key(const builder *x, cw_str name, cw_str *ret, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf b;
    cw_buf_init(&b, 6 * name.n + 8);
    cw_json_escape(&b, name);
    cw_buf_add_char(&b, ':');
    return b.code ? cw_fail_nomem(err) : keep(x, cw_buf_str(&b), ret, err);
}

/* The schema with another value of a member, for whoever reads it; empty: without the member. */
static cw_code change_schema(const builder *x, const char *member, cw_str value, cw_param *p,
                             cw_err *err)
{
    const cw_json *schema = NULL;
    cw_code rc = p->schema.n ? cw_json_read(p->schema, NULL, x->arena, &schema, NULL, err) : CW_OK;
    if (rc || (schema && !cw_json_is(schema, CW_JSON_OBJECT)))
        return rc;
    CW_CLEANUP(cw_buf_done) cw_buf b;
    cw_buf_init(&b, 8 * (p->schema.n + value.n) + 64);
    cw_json_writer w;
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    for (const cw_json *k = schema ? cw_json_first(schema) : NULL; k; k = cw_json_next_key(k)) {
        if (cw_str_is(cw_json_text(k), member))
            continue;
        cw_json_add_key(&w, cw_json_text(k));
        cw_json_add_value(&w, cw_json_value(k));
    }
    if (value.n) {
        cw_json_add_key(&w, cw_str_from(member));
        cw_json_add_span(&w, value);
    }
    cw_json_close(&w);
    rc = cw_json_writer_end(&w, err);
    return rc ? rc : keep(x, cw_buf_str(&b), &p->schema, err);
}

/* What is shown of it: the operator's word goes before the service's. */
static cw_code show(builder *x, const cw_config_param *o, cw_param *p, cw_err *err)
{
    cw_code rc = CW_OK;
    if (o && o->rename.n)
        rc = keep(x, o->rename, &p->name, err);
    if (!rc && o && o->description.n)
        rc = keep(x, o->description, &p->description, err);
    if (!rc && o && o->schema.n)
        rc = keep(x, o->schema, &p->schema, err);
    if (!rc && o && o->default_value.n) {
        cw_str text;
        rc = keep(x, o->default_value, &text, err);
        if (!rc)
            rc = cw_json_read(text, NULL, x->arena, &p->default_value, NULL, err);
        if (!rc)
            rc = change_schema(x, "default", text, p, err);
        p->is_required = false;
    }
    for (size_t i = 0; i < x->n_shown && !rc; i++) {
        if (cw_str_eq(x->exposed[i].name, p->name))
            rc = cw_fail(err, CW_PARAMS, "two params have the name '%.*s'", CW_STR_ARG(p->name));
    }
    if (!rc)
        x->exposed[x->n_shown++] = *p;
    return rc;
}

static cw_code add_param(builder *x, const cw_param *found, cw_err *err)
{
    const cw_config_param *o = find(&x->overlay->params, found->name);
    cw_param_map_entry *slot = &x->slots[x->n++];
    cw_param p = *found;
    cw_code rc = make_key(x, found->name, &slot->key, err);
    slot->fixed = slot->default_value = CW_STR("");
    slot->argument = CW_PARAM_MAP_HIDDEN;
    if (!rc && o && o->value.n)
        return keep(x, o->value, &slot->fixed, err);
    if (!rc && o && o->default_value.n)
        rc = keep(x, o->default_value, &slot->default_value, err);
    if (rc || (o && o->hidden))
        return rc;
    slot->argument = x->n_shown;
    return show(x, o, &p, err);
}

/* One that only the operator knows. */
static cw_code add_declared(builder *x, const cw_config_param *o, cw_err *err)
{
    cw_param p = {.description = CW_STR(""), .schema = CW_STR(""), .is_required = o->required};
    cw_code rc = keep(x, o->name, &p.name, err);
    return rc ? rc : add_param(x, &p, err);
}

static cw_code unknown(const cw_method *m, const cw_config_param *o, cw_err *err)
{
    for (size_t i = 0; i < m->n_params; i++) {
        if (cw_str_distance_within(m->params[i].name, o->name, NEAR) <= NEAR)
            return cw_fail(err, CW_PARAMS,
                           "params: the method has no '%.*s'; did you mean '%.*s'? A schema would "
                           "declare it",
                           CW_STR_ARG(o->name), CW_STR_ARG(m->params[i].name));
    }
    return cw_fail(err, CW_PARAMS, "params: the method has no '%.*s'; a schema would declare it",
                   CW_STR_ARG(o->name));
}

/* ---- all of them ---- */

static bool has_param(const cw_method *m, cw_str name)
{
    for (size_t i = 0; i < m->n_params; i++) {
        if (cw_str_eq(m->params[i].name, name))
            return true;
    }
    return false;
}

static cw_code add_all(builder *x, const cw_method *m, cw_err *err)
{
    const cw_config_params *own = &x->overlay->params;
    bool is_known = !m->takes_any_params; /* else the overlay declares all of them */
    cw_code rc = CW_OK;
    for (size_t i = 0; i < m->n_params && !rc && is_known; i++)
        rc = add_param(x, &m->params[i], err);
    for (size_t i = 0; i < own->n && !rc; i++) {
        const cw_config_param *o = &own->items[i];
        if (is_known && has_param(m, o->name))
            continue;
        bool is_declared = o->schema.n || o->value.n;
        rc = is_declared ? add_declared(x, o, err) : unknown(m, o, err);
    }
    return rc;
}

static cw_code add_continuation(builder *x, cw_param_map *map, cw_err *err)
{
    map->continuation = x->n_shown;
    cw_param p = {.name = CW_STR(CW_PARAM_MAP_CONTINUATION),
                  .description = CW_STR("From the result before, for its next part; the other "
                                        "arguments stay the same"),
                  .schema = CW_STR("{\"type\":\"string\"}")};
    return show(x, NULL, &p, err);
}

static cw_code check_pointer(cw_str pointer, cw_err *err)
{
    if (pointer.n && pointer.p[0] != '/')
        return cw_fail(err, CW_PARAMS, "result: a JSON Pointer begins with '/'");
    return CW_OK;
}

static bool needs_plan(const cw_protocol_opts *protocol, const cw_config_overlay *o,
                       const cw_method *m)
{
    return m->by_position || protocol->params != CW_PARAMS_NAMED || protocol->secret_member.n ||
           protocol->secret_first.n || o->params.n || o->result.n || o->result_size ||
           m->takes_any_params;
}

static cw_code show_result(builder *x, cw_param_map *map, cw_method *m, cw_err *err)
{
    const cw_config_overlay *o = x->overlay;
    cw_code rc = check_pointer(o->result, err);
    if (!rc)
        rc = keep(x, o->result, &map->pointer, err);
    map->budget = o->result_size;
    map->continues = o->result_size && (o->read_only || (m->mark && m->mark->is_read_only));
    if (o->result.n || o->result_size)
        m->output = CW_STR("");
    if (!rc && map->continues)
        rc = add_continuation(x, map, err);
    return rc;
}

static cw_code fill(builder *x, cw_param_map *map, cw_method *m, cw_err *err)
{
    const cw_config_overlay *o = x->overlay;
    size_t max = m->n_params + o->params.n + 1;
    x->exposed = cw_arena_calloc(x->arena, max, sizeof *x->exposed);
    x->slots = cw_arena_calloc(x->arena, max, sizeof *x->slots);
    if (!x->exposed || !x->slots)
        return nomem(x, err);
    map->passes_all = m->takes_any_params && o->params.n == 0;
    cw_code rc = map->passes_all ? CW_OK : add_all(x, m, err);
    if (map->passes_all) {
        cw_param *all = &x->exposed[x->n_shown++];
        *all = m->params[0];
        rc = change_schema(x, "x-spread", CW_STR(""), all, err); /* no client needs it */
    }
    if (!rc)
        rc = show_result(x, map, m, err);
    if (rc)
        return rc;
    /* A schema of all arguments together speaks of the names there. */
    if (o->params.n || map->continues)
        m->input = CW_STR("");
    m->by_position = m->takes_any_params = false; /* the map sees to it */
    m->params = x->exposed;
    m->n_params = x->n_shown;
    map->slots = x->slots;
    map->n = x->n;
    return CW_OK;
}

cw_code cw_param_map_make(const cw_protocol_opts *protocol, const cw_config_overlay *overlay,
                          cw_method *m, cw_arena *arena, const cw_param_map **ret, cw_err *err)
{
    builder x = {.protocol = protocol, .overlay = overlay, .arena = arena};
    *ret = NULL;
    if (needs_plan(protocol, overlay, m)) {
        cw_param_map *map = cw_arena_calloc(arena, 1, sizeof *map);
        if (!map)
            return cw_arena_fail(arena, err);
        map->protocol = protocol;
        map->style = m->by_position ? CW_PARAMS_POSITIONAL : protocol->params;
        cw_code rc = fill(&x, map, m, err);
        if (rc)
            return rc;
        *ret = map;
    }
    return overlay->output.n ? keep(&x, overlay->output, &m->output, err) : CW_OK;
}
