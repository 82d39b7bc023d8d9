/* SPDX-License-Identifier: GPL-2.0-or-later */
/* role, permission: manage roles and list the permissions that they grant. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "access/gate.h"
#include "cli/lib/cli.h"
#include "cli/lib/db.h"
#include "cli/plugin/plugin.h"
#include "server/permissions.h"
#include "server/plugin_host_path.h"

#define PATH_BYTES 4096u

/* ---- the permissions that plugins and overlays require ---- */

static cw_code add_list(cw_name_list *all, const cw_str *list, size_t n)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < n && !rc; i++)
        rc = cw_name_list_add(all, list[i]);
    return rc;
}

/* A plugin that cannot be loaded requires nothing. */
static cw_code add_plugin(const cw_config *config, const char *host, const char *file,
                          cw_name_list *all)
{
    char path[PATH_BYTES];
    cw_plugin_report report;
    cw_err err = {0};
    int length = snprintf(path, sizeof path, "%s/%s", config->plugins.directory.p, file);
    if (length < 0 || (size_t)length >= sizeof path)
        return CW_OK;
    cw_code rc = cw_plugin_inspect(config, host, path, &report, &err);
    for (size_t i = 0; !rc && !report.problems.n && i < report.n_methods; i++) {
        const cw_requirements *needs = &report.methods[i].needs;
        rc = add_list(all, needs->permissions, needs->n_permissions);
    }
    cw_plugin_report_done(&report);
    return rc == CW_NOMEM ? rc : CW_OK;
}

