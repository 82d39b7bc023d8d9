/* SPDX-License-Identifier: GPL-2.0-or-later */
/* error.c - error answers in the form of each door. */
#include "door/error.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "json/write.h"

/* ---- forms ---- */

static void write_rpc(cw_buf *out, const cw_door_error *e, cw_str id)
{
    if (e->message.p)
        cw_rpc_error(out, e->code, e->message, e->data, id);
    else
        cw_rpc_fail(out, e->code, e->text, id);
}

static void write_mcp(cw_buf *out, const cw_door_error *e, cw_str id)
{
    if (e->message.p)
        cw_rpc_error(out, e->code, e->message, e->data, id);
    else
        cw_rpc_explain(out, e->code, e->text, id);
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
    .write = write_mcp,
    .failure = CW_STR_INIT(RPC_FAILURE "}"),
    .plain_failure = CW_STR_INIT("Internal error."),
    .bad_status = 500,
    .names_all = true,
    .explains = true,
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

/* ---- sentences ---- */

void cw_door_add_sentence(cw_buf *out, cw_str text)
{
    if (text.n && text.p[0] >= 'a' && text.p[0] <= 'z') {
        cw_buf_add_char(out, (char)(text.p[0] & ~0x20));
        text = cw_str_make(text.p + 1, text.n - 1);
    }
    cw_buf_add(out, text);
    if (!cw_str_ends(text, CW_STR(".")))
        cw_buf_add_char(out, '.');
}

cw_str cw_door_sentence(cw_arena *arena, cw_str text)
{
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_door_add_sentence(&b, text);
    cw_str ret = cw_rpc_batch_keep(arena, &b);
    return ret.p ? ret : CW_STR("Out of memory.");
}

/* cw_response.plain of an error with this id. A body that is no message has a JSON-RPC error all
 * the same. */
static cw_str plain_of(const cw_door_form *form, const cw_door_error *e, cw_str id, cw_arena *arena)
{
    if (!form->explains || id.p || e->code == CW_RPC_PARSE || e->code == CW_RPC_INVALID)
        return CW_STR("");
    return cw_door_sentence(arena, e->message.p ? e->message : e->text);
}

/* ---- one message ---- */

void cw_door_reply_error(cw_rpc_item *item, const cw_door_error *e)
{
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    item->batch->opts.form->write(&b, e, item->id);
    item->retry_s = e->retry_s;
    cw_operation_set_error(item, e->code, e->message.p ? e->message : e->text);
    item->plain = plain_of(item->batch->opts.form, e, item->id, item->batch->responder->arena);
    cw_rpc_item_reply(item, e->status, &b, e->challenge);
}

void cw_door_fail(cw_rpc_item *item, unsigned status, int64_t code, const char *text)
{
    cw_door_reply_error(
        item, &(cw_door_error){.status = status, .code = code, .text = cw_str_from(text)});
}

cw_str cw_door_excerpt(cw_str text)
{
    return cw_str_make(text.p, cw_utf8_cut(text, CW_CALL_MAX_REPEATED));
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
static cw_response answer_of(const cw_door_form *form, const cw_door_error *e, cw_str id,
                             cw_arena *arena)
{
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    form->write(&b, e, id);
    cw_str body = cw_rpc_batch_keep(arena, &b);
    if (!body.p)
        return (cw_response){
            .status = form->bad_status, .body = form->failure, .plain = form->plain_failure};
    return (cw_response){.status = e->status,
                         .body = body,
                         .challenge = e->challenge,
                         .retry_s = e->retry_s,
                         .plain = plain_of(form, e, id, arena)};
}

void cw_door_reply_error_all(cw_http_req *req, const cw_door_form *form, const cw_door_error *e)
{
    cw_response answer = answer_of(form, e, form->id, cw_http_req_arena(req));
    cw_responder_reply_http(req, &answer);
}

void cw_door_fail_to(cw_responder *responder, const cw_door_form *form, cw_str id, unsigned status,
                     int64_t code, const char *text)
{
    cw_door_error e = {.status = status, .code = code, .text = cw_str_from(text)};
    cw_response answer = answer_of(form, &e, id.p ? id : form->id, responder->arena);
    cw_responder_reply(responder, &answer);
}

static cw_response failure_of(const cw_door_form *form)
{
    return (cw_response){.status = 500, .body = form->failure, .plain = form->plain_failure};
}

void cw_door_fail_static(cw_responder *responder, const cw_door_form *form)
{
    cw_response answer = failure_of(form);
    cw_responder_reply(responder, &answer);
}

void cw_door_fail_static_all(cw_http_req *req, const cw_door_form *form)
{
    cw_response answer = failure_of(form);
    cw_responder_reply_http(req, &answer);
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
/* Bytes of a message that names what is missing. */
#define REASON_MAX 1024u

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

/* "Insufficient scope: needs a:read, b:write"; the scopes that the caller lacks. */
static cw_str name_scopes(const cw_challenge_input *refused, cw_str message, cw_arena *arena)
{
    const cw_requirements *needs = refused->needs;
    const char *separator = ": needs ";
    cw_buf b;
    cw_buf_init(&b, REASON_MAX);
    cw_buf_add(&b, message);
    for (size_t i = 0; i < needs->n_scopes; i++) {
        if (cw_caller_has_scope(cw_view_caller(refused->view), needs->scopes[i]))
            continue;
        cw_buf_add(&b, cw_str_from(separator));
        cw_buf_add(&b, needs->scopes[i]);
        separator = ", ";
    }
    /* Data names them too, however many there are. */
    cw_str ret = b.code ? (cw_str){NULL, 0} : cw_arena_dup_str(arena, cw_buf_str(&b));
    cw_buf_done(&b);
    return ret.p ? ret : message;
}

static cw_door_error refusal_of(const cw_door_form *form, const cw_challenge_input *refused,
                                cw_arena *arena)
{
    cw_challenge c;
    if (cw_challenge_make(refused, arena, &c))
        return nomem_of(form);
    bool has_data = refused->needs || !form->is_rest;
    cw_str message = cw_str_from(c.message);
    if (form->explains && refused->needs && refused->verdict == CW_VERDICT_NEEDS_SCOPES)
        message = name_scopes(refused, message, arena);
    return (cw_door_error){.status = c.status,
                           .code = CW_CHALLENGE_CODE,
                           .name = c.code,
                           .message = message,
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
