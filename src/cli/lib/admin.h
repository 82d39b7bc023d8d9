/* SPDX-License-Identifier: GPL-2.0-or-later */
/* admin.h - administration methods for commands: on a server, or without one.
 *
 *     --server URL            the server at this URL, with a token
 *     else a running server   through its socket (server/files/local_socket.h)
 *     else alone              the functions of src/admin on the database and the files
 *
 *     cw_cli_admin a;
 *     int code = cw_cli_admin_open(&target, &a);
 *     if (code >= 0)
 *         return code;
 *     const cw_json *result;
 *     code = cw_cli_admin_call(&a, "causeway.status", NULL, &result);
 *     if (code < 0)
 *         code = print(result);
 *     cw_cli_admin_close(&a);
 *
 * Ownership: results live until close.
 * Threads:   main thread only.
 */
#ifndef CW_CLI_LIB_ADMIN_H
#define CW_CLI_LIB_ADMIN_H

#include "admin/admin.h"
#include "cli/lib/cli.h"

/* The options that name a server. */
typedef struct cw_cli_target {
    const char *config;     /* --config, or NULL */
    const char *server;     /* --server, or NULL */
    const char *token_file; /* --token-file; NULL: $CAUSEWAY_TOKEN */
} cw_cli_target;

#define CW_CLI_TARGET_OPTIONS(target)                                                              \
    CW_CLI_CONFIG_OPTION(&(target)->config),                                                       \
        {"server",          0,     CW_CLI_TEXT,                                                    \
         &(target)->server, "URL", "use the server at this URL instead of the local one"},         \
    {                                                                                              \
        "token-file", 0, CW_CLI_TEXT, &(target)->token_file, "FILE",                               \
            "with --server: file with the token; default: the\n"                                   \
            "variable $CAUSEWAY_TOKEN"                                                             \
    }

typedef struct cw_cli_admin {
    cw_config *config; /* NULL with --server */
    const char *config_path;
    cw_arena arena;
    char *url;             /* of the server; NULL: work alone */
    cw_buf token;          /* "Bearer …"; empty: none */
    cw_snapshot *snapshot; /* for calls without a server; borrowed; NULL: none is loaded */
    bool is_local;
    bool was_warned;     /* that the server has another version */
    uint32_t timeout_ms; /* for a whole call of a server */
} cw_cli_admin;

/* Find the server. Returns -1, or reports the problem and returns the exit code. */
int cw_cli_admin_open(const cw_cli_target *target, cw_cli_admin *ret);
/* The same without a search for servers: the command works alone. */
int cw_cli_admin_open_alone(const char *config, cw_cli_admin *ret);
/* Whether a server answers calls; otherwise the command works alone. */
bool cw_cli_admin_has_server(const cw_cli_admin *a);
/* Write the params of a call; `ctx` is that of cw_cli_admin_call. */
typedef void (*cw_cli_params_fn)(cw_json_writer *w, const void *ctx);
/* Call a method. `params` adds the members of its params (NULL: none). CW_OK: *ret is the result.
 * Otherwise `err` has a sentence for the operator: CW_PARAMS, CW_NOTFOUND, CW_INVALID, CW_IO … */
CW_MUST_USE cw_code cw_cli_admin_try(cw_cli_admin *a, const char *method, cw_cli_params_fn params,
                                     const void *ctx, const cw_json **ret, cw_err *err);
/* The same. Returns -1 with a result, or reports the error and returns the exit code. */
int cw_cli_admin_call(cw_cli_admin *a, const char *method, cw_cli_params_fn params, const void *ctx,
                      const cw_json **ret);
void cw_cli_admin_close(cw_cli_admin *a);

/* A member of a result: a string (otherwise ""), an integer (otherwise 0), or whether it is true.
 * `object` may be anything, also NULL: a server elsewhere may send any result. */
cw_str cw_cli_admin_text(const cw_json *object, const char *name);
int64_t cw_cli_admin_number(const cw_json *object, const char *name);
bool cw_cli_admin_flag(const cw_json *object, const char *name);
/* The first element of an array, or NULL. `list` may be anything. */
const cw_json *cw_cli_admin_items(const cw_json *list);

/* Append "Bearer " and the token of a file, without line breaks at its end. */
CW_MUST_USE cw_code cw_cli_read_token(const char *file, cw_buf *header, cw_err *err);

/* "server 0.1.0 (pid 123)", the server that sent a result, or "no server" for a command that
 * worked alone. */
void cw_cli_admin_add_server(cw_buf *out, const cw_json *result);

#endif
