/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sources.c - methods about plugins and services. */
#include <stdlib.h>

#include "admin/approvals.h"
#include "admin/definitions.h"
#include "base/clock.h"
#include "source/remote/lock/lock_approve.h"
#include "source/remote/lock/lock_diff.h"

/* ---- list ---- */

static void write_date(cw_json_writer *w, const char *name, int64_t ms)
{
    cw_json_add_key(w, cw_str_from(name));
    if (ms)
        cw_json_add_i64(w, ms);
    else
        cw_json_add_null(w);
}

static void write_report(const cw_source_report *r, void *ctx)
{
    cw_json_writer *w = ctx;
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), r->name);
    cw_json_add_string_member(w, CW_STR("kind"),
                              r->is_plugin ? CW_STR("plugin") : CW_STR("service"));
    cw_json_add_string_member(w, CW_STR("state"), cw_str_from(r->state));
    write_date(w, "since", r->since_ms);
    write_date(w, "refreshed", r->refreshed_ms);
    cw_json_add_i64_member(w, CW_STR("tools"), r->tools);
    cw_json_add_i64_member(w, CW_STR("methods"), r->methods);
    cw_json_add_i64_member(w, CW_STR("withheld"), r->withheld);
    write_date(w, "approved_at", r->approved_ms);
    if (r->approved_by.n)
        cw_json_add_string_member(w, CW_STR("approved_by"), r->approved_by);
    if (r->protocol) {
        cw_json_add_string_member(w, CW_STR("protocol"), cw_str_from(r->protocol));
        cw_json_add_i64_member(w, CW_STR("resources"), r->exposed[CW_EXPOSED_RESOURCE]);
        cw_json_add_i64_member(w, CW_STR("templates"), r->exposed[CW_EXPOSED_TEMPLATE]);
        cw_json_add_i64_member(w, CW_STR("prompts"), r->exposed[CW_EXPOSED_PROMPT]);
    }
    if (r->problem.n)
        cw_json_add_string_member(w, CW_STR("problem"), r->problem);
    cw_json_close(w);
}

static cw_code list(cw_admin_call *c, cw_err *err)
{
    if (!c->server)
        return cw_fail(err, CW_NOTFOUND, CW_ADMIN_NO_SERVER);
    cw_json_add_key(c->out, CW_STR("sources"));
    cw_json_open_array(c->out);
    cw_sources_each(c->server->sources, write_report, c->out);
    cw_json_close(c->out);
    return CW_OK;
}

/* ---- refresh ---- */

/* In the arena of the call. */
typedef struct refreshing {
    cw_admin_call *c;
    size_t n_waiting;
} refreshing;

typedef struct refreshed {
    cw_sources_waiter waiter;
    refreshing *all;
} refreshed;

static void on_refreshed(cw_sources_waiter *w, const cw_source_report *report)
{
    refreshing *all = CW_CONTAINER(w, refreshed, waiter)->all;
    write_report(report, all->c->out);
    if (--all->n_waiting)
        return;
    cw_json_close(all->c->out);
    all->c->finish(all->c, CW_OK, NULL);
}

static cw_code refresh_one(refreshing *all, cw_str name, cw_err *err)
{
    refreshed *one = cw_arena_alloc(all->c->arena, sizeof *one);
    if (!one)
        return cw_arena_fail(all->c->arena, err);
    *one = (refreshed){.waiter = {.fn = on_refreshed}, .all = all};
    if (!cw_sources_refresh(all->c->server->sources, name, &one->waiter))
        return cw_fail(err, CW_NOTFOUND, "the configuration has no source '%.*s'",
                       CW_STR_ARG(name));
    all->n_waiting++;
    return CW_OK;
}

static bool has_source(const cw_config *config, cw_str name)
{
    for (size_t i = 0; i < config->sources.n; i++) {
        if (cw_str_eq(config->sources.items[i].name, name))
            return true;
    }
    return false;
}

