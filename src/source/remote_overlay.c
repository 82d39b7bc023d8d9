/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remote_overlay.c - what an operator says about the methods of a service.
 *
 *     document: all methods   x   overlay: some of them, marked   ->   offer
 *
 * A method that no overlay names is not there at all.
 */
#include "base/map.h"
#include "source/openrpc.h"
#include "source/remote_int.h"
#include "json/write.h"

#define NEAR 8u /* edits, for "did you mean" */

typedef struct reading {
    cw_remote *remote;
    const cw_config_remote *config;
    cw_method *found; /* all of the document */
    size_t n_found;
    cw_map by_id;
    cw_arena scratch; /* of one mark */
    cw_method *offer;
    cw_remote_wire *wires;
    size_t n;
    cw_buf *problems;
} reading;

static void add_problem(cw_buf *problems, const char *text)
{
    cw_buf_printf(problems, "%s%s", problems->n ? "\n" : "", text);
}

static cw_code nomem(const reading *x, cw_err *err)
{
    return cw_arena_fail(&x->remote->arena, err);
}

/* ---- one method ---- */

static cw_code unknown_method(const reading *x, cw_str id, cw_err *err)
{
    cw_str nearest = {NULL, 0};
    unsigned best = NEAR + 1;
    for (size_t i = 0; i < x->n_found; i++) {
        unsigned d = cw_str_distance(x->found[i].id, id, NEAR);
        if (d < best) {
            best = d;
            nearest = x->found[i].id;
        }
    }
    if (!nearest.p)
        return cw_fail(err, CW_PARAMS, "method '%.*s': the service has no such method",
                       CW_STR_ARG(id));
    return cw_fail(err, CW_PARAMS,
                   "method '%.*s': the service has no such method; did you mean '%.*s'?",
                   CW_STR_ARG(id), CW_STR_ARG(nearest));
}

/* {"title":…,"annotations":…,"visibility":…} of an overlay, as cw_openrpc_mark takes it. */
static cw_code write_mark(const cw_config_overlay *o, cw_buf *out, cw_err *err)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    if (o->title.n)
        cw_json_add_string_member(&w, CW_STR("title"), o->title);
    if (o->annotations.n) {
        cw_json_add_key(&w, CW_STR("annotations"));
        cw_json_add_span(&w, o->annotations);
    }
    if (o->hides)
        cw_json_add_string_member(&w, CW_STR("visibility"), CW_STR("hide"));
    cw_json_close(&w);
    return cw_json_writer_end(&w, err);
}

static cw_code read_mark(reading *x, const cw_config_overlay *o, cw_method *m, cw_err *err)
{
    cw_arena *arena = &x->remote->arena;
    cw_buf text CW_CLEANUP(cw_buf_done);
    cw_buf_init(&text, 2 * CW_CONFIG_MAX_BYTES);
    const cw_json *mark;
    cw_code rc = write_mark(o, &text, err);
    if (rc)
        return rc;
    cw_arena_reset(&x->scratch);
    rc = cw_json_read(cw_buf_str(&text), NULL, &x->scratch, &mark, NULL, err);
    return rc ? cw_wrap(err, rc, "annotations")
              : cw_openrpc_mark(mark, "overlay", arena, &m->mark, &m->needs, err);
}

static cw_code read_permissions(reading *x, const cw_config_overlay *o, cw_method *m, cw_err *err)
{
    cw_arena *arena = &x->remote->arena;
    size_t n = o->permissions.n;
    if (n == 0)
        return CW_OK;
    cw_str *items = cw_arena_calloc(arena, n, sizeof *items);
    if (!items)
        return nomem(x, err);
    for (size_t i = 0; i < n; i++) {
        items[i] = cw_arena_dup_str(arena, o->permissions.items[i]);
        if (!items[i].p)
            return nomem(x, err);
    }
    m->needs.permissions = items;
    m->needs.n_permissions = cw_needs_sort(items, n);
    return CW_OK;
}

static cw_code make_wire(reading *x, const cw_method *m, cw_remote_wire *wire, cw_err *err)
{
    cw_buf b CW_CLEANUP(cw_buf_done);
    cw_buf_init(&b, 6 * m->id.n + 64);
    cw_buf_add(&b, CW_STR(",\"method\":"));
    cw_json_escape(&b, m->id);
    cw_buf_add(&b, CW_STR(",\"params\":"));
    if (b.code)
        return cw_fail_nomem(err);
    wire->text = cw_arena_dup_str(&x->remote->arena, cw_buf_str(&b));
    wire->may_repeat = m->mark && (m->mark->is_read_only || m->mark->is_idempotent);
    return wire->text.p ? CW_OK : nomem(x, err);
}

