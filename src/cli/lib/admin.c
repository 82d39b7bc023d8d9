/* SPDX-License-Identifier: GPL-2.0-or-later */
/* admin.c - calls administration methods: over a socket, over HTTP, or alone. */
#include "cli/lib/admin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "access/credentials.h"
#include "admin/source.h"
#include "base/file.h"
#include "cli/lib/loop.h"
#include "cli/lib/owner.h"
#include "cli/lib/progress.h"
#include "config/syntax/quote.h"
#include "net/addr/connect.h"
#include "net/client/client.h"
#include "server/files/local_socket.h"
#include "server/options/database.h"

#define TOKEN_MAX 65536u
#define TIMEOUT_MS 75000u    /* longer than a server waits for services */
#define FIRST_BYTE_MS 65000u /* likewise, without the transfer */
#define BUSY_MS 5000u
#define RESULTS_MAX (64 * CW_ADMIN_RESULT_MAX) /* of all calls, parsed: lists have pages */
#define RPC_METHOD (-32601)

_Static_assert(FIRST_BYTE_MS > CW_ADMIN_CALL_MS, "the server ends a call first");

/* ---- finding the server ---- */

/* A socket file without a listener is left from a killed server. */
static bool is_listening(const char *path, int *ret_errnum)
{
    cw_address address;
    bool is_pending = false;
    *ret_errnum = ENOENT;
    if (!cw_connect_unix(cw_str_from(path), &address))
        return false;
    int fd = cw_connect_open(&address, &is_pending);
    *ret_errnum = fd < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static int find_socket(cw_cli_admin *a)
{
    char path[CW_LOCAL_SOCKET_PATH];
    cw_err err = {0};
    int errnum = 0;
    if (!a->config->admin.enabled || cw_local_socket_path(a->config, a->config_path, path, &err))
        return -1;
    cw_code rc = cw_local_socket_check_file(path, &err);
    if (rc == CW_NOTFOUND)
        return -1;
    if (rc)
        return cw_cli_failure("%s", err.msg);
    if (!is_listening(path, &errnum))
        return errnum == ECONNREFUSED || errnum == ENOENT
                   ? -1
                   : cw_cli_failure("cannot connect to '%s': %s", path, strerror(errnum));
    if (asprintf(&a->url, "unix:%s:/jsonrpc", path) < 0) {
        a->url = NULL;
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    }
    a->is_local = true;
    return -1;
}

cw_code cw_cli_read_token(const char *file, cw_buf *header, cw_err *err)
{
    cw_buf_add(header, CW_STR("Bearer "));
    cw_code rc = cw_file_read(file, CW_FILE_ANY, header, err);
    while (!rc && (header->p[header->n - 1] == '\n' || header->p[header->n - 1] == '\r'))
        header->n--;
    return rc;
}

static int read_token(const cw_cli_target *target, cw_cli_admin *a)
{
    cw_err err = {0};
    const char *given = getenv("CAUSEWAY_TOKEN");
    if (target->token_file) {
        if (cw_cli_read_token(target->token_file, &a->token, &err))
            return cw_cli_usage("--token-file: %s", err.msg);
    } else if (given && *given) {
        cw_buf_add(&a->token, CW_STR("Bearer "));
        cw_buf_add(&a->token, cw_str_from(given));
    } else {
        return cw_cli_usage("--server needs a token: name a file with --token-file, or set "
                            "CAUSEWAY_TOKEN");
    }
    return a->token.code ? cw_cli_failure("%s", cw_code_text(a->token.code)) : -1;
}

static bool is_this_machine(cw_str host)
{
    cw_address address;
    char text[CW_ADDRESS_TEXT];
    snprintf(text, sizeof text, "%.*s", CW_STR_ARG(host));
    /* A name that begins like an address is still a name. */
    return cw_str_is(host, "localhost") ||
           (cw_connect_literal(text, 1, &address) && cw_address_is_loopback(&address));
}

static int use_url(const cw_cli_target *target, cw_cli_admin *a)
{
    cw_client_url url;
    cw_err err = {0};
    cw_str text = cw_str_from(target->server);
    if (cw_client_url_parse(text, &url, &err))
        return cw_cli_usage("--server: %s", err.msg);
    if (!url.is_tls && !url.unix_path.n && !is_this_machine(url.host))
        return cw_cli_usage("--server: use https://, because a token would be readable on the way");
    while (text.n && text.p[text.n - 1] == '/')
        text.n--;
    const char *path = cw_str_ends(text, CW_STR("/jsonrpc")) ? "" : "/jsonrpc";
    if (asprintf(&a->url, "%.*s%s", CW_STR_ARG(text), path) < 0) {
        a->url = NULL;
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    }
    return read_token(target, a);
}

static void init(cw_cli_admin *a, const char *config)
{
    *a = (cw_cli_admin){.config_path = cw_cli_config_path(config), .timeout_ms = TIMEOUT_MS};
    cw_arena_init(&a->arena, RESULTS_MAX);
    cw_buf_init(&a->token, TOKEN_MAX);
}

int cw_cli_admin_open_alone(const char *config, cw_cli_admin *ret)
{
    init(ret, config);
    int code = cw_cli_load_config(config, &ret->config);
    if (code >= 0)
        cw_cli_admin_close(ret);
    return code;
}

int cw_cli_admin_open(const cw_cli_target *target, cw_cli_admin *ret)
{
    init(ret, target->config);
    int code =
        target->server ? use_url(target, ret) : cw_cli_load_config(target->config, &ret->config);
    if (code < 0 && !target->server)
        code = find_socket(ret);
    if (code >= 0)
        cw_cli_admin_close(ret);
    return code;
}

void cw_cli_admin_close(cw_cli_admin *a)
{
    cw_config_unref(a->config);
    free(a->url);
    if (a->token.p)
        explicit_bzero(a->token.p, a->token.n);
    cw_buf_done(&a->token);
    cw_arena_done(&a->arena);
}

bool cw_cli_admin_has_server(const cw_cli_admin *a)
{
    return a->url != NULL;
}

/* ---- a call over HTTP ---- */

typedef struct http_call {
    cw_cli_admin *a;
    cw_client *client;
    cw_client_req req;
    cw_cli_progress progress;
    cw_loop *loop;
    size_t pending;
    cw_str body;
    cw_str reply;
    unsigned status;
    cw_code rc;
    cw_err err;
} http_call;

static cw_code fail_call(http_call *h, const char *why)
{
    return cw_fail(&h->err, CW_IO, "%s: %s",
                   h->a->is_local ? "the running server does not answer" : h->a->url, why);
}

static void on_reply(cw_client_req *req, cw_client_end end, const cw_client_response *answer,
                     const char *why)
{
    http_call *h = req->ctx;
    if (end != CW_CLIENT_OK) {
        h->rc = fail_call(h, why);
    } else {
        h->status = answer->status;
        h->reply = cw_arena_dup_str(&h->a->arena, answer->body);
        h->rc = h->reply.p ? CW_OK : cw_fail_nomem(&h->err);
    }
    cw_cli_loop_finish(h->loop, &h->pending);
}

static void write_waiting(cw_buf *out, void *ctx)
{
    (void)ctx;
    cw_buf_add(out, CW_STR("waiting for the server"));
}

static cw_code send_on_loop(cw_loop *loop, void *ctx, cw_err *err)
{
    http_call *h = ctx;
    cw_http_header headers[] = {
        {CW_STR("Content-Type"), CW_STR("application/json")},
        {CW_STR("Authorization"), cw_buf_str(&h->a->token)},
    };
    cw_client_opts opts = {.connections = 1,
                           .first_byte_ms = FIRST_BYTE_MS,
                           .answer_size = 2 * CW_ADMIN_RESULT_MAX,
                           .headers = headers,
                           .n_headers = h->a->token.n ? 2 : 1};
    cw_code rc = cw_client_url_parse(cw_str_from(h->a->url), &opts.url, err);
    if (!rc)
        rc = cw_client_new(loop, &opts, &h->client, err);
    if (rc)
        return rc;
    h->loop = loop;
    h->req = (cw_client_req){
        .method = CW_HTTP_POST, .body = &h->body, .n_body = 1, .on_done = on_reply, .ctx = h};
    cw_cli_progress_start(&h->progress, &loop->uv, write_waiting, NULL);
    rc = cw_client_send(h->client, &h->req, err);
    h->pending = rc ? 0 : 1;
    /* One limit for the whole call: a server that sends single bytes has a byte for every other. */
    if (!cw_cli_loop_wait_for(loop, &h->pending, h->a->timeout_ms)) {
        char why[64];
        snprintf(why, sizeof why, "no complete answer within %u s", h->a->timeout_ms / 1000);
        h->rc = fail_call(h, why);
    }
    cw_cli_progress_stop(&h->progress);
    cw_client_close(h->client, NULL, NULL); /* cancels the call */
    if (rc)
        return rc;
    *err = h->err;
    return h->rc;
}

static void add_shown(cw_buf *out, cw_str text)
{
    cw_quote_shown(out, cw_str_make(text.p, text.n < CW_ERR_MSG_MAX ? text.n : CW_ERR_MSG_MAX));
}

/* The message comes from a server that may be hostile: control characters are escaped. Data that is
 * a text is a part of it: "Invalid params" has the reason there. */
static cw_code fail_message(cw_err *err, cw_code rc, const char *before, const cw_json *error)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_str data = cw_cli_admin_text(error, "data");
    cw_buf_init(&text, 16 * CW_ERR_MSG_MAX);
    add_shown(&text, cw_json_text(cw_json_get(error, CW_STR("message"))));
    if (data.n) {
        cw_buf_add(&text, CW_STR(": "));
        add_shown(&text, data);
    }
    return text.code ? cw_fail(err, text.code, "%s", cw_code_text(text.code))
                     : cw_fail(err, rc, "%s%.*s", before, CW_STR_ARG(cw_buf_str(&text)));
}

