/* SPDX-License-Identifier: GPL-2.0-or-later */
/* role: what accounts may do. */
#include "cli/account/required_permissions.h"
#include "cli/lib/table.h"

#define NAME_WIDTH 20u

static const cw_cli_spec add_spec = {"role add", "ROLE", "Add a role.", NULL, 1};
static const cw_cli_spec remove_spec = {"role remove", "ROLE",
                                        "Remove a role, and revoke it from all accounts.", NULL, 1};
static const cw_cli_spec allow_spec = {
    "role allow", "ROLE PERMISSION",
    "Add a permission to a role. The roles \"anonymous\" (callers without a login) and\n"
    "\"authenticated\" (callers with one) always exist.",
    NULL, 2};
static const cw_cli_spec deny_spec = {
    "role deny", "ROLE PERMISSION",
    "Remove a permission from a role. Permissions from the configuration remain.", NULL, 2};

static int begin(const cw_cli_spec *spec, int argc, char **argv, cw_cli_args *args, cw_cli_db *a)
{
    const char *config = NULL;
    const cw_cli_option options[] = {CW_CLI_CONFIG_OPTION(&config), {0}};
    cw_cli_spec own = *spec;
    own.options = options;
    int code = cw_cli_parse(&own, argc, argv, args);
    if (code >= 0)
        return code;
    if (args->n < spec->max_args)
        return cw_cli_usage("usage: causeway %s \"%s\"", spec->name, spec->args);
    code = cw_cli_db_check_name("role", args->items[0]);
    if (code < 0 && spec->max_args > 1)
        code = cw_cli_db_check_name("permission", args->items[1]);
    return code >= 0 ? code : cw_cli_db_open(config, /* may_create= */ true, a);
}

static int run_add(int argc, char **argv)
{
    cw_cli_args args = {0};
    cw_cli_db a = {0};
    int code = begin(&add_spec, argc, argv, &args, &a);
    if (code >= 0)
        return code;
    cw_cli_db_change(&a, add_spec.name, args.items[0], NULL);
    cw_code rc = cw_db_add_role(a.db, cw_str_from(args.items[0]), &a.err);
    cw_buf_printf(&a.out, "role %s added\n", args.items[0]);
    return cw_cli_db_close(&a, rc);
}

static int run_remove(int argc, char **argv)
{
    cw_cli_args args = {0};
    cw_cli_db a = {0};
    int code = begin(&remove_spec, argc, argv, &args, &a);
    if (code >= 0)
        return code;
    cw_cli_db_change(&a, remove_spec.name, args.items[0], NULL);
    cw_code rc = cw_db_remove_role(a.db, cw_str_from(args.items[0]), &a.err);
    cw_buf_printf(&a.out, "role %s removed\n", args.items[0]);
    return cw_cli_db_close(&a, rc);
}

/* A permission that nothing asks for opens nothing: most likely a typing error. */
static void add_suggestion(cw_cli_db *a, cw_str permission)
{
    cw_name_list asked = {0};
    cw_arena_init(&asked.arena, CW_CLI_DB_MAX_BYTES);
    if (cw_required_permissions(a->config, &asked) == CW_OK &&
        !cw_role_permissions_has(&asked, permission)) {
        cw_str nearest = cw_role_permissions_nearest(&asked, permission);
        cw_buf_add(&a->out, CW_STR("no plugin and no overlay asks for "));
        cw_cli_table_add_text(&a->out, permission);
        if (nearest.n) {
            cw_buf_add(&a->out, CW_STR("; did you mean \""));
            cw_cli_table_add_text(&a->out, nearest);
            cw_buf_add(&a->out, CW_STR("\"?"));
        }
        cw_buf_add_char(&a->out, '\n');
    }
    cw_arena_done(&asked.arena);
}

