/* SPDX-License-Identifier: GPL-2.0-or-later */
/* db_int.h - what a back end of the database provides, for the files of db.h.
 *
 *     db.c          the rows of each table: SQL that every back end understands
 *     oauth.c       likewise, of the built-in authorization server (oauth.h)
 *     task.c        likewise, of tasks (task.h)
 *     bucket.c      levels of rates (bucket.h); PostgreSQL only
 *     approval.c    likewise, of approved definitions (approval.h)
 *     failure.c     likewise, of failed logins (failure.h)
 *     letter.c      likewise, of letters between servers (letter.h)
 *     replica.c     likewise, of the servers that use it (replica.h)
 *     stmt.c        statements (stmt.h)
 *     copy.c        all rows, from one database to another (copy.h)
 *     sqlite.c      a file
 *     postgres/     a PostgreSQL server: its address, tables, statements and notifications
 *
 * Values are ?1, ?2, ... in the SQL. A back end keeps the first failure of a query in it, and does
 * nothing more for a query that has one.
 */
#ifndef CW_STORE_DB_INT_H
#define CW_STORE_DB_INT_H

#include "store/db.h"

#define CW_DB_MAX_VALUES 16u

typedef enum cw_db_kind { CW_DB_NULL, CW_DB_I64, CW_DB_TEXT, CW_DB_BYTES } cw_db_kind;

typedef struct cw_db_value {
    cw_db_kind kind;
    int64_t number;
    cw_str text; /* TEXT and BYTES; borrowed until the query is closed */
} cw_db_value;

/* One statement with its values and its rows. */
typedef struct cw_db_query {
    cw_db *db;
    void *rows; /* the back end's */
    cw_code code;
    cw_err err;
    /* Of a back end that sends all at once: */
    const char *sql;
    cw_db_value values[CW_DB_MAX_VALUES];
    int n_values, row;
} cw_db_query;

/* The last number that was given to a row of a table. */
typedef struct cw_db_counter {
    const char *read;
    const char *reset; /* before `write`; NULL: not needed */
    const char *write; /* ?1 is the number */
} cw_db_counter;

#define CW_DB_COUNTERS 4u /* account, token, session, oauth_grant */

typedef struct cw_db_ops {
    void (*close)(cw_db *db);
    bool (*is_current)(const cw_db *db);
    cw_code (*data_version)(cw_db *db, int64_t *ret, cw_err *err);
    /* Begin a change: no other process can write until its end. */
    cw_code (*begin)(cw_db *db, cw_err *err);
    /* Commit if rc is CW_OK or CW_DONE, else undo. Returns the result. */
    cw_code (*end)(cw_db *db, cw_code rc, cw_err *err);
    /* `sql` is a constant. */
    void (*open_query)(cw_db_query *q, const char *sql);
    /* The value of ?`at`. */
    void (*bind)(cw_db_query *q, int at, const cw_db_value *value);
    /* The next row: true. False at the end, and after a failure. */
    bool (*step)(cw_db_query *q);
    /* Start again, with other values. */
    void (*reset)(cw_db_query *q);
    /* A column of the row, as text or bytes; .p is NULL for NULL. It lives until the next step. */
    cw_str (*column_text)(cw_db_query *q, int column);
    cw_str (*column_bytes)(cw_db_query *q, int column);
    int64_t (*column_i64)(cw_db_query *q, int column);
    /* How many rows the statement has changed; after its last step. */
    int64_t (*n_changed)(cw_db_query *q);
    /* In every case. */
    void (*close_query)(cw_db_query *q);
    /* Reads the clock of the server, in ms since 1970; NULL: its clock is ours. */
    const char *now;
    const char *notify; /* wakes servers that listen; NULL: none can */
    /* Statements for copy.c, inside a change. Each list ends with NULL, or is NULL. */
    cw_db_counter counters[CW_DB_COUNTERS];
    const char *const *hold;       /* the change may take long */
    const char *const *begin_load; /* likewise, and nothing reacts to the rows that are added */
    const char *const *end_load;
    const char *new_epoch; /* the database counts as another one from now on */
} cw_db_ops;

/* The first member of each back end's own. */
struct cw_db {
    const cw_db_ops *ops;
};

/* db.c */
#define CW_DB_ACCOUNT_COLUMNS "a.id, a.name, a.password, a.language, a.created, a.blocked"
/* Lists in one text; ?2 is the separator, which no item has. */
#define CW_DB_LIST(column) "group_concat(replace(" column ", ?2, ' '), ?2)"
/* An account `a` with its rights: one statement is one round trip, and one state of the database. */
#define CW_DB_ACCOUNT_AND_RIGHTS                                                                   \
    CW_DB_ACCOUNT_COLUMNS                                                                          \
    ", (SELECT " CW_DB_LIST(                                                                       \
        "role") " FROM account_role WHERE account = a.id),"                                        \
                " (SELECT " CW_DB_LIST(                                                            \
                    "permission") " FROM role_permission WHERE role = 'authenticated'"             \
                                  " OR role IN (SELECT role FROM account_role WHERE account = "    \
                                  "a.id)),"                                                        \
                                  " (SELECT " CW_DB_LIST("permission") " FROM role_permission "    \
                                                                       "WHERE role = 'anonymous')"

/* Wake servers that listen. */
CW_MUST_USE cw_code cw_db_notify(cw_db *db, cw_err *err);

/* A row that belongs to an account, and is found by its hash. */
typedef struct cw_db_owned {
    const char *sql; /* selects its n_columns columns and CW_DB_ACCOUNT_AND_RIGHTS, by ?1 */
    int n_columns;
    void *(*copy)(cw_db_query *q, cw_arena *arena);
} cw_db_owned;

/* The row and its account; both NULL: none has this hash. */
CW_MUST_USE cw_code cw_db_find_owned(cw_db *db, const cw_db_owned *what,
                                     const unsigned char hash[CW_DB_HASH], cw_arena *arena,
                                     cw_account **ret_account, void **ret, cw_err *err);

/* sqlite.c */
CW_MUST_USE cw_code cw_sqlite_open(const cw_db_opts *opts, cw_db **ret, cw_err *err);
CW_MUST_USE cw_code cw_sqlite_check(const cw_db_opts *opts, cw_db_health *ret, cw_err *err);

/* postgres/postgres.c */
CW_MUST_USE cw_code cw_postgres_check_opts(const cw_db_opts *opts, cw_err *err);
CW_MUST_USE cw_code cw_postgres_open(const cw_db_opts *opts, cw_db **ret, cw_err *err);
/* Without a look at the tables. */
CW_MUST_USE cw_code cw_postgres_connect(const cw_db_opts *opts, cw_db **ret, cw_err *err);
/* Wait for notifications, for at most `ms` or until `wake` can be read, and call fn with the payload of
 * each. */
CW_MUST_USE cw_code cw_postgres_wait(cw_db *db, int wake, int ms,
                                     void (*fn)(const char *payload, void *ctx), void *ctx,
                                     cw_err *err);
CW_MUST_USE cw_code cw_postgres_check(const cw_db_opts *opts, cw_db_health *ret, cw_err *err);

/* postgres/postgres_schema.c: the text with index v takes the tables from version v to the next one */
#define CW_POSTGRES_VERSIONS 17u
extern const char *const cw_postgres_schema[CW_POSTGRES_VERSIONS];

#endif