static cw_code fail_status(const http_call *h, const cw_json *error, cw_err *err)
{
    char before[64];
    const cw_json *message = cw_json_get(error, CW_STR("message"));
    if (h->status == 401)
        return cw_fail(err, CW_INVALID, "the server rejects the token");
    snprintf(before, sizeof before, "the server answers %u: ", h->status);
    if (message)
        return fail_message(err, CW_IO, before, error);
    return cw_fail(err, CW_IO, "%s answers %u, and not as a Causeway server does", h->a->url,
                   h->status);
}

static cw_code fail_rpc(const http_call *h, const char *method, const cw_json *error, cw_err *err)
{
    int64_t code = 0;
    const cw_json *number = cw_json_get(error, CW_STR("code"));
    const cw_json *message = cw_json_get(error, CW_STR("message"));
    if (!number || !cw_json_to_i64(number, &code) || !message || h->status == 401)
        return fail_status(h, error, err);
    if (code == RPC_METHOD)
        return cw_fail(err, CW_NOTFOUND,
                       "the server offers no method %s to this caller: a permission is missing, or "
                       "the server has another version than this command (" CW_VERSION ")",
                       method);
    cw_code rc = cw_admin_error_meaning(code);
    return rc == CW_INTERNAL ? fail_status(h, error, err) : fail_message(err, rc, "", error);
}

