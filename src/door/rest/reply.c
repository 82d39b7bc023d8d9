/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reply.c - errors and cached documents of the REST door. */
#include "door/rest/reply.h"

#include "door/negotiate.h"
#include "door/oauth_challenge.h"

#define MAX_HEADERS 10
#define MARK 1 /* a byte that no JSON text has */

void cw_rest_fail(cw_http_req *req, unsigned status, const char *code, const char *message)
{
    cw_door_reply_error_all(
        req, &cw_door_rest,
        &(cw_door_error){.status = status, .name = code, .text = cw_str_from(message)});
}

/* ---- addresses in documents ---- */

static bool is_mark(cw_str base)
{
    return base.n == 1 && base.p[0] == MARK;
}

bool cw_rest_set_base(cw_http_req *req, cw_runtime_loop *rl, cw_rest_document *doc)
{
    static const char mark = MARK;
    bool is_known;
    doc->base = cw_oauth_resource_base(req, rl, &is_known);
    doc->key.base = is_known ? doc->base : cw_str_make(&mark, 1);
    if (!doc->base.p)
        cw_door_fail_nomem_all(req, &cw_door_rest);
    return doc->base.p;
}

void cw_rest_add_url_item(cw_json_writer *w, cw_str base, cw_str path)
{
    cw_buf url;
    cw_buf_init(&url, CW_BUF_MAX);
    cw_buf_add(&url, is_mark(base) ? CW_STR("?") : base);
    cw_buf_add(&url, path);
    if (url.code && !w->out->code)
        w->out->code = url.code;
    size_t at = w->out->n;
    cw_json_add_string(w, cw_buf_str(&url));
    if (is_mark(base) && w->out->n > at + 1)
        w->out->p[at + 1] = MARK; /* behind the quote; the writer would escape it */
    cw_buf_done(&url);
}

void cw_rest_add_url(cw_json_writer *w, cw_str name, cw_str base, cw_str path)
{
    cw_json_add_key(w, name);
    cw_rest_add_url_item(w, base, path);
}

/* ---- the answer ---- */

typedef struct header_list {
    cw_http_header items[MAX_HEADERS];
    size_t n;
} header_list;

static void add_header(header_list *list, cw_str name, cw_str value)
{
    list->items[list->n++] = (cw_http_header){name, value};
}

static void add_debug(header_list *list, const cw_rest_document *doc, const cw_page *d, bool is_hit)
{
    add_header(list, CW_STR("X-Causeway-Cache"), is_hit ? CW_STR("HIT") : CW_STR("MISS"));
    add_header(list, CW_STR("X-Causeway-Cache-Tags"), cw_page_cache_tags_text(d->tags));
    add_header(list, CW_STR("X-Causeway-Cache-Contexts"), cw_str_from(doc->contexts));
    add_header(list, CW_STR("X-Causeway-Cache-Max-Age"), CW_STR("-1"));
}

/* Caches must revalidate: the caller's view can change before its next request. Revalidation is
 * cheap. */
static void answer(cw_http_req *req, const cw_runtime_loop *rl, const cw_rest_document *doc,
                   cw_page *d, bool is_hit)
{
    header_list headers = {.n = 0};
    cw_http_response answer = {.status = 200, .type = doc->type, .body = cw_buf_str(&d->body)};
    cw_str etag = cw_page_etag(d), packed_etag = cw_page_packed_etag(d);
    cw_str packed = cw_negotiate_gzip(req) ? cw_page_pack(d) : CW_STR("");
    cw_str other = packed.n ? etag : packed_etag;
    if (packed.n)
        etag = packed_etag;
    /* A client that has the other form has what it asks for. */
    if (cw_negotiate_has(req, etag)) {
        answer = (cw_http_response){.status = 304};
    } else if (cw_negotiate_has(req, other)) {
        answer = (cw_http_response){.status = 304};
        etag = other;
    } else if (packed.n) {
        answer.body = packed;
        add_header(&headers, CW_STR("Content-Encoding"), CW_STR("gzip"));
    }
    add_header(&headers, CW_STR("ETag"), etag);
    cw_str keep = doc->is_public ? CW_STR("no-cache") : CW_STR("no-cache, private");
    add_header(&headers, CW_STR("Cache-Control"),
               doc->is_open ? CW_STR("public, max-age=3600") : keep);
    if (doc->is_open)
        add_header(&headers, CW_STR("Access-Control-Allow-Origin"), CW_STR("*"));
    add_header(&headers, CW_STR("Vary"),
               doc->is_public ? CW_STR("Accept-Encoding")
                              : CW_STR("Authorization, Cookie, Accept-Language, Accept-Encoding"));
    if (doc->language)
        add_header(&headers, CW_STR("Content-Language"), cw_language_tag(doc->language));
    if (cw_runtime_config(rl)->debug_headers)
        add_debug(&headers, doc, d, is_hit);
    answer.headers = headers.items;
    answer.n_headers = headers.n;
    cw_http_reply(req, &answer);
}

/* The document for this request. *ret holds a reference. */
static cw_code find_document(cw_runtime_loop *rl, const cw_rest_document *doc, cw_page **ret,
                             bool *ret_hit)
{
    cw_page *d;
    cw_code rc =
        cw_page_cache_get(cw_runtime_cache(rl), &doc->key, doc->write, doc->ctx, &d, ret_hit);
    if (rc || !is_mark(doc->key.base)) {
        *ret = d;
        return rc;
    }
    *ret = cw_page_fill(d, MARK, doc->base);
    cw_page_unref(d);
    return *ret ? CW_OK : CW_NOMEM;
}

void cw_rest_send(cw_http_req *req, cw_runtime_loop *rl, const cw_rest_document *doc)
{
    cw_page *d;
    bool is_hit;
    cw_code rc = find_document(rl, doc, &d, &is_hit);
    /* The bytes must live until they are sent, also when the cache drops them. */
    if (!rc)
        rc = cw_arena_hold(cw_http_req_arena(req), d, cw_page_unref);
    if (rc) {
        cw_responder_reply_http(
            req, &(cw_response){.status = cw_door_rest.bad_status, .body = cw_door_rest.failure});
        return;
    }
    answer(req, rl, doc, d, is_hit);
}
