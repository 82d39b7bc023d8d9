/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names.c - asks a server, a database or a configuration for names. */
#include "cli/complete/names.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/caller.h"
#include "access/gate.h"
#include "access/scopes.h"
#include "cli/lib/admin.h"
#include "cli/plugin/plugin.h"
#include "server/options/name_list.h"
#include "server/options/permissions.h"
#include "store/db.h"

#define NAMES_MAX ((size_t)16 << 20)

typedef struct search {
    cw_cli_admin admin;
    cw_complete_name_fn fn;
    void *ctx;
    bool can_ask; /* a server or a database answers administration methods */
} search;

/* An administration method that lists things: each item has a name and a text about it. */
typedef struct listing {
    cw_complete_kind kind;
    const char *method, *list, *name, *about;
} listing;

static const listing listings[] = {
    {CW_COMPLETE_ACCOUNTS, "causeway.accounts.list", "accounts", "name", "state"},
    {CW_COMPLETE_SOURCES, "causeway.sources.list", "sources", "name", "state"},
    {CW_COMPLETE_TOOLS, "causeway.tools.list", "tools", "name", "description"},
    {CW_COMPLETE_METHODS, "causeway.tools.list", "tools", "method", "description"},
    {CW_COMPLETE_TOKENS, "causeway.tokens.list", "tokens", "id", "name"},
    {CW_COMPLETE_SESSIONS, "causeway.sessions.list", "sessions", "id", "account"},
    {CW_COMPLETE_TASKS, "causeway.tasks.list", "tasks", "id", "tool"},
    {CW_COMPLETE_OAUTH_CLIENTS, "causeway.clients.list", "clients", "id", "name"},
    {CW_COMPLETE_GRANTS, "causeway.grants.list", "grants", "id", "client"},
};

static const cw_json *first_of(const cw_json *list)
{
    return cw_json_is(list, CW_JSON_ARRAY) ? cw_json_first(list) : NULL;
}

/* Texts, and the numbers that are ids. */
static cw_str text_of(const cw_json *item, const char *name)
{
    const cw_json *v = name ? cw_json_get(item, cw_str_from(name)) : NULL;
    bool is_text = cw_json_is(v, CW_JSON_STRING) || cw_json_is(v, CW_JSON_NUMBER);
    return is_text ? cw_json_text(v) : CW_STR("");
}

static void write_after(cw_json_writer *w, const void *ctx)
{
    const cw_str *after = ctx;
    if (after->n)
        cw_json_add_string_member(w, CW_STR("after"), *after);
}

/* A long list comes in pages: `after` is the last name of the page before. */
static void list_page(search *s, const listing *l, cw_str *after)
{
    const cw_json *result = NULL;
    cw_str last = CW_STR("");
    cw_err err = {0};
    if (cw_cli_admin_try(&s->admin, l->method, write_after, after, &result, &err))
        result = NULL;
    const cw_json *list = result ? cw_json_get(result, cw_str_from(l->list)) : NULL;
    for (const cw_json *item = first_of(list); item; item = cw_json_next(item)) {
        s->fn(text_of(item, l->name), text_of(item, l->about), s->ctx);
        last = text_of(item, "name");
    }
    bool has_more = result && cw_json_is(cw_json_get(result, CW_STR("more")), CW_JSON_TRUE);
    *after = has_more ? last : CW_STR("");
}

static void list_all(search *s, cw_complete_kind kind)
{
    for (size_t i = 0; i < CW_COUNT(listings); i++) {
        if (listings[i].kind != kind)
            continue;
        cw_str after = CW_STR("");
        do
            list_page(s, &listings[i], &after);
        while (after.n);
    }
}

/* ---- roles and permissions: several places have them ---- */

typedef struct collected {
    cw_name_list names;
    cw_code rc;
} collected;

static void collect(collected *all, cw_str name)
{
    if (!all->rc)
        all->rc = cw_name_list_add(&all->names, name);
}

static void collect_permissions(collected *all, const cw_json *item)
{
    const cw_json *list = cw_json_get(item, CW_STR("permissions"));
    for (const cw_json *p = first_of(list); p; p = cw_json_next(p))
        collect(all, cw_json_text(p));
}

static void collect_name(collected *all, const cw_json *item)
{
    collect(all, text_of(item, "name"));
}

static void collect_from(search *s, const char *method, const char *list,
                         void (*add)(collected *all, const cw_json *item), collected *all)
{
    const cw_json *result = NULL;
    cw_err err = {0};
    if (cw_cli_admin_try(&s->admin, method, NULL, NULL, &result, &err))
        return;
    const cw_json *items = cw_json_get(result, cw_str_from(list));
    for (const cw_json *item = first_of(items); item; item = cw_json_next(item))
        add(all, item);
}

