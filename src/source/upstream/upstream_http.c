/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upstream_http.c - a request as HTTP: as POST, or as GET with the request in its query. */
#include <stdlib.h>

#include "base/percent.h"
#include "source/upstream/upstream_int.h"

bool cw_upstream_uses_get(const cw_upstream *upstream, bool reads)
{
    const cw_preset_values *words = &upstream->service->words;
    return words->gets || (words->gets_reads && reads);
}

cw_code cw_upstream_open_http(cw_upstream *upstream, size_t answer_size, cw_err *err)
{
    const cw_endpoint *s = upstream->service;
    const cw_str wanted[] = {CW_STR("Set-Cookie"), s->config.handshake_header};
    cw_client_opts opts = {
        .url = s->url,
        .connections = s->config.connections,
        .waiting = s->config.queue,
        .connect_ms = s->config.connect_ms,
        .first_byte_ms = s->config.first_byte_ms,
        .answer_size = answer_size,
        .headers = s->headers,
        .n_headers = s->n_headers,
        .wanted = wanted,
        .n_wanted = s->config.handshake_header.n ? 2
                    : s->config.init_calls.n     ? 1
                                                 : 0,
        .tls = {s->config.tls.ca_file, s->config.tls.certificate, s->config.tls.key,
                s->config.tls.server_name},
        .proxy = s->config.proxy,
    };
    return cw_client_new(upstream->loop, &opts, &upstream->client, err);
}

static void send_again(cw_upstream *upstream, cw_upstream_req *req)
{
    cw_err err = {0};
    req->was_again = true;
    cw_upstream_move(req, &upstream->running);
    cw_code rc = cw_upstream_send_http(upstream, req, &err);
    if (!rc)
        return;
    cw_upstream_reply reply = {rc == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT, NULL, err.msg,
                               NULL, NULL};
    cw_upstream_finish(req, &reply);
}

/* An answer that asks for a header to be repeated. */
static bool take_handshake(cw_upstream *upstream, const cw_client_response *answer)
{
    const cw_endpoint *s = upstream->service;
    if (!s->config.handshake_header.n || answer->status != s->config.handshake_status)
        return false;
    cw_str value = answer->wanted[CW_UPSTREAM_HANDSHAKE];
    char *copy = value.p ? cw_str_dup(value) : NULL;
    if (!copy)
        return false;
    free(upstream->handshake);
    upstream->handshake = copy;
    return true;
}

/* Whether a request that was refused is tried once more; neither refusal carried it out. */
static bool retry(cw_upstream *upstream, cw_upstream_req *req, const cw_client_response *answer)
{
    if (req->was_again)
        return false;
    if (take_handshake(upstream, answer)) {
        send_again(upstream, req);
        return true;
    }
    if (!cw_upstream_log_out(upstream, answer->status))
        return false;
    req->was_again = true;
    cw_upstream_enqueue(upstream, req);
    return true;
}

static void on_done(cw_client_req *http, cw_client_end end, const cw_client_response *answer,
                    const char *why)
{
    cw_upstream_req *req = http->ctx;
    cw_upstream *upstream = req->upstream;
    req->is_sent = false;
    if (end == CW_CLIENT_OK && retry(upstream, req, answer))
        return;
    cw_upstream_reply reply = {end, answer, why, &upstream->session, NULL};
    cw_upstream_finish(req, &reply);
}

/* PATH?query=…; NULL where it is too long, or without memory: POST will do as well. */
static char *make_query(const cw_upstream *upstream, const cw_upstream_req *req)
{
    cw_str path = req->path.n ? req->path : upstream->service->url.path;
    cw_buf out;
    cw_buf_init(&out, CW_UPSTREAM_QUERY_MAX);
    cw_buf_add(&out, path);
    cw_buf_add_char(&out, memchr(path.p, '?', path.n) ? '&' : '?');
    cw_buf_add(&out, CW_STR("query="));
    for (size_t i = 0; i < req->n_body; i++)
        cw_percent_encode(&out, req->body[i]);
    char *text = cw_buf_take(&out, NULL);
    cw_buf_done(&out);
    return text;
}

void cw_upstream_headers_done(cw_upstream_headers *headers)
{
    free(headers->texts);
    *headers = (cw_upstream_headers){.n = 0};
}

cw_code cw_upstream_headers_make(const cw_upstream *upstream, cw_upstream_headers *ret, cw_err *err)
{
    const cw_http_header all[] = {
        {CW_STR("Cookie"), cw_str_from(upstream->cookies)},
        {upstream->service->config.handshake_header, cw_str_from(upstream->handshake)},
        {CW_STR("Authorization"), cw_str_from(upstream->oauth.token)},
    };
    size_t size = 0;
    cw_upstream_headers_done(ret);
    for (size_t i = 0; i < CW_COUNT(all); i++)
        size += all[i].value.n;
    if (size == 0)
        return CW_OK;
    char *to = ret->texts = malloc(size);
    if (!to)
        return cw_fail_nomem(err);
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        cw_str value = all[i].value;
        if (value.n == 0)
            continue;
        memcpy(to, value.p, value.n);
        ret->items[ret->n++] = (cw_http_header){all[i].name, cw_str_make(to, value.n)};
        to += value.n;
    }
    return CW_OK;
}

cw_code cw_upstream_send_http(cw_upstream *upstream, cw_upstream_req *req, cw_err *err)
{
    cw_code rc = cw_upstream_headers_make(upstream, &req->headers, err);
    if (rc)
        return rc;
    if (cw_upstream_uses_get(upstream, req->reads) && req->n_body && !req->query)
        req->query = make_query(upstream, req);
    req->http = (cw_client_req){
        .method = req->n_body && !req->query ? CW_HTTP_POST : CW_HTTP_GET,
        .path = req->query ? cw_str_from(req->query) : req->path,
        .headers = req->headers.items,
        .n_headers = req->headers.n,
        .body = req->query ? NULL : req->body,
        .n_body = req->query ? 0 : req->n_body,
        .may_repeat = req->may_repeat,
        .on_done = on_done,
        .ctx = req,
    };
    rc = cw_client_send(upstream->client, &req->http, err);
    req->is_sent = rc == CW_OK;
    return rc;
}
