/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mapping.c - the map of a method's params and result: made from an overlay, applied to the
 * arguments of a call and to its result. */
#include "source/remote/mapping.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/fnv.h"
#include "base/utf8.h"
#include "json/write.h"

#define CONTINUATION "continuation"
#define HIDDEN SIZE_MAX

/* One param of the service, in its order. */
typedef struct map_entry {
    cw_str key;           /* "name": with quotes and colon, as it is sent */
    size_t argument;      /* index of the param that is shown for it, or HIDDEN */
    cw_str fixed;         /* JSON that is always sent, or empty */
    cw_str default_value; /* JSON that is sent where it is left out, or empty */
} map_entry;

struct cw_param_map {
    const cw_protocol_opts *protocol;
    cw_params_style style;
    const map_entry *slots;
    size_t n;
    bool passes_all; /* the only argument, "params", contains all params */
    /* Results. */
    cw_str pointer;
    size_t budget; /* 0: none */
    bool continues;
    size_t continuation; /* index of that argument, where it continues */
};

#define NEAR 3u /* edits, for "did you mean" */

typedef struct builder {
    const cw_protocol_opts *protocol;
    const cw_config_overlay *overlay;
    cw_arena *arena;
    cw_param *exposed;
    size_t n_shown;
    map_entry *slots;
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

cw_code cw_param_map_change_schema(cw_arena *arena, const char *member, cw_str value, cw_param *p,
                                   cw_err *err)
{
    const cw_json *schema = NULL;
    cw_code rc = p->schema.n ? cw_json_read(p->schema, NULL, arena, &schema, NULL, err) : CW_OK;
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
    cw_str text = rc ? (cw_str){0} : cw_arena_dup_str(arena, cw_buf_str(&b));
    if (!rc && !text.p)
        rc = cw_arena_fail(arena, err);
    if (!rc)
        p->schema = text;
    return rc;
}

/* Add a param as clients see it: the operator's values replace the service's. */
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
            rc = cw_param_map_change_schema(x->arena, "default", text, p, err);
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
    map_entry *slot = &x->slots[x->n++];
    cw_param p = *found;
    cw_code rc = make_key(x, found->name, &slot->key, err);
    slot->fixed = slot->default_value = CW_STR("");
    slot->argument = HIDDEN;
    if (!rc && o && o->value.n)
        return keep(x, o->value, &slot->fixed, err);
    if (!rc && o && o->default_value.n)
        rc = keep(x, o->default_value, &slot->default_value, err);
    if (rc || (o && o->hidden))
        return rc;
    slot->argument = x->n_shown;
    return show(x, o, &p, err);
}

/* Add a param that only the overlay declares. */
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

