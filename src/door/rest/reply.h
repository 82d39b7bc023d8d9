/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reply.h - errors and cached documents of the REST door.
 *
 * Ownership: a document is borrowed until the call returns.
 * Threads:   the loop of the request.
 */
#ifndef CW_DOOR_REST_REPLY_H
#define CW_DOOR_REST_REPLY_H

#include "call/find.h"
#include "door/error.h"
#include "door/query.h"
#include "json/write.h"
#include "net/server/router.h"

/* Answer with an error, never to be stored. */
void cw_rest_fail(cw_http_req *req, unsigned status, const char *code, const char *message);

/* A document to be sent. */
typedef struct cw_rest_document {
    cw_page_cache_key key;
    cw_page_cache_writer write;
    void *ctx;
    const cw_language *language; /* NULL: there are no others */
    const char *contexts;        /* for the debug headers: what it depends on */
    bool is_public;              /* the same for all callers */
    bool is_open;                /* also for pages of every origin, and kept for an hour */
    cw_str type;                 /* empty: application/json */
    cw_str base;                 /* where its addresses begin; cw_rest_set_base */
} cw_rest_document;

/* Set where the addresses in a document begin, for this request: `base`, and key.base for its
 * writer. A base that is one of many does not get a document of its own: key.base is a mark then,
 * and cw_rest_send puts the base in its place. False: no memory, and the request is answered. */
bool cw_rest_set_base(cw_http_req *req, cw_runtime_loop *rl, cw_rest_document *doc);
/* A member "name":"<base><path>"; `base` is a document's key.base. */
void cw_rest_add_url(cw_json_writer *w, cw_str name, cw_str base, cw_str path);
/* The same as the first item of an array. */
void cw_rest_add_url_item(cw_json_writer *w, cw_str base, cw_str path);
/* Find or write it and answer: 200 or 304, gzip or not. */
void cw_rest_send(cw_http_req *req, cw_runtime_loop *rl, const cw_rest_document *doc);

#endif
