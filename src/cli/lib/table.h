/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table.h - what the commands that use the database share.
 *
 * They work on the database that store.path of the configuration names, whether a
 * server runs or not: a running one sees the change within a second.
 *
 *     cw_cli_db a;
 *     int code = cw_cli_db_open(config, true, &a);
 *     if (code >= 0)
 *         return code;
 *     cw_code rc = cw_db_...(a.db, ..., &a.err);
 *     return cw_cli_db_close(&a, rc);
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_LIB_TABLE_H
#define CW_CLI_LIB_TABLE_H

#include "audit/audit.h"
#include "base/buf.h"
#include "cli/lib/cli.h"
#include "json/write.h"
#include "server/name_list.h"
#include "store/db.h"

typedef struct cw_cli_db {
    cw_config *config;
    cw_db *db;
    cw_buf out; /* what is printed at the end, when all went well */
    cw_err err;
    const char *what; /* that is being changed, for the audit; NULL: nothing */
    char target[CW_AUDIT_MAX_NAME];
} cw_cli_db;

/* Load the configuration and open its database, making it when that is allowed. Returns -1, or
 * reports what is wrong and returns the exit code. */
int cw_cli_db_open(const char *config, bool may_create, cw_cli_db *ret);
/* What the command changes: "account grant", the account's name, the role's or NULL. Recorded by
 * close. Never a secret. */
void cw_cli_db_change(cw_cli_db *a, const char *what, const char *target, const char *more);
/* Print `out` when rc is CW_OK or CW_DONE, else report a->err; release everything. */
int cw_cli_db_close(cw_cli_db *a, cw_code rc);

/* `NOUN list [ACCOUNT]`: read the command line, open the database, have it listed (`account` NULL:
 * all) and close. Returns the exit code. */
typedef cw_code (*cw_cli_db_list_fn)(cw_cli_db *a, const char *account, bool json);
int cw_cli_db_run_list(int argc, char **argv, const char *name, const char *about,
                       cw_cli_db_list_fn list);
/* `NOUN revoke ID`: read the command line, and open the database to change what has this number.
 * Returns -1, or the exit code. */
int cw_cli_db_open_id(int argc, char **argv, const char *name, const char *about, cw_cli_db *a,
                      int64_t *ret_id);

/* A text as it is where a terminal only shows it, else quoted. */
void cw_cli_table_add_text(cw_buf *out, cw_str text);
/* The same as a column: padded to `width`, with two spaces behind it. */
void cw_cli_table_add_column(cw_buf *out, cw_str text, size_t width);
/* "2026-11-15T08:00:00.000Z", or `none` for 0. */
void cw_cli_table_add_date(cw_buf *out, int64_t wall_ms, const char *none);
void cw_cli_table_add_date_member(cw_json_writer *w, cw_str name, int64_t wall_ms);
/* A line with the names of columns, bold on a terminal. */
void cw_cli_table_add_heading(cw_buf *out, const char *text);

/* Report an argument that can be no name of this kind. Return -1 when it is a good one. */
int cw_cli_db_check_account(const char *name);
int cw_cli_db_check_name(const char *what, const char *name);

/* Collecting texts: a cw_db_text_fn that adds an element to the open array of a cw_json_writer, and
 * one that adds to a cw_buf, with commas. */
cw_code cw_cli_db_on_json(cw_str text, void *writer, cw_err *err);
cw_code cw_cli_db_on_text(cw_str text, void *buf, cw_err *err);

/* The ceiling of what a command prints or collects. */
#define CW_CLI_DB_MAX_BYTES ((size_t)64 << 20)

typedef cw_code (*cw_cli_db_pair_fn)(void *ctx, cw_str role, cw_str permission, const char *from);
/* Every role, once with an empty permission and once with each that it has: those of the database,
 * then those of the configuration (`from`). */
CW_MUST_USE cw_code cw_cli_walk_roles(cw_cli_db *a, cw_cli_db_pair_fn fn, void *ctx);

/* A new password: from `file` ("-": standard input), else asked for twice on a terminal, else from
 * standard input. One line break at its end is not part of it. It must have `min` characters. Its
 * hash is written to `out`. */
CW_MUST_USE cw_code cw_cli_read_password(const char *file, uint32_t min, char *out, cw_err *err);
/* Append "Bearer " and the token of a file, without line breaks at its end. */
CW_MUST_USE cw_code cw_cli_db_read_token(const char *file, cw_buf *header, cw_err *err);

int cw_cli_account(int argc, char **argv);
int cw_cli_audit(int argc, char **argv);
int cw_cli_why(int argc, char **argv);
int cw_cli_cache(int argc, char **argv);
int cw_cli_role(int argc, char **argv);
int cw_cli_session(int argc, char **argv);
int cw_cli_token(int argc, char **argv);
int cw_cli_token_inspect(int argc, char **argv);
int cw_cli_scope(int argc, char **argv);
int cw_cli_permission(int argc, char **argv);

#endif
