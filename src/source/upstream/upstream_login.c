/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upstream_login.c - what a service over HTTP wants first: a token of its authorization server,
 * then the calls of the prelude, whose cookies are kept.
 *
 *     NONE ─► RUNS: token? ─► prelude* ─► DONE ─► NONE when it answers 401, or the token ends
 *
 * Each loop logs in for itself.
 */
#include <stdio.h>
#include <stdlib.h>

#include "source/upstream/upstream_int.h"

#define WHY_MAX 300u
#define COOKIE_MIN 8u /* bytes of a value that can be a secret, and no word of a language */

static void go_on(cw_upstream *upstream);

bool cw_upstream_is_logged_in(const cw_upstream *upstream)
{
    const cw_endpoint *s = upstream->service;
    bool says_nothing = s->config.init_calls.n == 0 && s->oauth_basic.n == 0;
    return says_nothing || (upstream->login == CW_UPSTREAM_LOGIN_DONE &&
                            !cw_oauth_token_is_needed(&upstream->oauth));
}

bool cw_upstream_log_out(cw_upstream *upstream, unsigned status)
{
    const cw_endpoint *s = upstream->service;
    bool has_prelude = s->config.init_calls.n && (status == 401 || status == 403);
    bool has_token = s->oauth_basic.n && status == 401;
    if (!has_prelude && !has_token)
        return false;
    if (upstream->login == CW_UPSTREAM_LOGIN_DONE) {
        upstream->login = CW_UPSTREAM_LOGIN_NONE;
        cw_oauth_token_drop(&upstream->oauth);
    }
    return true;
}

static void end_login(cw_upstream *upstream, cw_client_end end, const char *what, cw_str why)
{
    char text[WHY_MAX];
    snprintf(text, sizeof text, "%s: %.*s", what, CW_STR_ARG(why));
    upstream->login = CW_UPSTREAM_LOGIN_NONE;
    cw_upstream_fail_waiting(upstream, end, text);
}

static void give_up(cw_upstream *upstream, const char *what, cw_str why)
{
    end_login(upstream, CW_CLIENT_CONNECT, what, why);
}

static void on_token(cw_oauth_token *b, const char *why)
{
    cw_upstream *upstream = CW_CONTAINER(b, cw_upstream, oauth);
    if (why)
        end_login(upstream, b->is_refused ? CW_CLIENT_REFUSED : CW_CLIENT_CONNECT, "token",
                  cw_str_from(why));
    else
        go_on(upstream);
}

/* ---- the prelude ---- */

static void keep_cookies(cw_upstream *upstream, const cw_client_response *answer)
{
    char *copy = answer->cookies.n ? cw_str_dup(answer->cookies) : NULL;
    if (!copy)
        return;
    free(upstream->cookies);
    upstream->cookies = copy;
}

static void on_prelude(cw_client_req *http, cw_client_end end, const cw_client_response *answer,
                       const char *why)
{
    cw_upstream *upstream = http->ctx;
    cw_upstream_reply reply = {end, answer, why, &upstream->session, NULL};
    cw_deadline_clear(&upstream->limit);
    cw_outcome outcome;
    cw_dialect_parse_response(&upstream->service->protocol, upstream->service->config.name,
                              upstream->prelude_id, &reply, &upstream->scratch, &outcome);
    bool is_notice = upstream->service->config.init_calls.items[upstream->n_init_calls].notify;
    if (outcome.kind != CW_OUTCOME_RESULT && !(is_notice && end == CW_CLIENT_OK)) {
        end_login(upstream, end == CW_CLIENT_OK ? CW_CLIENT_REFUSED : CW_CLIENT_CONNECT, "login",
                  outcome.message);
        return;
    }
    keep_cookies(upstream, answer);
    upstream->n_init_calls++;
    go_on(upstream);
}

/* Nothing waits for ever: calls have their own time, but a login would go on without them. */
static void on_limit(cw_deadline *d)
{
    cw_upstream *upstream = CW_CONTAINER(d, cw_upstream, limit);
    cw_client_cancel(upstream->client, &upstream->init_calls);
    give_up(upstream, "login", CW_STR("no answer in time"));
}

