/* SPDX-License-Identifier: GPL-2.0-or-later */
/* account: adds, changes and removes accounts. */
#include "access/gate.h"
#include "cli/account/rights.h"
#include "server/options/name_list.h"

/* The password of a new or changed account: none, or from a file, terminal or pipe. */
typedef struct password_options {
    const char *file;
    bool is_none;
    cw_cli_password read;
} password_options;

#define PASSWORD_OPTIONS(p)                                                                        \
    {"password-file", 0,      CW_CLI_TEXT,                                                         \
     &(p)->file,      "FILE", "read the password from FILE; \"-\" is standard input"},             \
    {                                                                                              \
        "no-password", 0, CW_CLI_FLAG, &(p)->is_none, NULL, "allow logins with tokens only"        \
    }

static int read_password(password_options *p)
{
    cw_err err = {0};
    if (p->is_none || !cw_cli_password_read(p->file, &p->read, &err))
        return -1;
    return cw_cli_failure("%s", err.msg);
}

static void write_password(cw_json_writer *w, const password_options *p)
{
    cw_json_add_key(w, CW_STR("password"));
    if (p->is_none)
        cw_json_add_null(w);
    else
        cw_json_add_string(w, cw_str_make(p->read.bytes, p->read.n));
}

/* Report an argument that cannot be the name of an account. Returns -1 for a valid one. */
static int check_account(const char *name)
{
    cw_err err = {0};
    return cw_admin_check_account_name(cw_str_from(name), &err) ? cw_cli_usage("%s", err.msg) : -1;
}

/* ---- add ---- */

typedef struct new_account {
    const char *name;
    const char *language;
    cw_cli_texts roles;
    password_options password;
} new_account;

static void write_account(cw_json_writer *w, const void *ctx)
{
    const new_account *n = ctx;
    cw_json_add_string_member(w, CW_STR("name"), cw_str_from(n->name));
    write_password(w, &n->password);
    if (n->language)
        cw_json_add_string_member(w, CW_STR("language"), cw_str_from(n->language));
    cw_json_add_key(w, CW_STR("roles"));
    cw_json_open_array(w);
    for (size_t i = 0; i < n->roles.n; i++)
        cw_json_add_string(w, cw_str_from(n->roles.items[i]));
    cw_json_close(w);
}

static int add(cw_cli_rights *a, new_account *n)
{
    const cw_json *result = NULL;
    int code = read_password(&n->password);
    if (code < 0)
        code = cw_cli_admin_call(&a->admin, "causeway.accounts.add", write_account, n, &result);
    if (code >= 0)
        return code;
    cw_buf_printf(&a->out, "account %s added", n->name);
    cw_cli_rights_end_line(a, result);
    return -1;
}

static int run_add(int argc, char **argv)
{
    cw_cli_rights a = {0};
    new_account n = {0};
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&a.target),
        PASSWORD_OPTIONS(&n.password),
        {"role", 'r', CW_CLI_TEXTS, &n.roles, "ROLE", "grant this role; may be repeated"},
        {"language", 0, CW_CLI_TEXT, &n.language, "CODE",
         "language of the account, such as \"de\""},
        {0},
    };
    const cw_cli_spec spec = {
        "account add", "NAME",
        "Add an account. The password is read from the terminal or from standard input.", options,
        1};
    cw_cli_args args = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n == 0)
        return cw_cli_usage("name the account to add");
    n.name = args.items[0];
    code = check_account(n.name);
    if (code < 0 && n.language)
        code = cw_cli_rights_check_name("language", n.language);
    if (code < 0)
        code = cw_cli_rights_open(&a);
    if (code >= 0)
        return code;
    cw_cli_rights_change(&a, spec.name, n.name, NULL);
    code = cw_cli_rights_close(&a, add(&a, &n));
    cw_cli_password_wipe(&n.password.read);
    return code;
}

/* ---- list ---- */

