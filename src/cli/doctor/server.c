/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server.c - doctor: the running server, over its socket or over the network. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/doctor/doctor.h"
#include "cli/lib/loop.h"
#include "config/syntax/quote.h"
#include "net/client/client.h"
#include "server/files/local_socket.h"

#define HEALTH_MAX 65536u

/* ---- what the server reports ---- */

static void check_version(cw_doctor *d, const char *subject, const cw_json *status)
{
    const cw_json *server = cw_json_get(status, CW_STR("server"));
    const cw_json *version = cw_json_get(server, CW_STR("version"));
    char shown[CW_EXCERPT_SIZE];
    if (version && !cw_str_is(cw_json_text(version), CW_VERSION))
        cw_doctor_add(d, CW_DOCTOR_WARNING, subject,
                      "restart the server after an update, and use commands of its version",
                      "the server has version %s, this command has version " CW_VERSION,
                      cw_excerpt(cw_json_text(version), shown));
}

static void check_restart(cw_doctor *d, const char *subject, const cw_json *status)
{
    const cw_json *keys = cw_json_get(status, CW_STR("restart"));
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, HEALTH_MAX);
    for (const cw_json *k = keys ? cw_json_first(keys) : NULL; k; k = cw_json_next(k)) {
        cw_buf_add(&text, text.n ? CW_STR(", ") : CW_STR(""));
        cw_quote_bare(&text, cw_json_text(k));
    }
    if (text.n)
        cw_doctor_add(d, CW_DOCTOR_WARNING, subject, "restart the server",
                      "new values wait for a restart: %.*s", (int)text.n, text.p);
}

static const char *member(cw_doctor *d, const cw_json *object, const char *name)
{
    const cw_json *v = cw_json_get(object, cw_str_from(name));
    cw_str rest, text = v ? cw_json_text(v) : CW_STR("");
    text = cw_str_cut(text, '\n', &rest);
    return cw_doctor_text(d, "%.*s", CW_STR_ARG(text));
}

static void check_sources(cw_doctor *d, const cw_json *result)
{
    const cw_json *list = cw_json_get(result, CW_STR("sources"));
    for (const cw_json *s = list ? cw_json_first(list) : NULL; s; s = cw_json_next(s)) {
        const char *name = member(d, s, "name"), *state = member(d, s, "state");
        const char *problem = member(d, s, "problem");
        bool is_plugin = cw_str_is(cw_str_from(member(d, s, "kind")), "plugin");
        if (cw_str_is(cw_str_from(state), "ready"))
            continue;
        cw_doctor_add(
            d, CW_DOCTOR_WARNING, name,
            is_plugin ? "run \"causeway plugin check\" with its file on the server's machine"
                      : cw_doctor_text(d,
                                       "run \"causeway source check %s\" on the server's "
                                       "machine, then \"causeway source refresh %s\"",
                                       name, name),
            "the server reports the state \"%s\"%s%s", state, *problem ? ": " : "", problem);
    }
}

static void check_reports(cw_doctor *d, cw_cli_admin *a, const char *subject, const char *remedy)
{
    const cw_json *status = NULL, *sources = NULL;
    cw_err err = {0};
    a->was_warned = true; /* the version is a finding here */
    a->timeout_ms = CW_DOCTOR_TIMEOUT_MS;
    cw_code rc = cw_cli_admin_try(a, "causeway.status", NULL, NULL, &status, &err);
    if (!rc)
        rc = cw_cli_admin_try(a, "causeway.sources.list", NULL, NULL, &sources, &err);
    if (status) {
        check_version(d, subject, status);
        check_restart(d, subject, status);
    }
    if (sources)
        check_sources(d, sources);
    if (rc)
        cw_doctor_add(d, CW_DOCTOR_ERROR, subject, remedy, "%s", err.msg);
}

/* ---- on this machine ---- */

/* Root checks the set-up of another user, who owns the database and the directory of the socket. */
static bool belongs_to_server(const cw_doctor *d, const char *socket)
{
    char folder[CW_LOCAL_SOCKET_PATH];
    struct stat of_folder, of_store;
    snprintf(folder, sizeof folder, "%s", socket);
    char *slash = strrchr(folder, '/');
    if (geteuid() != 0 || !d->config->store.path.n || !slash)
        return false;
    slash[slash == folder] = 0;
    return stat(folder, &of_folder) == 0 && stat(d->config->store.path.p, &of_store) == 0 &&
           of_folder.st_uid == of_store.st_uid && !(of_folder.st_mode & (S_IWGRP | S_IWOTH));
}

