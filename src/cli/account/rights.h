/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rights.h - commands about accounts, roles, tokens and sessions.
 *
 * Each command calls an administration method: on the running server, on the server of --server, or
 * alone on the database (cli/lib/admin.h). Most are a row:
 *
 *     static int run_remove(int argc, char **argv)
 *     {
 *         static const cw_cli_rights_command command = {.name = "role remove", .args = "ROLE",
 *             .about = "Remove a role.", .method = "causeway.roles.remove",
 *             .params = {"role"}, .min_args = 1, .done = "role % removed"};
 *         return cw_cli_rights_run(&command, argc, argv);
 *     }
 *
 * A command with options of its own calls cw_cli_rights_open, cw_cli_admin_call and
 * cw_cli_rights_close.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_ACCOUNT_RIGHTS_H
#define CW_CLI_ACCOUNT_RIGHTS_H

#include "access/credentials.h"
#include "audit/audit.h"
#include "cli/lib/admin.h"
#include "cli/lib/table.h"

#define CW_CLI_RIGHTS_MAX_ARGS 2u

typedef struct cw_cli_rights {
    cw_cli_target target; /* options of the command line */
    bool json;
    cw_cli_admin admin;
    char **args; /* of the command line */
    size_t n_args;
    cw_buf out;       /* printed by close if the command succeeds */
    const char *what; /* the change for the audit; NULL: none */
    char changed[CW_AUDIT_MAX_NAME];
} cw_cli_rights;

typedef struct cw_cli_rights_command {
    const char *name; /* "account grant" */
    const char *args; /* "ACCOUNT ROLE" */
    const char *about;
    const char *method;
    const char *params[CW_CLI_RIGHTS_MAX_ARGS]; /* names of the params that the arguments hold */
    size_t min_args;
    bool is_id;    /* the first argument is a number that `NOUN list` prints */
    bool has_json; /* takes --json */
    /* The line that a change prints; each % is an argument. NULL: the command reads. The
     * arguments are audited, so they are never secrets. */
    const char *done;
    const char *unchanged;     /* the line if nothing had to be changed; NULL: `done` */
    int (*check)(char **args); /* NULL, or: -1, or report a wrong argument and return
                                  CW_EXIT_USAGE */
    /* Print the result; of a change, what follows its line (NULL: nothing). */
    void (*print)(cw_cli_rights *a, const cw_json *result);
} cw_cli_rights_command;

/* Read the command line, call the method, print. Returns the exit code. */
int cw_cli_rights_run(const cw_cli_rights_command *command, int argc, char **argv);

/* Find the server that a->target names, or the database. Returns -1, or reports the problem and
 * returns the exit code. */
int cw_cli_rights_open(cw_cli_rights *a);
/* The change that close records in the audit if no server does: "account grant", the name of the
 * account, the role or NULL. Never a secret. */
void cw_cli_rights_change(cw_cli_rights *a, const char *what, const char *target, const char *more);
/* End the line of a change: " already" if nothing had to be changed, and the server. */
void cw_cli_rights_end_line(cw_cli_rights *a, const cw_json *result);
/* Print `out` if `code` is -1; release everything. Returns the exit code. */
int cw_cli_rights_close(cw_cli_rights *a, int code);

/* ---- arguments ---- */

/* Report an argument that cannot be a name of this kind. Returns -1 for a valid one. */
int cw_cli_rights_check_name(const char *what, const char *name);

/* A password of CW_PASSWORD_MAX bytes, a line break of two, and one byte more to see that it is too
 * long. */
#define CW_CLI_PASSWORD_MAX (CW_PASSWORD_MAX + 3u)

typedef struct cw_cli_password {
    char bytes[CW_CLI_PASSWORD_MAX];
    size_t n;
} cw_cli_password;

/* Read a new password: from `file` ("-": standard input), else twice from the terminal, else from
 * standard input. One line break at its end is not part of it. Wipe it in any case. */
CW_MUST_USE cw_code cw_cli_password_read(const char *file, cw_cli_password *ret, cw_err *err);
void cw_cli_password_wipe(cw_cli_password *p);

/* ---- output ---- */

/* Append the strings of an array, separated by commas; "-" for none. */
void cw_cli_rights_add_texts(cw_cli_table *t, const cw_json *list);
/* An object of a result as it is printed: dates as text. */
void cw_cli_rights_add_object(cw_json_writer *w, const cw_json *object);
/* Print a list: a table whose rows `add_row` adds, or JSON. */
void cw_cli_rights_print_list(cw_cli_rights *a, const cw_json *list, const cw_cli_column *columns,
                              size_t n_columns,
                              void (*add_row)(cw_cli_table *t, const cw_json *item));

#endif
