/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "door/turn.h"

#include <stdlib.h>

#include "call/await.h"

static cw_str keep(cw_arena *arena, cw_buf *b)
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

cw_str cw_turn_keep(cw_http_req *req, cw_buf *b)
{
    return keep(cw_http_req_arena(req), b);
}

void cw_turn_reply(cw_http_req *req, unsigned status, cw_str body, cw_str challenge)
{
    cw_http_header headers[] = {
        {CW_STR("Cache-Control"), CW_STR("no-store")},
        {CW_STR("WWW-Authenticate"), challenge},
    };
    cw_http_reply(req, &(cw_http_answer){.status = status,
                                         .body = body,
                                         .headers = headers,
                                         .n_headers = challenge.n ? 2 : 1});
}

static void on_gone(cw_turn *turn)
{
    cw_bridge_loop *bl = turn->opts.bl;
    for (uint32_t i = 0; i < turn->opts.n; i++) {
        cw_turn_item *item = &turn->items[i];
        if (item->on_gone)
            item->on_gone(item);
        if (turn->opts.detaches)
            cw_call_detach(bl, item->call, cw_port_peer(turn->port));
        else
            cw_call_leave(bl, item->call);
    }
}

static void on_event(cw_port *port, cw_port_event event, void *ctx)
{
    cw_turn *turn = ctx;
    (void)port;
    if (event == CW_PORT_GONE)
        on_gone(turn);
    else if (event == CW_PORT_STOPPING && !turn->opts.is_batch && turn->items->on_stopping)
        turn->items->on_stopping(turn->items);
}

cw_turn *cw_turn_new(cw_port *port, const cw_turn_opts *opts)
{
    size_t n = sizeof(cw_turn) + opts->n * sizeof(cw_turn_item);
    cw_turn *turn = cw_arena_calloc(port->arena, 1, n);
    if (!turn) {
        cw_port_reply(port, &(cw_port_answer){.status = 500, .body = opts->failure});
        return NULL;
    }
    turn->opts = *opts;
    turn->port = port;
    turn->n_open = opts->n;
    turn->is_starting = true;
    turn->steps = opts->bl ? cw_call_steps(opts->bl) : 0;
    for (uint32_t i = 0; i < opts->n; i++)
        turn->items[i].turn = turn;
    port->on_event = on_event;
    port->ctx = turn;
    if (!opts->detaches)
        cw_port_mind_end(port);
    return turn;
}

void cw_turn_attach(cw_turn *turn)
{
    turn->opts.detaches = false;
    cw_port_mind_end(turn->port);
}

cw_turn *cw_turn_of(cw_http_req *req, const cw_turn_opts *opts)
{
    cw_port *port = cw_port_of(req);
    if (port)
        return cw_turn_new(port, opts);
    cw_turn_reply(req, 500, opts->failure, CW_STR(""));
    return NULL;
}

/* A body that could not be had is a failure, whatever the status was to be. */
static void reply(cw_turn *turn, unsigned status, cw_str body, cw_str challenge, uint32_t retry_s)
{
    cw_port_reply(turn->port, &(cw_port_answer){.status = body.p ? status : 500,
                                                .body = body.p ? body : turn->opts.failure,
                                                .challenge = challenge,
                                                .session = turn->opts.session,
                                                .language = turn->opts.language,
                                                .retry_s = retry_s});
}

static void send_batch(cw_turn *turn)
{
    cw_buf b;
    bool any = false;
    if (turn->is_too_large) {
        reply(turn, 500, turn->opts.failure, CW_STR(""), 0);
        return;
    }
    cw_buf_init(&b, CW_TURN_MAX_BYTES + turn->opts.n + 2);
    cw_buf_reserve(&b, turn->bytes + turn->opts.n + 2);
    for (uint32_t i = 0; i < turn->opts.n; i++) {
        if (!turn->items[i].answer.n)
            continue;
        cw_buf_add_char(&b, any ? ',' : '[');
        cw_buf_add(&b, turn->items[i].answer);
        any = true;
    }
    cw_buf_add_char(&b, ']');
    if (any) {
        reply(turn, 200, keep(turn->port->arena, &b), CW_STR(""), 0);
        return;
    }
    cw_buf_done(&b);
    reply(turn, turn->opts.none_status, CW_STR(""), CW_STR(""), 0);
}

static void close_item(cw_turn *turn)
{
    if (--turn->n_open == 0 && !turn->is_starting)
        send_batch(turn);
}

void cw_turn_answer(cw_turn_item *item, unsigned status, cw_buf *body, cw_str challenge)
{
    cw_turn *turn = item->turn;
    item->call = (cw_call_handle){0};
    /* Answers that will not be sent are not kept: a batch has many. */
    if (turn->opts.is_batch &&
        (turn->is_too_large || body->code || body->n > CW_TURN_MAX_BYTES - turn->bytes)) {
        turn->is_too_large = true;
        cw_buf_done(body);
        close_item(turn);
        return;
    }
    cw_str kept = keep(turn->port->arena, body);
    if (!turn->opts.is_batch) {
        reply(turn, status, kept, challenge, item->retry_s);
        return;
    }
    if (!kept.p)
        turn->is_too_large = true;
    turn->bytes += kept.n;
    item->answer = kept;
    close_item(turn);
}

void cw_turn_skip(cw_turn_item *item)
{
    cw_turn *turn = item->turn;
    item->call = (cw_call_handle){0};
    if (turn->opts.is_batch)
        close_item(turn);
    else
        reply(turn, turn->opts.none_status, CW_STR(""), CW_STR(""), 0);
}

void cw_turn_settle(cw_turn *turn)
{
    turn->is_starting = false;
    if (turn->n_open == 0)
        send_batch(turn);
}

/* ---- waiting for sources ---- */

typedef struct parked {
    cw_await await;
    cw_turn_item *item;
    cw_view *view; /* a reference: the one in which the method is missing */
    cw_turn_again_fn again;
    void *ctx;
} parked;

/* `view` NULL: there is no other. The item and what is parked may be gone afterwards. */
static void resume(parked *p, cw_view *view)
{
    cw_turn_item *item = p->item;
    cw_view *old = p->view;
    item->on_gone = item->on_stopping = NULL;
    item->self = NULL;
    item->turn->opts.view = view ? view : old;
    p->again(item, p->ctx);
    cw_view_unref(old);
}

static void on_ready(cw_await *w, cw_view *view)
{
    resume(CW_CONTAINER(w, parked, await), view);
}

static void on_parked_gone(cw_turn_item *item)
{
    parked *p = item->self;
    cw_await_end(&p->await);
    cw_view_unref(p->view);
}

static void on_parked_stopping(cw_turn_item *item)
{
    parked *p = item->self;
    item->turn->is_stopping = true;
    cw_await_end(&p->await);
    resume(p, NULL);
}

bool cw_turn_await(cw_turn_item *item, cw_turn_again_fn again, void *ctx)
{
    cw_turn *turn = item->turn;
    bool may_wait = cw_bridge_settings_of(turn->opts.bl)->is_loading && !turn->is_stopping;
    parked *p = may_wait && ctx ? cw_arena_calloc(turn->port->arena, 1, sizeof *p) : NULL;
    if (!p)
        return false;
    *p = (parked){.await = {.on_ready = on_ready}, .item = item, .again = again, .ctx = ctx};
    if (!cw_await_begin(turn->opts.bl, turn->opts.view, &p->await))
        return false;
    p->view = cw_view_ref(turn->opts.view);
    item->on_gone = on_parked_gone;
    item->on_stopping = on_parked_stopping;
    item->self = p;
    return true;
}