/* ---- all params ---- */

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
    cw_param p = {.name = CW_STR(CONTINUATION),
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

/* The size that the operator has set; 0: none. MCP servers make their own results. */
static size_t budget_of(const cw_protocol_opts *protocol, const cw_config_overlay *o)
{
    bool is_set = o->result_size != CW_CONFIG_NO_SIZE && !cw_dialect_is_mcp(protocol->dialect);
    return is_set ? o->result_size : 0;
}

static bool needs_plan(const cw_protocol_opts *protocol, const cw_config_overlay *o,
                       const cw_method *m)
{
    return m->by_position || protocol->params != CW_PARAMS_NAMED || protocol->secret_member.n ||
           protocol->secret_first.n || o->params.n || o->result.n || budget_of(protocol, o) ||
           m->takes_any_params;
}

static cw_code show_result(builder *x, cw_param_map *map, cw_method *m, cw_err *err)
{
    const cw_config_overlay *o = x->overlay;
    cw_code rc = check_pointer(o->result, err);
    if (!rc)
        rc = keep(x, o->result, &map->pointer, err);
    map->budget = budget_of(x->protocol, o);
    map->continues = map->budget && (o->read_only || (m->mark && m->mark->is_read_only));
    if (o->result.n || map->budget)
        m->output = CW_STR("");
    if (!rc && map->continues)
        rc = add_continuation(x, map, err);
    return rc;
}

/* Show one argument that contains all params. If the service takes lists, the schema allows only a
 * list: some clients reduce a choice between list and object to the object. */
static cw_code expose_all(builder *x, const cw_param_map *map, const cw_method *m, cw_err *err)
{
    cw_param *all = &x->exposed[x->n_shown++];
    *all = m->params[0];
    /* No client needs it. */
    cw_code rc = cw_param_map_change_schema(x->arena, "x-spread", CW_STR(""), all, err);
    if (rc || map->style != CW_PARAMS_POSITIONAL)
        return rc;
    all->description = CW_STR("What the method takes: a list in its order");
    return cw_param_map_change_schema(x->arena, "type", CW_STR("\"array\""), all, err);
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
    if (map->passes_all)
        rc = expose_all(x, map, m, err);
    if (!rc)
        rc = show_result(x, map, m, err);
    if (rc)
        return rc;
    /* The schema of all arguments together uses the names of the service. */
    if (o->params.n || map->continues)
        m->input = CW_STR("");
    m->by_position = m->takes_any_params = false; /* the map does this */
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

/* ---- the part of a result that is returned, within its budget ---- */

#define WORD "next-"
#define CHARACTER_MAX 4u

/* A hash that shows whether a result has changed, the same at all servers. It does not protect
 * against an attacker. */
static uint64_t hash_of(cw_str text)
{
    return cw_fnv1a(CW_FNV1A_START, text);
}

static bool parse_continuation(cw_str text, cw_continuation *ret)
{
    char copy[64], rest;
    if (text.n >= sizeof copy)
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = 0;
    return sscanf(copy, WORD "%" SCNx64 "-%" SCNx64 "%c", &ret->at, &ret->hash, &rest) == 2;
}

static void fail(cw_outcome *outcome, const char *message)
{
    *outcome =
        (cw_outcome){.kind = CW_OUTCOME_ERROR, .code = -32000, .message = cw_str_from(message)};
}

static void fail_nomem(cw_outcome *outcome)
{
    *outcome = (cw_outcome){.kind = CW_OUTCOME_FAILED,
                            .fault = CW_FAULT_NOMEM,
                            .message = CW_STR("There is not enough memory for the result.")};
}

/* Add as many elements from `at` on as fit, but at least one. Returns the begin of the next part;
 * 0: no further part. */
static uint64_t add_items(cw_json_writer *w, const cw_json *list, uint64_t at, size_t budget)
{
    size_t n = 0;
    uint64_t i = 0;
    const cw_json *v = cw_json_first(list);
    cw_json_add_key(w, CW_STR("items"));
    cw_json_open_array(w);
    for (; v && i < at; i++)
        v = cw_json_next(v);
    for (; v; v = cw_json_next(v), i++) {
        n += cw_json_span(v).n + 1;
        if (n > budget && i > at)
            break;
        cw_json_add_value(w, v);
    }
    cw_json_close(w);
    return v ? i : 0;
}

static uint64_t add_text(cw_json_writer *w, cw_str text, uint64_t at, size_t budget)
{
    cw_str rest = at < text.n ? cw_str_make(text.p + at, text.n - at) : CW_STR("");
    cw_str part = cw_str_make(rest.p, rest.n > budget ? cw_utf8_cut(rest, budget) : rest.n);
    if (part.n == 0 && rest.n) /* a budget below one character: every part has at least one */
        part.n = cw_utf8_cut(rest, CHARACTER_MAX);
    cw_json_add_string_member(w, CW_STR("text"), part);
    return part.n < rest.n ? at + part.n : 0;
}

static cw_code cut(const cw_param_map *map, const cw_json *result, uint64_t at, uint64_t hash,
                   cw_arena *arena, const cw_json **ret)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, 8 * map->budget + cw_json_span(result).n + 256);
    cw_json_writer w;
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    bool is_text = cw_json_is(result, CW_JSON_STRING);
    bool is_list = cw_json_is(result, CW_JSON_ARRAY);
    cw_str whole = is_text ? cw_json_text(result) : cw_json_span(result);
    uint64_t next =
        is_list ? add_items(&w, result, at, map->budget) : add_text(&w, whole, at, map->budget);
    cw_json_add_key(&w, CW_STR("total"));
    cw_json_add_u64(&w, is_list ? cw_json_count(result) : whole.n);
    if (next && map->continues) {
        char token[64];
        snprintf(token, sizeof token, WORD "%" PRIx64 "-%" PRIx64, next, hash);
        cw_json_add_string_member(&w, CW_STR(CONTINUATION), cw_str_from(token));
    } else if (next) {
        cw_json_add_bool_member(&w, CW_STR("truncated"), true);
    }
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, NULL);
    cw_str text = rc ? (cw_str){NULL, 0} : cw_arena_dup_str(arena, cw_buf_str(&out));
    const cw_json_opts opts = {.max_bytes = text.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    return text.p ? cw_json_read(text, &opts, arena, ret, NULL, NULL) : CW_NOMEM;
}