/* Those that roles have and that tools and overlays require. */
static void find_permissions(search *s, collected *all)
{
    all->rc = cw_role_permissions_of_sources(s->admin.config, &all->names);
    if (s->can_ask)
        collect_from(s, "causeway.roles.list", "roles", collect_permissions, all);
    if (cw_cli_admin_has_server(&s->admin))
        collect_from(s, "causeway.tools.list", "tools", collect_permissions, all);
}

static void find_roles(search *s, collected *all)
{
    const cw_config_roles *configured = &s->admin.config->roles;
    collect(all, CW_STR(CW_ROLE_ANONYMOUS));
    collect(all, CW_STR(CW_ROLE_AUTHENTICATED));
    for (size_t i = 0; i < configured->n; i++)
        collect(all, configured->items[i].name);
    if (s->can_ask)
        collect_from(s, "causeway.roles.list", "roles", collect_name, all);
}

/* Each name once, in order. */
static void list_collected(search *s, void (*find)(search *s, collected *all))
{
    collected all = {0};
    cw_arena_init(&all.names.arena, NAMES_MAX);
    find(s, &all);
    size_t n = cw_requirements_sort(all.names.items, all.names.n);
    for (size_t i = 0; i < n; i++)
        s->fn(all.names.items[i], CW_STR(""), s->ctx);
    cw_arena_done(&all.names.arena);
}

/* ---- the configuration ---- */

static void list_scopes(search *s)
{
    size_t n;
    const cw_scope *scopes = cw_scopes(&n);
    const cw_config_scopes *configured = &s->admin.config->access.scopes;
    for (size_t i = 0; i < n; i++)
        s->fn(scopes[i].name, scopes[i].label, s->ctx);
    for (size_t i = 0; i < configured->n; i++)
        if (!cw_scope_find(configured->items[i]))
            s->fn(configured->items[i], configured->labels ? configured->labels[i] : CW_STR(""),
                  s->ctx);
}

static void list_plugins(search *s)
{
    static const struct {
        cw_str suffix, state;
    } states[] = {
        {CW_STR_INIT(CW_PLUGIN_SUFFIX), CW_STR_INIT("enabled")},
        {CW_STR_INIT(CW_PLUGIN_OFF_SUFFIX), CW_STR_INIT("disabled")},
    };
    const cw_str directory = s->admin.config->plugins.directory;
    DIR *dir = directory.n ? opendir(directory.p) : NULL;
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        cw_str file = cw_str_from(e->d_name);
        for (size_t i = 0; i < CW_COUNT(states) && file.p[0] != '.'; i++)
            if (cw_str_ends(file, states[i].suffix))
                s->fn(cw_str_make(file.p, file.n - states[i].suffix.n), states[i].state, s->ctx);
    }
    if (dir)
        closedir(dir);
}

static void list_toolsets(search *s)
{
    const cw_config *config = s->admin.config;
    for (size_t i = 0; i < config->toolsets.n; i++)
        s->fn(config->toolsets.items[i].name, config->toolsets.items[i].title, s->ctx);
}

static void list_sources(search *s)
{
    const cw_config *config = s->admin.config;
    for (size_t i = 0; i < config->sources.n; i++)
        s->fn(config->sources.items[i].name, CW_STR(""), s->ctx);
}

/* ---- all ---- */

/* Opening a database migrates it, and root would leave files that its owner cannot use. */
static bool can_read_database(const cw_config *config)
{
    struct stat st;
    const cw_str path = config->store.path;
    return path.n && !stat(path.p, &st) && st.st_uid == geteuid() && cw_db_is_up_to_date(path.p);
}

static void list(search *s, cw_complete_kind kind)
{
    bool has_server = cw_cli_admin_has_server(&s->admin);
    if (kind == CW_COMPLETE_PERMISSIONS)
        list_collected(s, find_permissions);
    else if (kind == CW_COMPLETE_ROLES)
        list_collected(s, find_roles);
    else if (kind == CW_COMPLETE_SCOPES)
        list_scopes(s);
    else if (kind == CW_COMPLETE_PLUGINS)
        list_plugins(s);
    else if (kind == CW_COMPLETE_TOOLSETS && s->admin.config)
        list_toolsets(s);
    else if (kind == CW_COMPLETE_SOURCES && !has_server)
        list_sources(s);
    else if (s->can_ask)
        list_all(s, kind);
}

void cw_complete_each_name(cw_complete_kind kind, const char *config, cw_complete_name_fn fn,
                           void *ctx)
{
    search s = {.fn = fn, .ctx = ctx};
    const cw_cli_target target = {.config = config};
    if (cw_cli_admin_open(&target, &s.admin) >= 0)
        return;
    s.can_ask = cw_cli_admin_has_server(&s.admin) || can_read_database(s.admin.config);
    list(&s, kind);
    cw_cli_admin_close(&s.admin);
}