static cw_code add_plugins(const cw_config *config, cw_name_list *all)
{
    cw_err err = {0};
    char *host = NULL;
    DIR *folder = config->plugins.directory.n ? opendir(config->plugins.directory.p) : NULL;
    if (!folder)
        return CW_OK;
    cw_code rc = cw_plugin_host_find(config, /* is_needed= */ true, &host, &err);
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

/* The permissions that plugins of the directory and overlays require, and those of Causeway. Each
 * plugin is loaded in a process of its own. CW_NOMEM, CW_LIMIT. */
static cw_code required_permissions(const cw_config *config, cw_name_list *all)
{
    cw_code rc = cw_role_permissions_of_sources(config, all);
    return rc ? rc : add_plugins(config, all);
}

/* ---- changes ---- */

static int check_role(const cw_cli_db *a)
{
    return cw_cli_db_check_name("role", a->args[0]);
}

static int check_permission(const cw_cli_db *a)
{
    int code = check_role(a);
    return code < 0 ? cw_cli_db_check_name("permission", a->args[1]) : code;
}

static cw_code add(cw_cli_db *a)
{
    cw_buf_printf(&a->out, "role %s added\n", a->args[0]);
    return cw_db_add_role(a->db, cw_str_from(a->args[0]), &a->err);
}

static cw_code remove_role(cw_cli_db *a)
{
    cw_buf_printf(&a->out, "role %s removed\n", a->args[0]);
    return cw_db_remove_role(a->db, cw_str_from(a->args[0]), &a->err);
}

/* A permission that no method requires is probably a typing error. */
static void add_suggestion(cw_cli_db *a, cw_str permission)
{
    cw_name_list asked = {0};
    cw_arena_init(&asked.arena, CW_CLI_OUTPUT_MAX);
    cw_str nearest;
    if (required_permissions(a->config, &asked) == CW_OK &&
        !cw_role_permissions_find(&asked, permission, &nearest)) {
        cw_buf_add(&a->out, CW_STR("no plugin and no overlay requires "));
        cw_cli_add_text(&a->out, permission);
        if (nearest.n) {
            cw_buf_add(&a->out, CW_STR("; did you mean \""));
            cw_cli_add_text(&a->out, nearest);
            cw_buf_add(&a->out, CW_STR("\"?"));
        }
        cw_buf_add_char(&a->out, '\n');
    }
    cw_arena_done(&asked.arena);
}

static cw_code set_permission(cw_cli_db *a, bool may)
{
    const char *role = a->args[0], *permission = a->args[1];
    cw_code rc = cw_db_allow(a->db, cw_str_from(role), cw_str_from(permission), may, &a->err);
    if (rc == CW_NOTFOUND)
        rc = cw_fail(&a->err, rc, "no role '%s' in the database; \"causeway role add\" adds one",
                     role);
    cw_buf_printf(&a->out, "role %s %s %s%s\n", role, may ? "may" : "may not", permission,
                  rc == CW_DONE ? " already" : "");
    if (may && (!rc || rc == CW_DONE))
        add_suggestion(a, cw_str_from(permission));
    return rc;
}

static cw_code allow(cw_cli_db *a)
{
    return set_permission(a, true);
}

static cw_code deny(cw_cli_db *a)
{
    return set_permission(a, false);
}

/* ---- lists ---- */

typedef cw_code (*pair_fn)(void *ctx, cw_str role, cw_str permission, const char *from);

typedef struct walk {
    cw_cli_db *a;
    pair_fn fn;
    void *ctx;
    cw_str role;
} walk;

static cw_code on_permission(cw_str text, void *ctx, cw_err *err)
{
    walk *w = ctx;
    (void)err;
    return w->fn(w->ctx, w->role, text, "database");
}

static cw_code on_role(cw_str role, void *ctx, cw_err *err)
{
    walk *w = ctx;
    w->role = role;
    cw_code rc = w->fn(w->ctx, role, CW_STR(""), "database");
    return rc ? rc : cw_db_each_permission(w->a->db, role, on_permission, w, err);
}

/* Visit every role, once with an empty permission and once with each of its permissions: first
 * those of the database, then those of the configuration (`from`). */
static cw_code walk_roles(cw_cli_db *a, pair_fn fn, void *ctx)
{
    walk w = {.a = a, .fn = fn, .ctx = ctx};
    cw_code rc = cw_db_each_role(a->db, on_role, &w, &a->err);
    for (size_t i = 0; i < a->config->roles.n && !rc; i++) {
        const cw_config_role *role = &a->config->roles.items[i];
        rc = fn(ctx, role->name, CW_STR(""), "configuration");
        for (size_t k = 0; k < role->permissions.n && !rc; k++)
            rc = fn(ctx, role->name, role->permissions.items[k], "configuration");
    }
    return rc;
}

typedef struct role_table {
    cw_cli_table table;
    bool is_open; /* the object of a role */
} role_table;

static void close_object(role_table *l)
{
    if (l->is_open) {
        cw_json_close(&l->table.json);
        cw_json_close(&l->table.json);
    }
    l->is_open = false;
}

static cw_code add_one(void *ctx, cw_str role, cw_str permission, const char *from)
{
    role_table *l = ctx;
    cw_json_writer *w = &l->table.json;
    if (!l->table.is_json) {
        cw_cli_table_add(&l->table, role);
        cw_cli_table_add(&l->table, cw_str_from(from));
        cw_cli_table_add(&l->table, permission);
        return CW_OK;
    }
    if (permission.n) {
        cw_json_add_string(w, permission);
        return CW_OK;
    }
    close_object(l);
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), role);
    cw_json_add_string_member(w, CW_STR("from"), cw_str_from(from));
    cw_json_add_key(w, CW_STR("permissions"));
    cw_json_open_array(w);
    l->is_open = true;
    return CW_OK;
}

static cw_code list(cw_cli_db *a)
{
    static const cw_cli_column columns[] = {
        {"ROLE", 20, false}, {"FROM", 13, false}, {"PERMISSION", 0, false}};
    role_table l = {0};
    cw_cli_table_open(&l.table, &a->out, a->json, columns, CW_COUNT(columns));
    cw_code rc = walk_roles(a, add_one, &l);
    close_object(&l);
    cw_cli_table_close(&l.table);
    return rc;
}

/* ---- the commands ---- */

static int run_add(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "role add",
        .args = "ROLE",
        .about = "Add a role.",
        .min_args = 1,
        .max_args = 1,
        .may_create = true,
        .is_change = true,
        .check = check_role,
        .run = add,
    };
    return cw_cli_db_run(&command, argc, argv);
}