static void warn_version(cw_cli_admin *a, const cw_json *result)
{
    const cw_json *server = cw_json_get(result, CW_STR("server"));
    const cw_json *version = cw_json_get(server, CW_STR("version"));
    if (a->was_warned || !version || cw_str_is(cw_json_text(version), CW_VERSION))
        return;
    a->was_warned = true;
    char shown[CW_EXCERPT_SIZE];
    (void)cw_cli_failure("the server has version %s, this command has " CW_VERSION,
                         cw_excerpt(cw_json_text(version), shown));
}

static cw_code call_server(cw_cli_admin *a, const char *method, cw_str body, const cw_json **ret,
                           cw_err *err)
{
    http_call h = {.a = a, .body = body};
    const cw_json *reply = NULL;
    cw_json_opts opts = {.max_bytes = 2 * CW_ADMIN_RESULT_MAX, .max_depth = CW_JSON_DEPTH_CEILING};
    cw_code rc = cw_cli_loop_run(send_on_loop, NULL, &h, err);
    if (rc)
        return rc;
    if (cw_json_read(h.reply, &opts, &a->arena, &reply, NULL, NULL))
        return fail_status(&h, NULL, err);
    *ret = cw_json_get(reply, CW_STR("result"));
    if (!*ret)
        return fail_rpc(&h, method, cw_json_get(reply, CW_STR("error")), err);
    warn_version(a, *ret);
    return CW_OK;
}

