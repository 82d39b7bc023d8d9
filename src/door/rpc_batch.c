/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rpc_batch.c - the messages of one request, and their answers. */
#include "door/rpc_batch.h"

#include <stdlib.h>

#include "call/catalogue_wait.h"
#include "door/error.h"

cw_str cw_rpc_batch_keep(cw_arena *arena, cw_buf *b)
{
    size_t n;
    char *p = b->code ? NULL : cw_buf_take(b, &n);
    if (!p) {
        cw_buf_done(b);
        return (cw_str){NULL, 0};
    }
    /* On failure the bytes are freed by the arena. */
    if (cw_arena_hold(arena, p, free))
        return (cw_str){NULL, 0};
    return cw_str_make(p, n);
}

static void on_gone(cw_rpc_batch *batch)
{
    cw_runtime_loop *rl = batch->opts.rl;
    for (uint32_t i = 0; i < batch->opts.n; i++) {
        cw_rpc_item *item = &batch->items[i];
        cw_operation_end(item, CW_OPERATION_GONE);
        if (item->on_gone)
            item->on_gone(item);
        if (batch->opts.detaches)
            cw_call_detach(rl, item->call, cw_responder_peer(batch->responder));
        else
            cw_call_cancel(rl, item->call);
    }
}

/* An item that answers may be the last one: the batch is gone then. */
static void on_stopping(cw_rpc_batch *batch)
{
    bool is_batch = batch->opts.is_batch;
    batch->is_starting = is_batch; /* nothing is sent before all items know */
    for (uint32_t i = 0, n = batch->opts.n; i < n; i++) {
        if (batch->items[i].on_stopping)
            batch->items[i].on_stopping(&batch->items[i]);
    }
    if (is_batch)
        cw_rpc_batch_finish(batch);
}

static void on_event(cw_responder *responder, cw_responder_event event, void *ctx)
{
    cw_rpc_batch *batch = ctx;
    (void)responder;
    if (event == CW_RESPONDER_GONE)
        on_gone(batch);
    else if (event == CW_RESPONDER_STOPPING)
        on_stopping(batch);
}

cw_rpc_batch *cw_rpc_batch_new(cw_responder *responder, const cw_rpc_batch_opts *opts)
{
    size_t n = sizeof(cw_rpc_batch) + opts->n * sizeof(cw_rpc_item);
    cw_rpc_batch *batch = cw_arena_calloc(responder->arena, 1, n);
    if (!batch) {
        cw_door_fail_static(responder, opts->form);
        return NULL;
    }
    batch->opts = *opts;
    batch->responder = responder;
    batch->n_open = opts->n;
    batch->is_starting = true;
    batch->steps = opts->rl ? cw_call_steps(opts->rl) : 0;
    for (uint32_t i = 0; i < opts->n; i++)
        batch->items[i].batch = batch;
    responder->on_event = on_event;
    responder->ctx = batch;
    if (!opts->detaches)
        cw_responder_cancel_on_eof(responder);
    return batch;
}

void cw_rpc_batch_cancel_on_disconnect(cw_rpc_batch *batch)
{
    batch->opts.detaches = false;
    cw_responder_cancel_on_eof(batch->responder);
}

cw_rpc_batch *cw_rpc_batch_of(cw_http_req *req, const cw_rpc_batch_opts *opts)
{
    cw_responder *responder = cw_responder_of(req);
    if (responder)
        return cw_rpc_batch_new(responder, opts);
    cw_door_fail_static_all(req, opts->form);
    return NULL;
}

bool cw_rpc_item_can_share(const cw_rpc_item *item)
{
    return !item->batch->opts.is_batch && item->batch->responder->takes_parts;
}

/* Reply with the shared part between two parts of the answer. */
static void reply_shared(cw_responder *responder, cw_response *answer, cw_str shared, size_t at)
{
    const cw_str more[CW_HTTP_MORE_PARTS] = {shared,
                                             cw_str_make(answer->body.p + at, answer->body.n - at)};
    answer->more = more;
    answer->body.n = at;
    cw_responder_reply(responder, answer);
}

/* A missing body means that memory ran out: the answer is a failure instead. `item` has what else
 * belongs to the answer; NULL: nothing. */
static void reply(cw_rpc_batch *batch, unsigned status, cw_str body, cw_str challenge,
                  const cw_rpc_item *item)
{
    cw_response answer = {.status = status,
                          .body = body,
                          .challenge = challenge,
                          .session = batch->opts.session,
                          .language = batch->opts.language};
    if (item) {
        answer.retry_s = item->retry_s;
        answer.plain = item->plain;
    }
    if (!body.p) {
        answer.status = 500;
        answer.body = batch->opts.form->failure;
        answer.plain = batch->opts.form->plain_failure;
    } else if (item && item->shared.n) {
        reply_shared(batch->responder, &answer, item->shared, item->shared_at);
        return;
    }
    cw_responder_reply(batch->responder, &answer);
}