static int run_remove(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "role remove",
        .args = "ROLE",
        .about = "Remove a role, and revoke it from all accounts.",
        .min_args = 1,
        .max_args = 1,
        .may_create = true,
        .is_change = true,
        .check = check_role,
        .run = remove_role,
    };
    return cw_cli_db_run(&command, argc, argv);
}

static int run_allow(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "role allow",
        .args = "ROLE PERMISSION",
        .about =
            "Add a permission to a role. The roles \"anonymous\" (callers without a login) and\n"
            "\"authenticated\" (callers with one) always exist.",
        .min_args = 2,
        .max_args = 2,
        .may_create = true,
        .is_change = true,
        .check = check_permission,
        .run = allow,
    };
    return cw_cli_db_run(&command, argc, argv);
}

static int run_deny(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "role deny",
        .args = "ROLE PERMISSION",
        .about = "Remove a permission from a role. Permissions from the configuration remain.",
        .min_args = 2,
        .max_args = 2,
        .may_create = true,
        .is_change = true,
        .check = check_permission,
        .run = deny,
    };
    return cw_cli_db_run(&command, argc, argv);
}

static int run_list(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "role list",
        .args = "",
        .about = "List the roles of the database and of the configuration with their permissions.",
        .has_json = true,
        .run = list,
    };
    return cw_cli_db_run(&command, argc, argv);
}

static const cw_cli_command role_commands[] = {
    {"add", "add a role", run_add},
    {"list", "list the roles", run_list},
    {"remove", "remove a role", run_remove},
    {"allow", "add a permission to a role", run_allow},
    {"deny", "remove a permission from a role", run_deny},
    {0},
};

int cw_cli_role(int argc, char **argv)
{
    static const cw_cli_group group = {
        "causeway role",
        "Manage roles. Changes take effect in a running server within a second.",
        "\"causeway help role COMMAND\" explains a command.",
        role_commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}

/* ---- the command permission ---- */

static cw_code on_pair(void *ctx, cw_str role, cw_str permission, const char *from)
{
    (void)role;
    (void)from;
    return permission.n ? cw_name_list_add(ctx, permission) : CW_OK;
}

/* Our own, and those that some role has. */
static cw_code collect(cw_cli_db *a, cw_name_list *all)
{
    cw_code rc = cw_name_list_add(all, CW_PERMISSION_DISCOVER);
    if (!rc)
        rc = cw_name_list_add(all, CW_PERMISSION_CALL);
    if (!rc)
        rc = walk_roles(a, on_pair, all);
    if (!rc)
        all->n = cw_requirements_sort(all->items, all->n);
    return rc;
}

static cw_code list_permissions(cw_cli_db *a)
{
    cw_name_list all = {0};
    cw_json_writer w;
    cw_arena_init(&all.arena, CW_CLI_OUTPUT_MAX);
    cw_code rc = collect(a, &all);
    if (rc == CW_NOMEM || rc == CW_LIMIT)
        cw_fail(&a->err, rc, "%s", cw_code_text(rc));
    cw_json_writer_init(&w, &a->out, CW_JSON_INDENT);
    if (a->json)
        cw_json_open_array(&w);
    for (size_t i = 0; i < all.n && !rc; i++) {
        if (a->json) {
            cw_json_add_string(&w, all.items[i]);
            continue;
        }
        cw_cli_add_text(&a->out, all.items[i]);
        cw_buf_add_char(&a->out, '\n');
    }
    if (a->json) {
        cw_json_close(&w);
        cw_cli_end_json(&w);
    }
    cw_arena_done(&all.arena);
    return rc;
}

static int run_permission_list(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "permission list",
        .args = "",
        .about = "List the permissions that Causeway itself requires, and those of the roles.\n"
                 "\"plugin check\" prints the permissions that a plugin's methods require.",
        .has_json = true,
        .run = list_permissions,
    };
    return cw_cli_db_run(&command, argc, argv);
}

int cw_cli_permission(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"list", "list permissions", run_permission_list},
        {0},
    };
    static const cw_cli_group group = {
        "causeway permission",
        "List the permissions that roles grant and methods require.",
        "\"causeway help permission COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
