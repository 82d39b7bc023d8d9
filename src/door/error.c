/* SPDX-License-Identifier: GPL-2.0-or-later */
/* error.c - error answers in the form of each door. */
#include "door/error.h"

#include <stdio.h>

#include "json/write.h"

/* ---- forms ---- */

static void write_rpc(cw_buf *out, const cw_door_error *e, cw_str id)
{
    if (e->message.p)
        cw_rpc_error(out, e->code, e->message, e->data, id);
    else
        cw_rpc_fail(out, e->code, e->text, id);
}

static void write_rest(cw_buf *out, const cw_door_error *e, cw_str id)
{
    (void)id;
    cw_buf_add(out, CW_STR("{\"error\":{\"code\":"));
    cw_json_escape(out, cw_str_from(e->name));
    cw_buf_add(out, CW_STR(",\"message\":"));
    cw_json_escape(out, e->message.p ? e->message : e->text);
    if (e->data.n) {
        cw_buf_add(out, CW_STR(",\"data\":"));
        cw_buf_add(out, e->data);
    }
    cw_buf_add(out, CW_STR("}}"));
}

#define RPC_FAILURE                                                                                \
    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603,\"message\":\"Internal error\"}"

const cw_door_form cw_door_mcp = {
    .write = write_rpc,
    .failure = CW_STR_INIT(RPC_FAILURE "}"),
    .bad_status = 500,
    .names_all = true,
};

const cw_door_form cw_door_jsonrpc = {
    .write = write_rpc,
    .failure = CW_STR_INIT(RPC_FAILURE ",\"id\":null}"),
    .id = CW_STR_INIT("null"),
    .bad_status = 500,
};

const cw_door_form cw_door_rest = {
    .write = write_rest,
    .failure = CW_STR_INIT("{\"error\":{\"code\":\"internal_error\",\"message\":\"The answer could "
                           "not be written\"}}"),
    .bad_status = 503,
    .is_rest = true,
};

/* ---- one message ---- */

void cw_door_reply_error(cw_rpc_item *item, const cw_door_error *e)
{
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    item->batch->opts.form->write(&b, e, item->id);
    item->retry_s = e->retry_s;
    cw_rpc_item_reply(item, e->status, &b, e->challenge);
}

void cw_door_fail(cw_rpc_item *item, unsigned status, int64_t code, const char *text)
{
    cw_door_reply_error(
        item, &(cw_door_error){.status = status, .code = code, .text = cw_str_from(text)});
}

void cw_door_fail_with(cw_rpc_item *item, unsigned status, int64_t code, cw_buf *message,
                       cw_buf *data)
{
    if (message->code || data->code)
        cw_door_fail_nomem(item);
    else
        cw_door_reply_error(item, &(cw_door_error){.status = status,
                                                   .code = code,
                                                   .message = cw_buf_str(message),
                                                   .data = cw_buf_str(data)});
    cw_buf_done(message);
    cw_buf_done(data);
}

/* ---- the request as a whole ---- */

/* The answer, in the arena or static. */
static cw_response answer_of(const cw_door_form *form, const cw_door_error *e, cw_arena *arena)
{
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    form->write(&b, e, form->id);
    cw_str body = cw_rpc_batch_keep(arena, &b);
    if (!body.p)
        return (cw_response){.status = form->bad_status, .body = form->failure};
    return (cw_response){
        .status = e->status, .body = body, .challenge = e->challenge, .retry_s = e->retry_s};
}

void cw_door_reply_error_all(cw_http_req *req, const cw_door_form *form, const cw_door_error *e)
{
    cw_response answer = answer_of(form, e, cw_http_req_arena(req));
    cw_responder_reply_http(req, &answer);
}

void cw_door_fail_to(cw_responder *responder, const cw_door_form *form, unsigned status,
                     int64_t code, const char *text)
{
    cw_door_error e = {.status = status, .code = code, .text = cw_str_from(text)};
    cw_response answer = answer_of(form, &e, responder->arena);
    cw_responder_reply(responder, &answer);
}

/* ---- kinds of errors ---- */

static cw_door_error nomem_of(const cw_door_form *form)
{
    return (cw_door_error){.status = form->bad_status,
                           .code = CW_RPC_INTERNAL,
                           .name = "unavailable",
                           .text = CW_STR("out of memory")};
}

void cw_door_fail_nomem(cw_rpc_item *item)
{
    cw_door_error e = nomem_of(item->batch->opts.form);
    cw_door_reply_error(item, &e);
}

void cw_door_fail_nomem_all(cw_http_req *req, const cw_door_form *form)
{
    cw_door_error e = nomem_of(form);
    cw_door_reply_error_all(req, form, &e);
}

#define RETRY_DATA 40

static cw_door_error rate_limit_of(const cw_door_form *form, const cw_call_error *refusal,
                                   char data[RETRY_DATA])
{
    snprintf(data, RETRY_DATA, "{\"retry_after\":%u}", refusal->retry_s);
    return (cw_door_error){.status = 429,
                           .code = CW_CHALLENGE_CODE,
                           .name = "too_many_requests",
                           .message = cw_str_from(refusal->err.msg),
                           .data = form->is_rest ? CW_STR("") : cw_str_from(data),
                           .retry_s = refusal->retry_s};
}

void cw_door_fail_rate_limited(cw_rpc_item *item, const cw_call_error *refusal)
{
    char data[RETRY_DATA];
    cw_door_error e = rate_limit_of(item->batch->opts.form, refusal, data);
    cw_door_reply_error(item, &e);
}

void cw_door_fail_rate_limited_all(cw_http_req *req, const cw_door_form *form,
                                   const cw_call_error *refusal)
{
    char data[RETRY_DATA];
    cw_door_error e = rate_limit_of(form, refusal, data);
    cw_door_reply_error_all(req, form, &e);
}

static cw_door_error refusal_of(const cw_door_form *form, const cw_challenge_input *refused,
                                cw_arena *arena)
{
    cw_challenge c;
    if (cw_challenge_make(refused, arena, &c))
        return nomem_of(form);
    bool has_data = refused->needs || !form->is_rest;
    return (cw_door_error){.status = c.status,
                           .code = CW_CHALLENGE_CODE,
                           .name = c.code,
                           .message = cw_str_from(c.message),
                           .data = has_data ? c.data : CW_STR(""),
                           .challenge = c.challenge};
}

void cw_door_refuse(cw_rpc_item *item, cw_verdict verdict, const cw_requirements *needs)
{
    const cw_rpc_batch_opts *opts = &item->batch->opts;
    cw_responder *responder = item->batch->responder;
    cw_challenge_input refused = {.rl = opts->rl,
                                  .req = responder->session ? NULL : cw_responder_req(responder),
                                  .view = opts->view,
                                  .verdict = verdict,
                                  .needs = needs,
                                  .names_all = opts->form->names_all};
    cw_door_error e = refusal_of(opts->form, &refused, responder->arena);
    cw_door_reply_error(item, &e);
}

void cw_door_refuse_all(cw_http_req *req, const cw_door_form *form, cw_runtime_loop *rl,
                        const cw_view *view, cw_verdict verdict, const cw_requirements *needs)
{
    cw_challenge_input refused = {.rl = rl,
                                  .req = req,
                                  .view = view,
                                  .verdict = verdict,
                                  .needs = needs,
                                  .names_all = form->names_all};
    cw_door_error e = refusal_of(form, &refused, cw_http_req_arena(req));
    cw_door_reply_error_all(req, form, &e);
}