static void send_batch(cw_rpc_batch *batch)
{
    cw_buf b;
    bool any = false;
    if (batch->is_too_large) {
        reply(batch, 500, (cw_str){NULL, 0}, CW_STR(""), NULL);
        return;
    }
    cw_buf_init(&b, CW_RPC_BATCH_MAX_BYTES + batch->opts.n + 2);
    cw_buf_reserve(&b, batch->bytes + batch->opts.n + 2);
    for (uint32_t i = 0; i < batch->opts.n; i++) {
        if (!batch->items[i].answer.n)
            continue;
        cw_buf_add_char(&b, any ? ',' : '[');
        cw_buf_add(&b, batch->items[i].answer);
        any = true;
    }
    cw_buf_add_char(&b, ']');
    if (any) {
        reply(batch, 200, cw_rpc_batch_keep(batch->responder->arena, &b), CW_STR(""), NULL);
        return;
    }
    cw_buf_done(&b);
    reply(batch, batch->opts.none_status, CW_STR(""), CW_STR(""), NULL);
}

static void close_item(cw_rpc_batch *batch)
{
    if (--batch->n_open == 0 && !batch->is_starting)
        send_batch(batch);
}

void cw_rpc_item_reply(cw_rpc_item *item, unsigned status, cw_buf *body, cw_str challenge)
{
    cw_rpc_batch *batch = item->batch;
    item->call = (cw_call_handle){0};
    cw_operation_end(item, CW_OPERATION_ANSWERED);
    /* Answers that will not be sent are not kept: a batch has many. */
    if (batch->opts.is_batch &&
        (batch->is_too_large || body->code || body->n > CW_RPC_BATCH_MAX_BYTES - batch->bytes)) {
        batch->is_too_large = true;
        cw_buf_done(body);
        close_item(batch);
        return;
    }
    cw_str kept = cw_rpc_batch_keep(batch->responder->arena, body);
    if (!batch->opts.is_batch) {
        reply(batch, status, kept, challenge, item);
        return;
    }
    if (!kept.p)
        batch->is_too_large = true;
    batch->bytes += kept.n;
    item->answer = kept;
    close_item(batch);
}

void cw_rpc_item_no_reply(cw_rpc_item *item)
{
    cw_rpc_batch *batch = item->batch;
    item->call = (cw_call_handle){0};
    cw_operation_end(item, CW_OPERATION_UNANSWERED);
    if (batch->opts.is_batch)
        close_item(batch);
    else
        reply(batch, batch->opts.none_status, CW_STR(""), CW_STR(""), NULL);
}

void cw_rpc_batch_finish(cw_rpc_batch *batch)
{
    batch->is_starting = false;
    if (batch->n_open == 0)
        send_batch(batch);
}

/* ---- waiting for sources ---- */

typedef struct parked {
    cw_catalogue_wait await;
    cw_rpc_item *item;
    cw_view *view; /* a reference: the one in which the method is missing */
    cw_rpc_item_retry_fn again;
    void *ctx;
} parked;

/* `view` NULL: there is no other. The item and what is parked may be gone afterwards. */
static void resume(parked *p, cw_view *view)
{
    cw_rpc_item *item = p->item;
    cw_view *old = p->view;
    item->on_gone = item->on_stopping = NULL;
    item->self = NULL;
    item->batch->opts.view = view ? view : old;
    p->again(item, p->ctx);
    cw_view_unref(old);
}

static void on_ready(cw_catalogue_wait *w, cw_view *view)
{
    resume(CW_CONTAINER(w, parked, await), view);
}

static void on_parked_gone(cw_rpc_item *item)
{
    parked *p = item->self;
    cw_catalogue_wait_end(&p->await);
    cw_view_unref(p->view);
}

static void on_parked_stopping(cw_rpc_item *item)
{
    parked *p = item->self;
    item->batch->is_stopping = true;
    cw_catalogue_wait_end(&p->await);
    resume(p, NULL);
}

bool cw_rpc_item_wait_catalogue(cw_rpc_item *item, cw_rpc_item_retry_fn again, void *ctx)
{
    cw_rpc_batch *batch = item->batch;
    bool may_wait = cw_runtime_settings_of(batch->opts.rl)->is_loading && !batch->is_stopping;
    parked *p = may_wait && ctx ? cw_arena_calloc(batch->responder->arena, 1, sizeof *p) : NULL;
    if (!p)
        return false;
    *p = (parked){.await = {.on_ready = on_ready}, .item = item, .again = again, .ctx = ctx};
    if (!cw_catalogue_wait_begin(batch->opts.rl, batch->opts.view, &p->await))
        return false;
    p->view = cw_view_ref(batch->opts.view);
    item->on_gone = on_parked_gone;
    item->on_stopping = on_parked_stopping;
    item->self = p;
    return true;
}