/* All names are checked before anything is done. */
static cw_code check_names(const cw_admin_call *c, const cw_json *names, cw_err *err)
{
    for (const cw_json *n = names ? cw_json_first(names) : NULL; n; n = cw_json_next(n)) {
        if (!has_source(c->config, cw_json_text(n)))
            return cw_fail(err, CW_NOTFOUND, "the configuration has no source '%.*s'",
                           CW_STR_ARG(cw_json_text(n)));
    }
    return CW_OK;
}

static cw_code refresh(cw_admin_call *c, cw_err *err)
{
    const cw_json *names = cw_json_get(c->params, CW_STR("names"));
    cw_code rc = check_names(c, names, err);
    refreshing *all = rc ? NULL : cw_arena_alloc(c->arena, sizeof *all);
    if (!all)
        return rc ? rc : cw_arena_fail(c->arena, err);
    *all = (refreshing){.c = c};
    cw_json_add_key(c->out, CW_STR("sources"));
    cw_json_open_array(c->out);
    bool is_all = !names || !cw_json_count(names);
    for (size_t i = 0; i < c->config->sources.n && is_all && !rc; i++)
        rc = refresh_one(all, c->config->sources.items[i].name, err);
    for (const cw_json *n = is_all ? NULL : cw_json_first(names); n && !rc; n = cw_json_next(n))
        rc = refresh_one(all, cw_json_text(n), err);
    if (all->n_waiting)
        return CW_AGAIN;
    cw_json_close(c->out);
    return rc;
}

/* ---- diff ---- */

/* The differences as JSON, with the lock that they were found with. */
typedef struct review {
    cw_lock *lock;
    int64_t version; /* of a lock in the database */
    cw_buf differences;
    char etag[CW_LOCK_HASH + 1]; /* of the differences */
} review;

static void review_done(review *r)
{
    cw_lock_unref(r->lock);
    cw_buf_done(&r->differences);
}

/* *ret is NULL if nothing was ever approved. */
static cw_code read_lock(const cw_admin_call *c, cw_lock **ret, int64_t *ret_version, cw_err *err)
{
    if (!c->config->state.approvals_in_store)
        return cw_lock_read(c->config->state.lock.p, ret, err);
    cw_code rc = cw_approvals_get(c->server->approvals, ret, ret_version, err);
    return rc == CW_NOTFOUND ? CW_OK : rc;
}

static cw_code compare(const cw_admin_call *c, const cw_admin_definitions *all, size_t n, review *r,
                       cw_err *err)
{
    cw_json_writer w;
    cw_buf_init(&r->differences, CW_ADMIN_RESULT_MAX);
    cw_code rc = read_lock(c, &r->lock, &r->version, err);
    if (rc)
        return rc;
    cw_json_writer_init(&w, &r->differences, CW_JSON_COMPACT);
    cw_json_open_array(&w);
    for (size_t i = 0; i < n && !rc; i++) {
        if (all[i].source)
            rc = cw_lock_diff(r->lock, all[i].config->name, all[i].items, all[i].n, &w);
    }
    cw_json_close(&w);
    if (rc)
        return cw_fail(err, rc, "%s", cw_code_text(rc));
    rc = cw_json_writer_end(&w, err);
    if (!rc)
        cw_lock_hash(cw_buf_str(&r->differences), r->etag);
    return rc;
}

static void write_problems(cw_json_writer *w, const cw_admin_definitions *all, size_t n)
{
    cw_json_add_key(w, CW_STR("problems"));
    cw_json_open_array(w);
    for (size_t i = 0; i < n; i++) {
        if (all[i].source)
            continue;
        cw_json_open_object(w);
        cw_json_add_string_member(w, CW_STR("source"), all[i].config->name);
        cw_json_add_string_member(w, CW_STR("problem"), all[i].problem);
        cw_json_close(w);
    }
    cw_json_close(w);
}