static void send_init_calls(cw_upstream *upstream)
{
    const cw_endpoint *s = upstream->service;
    const cw_config_init_call *p = &s->config.init_calls.items[upstream->n_init_calls];
    cw_err err = {0};
    cw_request_template wire;
    cw_arena_reset(&upstream->scratch);
    cw_code rc = cw_request_template_make(&s->protocol, p->method, &upstream->scratch, &wire, &err);
    if (!rc)
        rc = cw_upstream_headers_make(upstream, &upstream->prelude_headers, &err);
    if (!rc) {
        upstream->prelude_id = ++upstream->last_id; /* by POST, whatever goes by GET */
        cw_request_template_write(&s->protocol, &wire, upstream->prelude_id, p->params,
                                  upstream->prelude_room, upstream->prelude_body);
        if (p->notify)
            cw_request_template_drop_id(&s->protocol, upstream->prelude_body);
        upstream->init_calls = (cw_client_req){
            .method = CW_HTTP_POST,
            .headers = upstream->prelude_headers.items,
            .n_headers = upstream->prelude_headers.n,
            .body = upstream->prelude_body,
            .n_body = CW_REQUEST_TEMPLATE_PIECES,
            .on_done = on_prelude,
            .ctx = upstream,
        };
        rc = cw_client_send(upstream->client, &upstream->init_calls, &err);
    }
    if (rc)
        give_up(upstream, "login", cw_str_from(err.msg));
    else
        cw_loop_set_deadline(upstream->loop, &upstream->limit, &upstream->limits);
}

/* The token and the values of the cookies are as secret as what they were given for. */
static cw_code keep_session(cw_upstream *upstream)
{
    cw_str token = {NULL, 0}, rest = cw_str_from(upstream->cookies);
    upstream->session.n = 0;
    cw_arena_reset(&upstream->session_texts);
    if (upstream->oauth.token)
        cw_str_cut(cw_str_from(upstream->oauth.token), ' ', &token);
    cw_code rc = cw_secrets_add(&upstream->session, token, &upstream->session_texts);
    while (rest.n && !rc) {
        cw_str value, pair = cw_str_cut(rest, ';', &rest);
        cw_str_cut(pair, '=', &value);
        if (value.p && value.n >= COOKIE_MIN)
            rc = cw_secrets_add(&upstream->session, value, &upstream->session_texts);
    }
    return rc == CW_LIMIT ? CW_OK : rc; /* so many cookies: the first ones */
}

static void go_on(cw_upstream *upstream)
{
    if (cw_oauth_token_is_needed(&upstream->oauth)) {
        cw_oauth_token_request(&upstream->oauth);
        return;
    }
    if (keep_session(upstream)) {
        give_up(upstream, "login", CW_STR("not enough memory"));
        return;
    }
    if (upstream->n_init_calls < upstream->service->config.init_calls.n) {
        send_init_calls(upstream);
        return;
    }
    upstream->login = CW_UPSTREAM_LOGIN_DONE;
    cw_upstream_send_waiting(upstream);
}

/* Not within the send that asked for it: that one must return before anybody is told. */
static void on_later(cw_deferred *later)
{
    cw_upstream *upstream = CW_CONTAINER(later, cw_upstream, later);
    /* The old session ends here: who logs in must not look like somebody who has. */
    free(upstream->cookies);
    upstream->cookies = NULL;
    upstream->n_init_calls = 0;
    go_on(upstream);
}

void cw_upstream_log_in(cw_upstream *upstream)
{
    if (upstream->login == CW_UPSTREAM_LOGIN_RUNNING)
        return;
    upstream->login = CW_UPSTREAM_LOGIN_RUNNING;
    upstream->later.fn = on_later;
    cw_loop_defer(upstream->loop, &upstream->later);
}

void cw_upstream_login_init(cw_upstream *upstream)
{
    cw_deadline_list_init(&upstream->limits, upstream->service->config.timeout_ms, on_limit);
    cw_loop_watch(upstream->loop, &upstream->limits);
    cw_oauth_token_init(&upstream->oauth, upstream->service, upstream->loop, on_token);
}

void cw_upstream_login_done(cw_upstream *upstream)
{
    cw_deadline_clear(&upstream->limit);
    cw_loop_unwatch(upstream->loop, &upstream->limits);
    cw_loop_cancel_deferred(&upstream->later);
    cw_oauth_token_done(&upstream->oauth);
    if (upstream->client && upstream->init_calls.ctx)
        cw_client_cancel(upstream->client, &upstream->init_calls);
    cw_upstream_headers_done(&upstream->prelude_headers);
}