/* ---- a call without a server ---- */

static cw_code open_database(const cw_cli_admin *a, const cw_admin_method *m, cw_db **ret,
                             cw_err *err)
{
    const cw_str path = a->config->store.path;
    cw_db_opts opts = cw_database_opts(a->config, BUSY_MS);
    opts.may_create = m->flags & CW_ADMIN_CREATES_STORE;
    bool is_needed = m->flags & CW_ADMIN_NEEDS_STORE;
    if (!cw_config_store(a->config).n)
        return is_needed
                   ? cw_fail(err, CW_CONFIG, "no database: set store.path in the configuration")
                   : CW_OK;
    cw_code rc = path.n && m->flags & CW_ADMIN_CHANGES ? cw_cli_become_owner(path.p, err) : CW_OK;
    if (!rc)
        rc = cw_db_open(&opts, ret, err);
    /* As in a server that has not created it yet. */
    return rc == CW_NOTFOUND && !is_needed ? CW_OK : rc;
}

/* A server that runs all the same may have no socket, for a reason that the operator can remove. */
static cw_code fail_no_server(const cw_cli_admin *a, cw_err *err)
{
    char path[CW_LOCAL_SOCKET_PATH];
    cw_err why = {0};
    if (!a->config->admin.enabled)
        return cw_fail(err, CW_NOTFOUND,
                       CW_ADMIN_NO_SERVER ", or commands cannot reach it: admin.enabled is false");
    cw_code rc = cw_local_socket_path(a->config, a->config_path, path, &why);
    /* Root may look for the server of another user, in a folder of that user. */
    if (!rc && geteuid() != 0)
        rc = cw_local_socket_check_folder(path, &why);
    return rc == CW_PARAMS
               ? cw_fail(err, CW_NOTFOUND, CW_ADMIN_NO_SERVER ", or commands cannot reach it: %s",
                         why.msg)
               : cw_fail(err, CW_NOTFOUND, CW_ADMIN_NO_SERVER);
}

static cw_code run_alone(cw_admin_call *c, cw_err *err)
{
    cw_code rc = cw_secret_init(err);
    if (!rc && c->method->prepare)
        rc = c->method->prepare(c, err);
    return rc ? rc : c->method->run(c, err);
}

static cw_code call_alone(cw_cli_admin *a, const cw_admin_method *m, const cw_json *params,
                          const cw_json **ret, cw_err *err)
{
    static const cw_admin_identity alone = {0};
    cw_admin_call c = {.method = m,
                       .params = params,
                       .config = a->config,
                       .snapshot = a->snapshot,
                       .sees_arguments = true,
                       .sees_access = true,
                       .arena = &a->arena};
    CW_CLEANUP(cw_buf_done) cw_buf text = {0};
    cw_json_writer w;
    if (m->flags & CW_ADMIN_NEEDS_SERVER)
        return fail_no_server(a, err);
    cw_code rc = cw_admin_uses_store(&c) ? open_database(a, m, &c.db, err) : CW_OK;
    if (rc)
        return rc;
    cw_admin_open_result(&c, &w, &text);
    rc = run_alone(&c, err);
    rc = cw_admin_close_result(&c, &alone, rc, ret, err);
    if (text.p)
        explicit_bzero(text.p, text.n); /* may hold a token */
    cw_db_close(c.db);
    return rc;
}