static void on_diff(cw_admin_call *c, const cw_admin_definitions *all, size_t n)
{
    review r = {0};
    cw_err err = {0};
    cw_code rc = compare(c, all, n, &r, &err);
    if (!rc) {
        cw_json_add_key(c->out, CW_STR("differences"));
        cw_json_add_span(c->out, cw_buf_str(&r.differences));
        write_problems(c->out, all, n);
        cw_json_add_string_member(c->out, CW_STR("etag"), cw_str_from(r.etag));
    }
    review_done(&r);
    c->finish(c, rc, &err);
}

#define NO_APPROVALS                                                                               \
    "definitions need no approval: set state.lock, or \"approvals: store\", in the configuration"

/* Read definitions; `fn` ends the call. */
static cw_code load(cw_admin_call *c, cw_admin_definitions_fn fn, cw_err *err)
{
    if (!cw_config_needs_approvals(c->config))
        return cw_fail(err, CW_CONFIG, NO_APPROVALS);
    cw_code rc = check_names(c, cw_json_get(c->params, CW_STR("names")), err);
    if (!rc)
        rc = cw_admin_definitions_load(c, fn, err);
    return rc ? rc : CW_AGAIN;
}

static cw_code diff(cw_admin_call *c, cw_err *err)
{
    return load(c, on_diff, err);
}

/* ---- approvals ---- */

typedef struct listing {
    cw_json_writer *out;
    const cw_lock *lock;
    cw_str source;
} listing;

static cw_code write_approved(cw_str method, void *ctx)
{
    const listing *l = ctx;
    cw_lock_stamp stamp = cw_lock_stamp_of(l->lock, l->source, method);
    cw_json_open_object(l->out);
    cw_json_add_string_member(l->out, CW_STR("source"), l->source);
    cw_json_add_string_member(l->out, CW_STR("method"), method);
    write_date(l->out, "approved_at", stamp.at);
    cw_json_add_string_member(l->out, CW_STR("approved_by"), stamp.by);
    cw_json_close(l->out);
    return CW_OK;
}

static cw_code approvals(cw_admin_call *c, cw_err *err)
{
    const cw_json *names = cw_json_get(c->params, CW_STR("names"));
    listing l = {.out = c->out};
    cw_lock *lock = NULL;
    int64_t version = 0;
    if (!cw_config_needs_approvals(c->config))
        return cw_fail(err, CW_CONFIG, NO_APPROVALS);
    cw_code rc = check_names(c, names, err);
    if (!rc)
        rc = read_lock(c, &lock, &version, err);
    if (rc)
        return rc;
    l.lock = lock;
    cw_json_add_key(c->out, CW_STR("approvals"));
    cw_json_open_array(c->out);
    for (size_t i = 0; i < c->config->sources.n && !rc; i++) {
        l.source = c->config->sources.items[i].name;
        if (cw_admin_is_named(names, l.source))
            rc = cw_lock_each(lock, l.source, write_approved, &l);
    }
    cw_json_close(c->out);
    cw_lock_unref(lock);
    return rc;
}

/* ---- approve ---- */

/* The param `methods`, in the arena of the call. */
static cw_code read_methods(const cw_admin_call *c, const cw_str **ret, size_t *ret_n, cw_err *err)
{
    const cw_json *list = cw_json_get(c->params, CW_STR("methods"));
    size_t n = 0;
    cw_str *methods =
        cw_arena_calloc(c->arena, (list ? cw_json_count(list) : 0) + 1, sizeof *methods);
    if (!methods)
        return cw_arena_fail(c->arena, err);
    for (const cw_json *m = list ? cw_json_first(list) : NULL; m; m = cw_json_next(m))
        methods[n++] = cw_json_text(m);
    *ret = methods;
    *ret_n = n;
    return CW_OK;
}

static cw_code check_methods(const cw_admin_call *c, const cw_admin_definitions *all, size_t n,
                             const cw_str *methods, size_t n_methods, cw_err *err)
{
    const cw_json *names = cw_json_get(c->params, CW_STR("names"));
    cw_lock_offer *offers = cw_arena_calloc(c->arena, n + 1, sizeof *offers);
    if (!offers)
        return cw_arena_fail(c->arena, err);
    for (size_t i = 0; i < n; i++)
        offers[i] = (cw_lock_offer){all[i].config->name, all[i].items, all[i].n};
    return cw_lock_check_methods(offers, n, names && cw_json_count(names), methods, n_methods, err);
}

