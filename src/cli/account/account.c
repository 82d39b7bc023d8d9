/* SPDX-License-Identifier: GPL-2.0-or-later */
/* account: adds, changes and removes accounts. */
#include "access/credentials.h"
#include "access/gate.h"
#include "base/clock.h"
#include "cli/lib/cli.h"
#include "cli/lib/db.h"
#include "config/syntax/quote.h"

#define PASSWORD_OPTION(target)                                                                    \
    {                                                                                              \
        "password-file", 0, CW_CLI_TEXT, target, "FILE",                                           \
            "read the password from FILE; \"-\" is standard input"                                 \
    }

/* Report an argument that cannot be the name of an account. Returns -1 for a valid one. */
static int check_account(const char *name)
{
    char excerpt[CW_EXCERPT_SIZE];
    if (cw_account_name_is_valid(cw_str_from(name)))
        return -1;
    return cw_cli_usage("not the name of an account: %s; it has 1 to %u bytes, no control "
                        "characters and no colon, and is not \"anonymous\"",
                        cw_excerpt(cw_str_from(name), excerpt), CW_DB_MAX_NAME);
}

/* ---- add ---- */

static cw_code add(cw_cli_db *a, const cw_account *account, const cw_cli_texts *roles)
{
    cw_str names[CW_CLI_MAX_TEXTS];
    int64_t id;
    for (size_t i = 0; i < roles->n; i++)
        names[i] = cw_str_from(roles->items[i]);
    cw_code rc = cw_db_add_account(a->db, account, names, roles->n, &id, &a->err);
    if (!rc)
        cw_buf_printf(&a->out, "account %.*s added\n", CW_STR_ARG(account->name));
    return rc;
}

/* CW_NOTFOUND: neither the database nor the configuration has the role. */
static cw_code check_role(cw_cli_db *a, const char *role)
{
    bool is_known = false;
    for (size_t i = 0; i < a->config->roles.n && !is_known; i++)
        is_known = cw_str_is(a->config->roles.items[i].name, role);
    cw_code rc = is_known ? CW_OK : cw_db_has_role(a->db, cw_str_from(role), &is_known, &a->err);
    if (rc || is_known)
        return rc;
    return cw_fail(&a->err, CW_NOTFOUND,
                   "no role '%s', neither in the database nor in the configuration; \"causeway "
                   "role add\" adds one",
                   role);
}

static int run_add(int argc, char **argv)
{
    const char *config = NULL, *file = NULL, *language = NULL;
    bool no_password = false;
    cw_cli_texts roles = {0};
    const cw_cli_option options[] = {
        CW_CLI_CONFIG_OPTION(&config),
        PASSWORD_OPTION(&file),
        {"no-password", 0, CW_CLI_FLAG, &no_password, NULL, "allow logins with tokens only"},
        {"role", 'r', CW_CLI_TEXTS, &roles, "ROLE", "grant this role; may be repeated"},
        {"language", 0, CW_CLI_TEXT, &language, "CODE", "language of the account, such as \"de\""},
        {0},
    };
    const cw_cli_spec spec = {
        "account add", "NAME",
        "Add an account. The password is read from the terminal or from standard input.", options,
        1};
    cw_cli_args args = {0};
    cw_cli_db a = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n == 0)
        return cw_cli_usage("name the account to add");
    code = check_account(args.items[0]);
    if (code < 0 && language)
        code = cw_cli_db_check_name("language", language);
    if (code < 0)
        code = cw_cli_db_open(config, /* may_create= */ true, &a);
    if (code >= 0)
        return code;
    cw_cli_db_change(&a, spec.name, args.items[0], NULL);
    char hash[CW_PASSWORD_HASH] = "";
    cw_code rc = CW_OK;
    for (size_t i = 0; i < roles.n && !rc; i++)
        rc = check_role(&a, roles.items[i]);
    if (!rc && !no_password)
        rc = cw_cli_read_password(file, a.config->access.password_length, hash, &a.err);
    cw_account account = {.name = cw_str_from(args.items[0]),
                          .password = cw_str_from(hash),
                          .language = cw_str_from(language),
                          .created = cw_clock_wall_ms()};
    return cw_cli_db_close(&a, rc ? rc : add(&a, &account, &roles));
}

/* ---- list ---- */

typedef struct account_table {
    cw_db *db;
    cw_cli_table table;
} account_table;

static const char *state_of(const cw_account *account)
{
    return account->is_blocked ? "blocked" : "active";
}

static cw_code add_line(account_table *l, const cw_account *account, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf roles;
    cw_buf_init(&roles, CW_CLI_OUTPUT_MAX);
    cw_code rc = cw_db_each_role_of(l->db, account->id, cw_cli_db_on_text, &roles, err);
    if (rc)
        return rc;
    cw_cli_table_add(&l->table, account->name);
    cw_cli_table_add(&l->table, cw_str_from(state_of(account)));
    cw_cli_table_add_raw(&l->table, roles.n ? cw_buf_str(&roles) : CW_STR("-"));
    return CW_OK;
}

