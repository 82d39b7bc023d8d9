/* SPDX-License-Identifier: GPL-2.0-or-later */
/* role: manages roles and their permissions. */
#include "cli/account/required_permissions.h"
#include "cli/lib/cli.h"
#include "cli/lib/db.h"

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
    if (cw_required_permissions(a->config, &asked) == CW_OK &&
        !cw_role_permissions_has(&asked, permission)) {
        cw_str nearest = cw_role_permissions_nearest(&asked, permission);
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

typedef struct walk {
    cw_cli_db *a;
    cw_cli_db_pair_fn fn;
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

cw_code cw_cli_walk_roles(cw_cli_db *a, cw_cli_db_pair_fn fn, void *ctx)
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
    cw_code rc = cw_cli_walk_roles(a, add_one, &l);
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