static int run_allow(int argc, char **argv, bool may)
{
    cw_cli_args args = {0};
    cw_cli_db a = {0};
    const cw_cli_spec *spec = may ? &allow_spec : &deny_spec;
    int code = begin(spec, argc, argv, &args, &a);
    if (code >= 0)
        return code;
    cw_cli_db_change(&a, spec->name, args.items[0], args.items[1]);
    cw_code rc =
        cw_db_allow(a.db, cw_str_from(args.items[0]), cw_str_from(args.items[1]), may, &a.err);
    if (rc == CW_NOTFOUND)
        rc = cw_fail(&a.err, rc, "no role '%s' in the database; \"causeway role add\" makes one",
                     args.items[0]);
    cw_buf_printf(&a.out, "role %s %s %s%s\n", args.items[0], may ? "may" : "may not",
                  args.items[1], rc == CW_DONE ? " already" : "");
    if (may && (!rc || rc == CW_DONE))
        add_suggestion(&a, cw_str_from(args.items[1]));
    return cw_cli_db_close(&a, rc);
}

static int run_allow_on(int argc, char **argv)
{
    return run_allow(argc, argv, true);
}

static int run_deny(int argc, char **argv)
{
    return run_allow(argc, argv, false);
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
    cw_cli_db *a;
    cw_json_writer json;
    bool is_open; /* the object of a role */
} role_table;

static cw_code add_line(void *ctx, cw_str role, cw_str permission, const char *from)
{
    cw_buf *out = &((role_table *)ctx)->a->out;
    cw_cli_table_add_column(out, role, NAME_WIDTH);
    cw_cli_table_add_column(out, cw_str_from(from), 13);
    if (permission.n)
        cw_cli_table_add_text(out, permission);
    else
        cw_buf_add_char(out, '-');
    cw_buf_add_char(out, '\n');
    return CW_OK;
}

static void close_object(role_table *l)
{
    if (l->is_open) {
        cw_json_close(&l->json);
        cw_json_close(&l->json);
    }
    l->is_open = false;
}

static cw_code add_object(void *ctx, cw_str role, cw_str permission, const char *from)
{
    role_table *l = ctx;
    if (permission.n) {
        cw_json_add_string(&l->json, permission);
        return CW_OK;
    }
    close_object(l);
    cw_json_open_object(&l->json);
    cw_json_add_string_member(&l->json, CW_STR("name"), role);
    cw_json_add_string_member(&l->json, CW_STR("from"), cw_str_from(from));
    cw_json_add_key(&l->json, CW_STR("permissions"));
    cw_json_open_array(&l->json);
    l->is_open = true;
    return CW_OK;
}

static cw_code list(cw_cli_db *a, bool json)
{
    role_table l = {.a = a};
    if (!json) {
        cw_cli_table_add_heading(&a->out, "ROLE                  FROM           PERMISSION");
        return cw_cli_walk_roles(a, add_line, &l);
    }
    cw_json_writer_init(&l.json, &a->out, CW_JSON_INDENT);
    cw_json_open_array(&l.json);
    cw_code rc = cw_cli_walk_roles(a, add_object, &l);
    close_object(&l);
    cw_json_close(&l.json);
    (void)!cw_json_writer_end(&l.json, NULL); /* sticky in the buffer */
    cw_buf_add_char(&a->out, '\n');
    return rc;
}

static int run_list(int argc, char **argv)
{
    const char *config = NULL;
    bool json = false;
    const cw_cli_option options[] = {CW_CLI_CONFIG_OPTION(&config), CW_CLI_JSON_OPTION(&json), {0}};
    const cw_cli_spec spec = {
        "role list", "",
        "List the roles of the database and of the configuration with their permissions.", options,
        0};
    cw_cli_db a = {0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code < 0)
        code = cw_cli_db_open(config, /* may_create= */ false, &a);
    return code >= 0 ? code : cw_cli_db_close(&a, list(&a, json));
}

static const cw_cli_command role_commands[] = {
    {"add", "add a role", run_add},
    {"list", "list the roles", run_list},
    {"remove", "remove a role", run_remove},
    {"allow", "add a permission to a role", run_allow_on},
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
