/* SPDX-License-Identifier: GPL-2.0-or-later */
/* admin.h - the methods with which an operator inspects and changes a server.
 *
 * Each method is a row of a table: name, permission, schemas, and one function. The function takes
 * JSON and writes JSON. Two kinds of programs run it:
 *
 *     a server      the built-in source `causeway` (admin/source.h): door, gate, schemas, audit
 *     a command     without a server: cw_admin_run on the database and the files
 *
 *     static cw_code list_roles(cw_admin_call *c, cw_err *err)
 *     {
 *         cw_json_add_key(c->out, CW_STR("roles"));
 *         cw_json_open_array(c->out);
 *         cw_code rc = cw_db_each_role(c->db, on_role, c->out, err);
 *         cw_json_close(c->out);
 *         return rc;
 *     }
 *
 * To add a method: write the function in the file of its subject, add a row to the table in that
 * file, and, if it only reads, its name to config/keys/reading_methods.c.
 *
 * Ownership: as each struct says. A function keeps nothing of its call.
 * Threads:   a function runs on one thread, which its place names.
 * Limits:    CW_ADMIN_RESULT_MAX bytes of a result.
 */
#ifndef CW_ADMIN_ADMIN_H
#define CW_ADMIN_ADMIN_H

#include "access/caller.h"
#include "catalogue/snapshot.h"
#include "config/config.h"
#include "json/write.h"
#include "store/db.h"

#define CW_ADMIN_RESULT_MAX ((size_t)16 << 20)
/* The longest life of a token: a century, because the years of a date have four digits. */
#define CW_ADMIN_TOKEN_MAX_MS (INT64_C(36500) * 86400000)

/* The permissions of the methods. No role has them unless an operator gives them. */
#define CW_PERMISSION_USE_CONSOLE "use console"
#define CW_PERMISSION_VIEW_AUDIT "view audit"
#define CW_PERMISSION_VIEW_ARGUMENTS "view arguments" /* with "view audit": recorded arguments */
#define CW_PERMISSION_ADMINISTER_SOURCES "administer sources"
#define CW_PERMISSION_ADMINISTER_ACCESS "administer access"

/* Codes of JSON-RPC errors, beside those of the protocol. */
#define CW_ADMIN_ERROR_NOT_FOUND (-32010)   /* CW_NOTFOUND: no such account, source, … */
#define CW_ADMIN_ERROR_CONFLICT (-32011)    /* CW_INVALID: changed since it was read */
#define CW_ADMIN_ERROR_OLD_LOGIN (-32012)   /* the browser session is too old */
#define CW_ADMIN_ERROR_UNAVAILABLE (-32013) /* CW_IO, CW_TIMEOUT, CW_LIMIT: database or file */

/* The thread that runs a function. A command runs all of them on its main thread. */
typedef enum cw_admin_place {
    CW_ADMIN_MAIN,  /* the main thread, with the parts of the server */
    CW_ADMIN_STORE, /* the store's thread, with the database */
    CW_ADMIN_FILES, /* a thread that may wait for files */
} cw_admin_place;

#define CW_ADMIN_CHANGES 1u /* changes something: it cannot be a tool */
/* Creates credentials, changes access or approves definitions: a browser session must be young. */
#define CW_ADMIN_GUARDED 2u
/* Arguments or result hold a secret: arguments are not recorded. */
#define CW_ADMIN_SECRET 4u
/* The database is needed: without one it fails before the function is called. */
#define CW_ADMIN_NEEDS_STORE 8u
/* A command that works alone creates a missing database file. */
#define CW_ADMIN_CREATES_STORE 16u
/* A server must listen: without one it fails before the function is called. */
#define CW_ADMIN_NEEDS_SERVER 32u
/* CW_ADMIN_STORE: the database is used only if the params name a caller (admin/access.h). */
#define CW_ADMIN_STORE_FOR_CALLER 64u
/* For the pages of the console: a server without a console does not have it. */
#define CW_ADMIN_CONSOLE 128u
/* CW_ADMIN_STORE: it also runs while the database cannot be used, without it. */
#define CW_ADMIN_STORE_OPTIONAL 256u
#define CW_ADMIN_NO_SERVER "no server runs with this configuration"

typedef struct cw_admin_server cw_admin_server; /* admin/server.h */
typedef struct cw_admin_method cw_admin_method;
typedef struct cw_admin_call cw_admin_call;

struct cw_admin_call {
    const cw_admin_method *method;
    const cw_json *params; /* an object that matches the method's schemas */
    const cw_config *config;
    cw_snapshot *snapshot;      /* the catalogue; NULL: none was published */
    cw_db *db;                  /* CW_ADMIN_STORE: the database; NULL: none is configured */
    cw_admin_server *server;    /* CW_ADMIN_MAIN; NULL: no server runs here */
    struct cw_tasks *tasks;     /* of the server; NULL: none runs here */
    struct cw_seal_keys *seals; /* likewise */
    cw_str actor;               /* name of the caller */
    cw_str caller;              /* cw_caller_json of the caller */
    int64_t logged_in;          /* cw_caller_logged_in */
    int64_t session_ends;       /* cw_caller_expires */
    bool sees_arguments;        /* the caller has the permission "view arguments" */
    bool sees_access;           /* the caller has the permission "administer access" */
    bool has_no_logins;         /* the server offers no login: it runs without a configuration */
    cw_json_writer *out;        /* an open object: the function adds the members of the result */
    cw_arena *arena;            /* until the call ends */
    void *prepared;             /* set by the method's `prepare`, in the arena */
    /* CW_ADMIN_MAIN: ends a call whose function returned CW_AGAIN, once, later and on the same
     * thread. */
    void (*finish)(cw_admin_call *c, cw_code rc, const cw_err *err);
};

