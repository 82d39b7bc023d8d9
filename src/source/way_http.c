/* SPDX-License-Identifier: GPL-2.0-or-later */
/* way_http.c - a request as HTTP: as POST, or as GET with the request in its query. */
#include <stdlib.h>

#include "base/percent.h"
#include "source/way_int.h"

bool cw_way_gets(const cw_way *way, bool reads)
{
    const cw_preset_words *words = &way->service->words;
    return words->gets || (words->gets_reads && reads);
}

cw_code cw_way_open_http(cw_way *way, size_t answer_size, cw_err *err)
{
    const cw_service *s = way->service;
    const cw_str kept[] = {CW_STR("Set-Cookie"), s->config.handshake_header};
    cw_client_opts opts = {
        .url = s->url,
        .connections = s->config.connections,
        .waiting = s->config.queue,
        .connect_ms = s->config.connect_ms,
        .first_byte_ms = s->config.first_byte_ms,
        .answer_size = answer_size,
        .headers = s->headers,
        .n_headers = s->n_headers,
        .kept = kept,
        .n_kept = s->config.handshake_header.n ? 2
                  : s->config.prelude.n        ? 1
                                               : 0,
        .tls = {s->config.tls.ca_file, s->config.tls.certificate, s->config.tls.key,
                s->config.tls.server_name},
        .proxy = s->config.proxy,
    };
    return cw_client_new(way->loop, &opts, &way->client, err);
}

static void send_again(cw_way *way, cw_way_req *req)
{
    cw_err err = {0};
    req->was_again = true;
    cw_way_move(req, &way->running);
    cw_code rc = cw_way_transmit(way, req, &err);
    if (!rc)
        return;
    cw_reply reply = {rc == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT, NULL, err.msg, NULL};
    cw_way_tell(req, &reply);
}

/* An answer that asks for a header to be repeated. */
static bool take_handshake(cw_way *way, const cw_client_answer *answer)
{
    const cw_service *s = way->service;
    if (!s->config.handshake_header.n || answer->status != s->config.handshake_status)
        return false;
    cw_str value = answer->kept[CW_WAY_HANDSHAKE];
    char *copy = value.p ? cw_str_dup(value) : NULL;
    if (!copy)
        return false;
    free(way->handshake);
    way->handshake = copy;
    return true;
}

/* Whether a request that was refused is tried once more; neither refusal carried it out. */
static bool retry(cw_way *way, cw_way_req *req, const cw_client_answer *answer)
{
    if (req->was_again)
        return false;
    if (take_handshake(way, answer)) {
        send_again(way, req);
        return true;
    }
    if (!cw_way_log_out(way, answer->status))
        return false;
    req->was_again = true;
    cw_way_wait(way, req);
    return true;
}

static void on_done(cw_client_req *http, cw_client_end end, const cw_client_answer *answer,
                    const char *why)
{
    cw_way_req *req = http->ctx;
    cw_way *way = req->way;
    req->is_sent = false;
    if (end == CW_CLIENT_OK && retry(way, req, answer))
        return;
    cw_reply reply = {end, answer, why, &way->session};
    cw_way_tell(req, &reply);
}

/* PATH?query=…; NULL where it is too long, or without memory: POST will do as well. */
static char *make_query(const cw_way *way, const cw_way_req *req)
{
    cw_str path = req->path.n ? req->path : way->service->url.path;
    cw_buf out;
    cw_buf_init(&out, CW_WAY_QUERY_MAX);
    cw_buf_add(&out, path);
    cw_buf_add_char(&out, memchr(path.p, '?', path.n) ? '&' : '?');
    cw_buf_add(&out, CW_STR("query="));
    for (size_t i = 0; i < req->n_body; i++)
        cw_percent_encode(&out, req->body[i]);
    char *text = cw_buf_take(&out, NULL);
    cw_buf_done(&out);
    return text;
}

void cw_way_headers_done(cw_way_headers *headers)
{
    free(headers->texts);
    *headers = (cw_way_headers){.n = 0};
}

cw_code cw_way_headers_make(const cw_way *way, cw_way_headers *ret, cw_err *err)
{
    const cw_http_header all[] = {
        {CW_STR("Cookie"), cw_str_from(way->cookies)},
        {way->service->config.handshake_header, cw_str_from(way->handshake)},
        {CW_STR("Authorization"), cw_str_from(way->bearer.token)},
    };
    size_t size = 0;
    cw_way_headers_done(ret);
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

cw_code cw_way_transmit(cw_way *way, cw_way_req *req, cw_err *err)
{
    cw_code rc = cw_way_headers_make(way, &req->headers, err);
    if (rc)
        return rc;
    if (cw_way_gets(way, req->reads) && req->n_body && !req->query)
        req->query = make_query(way, req);
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
    rc = cw_client_send(way->client, &req->http, err);
    req->is_sent = rc == CW_OK;
    return rc;
}