/* The id here: with the prefix before it. */
static cw_code rename_method(reading *x, cw_method *m, cw_err *err)
{
    cw_str prefix = x->config->prefix;
    if (prefix.n == 0)
        return CW_OK;
    char *id = cw_arena_alloc(&x->remote->arena, prefix.n + m->id.n + 1);
    if (!id)
        return nomem(x, err);
    memcpy(id, prefix.p, prefix.n);
    memcpy(id + prefix.n, m->id.p, m->id.n);
    id[prefix.n + m->id.n] = 0;
    m->id = cw_str_make(id, prefix.n + m->id.n);
    return CW_OK;
}

static cw_code offer_method(reading *x, const cw_config_overlay *o, cw_err *err)
{
    const cw_method *found = cw_map_find(&x->by_id, o->method);
    if (!found)
        return unknown_method(x, o->method, err);
    if (!o->tool && o->hides)
        return cw_fail(err, CW_PARAMS, "method '%.*s': visibility: only a tool can be hidden",
                       CW_STR_ARG(o->method));
    if (!o->tool && !o->rpc)
        return CW_OK;
    cw_method m = *found;
    m.needs = (cw_needs){0};
    m.mark = NULL;
    m.is_callable = o->rpc;
    m.index = (uint32_t)x->n;
    if (o->description.n) {
        m.usage = cw_arena_dup_str(&x->remote->arena, o->description);
        if (!m.usage.p)
            return nomem(x, err);
    }
    cw_code rc = cw_remote_check_hidden(&m, err);
    if (rc == CW_OK && o->tool)
        rc = read_mark(x, o, &m, err);
    if (rc == CW_OK)
        rc = read_permissions(x, o, &m, err);
    if (rc == CW_OK)
        rc = make_wire(x, &m, &x->wires[x->n], err);
    if (rc == CW_OK)
        rc = rename_method(x, &m, err);
    if (rc)
        return cw_wrap(err, rc, "method '%.*s'", CW_STR_ARG(o->method));
    x->offer[x->n++] = m;
    return CW_OK;
}

/* ---- all of them ---- */

static cw_code index_methods(reading *x)
{
    for (size_t i = 0; i < x->n_found; i++) {
        cw_code rc = cw_map_put(&x->by_id, x->found[i].id, &x->found[i], NULL);
        if (rc)
            return rc;
    }
    return CW_OK;
}

/* Every mistake is found in one go; a lack of memory ends it. */
static cw_code apply(reading *x, cw_err *err)
{
    size_t n = x->config->methods.n;
    cw_code worst = CW_OK;
    x->offer = cw_arena_calloc(&x->remote->arena, n, sizeof *x->offer);
    x->wires = cw_arena_calloc(&x->remote->arena, n, sizeof *x->wires);
    if (!x->offer || !x->wires)
        return nomem(x, err);
    cw_code rc = index_methods(x);
    if (rc)
        return cw_fail_nomem(err);
    for (size_t i = 0; i < n; i++) {
        rc = offer_method(x, &x->config->methods.items[i], err);
        if (rc == CW_NOMEM)
            return rc;
        if (rc) {
            add_problem(x->problems, err->msg);
            worst = rc;
        }
    }
    return worst;
}

cw_code cw_remote_read(cw_remote *r, const cw_config_remote *config, const cw_json *doc,
                       cw_buf *problems)
{
    reading x = {.remote = r, .config = config, .problems = problems};
    cw_openrpc_opts opts = {.trust_marks = false, .callable = false, .source = &r->base};
    cw_err err;
    cw_code rc = cw_openrpc_read(doc, &opts, &r->arena, &x.found, &x.n_found, &err);
    if (rc) {
        add_problem(problems, err.msg);
        return rc;
    }
    cw_map_init(&x.by_id, x.n_found ? x.n_found : 1);
    cw_arena_init(&x.scratch, SIZE_MAX);
    rc = apply(&x, &err);
    cw_arena_done(&x.scratch);
    cw_map_done(&x.by_id);
    if (rc && problems->n == 0)
        add_problem(problems, err.msg);
    if (rc)
        return rc;
    r->base.methods = x.offer;
    r->base.n_methods = x.n;
    r->wires = x.wires;
    return CW_OK;
}