static cw_code collect(cw_admin_call *c, const review *r, const cw_admin_definitions *all, size_t n,
                       cw_lock_approval *a, cw_err *err)
{
    const cw_str *methods = NULL;
    size_t n_methods = 0;
    cw_code rc = read_methods(c, &methods, &n_methods, err);
    if (!rc)
        rc = check_methods(c, all, n, methods, n_methods, err);
    if (rc)
        return rc;
    cw_lock_approval_init(a, r->lock, methods, n_methods, c->out);
    a->stamp = (cw_lock_stamp){.at = cw_clock_wall_ms(), .by = c->actor};
    cw_json_add_key(c->out, CW_STR("approved"));
    cw_json_open_array(c->out);
    for (size_t i = 0; i < n && !rc; i++) {
        if (all[i].source)
            rc = cw_lock_approve(a, all[i].config->name, all[i].items, all[i].n);
    }
    cw_json_close(c->out);
    write_problems(c->out, all, n);
    return rc ? cw_fail(err, rc, "%s", cw_code_text(rc)) : CW_OK;
}

/* The sources use the new definitions before the call ends. */
static cw_code refresh_approved(cw_admin_call *c, const cw_str *names, size_t n, cw_err *err)
{
    refreshing *all = cw_arena_alloc(c->arena, sizeof *all);
    if (!all)
        return cw_arena_fail(c->arena, err);
    *all = (refreshing){.c = c};
    cw_json_add_key(c->out, CW_STR("sources"));
    cw_json_open_array(c->out);
    cw_code rc = CW_OK;
    for (size_t i = 0; i < n && !rc; i++)
        rc = refresh_one(all, names[i], err);
    if (all->n_waiting)
        return CW_AGAIN;
    cw_json_close(c->out);
    return rc;
}

/* An approval on its way to the database. */
typedef struct saving {
    cw_approvals_change change;
    const cw_admin_server *server;
    cw_admin_call *c;  /* lives while the server is not closed */
    cw_config *config; /* a reference, for the names */
    size_t n;
    cw_str names[];
} saving;

static void free_saving(saving *s)
{
    cw_config_unref(s->config);
    free(s);
}

static void on_saved(cw_approvals_change *change, cw_code rc, const cw_err *err)
{
    saving *s = CW_CONTAINER(change, saving, change);
    cw_err problem = *err;
    if (!s->server->is_closed) {
        if (!rc)
            rc = refresh_approved(s->c, s->names, s->n, &problem);
        if (rc != CW_AGAIN)
            s->c->finish(s->c, rc, &problem);
    }
    free_saving(s);
}

static void on_unsaved(cw_approvals_change *change)
{
    free_saving(CW_CONTAINER(change, saving, change));
}

static cw_code save_in_store(cw_admin_call *c, const review *r, const cw_lock_approval *a,
                             cw_err *err)
{
    saving *s = calloc(1, sizeof *s + a->n_replaced * sizeof s->names[0]);
    if (!s)
        return cw_fail_nomem(err);
    s->change.done = on_saved;
    s->change.drop = on_unsaved;
    s->server = c->server;
    s->c = c;
    s->config = cw_config_ref(c->server->config);
    s->n = a->n_replaced;
    for (size_t i = 0; i < s->n; i++)
        s->names[i] = a->replaced[i];
    cw_lock_change what = cw_lock_approval_change(a);
    what.replaced = s->names;
    cw_code rc =
        cw_approvals_start(c->server->approvals, r->lock, r->version, &what, &s->change, err);
    if (rc)
        free_saving(s);
    return rc ? rc : CW_AGAIN;
}

