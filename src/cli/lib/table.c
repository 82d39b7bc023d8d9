/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/lib/table.h"

#include <stdio.h>
#include <unistd.h>

#include "access/credentials.h"
#include "base/clock.h"
#include "cli/lib/audit_record.h"
#include "config/syntax/check.h"
#include "config/syntax/quote.h"

#define BUSY_MS 5000u

int cw_cli_db_open(const char *config, bool may_create, cw_cli_db *ret)
{
    *ret = (cw_cli_db){0};
    cw_buf_init(&ret->out, CW_CLI_DB_MAX_BYTES);
    int code = cw_cli_load_config(config, &ret->config);
    if (code >= 0)
        return code;
    if (ret->config->store.path.n == 0) {
        cw_config_unref(ret->config);
        return cw_cli_usage("there is no database: set store.path in the configuration");
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
    int code;
    cw_db_close(a->db);
    if (a->what)
        cw_cli_record(a->config, a->what, cw_str_from(a->target), rc == CW_OK || rc == CW_DONE);
    cw_config_unref(a->config);
    if (rc == CW_OK || rc == CW_DONE)
        code = cw_cli_print_buf(&a->out);
    else
        code = cw_cli_failure("%s", a->err.msg);
    cw_buf_done(&a->out);
    return code;
}

/* ---- commands that differ in little else ---- */

int cw_cli_db_run_list(int argc, char **argv, const char *name, const char *about,
                       cw_cli_db_list_fn list)
{
    const char *config = NULL;
    bool json = false;
    const cw_cli_option options[] = {CW_CLI_CONFIG_OPTION(&config), CW_CLI_JSON_OPTION(&json), {0}};
    const cw_cli_spec spec = {name, "[ACCOUNT]", about, options, 1};
    cw_cli_args args = {0};
    cw_cli_db a = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code < 0)
        code = cw_cli_db_open(config, /* may_create= */ false, &a);
    if (code >= 0)
        return code;
    return cw_cli_db_close(&a, list(&a, args.n ? args.items[0] : NULL, json));
}

int cw_cli_db_open_id(int argc, char **argv, const char *name, const char *about, cw_cli_db *a,
                      int64_t *ret_id)
{
    const char *config = NULL;
    const cw_cli_option options[] = {CW_CLI_CONFIG_OPTION(&config), {0}};
    const cw_cli_spec spec = {name, "ID", about, options, 1};
    cw_cli_args args = {0};
    uint64_t id;
    int n_noun = (int)strcspn(name, " ");
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n == 0 || !cw_str_to_u64(cw_str_from(args.items[0]), &id) || id > INT64_MAX)
        return cw_cli_usage("give the number of the %.*s, as \"causeway %.*s list\" shows it",
                            n_noun, name, n_noun, name);
    code = cw_cli_db_open(config, /* may_create= */ false, a);
    if (code >= 0)
        return code;
    cw_cli_db_change(a, name, args.items[0], NULL);
    *ret_id = (int64_t)id;
    return -1;
}

/* ---- output ---- */

void cw_cli_table_add_text(cw_buf *out, cw_str text)
{
    size_t at = out->n;
    cw_quote(out, text);
    /* Nothing had to be escaped: without the quotes. */
    if (!out->code && out->n - at == text.n + 2) {
        out->n = at;
        cw_buf_add(out, text);
    }
}

void cw_cli_table_add_column(cw_buf *out, cw_str text, size_t width)
{
    size_t at = out->n;
    cw_cli_table_add_text(out, text);
    while (!out->code && out->n - at < width)
        cw_buf_add_char(out, ' ');
    cw_buf_add(out, CW_STR("  "));
}

void cw_cli_table_add_date(cw_buf *out, int64_t wall_ms, const char *none)
{
    char date[CW_CLOCK_ISO_LEN + 1];
    cw_clock_format_iso(wall_ms, date);
    cw_buf_add(out, cw_str_from(wall_ms ? date : none));
}

void cw_cli_table_add_date_member(cw_json_writer *w, cw_str name, int64_t wall_ms)
{
    char date[CW_CLOCK_ISO_LEN + 1];
    cw_json_add_key(w, name);
    cw_clock_format_iso(wall_ms, date);
    if (wall_ms)
        cw_json_add_string(w, cw_str_from(date));
    else
        cw_json_add_null(w);
}

void cw_cli_table_add_heading(cw_buf *out, const char *text)
{
    cw_buf_printf(out, "%s%s%s\n", cw_cli_escape(STDOUT_FILENO, CW_CLI_BOLD), text,
                  cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN));
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
    cw_cli_table_add_text(out, text);
    return CW_OK;
}

/* ---- lists ---- */

/* ---- input ---- */

int cw_cli_db_check_account(const char *name)
{
    char exposed[CW_EXCERPT_SIZE];
    if (cw_account_name_is_valid(cw_str_from(name)))
        return -1;
    return cw_cli_usage("not the name of an account: %s; it has 1 to %u bytes, no control "
                        "characters and no colon, and is not \"anonymous\"",
                        cw_excerpt(cw_str_from(name), exposed), CW_DB_MAX_NAME);
}

int cw_cli_db_check_name(const char *what, const char *name)
{
    char exposed[CW_EXCERPT_SIZE];
    cw_str text = cw_str_from(name);
    if (text.n > 0 && text.n <= CW_DB_MAX_NAME && cw_check_is_clean(text))
        return -1;
    return cw_cli_usage("not the name of a %s: %s; it has 1 to %u bytes and no control characters",
                        what, cw_excerpt(text, exposed), CW_DB_MAX_NAME);
}
