/* SPDX-License-Identifier: GPL-2.0-or-later */
/* db.h - commands that work on the database of accounts.
 *
 * They use the database that store.path of the configuration names. A server need not run; a
 * running one applies the change within a second. Most commands are a table:
 *
 *     static cw_code remove_role(cw_cli_db *a)
 *     {
 *         cw_buf_printf(&a->out, "role %s removed\n", a->args[0]);
 *         return cw_db_remove_role(a->db, cw_str_from(a->args[0]), &a->err);
 *     }
 *     static int run_remove(int argc, char **argv)
 *     {
 *         static const cw_cli_db_command command = {.name = "role remove", .args = "ROLE",
 *             .about = "Remove a role.", .min_args = 1, .max_args = 1, .is_change = true,
 *             .run = remove_role};
 *         return cw_cli_db_run(&command, argc, argv);
 *     }
 *
 * A command with options of its own calls cw_cli_db_open and cw_cli_db_close.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_LIB_DB_H
#define CW_CLI_LIB_DB_H

#include "audit/audit.h"
#include "cli/lib/cli.h"
#include "cli/lib/table.h"
#include "server/name_list.h"
#include "store/db.h"

typedef struct cw_cli_db {
    cw_config *config;
    cw_db *db;
    char **args; /* of the command line */
    size_t n_args;
    bool json;
    cw_buf out; /* printed by close if the command succeeds */
    cw_err err;
    const char *what; /* the change for the audit; NULL: none */
    char target[CW_AUDIT_MAX_NAME];
} cw_cli_db;

typedef struct cw_cli_db_command {
    const char *name; /* "account grant" */
    const char *args; /* "NAME ROLE" */
    const char *about;
    size_t min_args, max_args;
    bool has_json;                    /* takes --json */
    bool may_create;                  /* creates a missing database */
    bool is_change;                   /* audited with its arguments; never a secret */
    int (*check)(const cw_cli_db *a); /* NULL, or: -1, or report a wrong argument and return
                                         CW_EXIT_USAGE; the database is not open yet */
    cw_code (*run)(cw_cli_db *a);     /* CW_DONE is success too */
} cw_cli_db_command;

/* Read the command line, open the database, run the command, close. Returns the exit code. */
int cw_cli_db_run(const cw_cli_db_command *command, int argc, char **argv);

/* Load the configuration and open its database; create it if `may_create`. Returns -1, or reports
 * the problem and returns the exit code. */
int cw_cli_db_open(const char *config, bool may_create, cw_cli_db *ret);
/* The change that close records in the audit: "account grant", the name of the account, the role
 * or NULL. Never a secret. */
void cw_cli_db_change(cw_cli_db *a, const char *what, const char *target, const char *more);
/* Print `out` if rc is CW_OK or CW_DONE, otherwise report a->err; release everything. */
int cw_cli_db_close(cw_cli_db *a, cw_code rc);

/* Find the account with this name. CW_NOTFOUND: a->err names it. */
CW_MUST_USE cw_code cw_cli_db_find_account(cw_cli_db *a, const char *name, cw_arena *arena,
                                           cw_account **ret);
/* A check for changes whose first argument is a number that `NOUN list` prints. */
int cw_cli_db_check_id(const cw_cli_db *a);
/* That number. */
int64_t cw_cli_db_id(const cw_cli_db *a);

/* Report an argument that cannot be a name of this kind. Returns -1 for a valid one. */
int cw_cli_db_check_name(const char *what, const char *name);

/* Print a table of the items of the account that the first argument names, or of all accounts (0).
 * `each` adds the rows. */
CW_MUST_USE cw_code cw_cli_db_list(cw_cli_db *a, const cw_cli_column *columns, size_t n_columns,
                                   cw_code (*each)(cw_cli_db *a, int64_t account, cw_cli_table *t));
/* Functions of type cw_db_text_fn: add an element to the open array of a cw_json_writer, or add to
 * a cw_buf, separated by commas. */
cw_code cw_cli_db_on_json(cw_str text, void *writer, cw_err *err);
cw_code cw_cli_db_on_text(cw_str text, void *buf, cw_err *err);

/* Read a new password: from `file` ("-": standard input), else twice from the terminal, else from
 * standard input. One line break at its end is not part of it. It must have `min` characters. Its
 * hash is written to `out`. */
CW_MUST_USE cw_code cw_cli_read_password(const char *file, uint32_t min, char *out, cw_err *err);
/* Append "Bearer " and the token of a file, without line breaks at its end. */
CW_MUST_USE cw_code cw_cli_db_read_token(const char *file, cw_buf *header, cw_err *err);

#endif
