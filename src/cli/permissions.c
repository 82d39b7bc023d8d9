/* SPDX-License-Identifier: GPL-2.0-or-later */
/* permissions.c - the permissions of roles, plugins and overlays. */
#include "cli/permissions.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "access/gate.h"
#include "base/log.h"
#include "config/overlay.h"

#define PATH_BYTES 4096u
#define NEAR_MAX 3u
#define BUSY_MS 100u

static cw_code add_own(cw_access_names *all)
{
    cw_code rc = cw_access_add_name(all, CW_PERMISSION_DISCOVER);
    return rc ? rc : cw_access_add_name(all, CW_PERMISSION_CALL);
}

static cw_code add_list(cw_access_names *all, const cw_str *list, size_t n)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < n && !rc; i++)
        rc = cw_access_add_name(all, list[i]);
    return rc;
}

/* ---- roles ---- */

static cw_code on_pair(void *ctx, cw_str role, cw_str permission, const char *from)
{
    (void)role;
    (void)from;
    return permission.n ? cw_access_add_name(ctx, permission) : CW_OK;
}

static cw_code add_database(const cw_config *config, cw_access_names *all)
{
    cw_access a = {.config = (cw_config *)(uintptr_t)config};
    cw_db_opts opts = {.path = config->store.path.p, .busy_ms = BUSY_MS};
    if (cw_db_open(&opts, &a.db, &a.err) != CW_OK)
        return CW_OK; /* none yet, or not ours to read: whoever uses it reports it */
    cw_code rc = cw_access_walk_roles(&a, on_pair, all);
    cw_db_close(a.db);
    return rc == CW_NOMEM || rc == CW_LIMIT ? rc : CW_OK;
}

cw_code cw_permissions_of_roles(const cw_config *config, cw_access_names *all, bool *ret_known)
{
    cw_code rc = add_own(all);
    *ret_known = config->roles.n > 0 || config->store.path.n > 0;
    for (size_t i = 0; i < config->roles.n && !rc; i++) {
        const cw_config_strings *list = &config->roles.items[i].permissions;
        rc = add_list(all, list->items, list->n);
    }
    return rc || !config->store.path.n ? rc : add_database(config, all);
}

/* ---- methods ---- */

static cw_code add_overlays(const cw_config_overlays *overlays, cw_access_names *all)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < overlays->n && !rc; i++) {
        const cw_config_strings *list = &overlays->items[i].permissions;
        rc = add_list(all, list->items, list->n);
    }
    return rc;
}

static cw_code add_sources(const cw_config *config, cw_access_names *all)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < config->sources.n && !rc; i++) {
        const cw_config_remote *r = &config->sources.items[i];
        cw_config_overlay_file *file = NULL;
        rc = add_overlays(&r->methods, all);
        if (!rc && r->overlay.n && cw_config_overlay_read(r->overlay.p, &file, NULL) == CW_OK) {
            cw_config_overlays more = cw_config_overlay_methods(file);
            rc = add_overlays(&more, all);
        }
        cw_config_overlay_free(file);
    }
    return rc;
}

/* One that cannot be loaded asks for nothing. */
static cw_code add_plugin(const cw_config *config, const char *host, const char *file,
                          cw_access_names *all)
{
    char path[PATH_BYTES];
    cw_plugin_report report;
    cw_err err = {0};
    int length = snprintf(path, sizeof path, "%s/%s", config->plugins.folder.p, file);
    if (length < 0 || (size_t)length >= sizeof path)
        return CW_OK;
    cw_code rc = cw_plugin_inspect(config, host, path, &report, &err);
    for (size_t i = 0; !rc && !report.problems.n && i < report.n_methods; i++) {
        const cw_needs *needs = &report.methods[i].needs;
        rc = add_list(all, needs->permissions, needs->n_permissions);
    }
    cw_plugin_report_done(&report);
    return rc == CW_NOMEM ? rc : CW_OK;
}

static cw_code add_plugins(const cw_config *config, cw_access_names *all)
{
    cw_err err = {0};
    char *host = NULL;
    DIR *folder = config->plugins.folder.n ? opendir(config->plugins.folder.p) : NULL;
    if (!folder)
        return CW_OK;
    cw_code rc = cw_cli_find_host(config, /* is_needed= */ true, &host, &err);
    bool has_host = !rc;
    rc = rc == CW_NOMEM ? rc : CW_OK;
    for (const struct dirent *e = readdir(folder); e && has_host && !rc; e = readdir(folder)) {
        if (e->d_name[0] != '.' && cw_str_ends(cw_str_from(e->d_name), CW_STR(CW_PLUGIN_SUFFIX)))
            rc = add_plugin(config, host, e->d_name, all);
    }
    closedir(folder);
    free(host);
    return rc;
}

cw_code cw_permissions_asked(const cw_config *config, cw_access_names *all)
{
    cw_code rc = add_own(all);
    if (!rc)
        rc = add_sources(config, all);
    return rc ? rc : add_plugins(config, all);
}

bool cw_permissions_has(const cw_access_names *all, cw_str name)
{
    for (size_t i = 0; i < all->n; i++) {
        if (cw_str_eq(all->items[i], name))
            return true;
    }
    return false;
}

cw_str cw_permissions_nearest(const cw_access_names *all, cw_str name)
{
    unsigned best = NEAR_MAX + 1;
    cw_str found = CW_STR("");
    for (size_t i = 0; i < all->n; i++) {
        unsigned distance = cw_str_near(name, all->items[i], NEAR_MAX);
        if (distance < best) {
            best = distance;
            found = all->items[i];
        }
    }
    return found;
}

static cw_code add_catalogue(const cw_snapshot *catalogue, cw_access_names *all)
{
    size_t n = 0;
    const cw_entry *entries = cw_snapshot_entries(catalogue, &n);
    cw_code rc = CW_OK;
    for (size_t i = 0; i < n && !rc; i++) {
        const cw_needs *needs = &entries[i].method->needs;
        rc = add_list(all, needs->permissions, needs->n_permissions);
    }
    return rc;
}

static void log_role(const cw_config_role *role, const cw_access_names *asked)
{
    for (size_t i = 0; i < role->permissions.n; i++) {
        cw_str permission = role->permissions.items[i];
        if (cw_permissions_has(asked, permission))
            continue;
        cw_str nearest = cw_permissions_nearest(asked, permission);
        cw_log(nearest.n ? CW_LOG_WARN : CW_LOG_INFO, "config",
               "a role has a permission that nothing asks for", CW_KV("role", role->name),
               CW_KV("permission", permission),
               nearest.n ? CW_KV("suggestion", nearest) : (cw_log_field){0});
    }
}

void cw_permissions_log_unused(const cw_config *config, const cw_snapshot *catalogue)
{
    cw_access_names asked = {0};
    cw_arena_init(&asked.arena, CW_ACCESS_MAX_BYTES);
    cw_code rc = add_own(&asked);
    if (!rc)
        rc = add_sources(config, &asked);
    if (!rc && catalogue)
        rc = add_catalogue(catalogue, &asked);
    asked.n = rc ? 0 : cw_needs_sort(asked.items, asked.n);
    for (size_t i = 0; i < config->roles.n && !rc; i++)
        log_role(&config->roles.items[i], &asked);
    cw_arena_done(&asked.arena);
}