static cw_code save(cw_admin_call *c, const review *r, const cw_lock_approval *a, cw_err *err)
{
    if (c->config->state.approvals_in_store && a->n_replaced)
        return save_in_store(c, r, a, err);
    cw_code rc = cw_lock_approval_write(a, c->config->state.lock.p, err);
    return rc ? rc : refresh_approved(c, a->replaced, a->n_replaced, err);
}

static void on_approve(cw_admin_call *c, const cw_admin_definitions *all, size_t n)
{
    review r = {0};
    cw_lock_approval a = {0};
    cw_err err = {0};
    cw_code rc = compare(c, all, n, &r, &err);
    if (!rc)
        rc = cw_lock_check_etag(cw_admin_text(c, "etag"), r.etag, &err);
    if (!rc)
        rc = collect(c, &r, all, n, &a, &err);
    if (!rc)
        rc = save(c, &r, &a, &err);
    cw_lock_approval_done(&a);
    review_done(&r);
    if (rc != CW_AGAIN)
        c->finish(c, rc, &err);
}

static cw_code approve(cw_admin_call *c, cw_err *err)
{
    return load(c, on_approve, err);
}

#define REPORTS                                                                                    \
    "{\"sources\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\","      \
    "\"kind\",\"state\"]}}}"

#define NAMES                                                                                      \
    "{\"name\":\"names\",\"description\":\"Names of services; none: all\","                        \
    "\"schema\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":100}}"
#define OBJECTS "{\"type\":\"array\",\"items\":{\"type\":\"object\"}}"

const cw_admin_method cw_admin_sources_methods[] = {
    {.name = "causeway.sources.list",
     .about = "List plugins and services with their state",
     .permission = CW_PERMISSION_VIEW_TRAFFIC,
     .params = "[]",
     .result = REPORTS,
     .place = CW_ADMIN_MAIN,
     .run = list},
    {.name = "causeway.sources.refresh",
     .about = "Read the descriptions of services again; returns when that has ended",
     .permission = CW_PERMISSION_ADMINISTER_SOURCES,
     .params = "[" NAMES "]",
     .result = REPORTS,
     .place = CW_ADMIN_MAIN,
     .flags = CW_ADMIN_CHANGES | CW_ADMIN_NEEDS_SERVER,
     .run = refresh},
    {.name = "causeway.sources.diff",
     .about = "Compare the tools of services with their approved definitions",
     .permission = CW_PERMISSION_ADMINISTER_SOURCES,
     .params = "[" NAMES "]",
     .result =
         "{\"differences\":" OBJECTS ",\"problems\":" OBJECTS ",\"etag\":{\"type\":\"string\"}}",
     .place = CW_ADMIN_MAIN,
     .flags = CW_ADMIN_NEEDS_SERVER,
     .run = diff},
    {.name = "causeway.sources.approvals",
     .about =
         "List the approved methods of services, with the time and the author of each approval",
     .permission = CW_PERMISSION_ADMINISTER_SOURCES,
     .params = "[" NAMES "]",
     .result = "{\"approvals\":" OBJECTS "}",
     .place = CW_ADMIN_MAIN,
     .flags = CW_ADMIN_NEEDS_SERVER,
     .run = approvals},
    {.name = "causeway.sources.approve",
     .about = "Approve the definitions of tools that causeway.sources.diff has shown",
     .permission = CW_PERMISSION_ADMINISTER_SOURCES,
     .params = "[{\"name\":\"etag\",\"required\":true,\"description\":\"The etag of the "
               "differences that were seen\",\"schema\":{\"type\":\"string\"}}," NAMES ","
               "{\"name\":\"methods\",\"description\":\"Only these methods, by their names in the "
               "services\",\"schema\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
               "\"maxItems\":1000}}]",
     .result = "{\"approved\":" OBJECTS ",\"problems\":" OBJECTS ",\"sources\":" OBJECTS "}",
     .place = CW_ADMIN_MAIN,
     .flags = CW_ADMIN_CHANGES | CW_ADMIN_GUARDED | CW_ADMIN_NEEDS_SERVER,
     .run = approve},
    {.name = NULL},
};
