/* SPDX-License-Identifier: GPL-2.0-or-later */
/* db.c - opens the database for a command, runs it and records its change. */
#include "cli/lib/db.h"

#include <stdio.h>

#include "access/credentials.h"
#include "cli/lib/audit_record.h"
#include "cli/lib/cli.h"
#include "config/syntax/check.h"
#include "config/syntax/quote.h"

#define BUSY_MS 5000u
#define ACCOUNT_MAX_BYTES 65536u

int cw_cli_db_open(const char *config, bool may_create, cw_cli_db *ret)
{
    cw_buf_init(&ret->out, CW_CLI_OUTPUT_MAX);
    int code = cw_cli_load_config(config, &ret->config);
    if (code >= 0)
        return code;
    if (ret->config->store.path.n == 0) {
        cw_config_unref(ret->config);
        return cw_cli_usage("no database: set store.path in the configuration");
    }
    cw_db_opts opts = {
        .path = ret->config->store.path.p, .may_create = may_create, .busy_ms = BUSY_MS};
    cw_code rc = cw_secret_init(&ret->err);
    if (!rc)
        rc = cw_db_open(&opts, &ret->db, &ret->err);
    return rc ? cw_cli_db_close(ret, rc) : -1;
}

void cw_cli_db_change(cw_cli_db *a, const char *what, const char *target, const char *more)
{
    a->what = what;
    snprintf(a->target, sizeof a->target, "%s%s%s", target, more ? " " : "", more ? more : "");
}

int cw_cli_db_close(cw_cli_db *a, cw_code rc)
{
    bool is_good = rc == CW_OK || rc == CW_DONE;
    cw_db_close(a->db);
    if (a->what)
        cw_cli_record(a->config, a->what, cw_str_from(a->target), is_good);
    cw_config_unref(a->config);
    int code = is_good ? cw_cli_print_buf(&a->out) : cw_cli_failure("%s", a->err.msg);
    cw_buf_done(&a->out);
    return code;
}

int cw_cli_db_run(const cw_cli_db_command *command, int argc, char **argv)
{
    cw_cli_db a = {0};
    const char *config = NULL;
    const cw_cli_option options[] = {
        CW_CLI_CONFIG_OPTION(&config),
        command->has_json ? (cw_cli_option)CW_CLI_JSON_OPTION(&a.json) : (cw_cli_option){0},
        {0},
    };
    const cw_cli_spec spec = {command->name, command->args, command->about, options,
                              command->max_args};
    cw_cli_args args = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n < command->min_args)
        return cw_cli_usage("usage: causeway %s %s", command->name, command->args);
    a.args = args.items;
    a.n_args = args.n;
    if (command->is_change)
        cw_cli_db_change(&a, command->name, args.items[0], args.n > 1 ? args.items[1] : NULL);
    code = command->check ? command->check(&a) : -1;
    if (code < 0)
        code = cw_cli_db_open(config, command->may_create, &a);
    return code >= 0 ? code : cw_cli_db_close(&a, command->run(&a));
}

/* ---- arguments ---- */

cw_code cw_cli_db_find_account(cw_cli_db *a, const char *name, cw_arena *arena, cw_account **ret)
{
    cw_code rc = cw_db_find_account(a->db, cw_str_from(name), arena, ret, &a->err);
    if (rc || *ret)
        return rc;
    return cw_fail(&a->err, CW_NOTFOUND, "no account '%s'", name);
}

int64_t cw_cli_db_id(const cw_cli_db *a)
{
    uint64_t id;
    return cw_str_to_u64(cw_str_from(a->args[0]), &id) && id <= INT64_MAX ? (int64_t)id : -1;
}

int cw_cli_db_check_id(const cw_cli_db *a)
{
    int n_noun = (int)strcspn(a->what, " ");
    if (cw_cli_db_id(a) >= 0)
        return -1;
    return cw_cli_usage("give the number of the %.*s, as \"causeway %.*s list\" prints it", n_noun,
                        a->what, n_noun, a->what);
}

int cw_cli_db_check_name(const char *what, const char *name)
{
    char excerpt[CW_EXCERPT_SIZE];
    cw_str text = cw_str_from(name);
    if (text.n > 0 && text.n <= CW_DB_MAX_NAME && cw_check_is_clean(text))
        return -1;
    return cw_cli_usage("not the name of a %s: %s; it has 1 to %u bytes and no control characters",
                        what, cw_excerpt(text, excerpt), CW_DB_MAX_NAME);
}

/* ---- output ---- */

cw_code cw_cli_db_list(cw_cli_db *a, const cw_cli_column *columns, size_t n_columns,
                       cw_code (*each)(cw_cli_db *a, int64_t account, cw_cli_table *t))
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_account *found = NULL;
    cw_cli_table t;
    cw_arena_init(&arena, ACCOUNT_MAX_BYTES);
    cw_code rc = a->n_args ? cw_cli_db_find_account(a, a->args[0], &arena, &found) : CW_OK;
    if (rc)
        return rc;
    cw_cli_table_open(&t, &a->out, a->json, columns, n_columns);
    rc = each(a, found ? found->id : 0, &t);
    cw_cli_table_close(&t);
    return rc;
}

cw_code cw_cli_db_on_json(cw_str text, void *writer, cw_err *err)
{
    (void)err;
    cw_json_add_string(writer, text);
    return CW_OK;
}

cw_code cw_cli_db_on_text(cw_str text, void *buf, cw_err *err)
{
    cw_buf *out = buf;
    (void)err;
    if (out->n)
        cw_buf_add(out, CW_STR(", "));
    cw_cli_add_text(out, text);
    return CW_OK;
}