static cw_code add_object(cw_db *db, cw_json_writer *w, const cw_account *account, cw_err *err)
{
    cw_json_open_object(w);
    cw_json_add_i64_member(w, CW_STR("id"), account->id);
    cw_json_add_string_member(w, CW_STR("name"), account->name);
    cw_json_add_string_member(w, CW_STR("state"), cw_str_from(state_of(account)));
    cw_json_add_bool_member(w, CW_STR("password"), account->password.n > 0);
    cw_json_add_string_member(w, CW_STR("language"), account->language);
    cw_cli_add_date_member(w, CW_STR("created"), account->created);
    cw_json_add_key(w, CW_STR("roles"));
    cw_json_open_array(w);
    cw_code rc = cw_db_each_role_of(db, account->id, cw_cli_db_on_json, w, err);
    cw_json_close(w);
    cw_json_close(w);
    return rc;
}

static cw_code add_one(const cw_account *account, void *ctx, cw_err *err)
{
    account_table *l = ctx;
    return l->table.is_json ? add_object(l->db, &l->table.json, account, err)
                            : add_line(l, account, err);
}

static cw_code list(cw_cli_db *a)
{
    static const cw_cli_column columns[] = {
        {"NAME", 20, false}, {"STATE", 7, false}, {"ROLES", 0, false}};
    account_table l = {.db = a->db};
    cw_cli_table_open(&l.table, &a->out, a->json, columns, CW_COUNT(columns));
    cw_code rc = cw_db_each_account(a->db, add_one, &l, &a->err);
    cw_cli_table_close(&l.table);
    return rc;
}

/* ---- show ---- */

/* The permissions of an account: by its roles in the database and in the configuration. */
typedef struct powers {
    cw_cli_db *a;
    cw_name_list names;
} powers;

static cw_code on_permission(cw_str text, void *ctx, cw_err *err)
{
    cw_code rc = cw_name_list_add(&((powers *)ctx)->names, text);
    return rc ? cw_fail(err, rc, "%s", cw_code_text(rc)) : CW_OK;
}

static cw_code on_role(cw_str role, void *ctx, cw_err *err)
{
    const cw_config_roles *roles = &((powers *)ctx)->a->config->roles;
    cw_code rc = CW_OK;
    for (size_t i = 0; i < roles->n; i++) {
        const cw_config_strings *list = &roles->items[i].permissions;
        for (size_t k = 0; cw_str_eq(roles->items[i].name, role) && k < list->n && !rc; k++)
            rc = on_permission(list->items[k], ctx, err);
    }
    return rc;
}

/* Every account inherits from this role, unless the configuration says otherwise. */
static cw_code add_anonymous(powers *all, cw_err *err)
{
    cw_str role = cw_str_from(CW_ROLE_ANONYMOUS);
    cw_code rc = cw_db_each_permission(all->a->db, role, on_permission, all, err);
    return rc ? rc : on_role(role, all, err);
}

static cw_code add_permissions(cw_cli_db *a, const cw_account *account, cw_json_writer *w)
{
    powers all = {.a = a};
    cw_arena_init(&all.names.arena, CW_CLI_OUTPUT_MAX);
    cw_code rc = cw_db_each_permission_of(a->db, account->id, on_permission, &all, &a->err);
    if (!rc)
        rc = cw_db_each_role_of(a->db, account->id, on_role, &all, &a->err);
    if (!rc)
        rc = on_role(cw_str_from(CW_ROLE_AUTHENTICATED), &all, &a->err);
    if (!rc && !a->config->access.authenticated_only_own)
        rc = add_anonymous(&all, &a->err);
    size_t n = cw_requirements_sort(all.names.items, all.names.n);
    cw_json_add_key(w, CW_STR("permissions"));
    cw_json_open_array(w);
    for (size_t i = 0; i < n && !rc; i++)
        cw_json_add_string(w, all.names.items[i]);
    cw_json_close(w);
    cw_arena_done(&all.names.arena);
    return rc;
}

static cw_code show(cw_cli_db *a)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_account *account;
    cw_json_writer w;
    cw_arena_init(&arena, 65536);
    cw_code rc = cw_cli_db_find_account(a, a->args[0], &arena, &account);
    if (rc)
        return rc;
    cw_json_writer_init(&w, &a->out, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR("account"));
    rc = add_object(a->db, &w, account, &a->err);
    if (!rc)
        rc = add_permissions(a, account, &w);
    cw_json_close(&w);
    cw_cli_end_json(&w);
    return rc;
}

/* ---- changes ---- */

static cw_code remove_account(cw_cli_db *a)
{
    cw_buf_printf(&a->out, "account %s removed\n", a->args[0]);
    return cw_db_remove_account(a->db, cw_str_from(a->args[0]), &a->err);
}

