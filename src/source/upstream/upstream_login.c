/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upstream_login.c - the login sequence: the token, then one initial call after the other. */
#include "source/upstream/upstream_login.h"

#include <stdio.h>

#define WHY_MAX 300u
#define SCRATCH_MAX (1024u * 1024u)

static const cw_config_init_call *call_of(const cw_upstream_login *login)
{
    return &login->service->config.init_calls.items[login->n_answered];
}

static void fail(cw_upstream_login *login, cw_client_end end, cw_str why)
{
    char text[WHY_MAX];
    cw_str method = call_of(login)->method;
    snprintf(text, sizeof text, "initial call '%.*s': %.*s", CW_STR_ARG(method), CW_STR_ARG(why));
    login->ops->on_failed(login, end, text);
}

/* ---- the token ---- */

static void on_token(cw_oauth_token *oauth, const char *why)
{
    cw_upstream_login *login = CW_CONTAINER(oauth, cw_upstream_login, oauth);
    char text[WHY_MAX];
    if (!why) {
        login->ops->on_token(login);
        return;
    }
    snprintf(text, sizeof text, "token: %s", why);
    login->ops->on_failed(login, oauth->is_refused ? CW_CLIENT_REFUSED : CW_CLIENT_CONNECT, text);
}

void cw_upstream_login_start(cw_upstream_login *login)
{
    login->n_answered = 0;
    if (cw_oauth_token_is_needed(&login->oauth))
        cw_oauth_token_request(&login->oauth);
    else
        login->ops->on_token(login);
}

/* ---- the initial calls ---- */

static bool is_answered(const cw_upstream_login *login, const cw_config_init_call *call)
{
    return !call->notify || login->ops->answers_notifications;
}

static cw_code write_call(cw_upstream_login *login, const cw_config_init_call *call, cw_err *err)
{
    const cw_protocol_opts *protocol = &login->service->protocol;
    cw_request_template wire;
    cw_arena_reset(&login->scratch);
    cw_code rc = cw_request_template_make(protocol, call->method, &login->scratch, &wire, err);
    if (rc)
        return rc;
    if (is_answered(login, call))
        login->id = login->ops->next_id(login);
    cw_request_template_write(protocol, &wire, login->id, call->params, login->room, login->body);
    if (call->notify)
        cw_request_template_drop_id(protocol, login->body);
    return CW_OK;
}

void cw_upstream_login_continue(cw_upstream_login *login)
{
    while (login->n_answered < login->service->config.init_calls.n) {
        const cw_config_init_call *call = call_of(login);
        cw_err err = {0};
        cw_code rc = write_call(login, call, &err);
        if (!rc)
            rc = login->ops->send(login, &err);
        if (rc) {
            fail(login, rc == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT, cw_str_from(err.msg));
            return;
        }
        if (is_answered(login, call)) {
            cw_upstream_login_wait(login);
            return;
        }
        login->n_answered++;
    }
    cw_deadline_clear(&login->limit); /* a greeting may be all that was expected */
    login->ops->on_done(login);
}

bool cw_upstream_login_accept(cw_upstream_login *login, const cw_upstream_reply *reply)
{
    const cw_config_init_call *call = call_of(login);
    cw_outcome outcome;
    cw_deadline_clear(&login->limit);
    cw_dialect_parse_response(&login->service->protocol, login->service->config.name, login->id,
                              reply, &login->scratch, &outcome);
    bool is_sent = call->notify && reply->end == CW_CLIENT_OK;
    if (outcome.kind == CW_OUTCOME_RESULT || is_sent) {
        login->n_answered++;
        return true;
    }
    fail(login, reply->end == CW_CLIENT_OK ? login->ops->error_end : CW_CLIENT_CONNECT,
         outcome.message);
    return false;
}

/* ---- time ---- */

static void on_limit(cw_deadline *d)
{
    cw_upstream_login *login = CW_CONTAINER(d, cw_upstream_login, limit);
    login->ops->on_failed(login, CW_CLIENT_CONNECT,
                          "the service did not complete the login in time");
}

void cw_upstream_login_wait(cw_upstream_login *login)
{
    cw_loop_set_deadline(login->loop, &login->limit, &login->limits);
}

void cw_upstream_login_cancel(cw_upstream_login *login)
{
    login->n_answered = 0;
    cw_oauth_token_cancel(&login->oauth);
    cw_deadline_clear(&login->limit);
}

/* ---- lifetime ---- */

void cw_upstream_login_init(cw_upstream_login *login, const cw_endpoint *service, cw_loop *loop,
                            const cw_upstream_login_ops *ops)
{
    login->ops = ops;
    login->service = service;
    login->loop = loop;
    cw_arena_init(&login->scratch, SCRATCH_MAX);
    cw_deadline_list_init(&login->limits, service->config.timeout_ms, on_limit);
    cw_loop_watch(loop, &login->limits);
    cw_oauth_token_init(&login->oauth, service, loop, on_token);
}

void cw_upstream_login_done(cw_upstream_login *login)
{
    cw_deadline_clear(&login->limit);
    cw_loop_unwatch(login->loop, &login->limits);
    cw_oauth_token_done(&login->oauth);
}

void cw_upstream_login_free(cw_upstream_login *login)
{
    cw_arena_done(&login->scratch);
}