static void check_local(cw_doctor *d)
{
    char path[CW_LOCAL_SOCKET_PATH] = "admin.socket";
    cw_err err = {0};
    cw_cli_admin a;
    const cw_cli_target target = {.config = d->config_path};
    if (!d->config->admin.enabled)
        return;
    cw_code rc = cw_local_socket_path(d->config, d->config_path, path, &err);
    if (!rc && !belongs_to_server(d, path))
        rc = cw_local_socket_check_folder(path, &err);
    if (rc == CW_IO)
        return; /* the server creates the directory in the user's state */
    if (!rc)
        rc = cw_local_socket_check_file(path, &err);
    if (rc == CW_NOTFOUND)
        return;
    if (rc) {
        cw_doctor_add_message(
            d, path, err.msg,
            "set admin.socket to a short path in a directory of the server's user");
        return;
    }
    if (cw_cli_admin_open(&target, &a) >= 0)
        return; /* it has reported the problem */
    if (cw_cli_admin_has_server(&a))
        check_reports(d, &a, "running server", "restart the server, and read its log");
    cw_cli_admin_close(&a);
}

/* ---- over the network ---- */

typedef struct ping {
    cw_client *client;
    cw_client_req req;
    cw_loop *loop;
    size_t pending;
    int64_t date_ms; /* 0: none */
    cw_client_url url;
} ping;

static void on_pong(cw_client_req *req, cw_client_end end, const cw_client_response *answer,
                    const char *why)
{
    ping *p = req->ctx;
    (void)why; /* check_reports finds it too */
    if (end == CW_CLIENT_OK && answer->wanted[0].p)
        (void)cw_clock_parse_http(answer->wanted[0], &p->date_ms);
    cw_cli_loop_finish(p->loop, &p->pending);
}

static cw_code ping_on_loop(cw_loop *loop, void *ctx, cw_err *err)
{
    ping *p = ctx;
    const cw_str wanted = CW_STR("Date");
    const cw_client_opts opts = {.url = p->url,
                                 .connections = 1,
                                 .first_byte_ms = CW_DOCTOR_TIMEOUT_MS,
                                 .answer_size = HEALTH_MAX,
                                 .wanted = &wanted,
                                 .n_wanted = 1};
    cw_code rc = cw_client_new(loop, &opts, &p->client, err);
    if (rc)
        return rc;
    p->loop = loop;
    p->req = (cw_client_req){
        .method = CW_HTTP_GET, .path = CW_STR("/healthz"), .on_done = on_pong, .ctx = p};
    rc = cw_client_send(p->client, &p->req, err);
    p->pending = rc ? 0 : 1;
    (void)cw_cli_loop_wait_for(loop, &p->pending, CW_DOCTOR_TIMEOUT_MS);
    cw_client_close(p->client, NULL, NULL); /* cancels the request */
    return rc;
}

/* False: no connection with TLS can be made, which check_reports finds too. */
static bool check_certificate(cw_doctor *d, const char *subject, const cw_client_url *url)
{
    cw_tls_validity validity;
    const cw_tls_peer peer = {.host = cw_doctor_text(d, "%.*s", CW_STR_ARG(url->host)),
                              .port = url->port};
    if (!url->is_tls)
        return true;
    if (cw_tls_peer_validity(&peer, CW_DOCTOR_TIMEOUT_MS, &validity, NULL))
        return false;
    cw_doctor_add_validity(d, subject, &validity,
                           "renew the certificate on the server's machine, then run \"causeway "
                           "reload\"");
    return true;
}

static void check_remote(cw_doctor *d)
{
    ping p = {0};
    const char *subject = d->target.server;
    /* cw_cli_admin_open has accepted this URL. */
    if (cw_client_url_parse(cw_str_from(d->server->url), &p.url, NULL))
        return;
    if (check_certificate(d, subject, &p.url) &&
        cw_cli_loop_run(ping_on_loop, NULL, &p, NULL) == CW_OK && p.date_ms)
        cw_doctor_add_clock(d, subject, p.date_ms - cw_clock_wall_ms());
    check_reports(d, d->server, subject,
                  "check the URL, that the server runs, and that the token's account has the "
                  "permission \"view traffic\"");
}

void cw_doctor_check_server(cw_doctor *d)
{
    if (d->server)
        check_remote(d);
    else if (d->config)
        check_local(d);
}
