/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upstream_login.c - the login sequence: the OAuth token, then one initial call after the other. */
#include "source/upstream/upstream_login.h"

#include <stdio.h>
#include <stdlib.h>

#include "net/http/http1.h"

#define TOKEN_MAX 16384u
#define TOKEN_MS 300000u   /* lifetime of a token without expires_in */
#define TOKEN_MIN_MS 1000u /* with expires_in 0: one login needs only one request */
#define ANSWER_MAX (1024u * 1024u)

bool cw_oauth_token_is_needed(const cw_oauth_token *b)
{
    return b->service->oauth_basic.n && cw_loop_now(b->loop) >= b->until;
}

/* Keep "Bearer TOKEN", and the time until which it is valid. */
static cw_code take_token(cw_oauth_token *b, cw_str body, cw_arena *arena, cw_err *err)
{
    const cw_json *root;
    cw_code rc = cw_json_read(body, NULL, arena, &root, NULL, err);
    if (rc)
        return rc;
    const cw_json *token = cw_json_get(root, CW_STR("access_token"));
    const cw_json *life = cw_json_get(root, CW_STR("expires_in"));
    uint64_t seconds = 0, ms = TOKEN_MS;
    if (!cw_json_is(token, CW_JSON_STRING) || token->n == 0 || token->n > TOKEN_MAX)
        return cw_fail(err, CW_PARAMS, "no access_token in the answer");
    if (!cw_http_is_value(cw_json_text(token)))
        return cw_fail(err, CW_PARAMS, "an access_token that cannot be sent");
    if (life && cw_json_to_u64(life, &seconds) && seconds < UINT32_MAX)
        ms = seconds ? seconds * 1000 : TOKEN_MIN_MS;
    char *text = malloc(token->n + sizeof "Bearer ");
    if (!text)
        return cw_fail_nomem(err);
    memcpy(text, "Bearer ", 7);
    memcpy(text + 7, cw_json_text(token).p, token->n);
    text[7 + token->n] = 0;
    free(b->token);
    b->token = text;
    /* Renewed a little before it expires: clocks differ, and a call takes time. */
    b->until = cw_loop_now(b->loop) + ms - ms / 10;
    return CW_OK;
}

static void on_answer(cw_fetch *f, const cw_fetch_response *answer, const char *why)
{
    cw_oauth_token *b = CW_CONTAINER(f, cw_oauth_token, fetch);
    cw_err err = {0};
    unsigned status = answer ? answer->status : 0;
    /* RFC 6749, 5.2: an unknown client, or a wrong secret, is 400 or 401. */
    b->is_refused = status == 400 || status == 401 || status == 403;
    if (!answer) {
        b->on_done(b, why);
        return;
    }
    cw_arena arena;
    cw_arena_init(&arena, ANSWER_MAX);
    cw_code rc = status == 200 ? take_token(b, answer->body, &arena, &err)
                               : cw_fail(&err, CW_IO, "the token endpoint answered %u%s", status,
                                         b->is_refused ? ": it refuses our credentials" : "");
    cw_arena_done(&arena);
    b->on_done(b, rc ? err.msg : NULL);
}

static void request_token(cw_oauth_token *b)
{
    const cw_endpoint *s = b->service;
    cw_err err = {0};
    b->is_refused = false;
    cw_code rc = b->fetcher ? CW_OK : cw_fetcher_new(b->loop, &b->fetcher, &err);
    b->fetch = (cw_fetch){
        .url = s->config.oauth.token_url,
        .allow_private = true, /* it is named in the configuration */
        .ca_file = s->config.tls.ca_file.n ? s->config.tls.ca_file.p : NULL,
        .form = s->oauth_form,
        .authorization = s->oauth_basic,
        .on_done = on_answer,
    };
    if (!rc)
        rc = cw_fetcher_start(b->fetcher, &b->fetch, &err);
    if (rc)
        b->on_done(b, err.msg);
}

static void cancel_token(cw_oauth_token *b)
{
    cw_fetch_cancel(&b->fetch);
}

void cw_oauth_token_drop(cw_oauth_token *b)
{
    b->until = 0;
}

static void init_token(cw_oauth_token *b, const cw_endpoint *s, cw_loop *loop,
                       void (*on_done)(cw_oauth_token *b, const char *why))
{
    *b = (cw_oauth_token){.service = s, .loop = loop, .on_done = on_done};
}

static void end_token(cw_oauth_token *b)
{
    cancel_token(b);
    cw_fetcher_close(b->fetcher);
    b->fetcher = NULL;
    free(b->token);
    b->token = NULL;
}

void cw_oauth_token_redact(const cw_oauth_token *b, char *text, size_t n)
{
    cw_str token = {NULL, 0};
    if (b->token)
        cw_str_cut(cw_str_from(b->token), ' ', &token);
    if (token.n < CW_SECRETS_SHORTEST)
        return;
    char *end = text + n;
    for (char *p = text; (p = memmem(p, (size_t)(end - p), token.p, token.n)); p += token.n)
        memset(p, '*', token.n);
}

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
        request_token(&login->oauth);
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
    cw_deadline_clear(&login->limit); /* set by a wait for a greeting */
    login->ops->on_done(login);
}

/* A connection may fail to begin for many reasons; with a secret in the call, the secret is the likely one. */
static cw_client_end error_end(const cw_upstream_login *login)
{
    bool has_secret = cw_secrets_are_in(&login->service->secrets, call_of(login)->params);
    return has_secret ? CW_CLIENT_REFUSED : login->ops->error_end;
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
    fail(login, reply->end == CW_CLIENT_OK ? error_end(login) : CW_CLIENT_CONNECT, outcome.message);
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
    cancel_token(&login->oauth);
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
    init_token(&login->oauth, service, loop, on_token);
}

void cw_upstream_login_done(cw_upstream_login *login)
{
    cw_deadline_clear(&login->limit);
    cw_loop_unwatch(login->loop, &login->limits);
    end_token(&login->oauth);
}

void cw_upstream_login_free(cw_upstream_login *login)
{
    cw_arena_done(&login->scratch);
}