/* ---- both ---- */

static void write_call(cw_json_writer *w, const char *method, cw_cli_params_fn params,
                       const void *ctx)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("jsonrpc"), CW_STR("2.0"));
    cw_json_add_i64_member(w, CW_STR("id"), 1);
    cw_json_add_string_member(w, CW_STR("method"), cw_str_from(method));
    cw_json_add_key(w, CW_STR("params"));
    cw_json_open_object(w);
    if (params)
        params(w, ctx);
    cw_json_close(w);
    cw_json_close(w);
}

cw_code cw_cli_admin_try(cw_cli_admin *a, const char *method, cw_cli_params_fn params,
                         const void *ctx, const cw_json **ret, cw_err *err)
{
    const cw_admin_method *m = cw_admin_find(cw_str_from(method));
    CW_CLEANUP(cw_buf_done) cw_buf body;
    const cw_json *call = NULL;
    cw_json_writer w;
    cw_buf_init(&body, CW_ADMIN_RESULT_MAX);
    cw_json_writer_init(&w, &body, CW_JSON_COMPACT);
    write_call(&w, method, params, ctx);
    cw_code rc = cw_json_writer_end(&w, err);
    if (!rc && a->url)
        rc = call_server(a, method, cw_buf_str(&body), ret, err);
    else if (!rc)
        rc = cw_json_read(cw_buf_str(&body), NULL, &a->arena, &call, NULL, err);
    if (!rc && call)
        rc = call_alone(a, m, cw_json_get(call, CW_STR("params")), ret, err);
    if (body.p)
        explicit_bzero(body.p, body.n); /* may hold a password */
    return rc;
}

int cw_cli_admin_call(cw_cli_admin *a, const char *method, cw_cli_params_fn params, const void *ctx,
                      const cw_json **ret)
{
    cw_err err = {0};
    cw_code rc = cw_cli_admin_try(a, method, params, ctx, ret, &err);
    if (rc == CW_CONFIG || (rc == CW_PARAMS && a->url && !a->is_local))
        return cw_cli_usage("%s", err.msg);
    return rc ? cw_cli_failure("%s", err.msg) : -1;
}

cw_str cw_cli_admin_text(const cw_json *object, const char *name)
{
    const cw_json *v = cw_json_get(object, cw_str_from(name));
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
}

int64_t cw_cli_admin_number(const cw_json *object, const char *name)
{
    int64_t value = 0;
    const cw_json *v = cw_json_get(object, cw_str_from(name));
    return v && cw_json_to_i64(v, &value) ? value : 0;
}

const cw_json *cw_cli_admin_items(const cw_json *list)
{
    return cw_json_is(list, CW_JSON_ARRAY) ? cw_json_first(list) : NULL;
}

bool cw_cli_admin_flag(const cw_json *object, const char *name)
{
    return cw_json_is(cw_json_get(object, cw_str_from(name)), CW_JSON_TRUE);
}

void cw_cli_admin_add_server(cw_buf *out, const cw_json *result)
{
    const cw_json *server = cw_json_get(result, CW_STR("server"));
    const cw_json *version = cw_json_get(server, CW_STR("version"));
    const cw_json *pid = cw_json_get(server, CW_STR("pid"));
    if (!version || !pid || !cw_json_get(server, CW_STR("started"))) {
        cw_buf_add(out, CW_STR("no server"));
        return;
    }
    cw_buf_add(out, CW_STR("server "));
    cw_quote_shown(out, cw_json_text(version));
    cw_buf_printf(out, " (pid %.*s)", CW_STR_ARG(cw_json_text(pid)));
}