static void add_row(cw_cli_table *t, const cw_json *account)
{
    cw_cli_table_add(t, cw_cli_admin_text(account, "name"));
    cw_cli_table_add(t, cw_cli_admin_text(account, "state"));
    cw_cli_rights_add_texts(t, cw_json_get(account, CW_STR("roles")));
}

static void print_list(cw_cli_rights *a, const cw_json *result)
{
    static const cw_cli_column columns[] = {
        {"NAME", 20, false}, {"STATE", 7, false}, {"ROLES", 0, false}};
    cw_cli_rights_print_list(a, cw_json_get(result, CW_STR("accounts")), columns, CW_COUNT(columns),
                             add_row);
}

/* ---- show ---- */

static bool has_text(const cw_json *list, cw_str text)
{
    size_t n = cw_json_is(list, CW_JSON_ARRAY) ? cw_json_count(list) : 0;
    for (size_t i = 0; i < n; i++) {
        if (cw_str_eq(cw_json_text(cw_json_at(list, i)), text))
            return true;
    }
    return false;
}

/* Every account has the role "authenticated", and inherits from "anonymous" unless the
 * configuration excludes that. */
static bool has_role(const cw_json *account, const cw_json *result, cw_str role)
{
    if (cw_str_is(role, CW_ROLE_AUTHENTICATED))
        return true;
    if (cw_str_is(role, CW_ROLE_ANONYMOUS))
        return cw_json_is(cw_json_get(result, CW_STR("authenticated_inherits")), CW_JSON_TRUE);
    return has_text(cw_json_get(account, CW_STR("roles")), role);
}

static cw_code collect(cw_name_list *all, const cw_json *account, const cw_json *result)
{
    cw_code rc = CW_OK;
    const cw_json *roles = cw_json_get(result, CW_STR("roles")), *role;
    for (size_t i = 0; (role = cw_json_at(roles, i)) && !rc; i++) {
        const cw_json *permissions = cw_json_get(role, CW_STR("permissions")), *p;
        bool is_held = has_role(account, result, cw_cli_admin_text(role, "name"));
        for (size_t k = 0; is_held && (p = cw_json_at(permissions, k)) && !rc; k++)
            rc = cw_name_list_add(all, cw_json_text(p));
    }
    all->n = cw_requirements_sort(all->items, all->n);
    return rc;
}

static int show(cw_cli_rights *a, const cw_json *account, const cw_json *roles)
{
    cw_name_list all = {0};
    cw_json_writer w;
    cw_arena_init(&all.arena, CW_CLI_OUTPUT_MAX);
    cw_code rc = collect(&all, account, roles);
    cw_json_writer_init(&w, &a->out, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR("account"));
    cw_cli_rights_add_object(&w, account);
    cw_json_add_key(&w, CW_STR("permissions"));
    cw_json_open_array(&w);
    for (size_t i = 0; i < all.n; i++)
        cw_json_add_string(&w, all.items[i]);
    cw_json_close(&w);
    cw_json_close(&w);
    cw_cli_end_json(&w);
    cw_arena_done(&all.arena);
    return rc ? cw_cli_failure("%s", cw_code_text(rc)) : -1;
}

static void write_name(cw_json_writer *w, const void *name)
{
    cw_json_add_string_member(w, CW_STR("name"), cw_str_from(name));
}

static int find_and_show(cw_cli_rights *a, const char *name)
{
    const cw_json *found = NULL, *roles = NULL;
    int code = cw_cli_admin_call(&a->admin, "causeway.accounts.list", write_name, name, &found);
    if (code < 0)
        code = cw_cli_admin_call(&a->admin, "causeway.roles.list", NULL, NULL, &roles);
    if (code >= 0)
        return code;
    const cw_json *account = cw_json_at(cw_json_get(found, CW_STR("accounts")), 0);
    return account ? show(a, account, roles) : cw_cli_failure("no account '%s'", name);
}

