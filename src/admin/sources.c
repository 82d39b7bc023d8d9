/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sources.c - methods about plugins and services. */
#include "admin/server.h"

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
    if (r->problem.n)
        cw_json_add_string_member(w, CW_STR("problem"), r->problem);
    cw_json_close(w);
}

static cw_code fail_alone(cw_err *err)
{
    return cw_fail(err, CW_NOTFOUND, "no server runs with this configuration");
}

static cw_code list(cw_admin_call *c, cw_err *err)
{
    if (!c->server)
        return fail_alone(err);
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
    if (!c->server || !c->server->connections)
        return fail_alone(err);
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

#define REPORTS                                                                                    \
    "{\"sources\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\","      \
    "\"kind\",\"state\"]}}}"

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
     .params = "[{\"name\":\"names\",\"description\":\"Names of services; none: all\","
               "\"schema\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
               "\"maxItems\":100}}]",
     .result = REPORTS,
     .place = CW_ADMIN_MAIN,
     .flags = CW_ADMIN_CHANGES,
     .run = refresh},
    {.name = NULL},
};
