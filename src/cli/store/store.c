/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store: checks, updates, copies and backs up the database. */
#include "store/copy.h"

#include <unistd.h>

#include "cli/lib/cli.h"
#include "cli/lib/owner.h"
#include "cli/store/store.h"
#include "server/options/database.h"

#define TIMEOUT_MS 60000u /* of one statement over all rows */

/* ---- the database of the configuration ---- */

int cw_cli_store_load(const char *option, cw_config **ret)
{
    int code = cw_cli_load_config(option, ret);
    if (code >= 0 || cw_config_store(*ret).n)
        return code;
    cw_config_unref(*ret);
    return cw_cli_usage("no database: set store.path or store.url in the configuration");
}

static int print_version(const char *where, const cw_db_health *health)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, CW_CONFIG_MAX_BYTES);
    cw_buf_printf(&out, "%s: version %lld of %lld\n", where, (long long)health->version,
                  (long long)health->newest);
    return cw_cli_print(cw_buf_str(&out));
}

static int check(const cw_config *config, cw_db_opts *opts)
{
    (void)config;
    cw_db_health health = {0};
    cw_err err = {0};
    if (cw_db_check(opts, &health, &err))
        return cw_cli_failure("%s", err.msg);
    if (health.damage[0])
        return cw_cli_failure("the database is damaged: %s", health.damage);
    int code = print_version(opts->where, &health);
    if (!code && health.version < health.newest)
        return cw_cli_failure("the tables are older than this program: run causeway store migrate");
    return code;
}

static int migrate(const cw_config *config, cw_db_opts *opts)
{
    cw_err err = {0};
    cw_db *db = NULL;
    cw_db_health health = {0};
    opts->may_create = true;
    cw_code rc = config->store.path.n ? cw_cli_become_owner(config->store.path.p, &err) : CW_OK;
    if (!rc)
        rc = cw_db_open(opts, &db, &err);
    cw_db_close(db);
    if (!rc)
        rc = cw_db_check(opts, &health, &err);
    return rc ? cw_cli_failure("%s", err.msg) : print_version(opts->where, &health);
}

static int run_with(const char *config_path, int (*run)(const cw_config *, cw_db_opts *))
{
    cw_config *config;
    int code = cw_cli_store_load(config_path, &config);
    if (code >= 0)
        return code;
    cw_db_opts opts = cw_database_opts(config, CW_CLI_STORE_BUSY_MS);
    code = run(config, &opts);
    cw_config_unref(config);
    return code;
}

static int run_check(int argc, char **argv)
{
    const char *config_path = NULL;
    const cw_cli_option options[] = {CW_CLI_CONFIG_OPTION(&config_path), {0}};
    const cw_cli_spec spec = {
        "store check", "",
        "Check that the database of the configuration can be used: that it belongs to\n"
        "this program, the version of its tables, and of a file its structure. Nothing\n"
        "is changed.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    return code < 0 ? run_with(config_path, check) : code;
}

static int run_migrate(int argc, char **argv)
{
    const char *config_path = NULL;
    const cw_cli_option options[] = {CW_CLI_CONFIG_OPTION(&config_path), {0}};
    const cw_cli_spec spec = {
        "store migrate", "",
        "Create the tables of the database, or bring them up to date, as a server does\n"
        "at its start. So the servers need no right to change tables.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    return code < 0 ? run_with(config_path, migrate) : code;
}

/* ---- copies ---- */

static int print_copied(const char *to, const cw_db_copied *n)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, CW_CONFIG_MAX_BYTES);
    cw_buf_printf(&out, "copied %lld accounts, %lld roles, %lld tokens, %lld sessions to %s\n",
                  (long long)n->accounts, (long long)n->roles, (long long)n->tokens,
                  (long long)n->sessions, to);
    return cw_cli_print(cw_buf_str(&out));
}

static cw_code open_both(const cw_db_opts *from, const cw_db_opts *to, cw_db **ret_from,
                         cw_db **ret_to, cw_err *err)
{
    cw_code rc = cw_db_open(from, ret_from, err);
    return rc ? rc : cw_db_open(to, ret_to, err);
}