static int run_show(int argc, char **argv)
{
    cw_cli_rights a = {0};
    const cw_cli_option options[] = {CW_CLI_TARGET_OPTIONS(&a.target), {0}};
    const cw_cli_spec spec = {"account show", "ACCOUNT",
                              "Print an account as JSON, with its roles and their permissions.",
                              options, 1};
    cw_cli_args args = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code < 0 && args.n == 0)
        code = cw_cli_usage("usage: causeway account show ACCOUNT");
    if (code < 0)
        code = cw_cli_rights_open(&a);
    return code >= 0 ? code : cw_cli_rights_close(&a, find_and_show(&a, args.items[0]));
}

/* ---- password ---- */

typedef struct new_password {
    const char *name;
    password_options password;
} new_password;

static void write_change(cw_json_writer *w, const void *ctx)
{
    const new_password *n = ctx;
    write_name(w, n->name);
    write_password(w, &n->password);
}

static int change_password(cw_cli_rights *a, new_password *n)
{
    const cw_json *result = NULL;
    int code = read_password(&n->password);
    if (code < 0)
        code = cw_cli_admin_call(&a->admin, "causeway.accounts.password", write_change, n, &result);
    if (code >= 0)
        return code;
    cw_buf_printf(&a->out, "password of %s changed", n->name);
    cw_cli_rights_end_line(a, result);
    return -1;
}

static int run_password(int argc, char **argv)
{
    cw_cli_rights a = {0};
    new_password n = {0};
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&a.target),
        PASSWORD_OPTIONS(&n.password),
        {0},
    };
    const cw_cli_spec spec = {
        "account password", "ACCOUNT",
        "Change the password of an account. It is read from the terminal or from\n"
        "standard input.",
        options, 1};
    cw_cli_args args = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code < 0 && args.n == 0)
        code = cw_cli_usage("name the account");
    if (code < 0)
        code = cw_cli_rights_open(&a);
    if (code >= 0)
        return code;
    n.name = args.items[0];
    cw_cli_rights_change(&a, spec.name, n.name, NULL);
    code = cw_cli_rights_close(&a, change_password(&a, &n));
    cw_cli_password_wipe(&n.password.read);
    return code;
}

/* ---- commands that are rows ---- */

static int run_list(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "account list",
        .args = "",
        .about = "List the accounts.",
        .method = "causeway.accounts.list",
        .has_json = true,
        .print = print_list,
    };
    return cw_cli_rights_run(&command, argc, argv);
}

static int run_remove(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "account remove",
        .args = "ACCOUNT",
        .about = "Remove an account and its tokens.",
        .method = "causeway.accounts.remove",
        .params = {"name"},
        .min_args = 1,
        .done = "account % removed",
    };
    return cw_cli_rights_run(&command, argc, argv);
}

static int run_block(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "account block",
        .args = "ACCOUNT",
        .about = "Block an account: reject its password and its tokens.",
        .method = "causeway.accounts.block",
        .params = {"name"},
        .min_args = 1,
        .done = "account % is blocked",
    };
    return cw_cli_rights_run(&command, argc, argv);
}

static int run_unblock(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "account unblock",
        .args = "ACCOUNT",
        .about = "Unblock an account.",
        .method = "causeway.accounts.unblock",
        .params = {"name"},
        .min_args = 1,
        .done = "account % is active",
    };
    return cw_cli_rights_run(&command, argc, argv);
}

static int run_grant(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "account grant",
        .args = "ACCOUNT ROLE",
        .about = "Grant a role to an account.",
        .method = "causeway.accounts.grant",
        .params = {"name", "role"},
        .min_args = 2,
        .done = "account % has the role %",
    };
    return cw_cli_rights_run(&command, argc, argv);
}

static int run_revoke(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "account revoke",
        .args = "ACCOUNT ROLE",
        .about = "Revoke a role from an account.",
        .method = "causeway.accounts.revoke",
        .params = {"name", "role"},
        .min_args = 2,
        .done = "account % does not have the role %",
    };
    return cw_cli_rights_run(&command, argc, argv);
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
        "Manage accounts. If a server runs with this configuration, it makes the\n"
        "changes.",
        "\"causeway help account COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
