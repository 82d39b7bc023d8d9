/* SPDX-License-Identifier: GPL-2.0-or-later */
/* role, permission: manage roles and list the permissions that they grant. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "access/gate.h"
#include "cli/account/rights.h"
#include "cli/plugin/plugin.h"
#include "server/files/plugin_host_path.h"
#include "server/options/name_list.h"
#include "server/options/permissions.h"

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

static int check_role(char **args)
{
    return cw_cli_rights_check_name("role", args[0]);
}

static int check_permission(char **args)
{
    int code = check_role(args);
    return code < 0 ? cw_cli_rights_check_name("permission", args[1]) : code;
}

/* A permission that no method requires is probably a typing error. The plugins of another machine
 * are not known. */
static void print_suggestion(cw_cli_rights *a, const cw_json *result)
{
    cw_name_list asked = {0};
    cw_str permission = cw_str_from(a->args[1]), nearest;
    (void)result;
    if (!a->admin.config)
        return;
    cw_arena_init(&asked.arena, CW_CLI_OUTPUT_MAX);
    if (required_permissions(a->admin.config, &asked) == CW_OK &&
        !cw_role_permissions_find(&asked, permission, &nearest)) {
        cw_buf_add(&a->out, CW_STR("no method requires "));
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

/* ---- list ---- */

/* A line for each permission of the role, or one without. */
static void add_rows(cw_cli_table *t, const cw_json *role)
{
    const cw_json *permissions = cw_json_get(role, CW_STR("permissions"));
    const cw_json *p = cw_json_at(permissions, 0);
    size_t i = 1;
    do {
        cw_cli_table_add(t, cw_cli_admin_text(role, "name"));
        cw_cli_table_add(t, cw_cli_admin_text(role, "from"));
        cw_cli_table_add(t, p ? cw_json_text(p) : CW_STR(""));
        p = p ? cw_json_at(permissions, i++) : NULL;
    } while (p);
}

static void print_list(cw_cli_rights *a, const cw_json *result)
{
    static const cw_cli_column columns[] = {
        {"ROLE", 20, false}, {"FROM", 13, false}, {"PERMISSION", 0, false}};
    cw_cli_rights_print_list(a, cw_json_get(result, CW_STR("roles")), columns, CW_COUNT(columns),
                             add_rows);
}

/* ---- the commands ---- */

static int run_add(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "role add",
        .args = "NAME",
        .about = "Add a role.",
        .method = "causeway.roles.add",
        .params = {"role"},
        .min_args = 1,
        .check = check_role,
        .done = "role % added",
    };
    return cw_cli_rights_run(&command, argc, argv);
}

static int run_remove(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "role remove",
        .args = "ROLE",
        .about = "Remove a role, and revoke it from all accounts.",
        .method = "causeway.roles.remove",
        .params = {"role"},
        .min_args = 1,
        .check = check_role,
        .done = "role % removed",
    };
    return cw_cli_rights_run(&command, argc, argv);
}

static int run_allow(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "role allow",
        .args = "ROLE PERMISSION",
        .about =
            "Add a permission to a role. The roles \"anonymous\" (callers without a login) and\n"
            "\"authenticated\" (callers with one) always exist.",
        .method = "causeway.roles.allow",
        .params = {"role", "permission"},
        .min_args = 2,
        .check = check_permission,
        .print = print_suggestion,
        .done = "role % may %",
    };
    return cw_cli_rights_run(&command, argc, argv);
}

static int run_deny(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "role deny",
        .args = "ROLE PERMISSION",
        .about = "Remove a permission from a role. Permissions from the configuration remain.",
        .method = "causeway.roles.deny",
        .params = {"role", "permission"},
        .min_args = 2,
        .check = check_permission,
        .done = "role % may not %",
    };
    return cw_cli_rights_run(&command, argc, argv);
}

static int run_list(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "role list",
        .args = "",
        .about = "List the roles of the database and of the configuration with their permissions.",
        .method = "causeway.roles.list",
        .has_json = true,
        .print = print_list,
    };
    return cw_cli_rights_run(&command, argc, argv);
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
        "Manage roles. If a server runs with this configuration, it makes the changes.",
        "\"causeway help role COMMAND\" explains a command.",
        role_commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}

/* ---- the command permission ---- */

/* Our own, and those that some role has. */
static cw_code collect(cw_name_list *all, const cw_json *roles)
{
    const cw_json *role, *p;
    cw_code rc = cw_name_list_add(all, CW_PERMISSION_DISCOVER);
    if (!rc)
        rc = cw_name_list_add(all, CW_PERMISSION_CALL);
    for (size_t i = 0; (role = cw_json_at(roles, i)) && !rc; i++) {
        const cw_json *permissions = cw_json_get(role, CW_STR("permissions"));
        for (size_t k = 0; (p = cw_json_at(permissions, k)) && !rc; k++)
            rc = cw_name_list_add(all, cw_json_text(p));
    }
    all->n = cw_requirements_sort(all->items, all->n);
    return rc;
}

static void print_names(cw_cli_rights *a, const cw_name_list *all)
{
    cw_json_writer w;
    if (!a->json) {
        for (size_t i = 0; i < all->n; i++) {
            cw_cli_add_text(&a->out, all->items[i]);
            cw_buf_add_char(&a->out, '\n');
        }
        return;
    }
    cw_json_writer_init(&w, &a->out, CW_JSON_INDENT);
    cw_json_open_array(&w);
    for (size_t i = 0; i < all->n; i++)
        cw_json_add_string(&w, all->items[i]);
    cw_json_close(&w);
    cw_cli_end_json(&w);
}

static void print_permissions(cw_cli_rights *a, const cw_json *result)
{
    cw_name_list all = {0};
    cw_arena_init(&all.arena, CW_CLI_OUTPUT_MAX);
    cw_code rc = collect(&all, cw_json_get(result, CW_STR("roles")));
    if (rc)
        a->out.code = rc;
    else
        print_names(a, &all);
    cw_arena_done(&all.arena);
}

static int run_permission_list(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "permission list",
        .args = "",
        .about = "List the permissions that Causeway itself requires, and those of the roles.\n"
                 "\"plugin check\" prints the permissions that a plugin's methods require.",
        .method = "causeway.roles.list",
        .has_json = true,
        .print = print_permissions,
    };
    return cw_cli_rights_run(&command, argc, argv);
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
