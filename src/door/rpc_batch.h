/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rpc_batch.h - one request with one JSON-RPC message or a batch of them.
 *
 * A single message is answered as soon as its answer exists; the answers of a batch are collected and sent
 * in the order of the requests. When the client disconnects, running calls are cancelled (or continue, if
 * the protocol requires it).
 *
 *     cw_rpc_batch *batch = cw_rpc_batch_new(responder, &opts);
 *     for each message: start a call, or cw_rpc_item_reply, or cw_rpc_item_no_reply
 *     cw_rpc_batch_finish(batch);
 *
 * Ownership: a batch and its items live in the responder's arena, and so end with the answer: after
 *            cw_rpc_item_reply or _no_reply on a single message neither may be touched.
 * Threads:   the request's loop.
 * Limits:    CW_RPC_BATCH_MAX_BYTES of answers in one batch; cw_call_steps of validation.
 */
#ifndef CW_DOOR_RPC_BATCH_H
#define CW_DOOR_RPC_BATCH_H

#include "base/buf.h"
#include "call/call.h"
#include "door/operation.h"
#include "door/responder.h"

#define CW_RPC_BATCH_MAX_BYTES (64u * 1024u * 1024u)

typedef struct cw_rpc_batch cw_rpc_batch;
typedef struct cw_door_form cw_door_form;

typedef struct cw_rpc_item {
    cw_rpc_batch *batch;
    cw_str id;           /* as it was sent; .p NULL: none to answer to */
    cw_call_handle call; /* what runs for it */
    cw_str answer;       /* of a batch, until it is sent */
    uint32_t retry_s;    /* set before the answer: when it may be tried again; single ones only */
    cw_str plain;        /* likewise: cw_response.plain */
    cw_str shared;       /* likewise: held by the arena, sent at `shared_at` of the answer */
    size_t shared_at;
    void (*on_gone)(struct cw_rpc_item *item);     /* or NULL; then the call is left as well */
    void (*on_stopping)(struct cw_rpc_item *item); /* or NULL: it may answer */
    void *self;                                    /* owner's, of the two above */
    cw_operation op;
} cw_rpc_item;

typedef struct cw_rpc_batch_opts {
    cw_runtime_loop *rl;      /* NULL: no call is made */
    cw_view *view;            /* borrowed, for this callback */
    uint32_t n;               /* messages */
    bool is_batch;            /* answer with an array */
    bool detaches;            /* calls go on when the client leaves */
    unsigned none_status;     /* when there is nothing to answer: 202 or 204 */
    cw_str language;          /* Content-Language; empty: none */
    cw_str session;           /* a new one, for the answer; empty: none */
    const cw_door_form *form; /* of errors (error.h) */
} cw_rpc_batch_opts;

struct cw_rpc_batch {
    cw_rpc_batch_opts opts;
    cw_responder *responder;
    uint32_t n_open; /* messages without an answer */
    bool is_starting;
    bool is_stopping; /* the server is: nothing waits */
    bool is_too_large;
    size_t bytes;
    int64_t steps; /* left of what validating the arguments of all messages may cost */
    cw_rpc_item items[];
};

/* NULL without memory (the request is then answered). Uses the responder's listener. */
cw_rpc_batch *cw_rpc_batch_new(cw_responder *responder, const cw_rpc_batch_opts *opts);
/* The same with a new responder for the request. */
cw_rpc_batch *cw_rpc_batch_of(cw_http_req *req, const cw_rpc_batch_opts *opts);
/* Cancel the calls of a batch with `detaches` when the client disconnects after all. */
void cw_rpc_batch_cancel_on_disconnect(cw_rpc_batch *batch);
/* Answer one message. Takes over what `body` holds; a buffer that failed becomes a 500. The
 * challenge (WWW-Authenticate, empty: none) and the status count for a single message only. */
void cw_rpc_item_reply(cw_rpc_item *item, unsigned status, cw_buf *body, cw_str challenge);
/* Whether its answer may have a shared part. */
bool cw_rpc_item_can_share(const cw_rpc_item *item);
/* The message has no answer. */
void cw_rpc_item_no_reply(cw_rpc_item *item);
/* All messages of a batch were processed. Not for a single message. */
void cw_rpc_batch_finish(cw_rpc_batch *batch);

/* The method of an item is unknown. While sources are loading (call/catalogue_wait.h), wait for
 * another catalogue and then call `again`, with opts.view renewed; the item must not be touched
 * before. False: refuse it now. `ctx` lives as long as the responder. */
typedef void (*cw_rpc_item_retry_fn)(cw_rpc_item *item, void *ctx);
CW_MUST_USE bool cw_rpc_item_wait_catalogue(cw_rpc_item *item, cw_rpc_item_retry_fn again,
                                            void *ctx);

/* Move the bytes of a buffer into an arena; .p is NULL when that fails. The buffer ends. */
cw_str cw_rpc_batch_keep(cw_arena *arena, cw_buf *b);

#endif