static cw_code block(cw_cli_db *a)
{
    cw_buf_printf(&a->out, "account %s is blocked\n", a->args[0]);
    return cw_db_block_account(a->db, cw_str_from(a->args[0]), true, &a->err);
}

static cw_code unblock(cw_cli_db *a)
{
    cw_buf_printf(&a->out, "account %s is active\n", a->args[0]);
    return cw_db_block_account(a->db, cw_str_from(a->args[0]), false, &a->err);
}

static cw_code set_role(cw_cli_db *a, bool has_it)
{
    const char *name = a->args[0], *role = a->args[1];
    cw_code rc = has_it ? check_role(a, role) : CW_OK;
    if (!rc)
        rc = cw_db_grant(a->db, cw_str_from(name), cw_str_from(role), has_it, &a->err);
    cw_buf_printf(&a->out, "account %s %s the role %s%s\n", name, has_it ? "has" : "does not have",
                  role, rc == CW_DONE ? " already" : "");
    return rc;
}

static cw_code grant(cw_cli_db *a)
{
    return set_role(a, true);
}

static cw_code revoke(cw_cli_db *a)
{
    return set_role(a, false);
}

static int run_password(int argc, char **argv)
{
    const char *config = NULL, *file = NULL;
    bool no_password = false;
    const cw_cli_option options[] = {
        CW_CLI_CONFIG_OPTION(&config),
        PASSWORD_OPTION(&file),
        {"no-password", 0, CW_CLI_FLAG, &no_password, NULL, "allow logins with tokens only"},
        {0},
    };
    const cw_cli_spec spec = {
        "account password", "NAME",
        "Change the password of an account. It is read from the terminal or from\n"
        "standard input.",
        options, 1};
    cw_cli_args args = {0};
    cw_cli_db a = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code < 0 && args.n == 0)
        code = cw_cli_usage("name the account");
    if (code < 0)
        code = cw_cli_db_open(config, /* may_create= */ false, &a);
    if (code >= 0)
        return code;
    cw_cli_db_change(&a, spec.name, args.items[0], NULL);
    char hash[CW_PASSWORD_HASH] = "";
    cw_code rc = no_password
                     ? CW_OK
                     : cw_cli_read_password(file, a.config->access.password_length, hash, &a.err);
    if (!rc)
        rc = cw_db_set_password(a.db, cw_str_from(args.items[0]), cw_str_from(hash), &a.err);
    cw_buf_printf(&a.out, "password of %s changed\n", args.items[0]);
    return cw_cli_db_close(&a, rc);
}

/* ---- the commands ---- */

static int run_list(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "account list",
        .args = "",
        .about = "List the accounts.",
        .has_json = true,
        .run = list,
    };
    return cw_cli_db_run(&command, argc, argv);
}

static int run_show(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "account show",
        .args = "NAME",
        .about = "Print an account as JSON, with its roles and their permissions.",
        .min_args = 1,
        .max_args = 1,
        .run = show,
    };
    return cw_cli_db_run(&command, argc, argv);
}

static int run_remove(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "account remove",
        .args = "NAME",
        .about = "Remove an account and its tokens.",
        .min_args = 1,
        .max_args = 1,
        .is_change = true,
        .run = remove_account,
    };
    return cw_cli_db_run(&command, argc, argv);
}

static int run_block(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "account block",
        .args = "NAME",
        .about = "Block an account: reject its password and its tokens.",
        .min_args = 1,
        .max_args = 1,
        .is_change = true,
        .run = block,
    };
    return cw_cli_db_run(&command, argc, argv);
}

static int run_unblock(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "account unblock",
        .args = "NAME",
        .about = "Unblock an account.",
        .min_args = 1,
        .max_args = 1,
        .is_change = true,
        .run = unblock,
    };
    return cw_cli_db_run(&command, argc, argv);
}

static int run_grant(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "account grant",
        .args = "NAME ROLE",
        .about = "Grant a role to an account.",
        .min_args = 2,
        .max_args = 2,
        .is_change = true,
        .run = grant,
    };
    return cw_cli_db_run(&command, argc, argv);
}

static int run_revoke(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "account revoke",
        .args = "NAME ROLE",
        .about = "Revoke a role from an account.",
        .min_args = 2,
        .max_args = 2,
        .is_change = true,
        .run = revoke,
    };
    return cw_cli_db_run(&command, argc, argv);
}

static const cw_cli_command commands[] = {
    {"add", "add an account", run_add},
    {"list", "list the accounts", run_list},
    {"show", "print an account", run_show},
    {"remove", "remove an account", run_remove},
    {"block", "block an account", run_block},
    {"unblock", "unblock an account", run_unblock},
    {"password", "change a password", run_password},
    {"grant", "grant a role to an account", run_grant},
    {"revoke", "revoke a role from an account", run_revoke},
    {0},
};

int cw_cli_account(int argc, char **argv)
{
    static const cw_cli_group group = {
        "causeway account",
        "Manage accounts. Changes take effect in a running server within a second.",
        "\"causeway help account COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