void cw_param_map_result(const cw_param_map *map, const cw_continuation *part, cw_arena *arena,
                         cw_outcome *outcome)
{
    const cw_json *result =
        map->pointer.n ? cw_json_pointer(outcome->result, map->pointer) : outcome->result;
    if (!result) {
        const char *text = cw_arena_printf(arena, "The result of the service has no %.*s.",
                                           CW_STR_ARG(map->pointer));
        fail(outcome, text ? text : "The result of the service lacks the part that counts.");
        return;
    }
    outcome->result = result;
    if (map->budget == 0)
        return;
    cw_str span = cw_json_span(result);
    if (span.n <= map->budget && !part->is_given)
        return;
    uint64_t hash = hash_of(span);
    if (part->is_given && part->hash != hash) {
        fail(outcome, "The result has changed since its first part was given; begin again without "
                      "\"" CONTINUATION "\".");
        return;
    }
    if (cut(map, result, part->at, hash, arena, &outcome->result))
        fail_nomem(outcome);
    else if (!part->is_given)
        outcome->whole = result;
}

/* ---- the params that are sent ---- */

/* The params that are sent: as large as the arguments and the additions of the map. */
typedef struct param_builder {
    const cw_param_map *map;
    const cw_json *const *arguments; /* or NULL */
    cw_buf *out;
    size_t n; /* values written */
} param_builder;

/* JSON text of a slot's value; empty: it is left out. */
static cw_str value_of(const param_builder *x, const map_entry *slot)
{
    if (slot->fixed.n)
        return slot->fixed;
    bool is_shown = slot->argument != HIDDEN && x->arguments;
    const cw_json *v = is_shown ? x->arguments[slot->argument] : NULL;
    return v ? cw_json_span(v) : slot->default_value;
}

static void separate(param_builder *x)
{
    if (x->n++)
        cw_buf_add_char(x->out, ',');
}

static void add(param_builder *x, cw_str key, cw_str value)
{
    separate(x);
    cw_buf_add(x->out, key);
    cw_buf_add(x->out, value);
}

static void write_named(param_builder *x, size_t from)
{
    for (size_t i = from; i < x->map->n; i++) {
        cw_str value = value_of(x, &x->map->slots[i]);
        if (value.n)
            add(x, x->map->slots[i].key, value);
    }
    if (x->map->protocol->secret_member.n)
        add(x, CW_STR(""), x->map->protocol->secret_member);
}

/* The first `n` slots. */
static void write_list(param_builder *x, size_t n)
{
    cw_buf_add_char(x->out, '[');
    if (x->map->protocol->secret_first.n)
        add(x, CW_STR(""), x->map->protocol->secret_first);
    for (size_t i = 0; i < n; i++) {
        cw_str value = value_of(x, &x->map->slots[i]);
        add(x, CW_STR(""), value.n ? value : CW_STR("null"));
    }
    cw_buf_add_char(x->out, ']');
}