/* Writes the members of the result. CW_OK, CW_DONE (nothing had to be changed), CW_AGAIN (finish
 * is called later), or an error with a sentence for the operator: CW_PARAMS, CW_NOTFOUND,
 * CW_INVALID (it changed meanwhile), CW_CONFIG, CW_IO, CW_TIMEOUT, CW_LIMIT, CW_NOMEM. */
typedef cw_code (*cw_admin_fn)(cw_admin_call *c, cw_err *err);

struct cw_admin_method {
    const char *name; /* "causeway.roles.list" */
    const char *about;
    const char *permission;
    const char *params; /* JSON array: params of an OpenRPC method */
    const char *result; /* JSON object: `properties` of the result */
    cw_admin_place place;
    unsigned flags;
    uint8_t n_audited; /* so many of the first params are audited, also of a secret method: the
                          target of a change */
    /* CW_ADMIN_STORE: runs before `run`, on a thread that hashes passwords; NULL: nothing to do.
     * Argon2id takes a tenth of a second: on the store's thread it would delay logins, on the main
     * loop everything. It has no database and writes no result. */
    cw_admin_fn prepare;
    cw_admin_fn run;
};

/* The methods of one subject; a row without a name ends a table. */
extern const cw_admin_method cw_admin_access_methods[];
extern const cw_admin_method cw_admin_accounts_methods[];
extern const cw_admin_method cw_admin_audit_methods[];
extern const cw_admin_method cw_admin_keys_methods[];
extern const cw_admin_method cw_admin_oauth_methods[];
extern const cw_admin_method cw_admin_replicas_methods[];
extern const cw_admin_method cw_admin_roles_methods[];
extern const cw_admin_method cw_admin_server_methods[];
extern const cw_admin_method cw_admin_sessions_methods[];
extern const cw_admin_method cw_admin_sources_methods[];
extern const cw_admin_method cw_admin_stats_methods[];
extern const cw_admin_method cw_admin_tasks_methods[];
extern const cw_admin_method cw_admin_tokens_methods[];
extern const cw_admin_method cw_admin_tools_methods[];

/* All tables; NULL ends the list. */
extern const cw_admin_method *const cw_admin_tables[];

/* The method with this name, or NULL. */
const cw_admin_method *cw_admin_find(cw_str name);

/* The OpenRPC document of all methods that a server with or without a console has. Those in `tools`
 * are marked. CW_NOMEM. */
CW_MUST_USE cw_code cw_admin_describe(const cw_config_strings *tools, bool has_console,
                                      cw_buf *out);

/* The process that answers: the member `server` of every result. */
typedef struct cw_admin_identity {
    int64_t started; /* ms since 1970; 0: a command that works alone */
} cw_admin_identity;

/* Open the result: the writer appends to `buf`. */
void cw_admin_open_result(cw_admin_call *c, cw_json_writer *w, cw_buf *buf);
/* Close the result of a function that returned `rc`. CW_OK: *ret is the result, in the arena of
 * the call. Otherwise the error of the function, or CW_NOMEM or CW_LIMIT. */
CW_MUST_USE cw_code cw_admin_close_result(cw_admin_call *c, const cw_admin_identity *identity,
                                          cw_code rc, const cw_json **ret, cw_err *err);

/* Whether this call uses the database, by the place and flags of its method and by its params. */
bool cw_admin_uses_store(const cw_admin_call *c);

/* The JSON-RPC code of an error. */
int64_t cw_admin_error_code(cw_code rc);
/* And back; CW_INTERNAL for a code that no function causes. */
cw_code cw_admin_error_meaning(int64_t code);

/* ---- for the functions ---- */

/* A member of the params: a string ("" if absent), an integer, or a boolean. */
cw_str cw_admin_text(const cw_admin_call *c, const char *name);
int64_t cw_admin_number(const cw_admin_call *c, const char *name, int64_t absent);
bool cw_admin_flag(const cw_admin_call *c, const char *name);
/* The strings of an array among the params, in the arena; *ret_n is their number. CW_NOMEM. */
CW_MUST_USE cw_code cw_admin_texts(const cw_admin_call *c, const char *name, cw_str **ret,
                                   size_t *ret_n, cw_err *err);
/* Whether an array of strings has this name; NULL and an empty one have all. */
bool cw_admin_is_named(const cw_json *names, cw_str name);
/* Whether this is the name of a `what` ("role"): 1 to CW_DB_MAX_NAME bytes without control
 * characters. Else CW_PARAMS. */
CW_MUST_USE cw_code cw_admin_check_name(const char *what, cw_str name, cw_err *err);
/* Whether an account may have this name; else CW_PARAMS. */
CW_MUST_USE cw_code cw_admin_check_account_name(cw_str name, cw_err *err);
/* The id of the account that the param `name` holds; 0 if the param is absent. CW_NOTFOUND. */
CW_MUST_USE cw_code cw_admin_account_id(const cw_admin_call *c, const char *name, int64_t *ret,
                                        cw_err *err);
/* End a change: write the member `changed`, which is false for CW_DONE. Returns `rc`. */
cw_code cw_admin_end_change(const cw_admin_call *c, cw_code rc);
/* A member with a date in ms since 1970, or null for 0. */
void cw_admin_add_date_member(cw_json_writer *w, const char *name, int64_t wall_ms);
/* A function of type cw_db_text_fn: adds an element to the open array of a cw_json_writer. */
cw_code cw_admin_add_text(cw_str text, void *writer, cw_err *err);

#endif