static int copy(const cw_config *config, cw_db_opts *to)
{
    cw_db_opts from = cw_database_opts(config, CW_CLI_STORE_BUSY_MS);
    cw_db *source = NULL, *target = NULL;
    cw_db_copied n = {0};
    cw_err err = {0};
    from.timeout_ms = TIMEOUT_MS;
    to->may_create = true;
    to->busy_ms = CW_CLI_STORE_BUSY_MS;
    to->timeout_ms = TIMEOUT_MS;
    cw_code rc = open_both(&from, to, &source, &target, &err);
    if (!rc)
        rc = cw_db_copy(source, target, &n, &err);
    cw_db_close(target);
    cw_db_close(source);
    return rc ? cw_cli_failure("%s", err.msg) : print_copied(to->where, &n);
}

static int run_copy(int argc, char **argv)
{
    const char *config_path = NULL, *to = NULL, *password_file = NULL;
    bool is_insecure = false;
    const cw_cli_option options[] = {
        CW_CLI_CONFIG_OPTION(&config_path),
        {"to", 't', CW_CLI_TEXT, &to, "DATABASE",
         "a path, or a postgresql:// URL without password"},
        {"password-file", 0, CW_CLI_TEXT, &password_file, "FILE",
         "file whose first line is the password for the URL"},
        {"allow-insecure", 0, CW_CLI_FLAG, &is_insecure, NULL,
         "use a server on another machine that proves its\n"
         "name by no certificate"},
        {0},
    };
    const cw_cli_spec spec = {
        "store copy", "",
        "Copy accounts, roles, tokens, sessions and keys of the configured database to\n"
        "another one, which must be empty: from SQLite to PostgreSQL, or back. The copy\n"
        "is compared with the original. Stop the servers first: changes that are made\n"
        "afterwards are not copied. Then change store in the configuration.",
        options, 0};
    cw_config *config;
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code < 0 && !to)
        return cw_cli_usage("usage: causeway store copy --to DATABASE");
    if (code < 0)
        code = cw_cli_store_load(config_path, &config);
    if (code >= 0)
        return code;
    cw_db_opts opts = {.where = to, .password_file = password_file, .allow_insecure = is_insecure};
    code = copy(config, &opts);
    cw_config_unref(config);
    return code;
}

static int run_backup(int argc, char **argv)
{
    const char *config_path = NULL;
    const cw_cli_option options[] = {CW_CLI_CONFIG_OPTION(&config_path), {0}};
    const cw_cli_spec spec = {
        "store backup", "FILE",
        "Write a copy of the database to a new SQLite file, mode 0600, and compare it\n"
        "with the original. Servers may run. The file holds secrets. To restore it,\n"
        "name it in store.path, or copy it with causeway store copy.",
        options, 1};
    cw_cli_args args = {0};
    cw_config *config;
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n < 1 || cw_db_is_server(args.items[0]))
        return cw_cli_usage("usage: causeway store backup FILE");
    if (access(args.items[0], F_OK) == 0)
        return cw_cli_failure("'%s' exists already", args.items[0]);
    code = cw_cli_store_load(config_path, &config);
    if (code >= 0)
        return code;
    cw_db_opts opts = {.where = args.items[0]};
    code = copy(config, &opts);
    cw_config_unref(config);
    if (code)
        (void)unlink(args.items[0]);
    return code;
}

static const cw_cli_command commands[] = {
    {"check", "check that the database can be used", run_check},
    {"migrate", "create or update the tables", run_migrate},
    {"copy", "copy the database to another, empty one", run_copy},
    {"backup", "write a copy to a new SQLite file", run_backup},
    {"restored", "verify all callers again after a restore; list revived tokens",
     cw_cli_store_restored},
    {0},
};

int cw_cli_store(int argc, char **argv)
{
    static const cw_cli_group group = {
        "causeway store",
        "Check, update, copy and back up the database of accounts.",
        "\"causeway help store COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