/* Slots up to the last that has a value, or up to the first that has none. */
static size_t count_given(const param_builder *x, bool without_gaps)
{
    size_t n = 0;
    for (size_t i = 0; i < x->map->n; i++) {
        bool is_given = value_of(x, &x->map->slots[i]).n;
        if (is_given)
            n = i + 1;
        else if (without_gaps)
            break;
    }
    return n;
}

static void write_mixed(param_builder *x)
{
    size_t n = count_given(x, /* without_gaps= */ true);
    cw_buf_add_char(x->out, '{');
    if (n || x->map->protocol->secret_first.n) {
        cw_buf_add(x->out, CW_STR("\"args\":"));
        write_list(x, n);
        x->n = 1;
    }
    write_named(x, n);
    cw_buf_add_char(x->out, '}');
}

/* Write the members of the argument "params", which contains all params. */
static void write_passed(param_builder *x)
{
    const cw_json *all = x->arguments ? x->arguments[0] : NULL;
    bool is_object = cw_json_is(all, CW_JSON_OBJECT), is_list = cw_json_is(all, CW_JSON_ARRAY);
    cw_str secret = x->map->protocol->secret_first;
    if (is_object || (!is_list && x->map->style == CW_PARAMS_NAMED)) {
        cw_buf_add_char(x->out, '{');
        for (const cw_json *k = is_object ? cw_json_first(all) : NULL; k; k = cw_json_next_key(k)) {
            separate(x);
            cw_json_escape(x->out, cw_json_text(k));
            cw_buf_add_char(x->out, ':');
            cw_buf_add(x->out, cw_json_span(cw_json_value(k)));
        }
        if (x->map->protocol->secret_member.n)
            add(x, CW_STR(""), x->map->protocol->secret_member);
        cw_buf_add_char(x->out, '}');
        return;
    }
    cw_buf_add_char(x->out, '[');
    if (secret.n)
        add(x, CW_STR(""), secret);
    for (const cw_json *v = is_list ? cw_json_first(all) : NULL; v; v = cw_json_next(v))
        add(x, CW_STR(""), cw_json_span(v));
    cw_buf_add_char(x->out, ']');
}

static void write_all(param_builder *x)
{
    if (x->map->passes_all) {
        write_passed(x);
        return;
    }
    switch (x->map->style) {
    case CW_PARAMS_POSITIONAL:
        write_list(x, count_given(x, /* without_gaps= */ false));
        return;
    case CW_PARAMS_MIXED:
        write_mixed(x);
        return;
    case CW_PARAMS_NAMED:
        break;
    }
    cw_buf_add_char(x->out, '{');
    write_named(x, 0);
    cw_buf_add_char(x->out, '}');
}

static cw_code read_continuation(const cw_param_map *map, const cw_json *const *arguments,
                                 cw_continuation *ret, cw_err *err)
{
    const cw_json *v = map->continues && arguments ? arguments[map->continuation] : NULL;
    *ret = (cw_continuation){.is_given = v != NULL};
    if (!v || (cw_json_is(v, CW_JSON_STRING) && parse_continuation(cw_json_text(v), ret)))
        return CW_OK;
    return cw_fail(err, CW_PARAMS, "/" CONTINUATION ": expected what a result of this tool gave");
}

cw_code cw_param_map_apply(const cw_param_map *map, const cw_json *const *arguments,
                           cw_arena *arena, cw_str *ret, cw_continuation *ret_part, cw_err *err)
{
    cw_code rc = read_continuation(map, arguments, ret_part, err);
    if (rc)
        return rc;
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, CW_BUF_MAX);
    param_builder x = {.map = map, .arguments = arguments, .out = &out};
    write_all(&x);
    if (out.code)
        return cw_fail_nomem(err);
    if (x.n == 0 && !map->protocol->sends_empty) {
        *ret = CW_STR("");
        return CW_OK;
    }
    *ret = cw_arena_dup_str(arena, cw_buf_str(&out));
    return ret->p ? CW_OK : cw_arena_fail(arena, err);
}
