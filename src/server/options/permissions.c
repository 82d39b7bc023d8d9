/* SPDX-License-Identifier: GPL-2.0-or-later */
/* permissions.c - the permissions of roles and overlays. */
#include "server/options/permissions.h"

#include "access/gate.h"
#include "admin/admin.h"
#include "base/log.h"
#include "config/overlay.h"
#include "server/options/database.h"
#include "store/db.h"

#define NEAR_MAX 3u
#define BUSY_MS 100u

static cw_code add_own(cw_name_list *all)
{
    cw_code rc = cw_name_list_add(all, CW_PERMISSION_DISCOVER);
    return rc ? rc : cw_name_list_add(all, CW_PERMISSION_CALL);
}

static cw_code add_list(cw_name_list *all, const cw_str *list, size_t n)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < n && !rc; i++)
        rc = cw_name_list_add(all, list[i]);
    return rc;
}

/* ---- roles ---- */

typedef struct role_walk {
    cw_db *db;
    cw_name_list *all;
} role_walk;

static cw_code on_permission(cw_str permission, void *ctx, cw_err *err)
{
    (void)err;
    return cw_name_list_add(ctx, permission);
}

static cw_code on_role(cw_str role, void *ctx, cw_err *err)
{
    const role_walk *w = ctx;
    return cw_db_each_permission(w->db, role, on_permission, w->all, err);
}

static cw_code add_database(const cw_config *config, cw_name_list *all)
{
    cw_err err = {0};
    role_walk w = {.all = all};
    cw_db_opts opts = cw_database_opts(config, BUSY_MS);
    if (cw_db_open(&opts, &w.db, &err) != CW_OK)
        return CW_OK; /* no database yet, or unreadable: the store reports it */
    cw_code rc = cw_db_each_role(w.db, on_role, &w, &err);
    cw_db_close(w.db);
    return rc == CW_NOMEM || rc == CW_LIMIT ? rc : CW_OK;
}

cw_code cw_role_permissions_of_roles(const cw_config *config, cw_name_list *all, bool *ret_known)
{
    cw_code rc = add_own(all);
    *ret_known = config->roles.n > 0 || cw_config_store(config).n > 0;
    for (size_t i = 0; i < config->roles.n && !rc; i++) {
        const cw_config_strings *list = &config->roles.items[i].permissions;
        rc = add_list(all, list->items, list->n);
    }
    return rc || !cw_config_store(config).n ? rc : add_database(config, all);
}

/* ---- methods ---- */

static cw_code add_overlays(const cw_config_overlays *overlays, cw_name_list *all)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < overlays->n && !rc; i++) {
        const cw_config_strings *list = &overlays->items[i].permissions;
        rc = add_list(all, list->items, list->n);
    }
    return rc;
}

static cw_code add_lists(const cw_config_overlays *methods, const cw_config_overlays *exposed,
                         cw_name_list *all)
{
    cw_code rc = add_overlays(methods, all);
    for (size_t i = 0; i < CW_CONFIG_EXPOSED && !rc; i++)
        rc = add_overlays(&exposed[i], all);
    return rc;
}

static cw_code add_sources(const cw_config *config, cw_name_list *all)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < config->sources.n && !rc; i++) {
        const cw_config_remote *r = &config->sources.items[i];
        cw_config_overlay_file *file = NULL;
        rc = add_lists(&r->methods, r->exposed, all);
        if (!rc && r->overlay.n &&
            cw_config_overlay_read(r->overlay.p, &file, NULL, NULL) == CW_OK) {
            cw_config_overlay_lists more = cw_config_overlay_lists_of(file);
            rc = add_lists(&more.methods, more.exposed, all);
        }
        cw_config_overlay_free(file);
    }
    return rc;
}

static cw_code add_admin(cw_name_list *all)
{
    const cw_str names[] = {
        CW_STR(CW_PERMISSION_VIEW_TRAFFIC),
        CW_STR(CW_PERMISSION_VIEW_AUDIT),
        CW_STR(CW_PERMISSION_VIEW_ARGUMENTS),
        CW_STR(CW_PERMISSION_ADMINISTER_SOURCES),
        CW_STR(CW_PERMISSION_ADMINISTER_ACCESS),
        CW_STR(CW_PERMISSION_USE_CONSOLE),
        CW_PERMISSION_METRICS,
    };
    return add_list(all, names, CW_COUNT(names));
}

cw_code cw_role_permissions_of_sources(const cw_config *config, cw_name_list *all)
{
    cw_code rc = add_own(all);
    if (!rc)
        rc = add_admin(all);
    return rc ? rc : add_sources(config, all);
}

bool cw_role_permissions_find(const cw_name_list *all, cw_str name, cw_str *ret_nearest)
{
    unsigned best = NEAR_MAX + 1;
    *ret_nearest = CW_STR("");
    for (size_t i = 0; i < all->n; i++) {
        if (cw_str_eq(all->items[i], name))
            return true;
        unsigned distance = cw_str_distance_within(name, all->items[i], NEAR_MAX);
        if (distance < best) {
            best = distance;
            *ret_nearest = all->items[i];
        }
    }
    return false;
}

static cw_code add_catalogue(const cw_snapshot *catalogue, cw_name_list *all)
{
    size_t n = 0;
    const cw_entry *entries = cw_snapshot_entries(catalogue, &n);
    cw_code rc = CW_OK;
    for (size_t i = 0; i < n && !rc; i++) {
        const cw_requirements *needs = &entries[i].method->needs;
        rc = add_list(all, needs->permissions, needs->n_permissions);
    }
    return rc;
}

static void log_role(const cw_config_role *role, const cw_name_list *asked)
{
    for (size_t i = 0; i < role->permissions.n; i++) {
        cw_str permission = role->permissions.items[i], nearest;
        if (cw_role_permissions_find(asked, permission, &nearest))
            continue;
        cw_log(nearest.n ? CW_LOG_WARN : CW_LOG_INFO, "config",
               "a role has a permission that no method requires", CW_KV("role", role->name),
               CW_KV("permission", permission),
               nearest.n ? CW_KV("suggestion", nearest) : (cw_log_field){0});
    }
}

void cw_role_permissions_log_unused(const cw_config *config, const cw_snapshot *catalogue)
{
    cw_name_list asked = {0};
    cw_arena_init(&asked.arena, CW_NAME_LIST_MAX_BYTES);
    cw_code rc = cw_role_permissions_of_sources(config, &asked);
    if (!rc && catalogue)
        rc = add_catalogue(catalogue, &asked);
    asked.n = rc ? 0 : cw_requirements_sort(asked.items, asked.n);
    for (size_t i = 0; i < config->roles.n && !rc; i++)
        log_role(&config->roles.items[i], &asked);
    cw_arena_done(&asked.arena);
}
