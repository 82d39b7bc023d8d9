/* SPDX-License-Identifier: GPL-2.0-or-later */
/* way_login.c - what a service over HTTP wants first: a token of its authorization server, then
 * the calls of the prelude, whose cookies are kept.
 *
 *     NONE ─► RUNS: token? ─► prelude* ─► DONE ─► NONE when it answers 401, or the token ends
 *
 * Each loop logs in for itself.
 */
#include <stdio.h>
#include <stdlib.h>

#include "source/way_int.h"

#define WHY_MAX 300u
#define COOKIE_MIN 8u /* bytes of a value that can be a secret, and no word of a language */

static void go_on(cw_way *way);

bool cw_way_is_logged_in(const cw_way *way)
{
    const cw_service *s = way->service;
    bool says_nothing = s->config.prelude.n == 0 && s->oauth_basic.n == 0;
    return says_nothing || (way->login == CW_LOGIN_DONE && !cw_bearer_is_due(&way->bearer));
}

bool cw_way_log_out(cw_way *way, unsigned status)
{
    const cw_service *s = way->service;
    bool has_prelude = s->config.prelude.n && (status == 401 || status == 403);
    bool has_token = s->oauth_basic.n && status == 401;
    if (!has_prelude && !has_token)
        return false;
    if (way->login == CW_LOGIN_DONE) {
        way->login = CW_LOGIN_NONE;
        cw_bearer_drop(&way->bearer);
    }
    return true;
}

static void end_login(cw_way *way, cw_client_end end, const char *what, cw_str why)
{
    char text[WHY_MAX];
    snprintf(text, sizeof text, "%s: %.*s", what, CW_STR_ARG(why));
    way->login = CW_LOGIN_NONE;
    cw_way_fail_waiting(way, end, text);
}

static void give_up(cw_way *way, const char *what, cw_str why)
{
    end_login(way, CW_CLIENT_CONNECT, what, why);
}

static void on_token(cw_bearer *b, const char *why)
{
    cw_way *way = CW_CONTAINER(b, cw_way, bearer);
    if (why)
        end_login(way, b->is_refused ? CW_CLIENT_REFUSED : CW_CLIENT_CONNECT, "token",
                  cw_str_from(why));
    else
        go_on(way);
}

/* ---- the prelude ---- */

static void keep_cookies(cw_way *way, const cw_client_answer *answer)
{
    char *copy = answer->cookies.n ? cw_str_dup(answer->cookies) : NULL;
    if (!copy)
        return;
    free(way->cookies);
    way->cookies = copy;
}

static void on_prelude(cw_client_req *http, cw_client_end end, const cw_client_answer *answer,
                       const char *why)
{
    cw_way *way = http->ctx;
    cw_reply reply = {end, answer, why, &way->session};
    cw_deadline_clear(&way->limit);
    cw_outcome outcome;
    cw_dialect_judge(&way->service->speech, way->service->config.name, way->prelude_id, &reply,
                     &way->scratch, &outcome);
    bool is_notice = way->service->config.prelude.items[way->n_prelude].notify;
    if (outcome.kind != CW_OUTCOME_RESULT && !(is_notice && end == CW_CLIENT_OK)) {
        end_login(way, end == CW_CLIENT_OK ? CW_CLIENT_REFUSED : CW_CLIENT_CONNECT, "login",
                  outcome.message);
        return;
    }
    keep_cookies(way, answer);
    way->n_prelude++;
    go_on(way);
}

/* Nothing waits for ever: calls have their own time, but a login would go on without them. */
static void on_limit(cw_deadline *d)
{
    cw_way *way = CW_CONTAINER(d, cw_way, limit);
    cw_client_cancel(way->client, &way->prelude);
    give_up(way, "login", CW_STR("no answer in time"));
}

static void say_prelude(cw_way *way)
{
    const cw_service *s = way->service;
    const cw_config_prelude *p = &s->config.prelude.items[way->n_prelude];
    cw_err err = {0};
    cw_wire wire;
    cw_arena_reset(&way->scratch);
    cw_code rc = cw_wire_make(&s->speech, p->method, &way->scratch, &wire, &err);
    if (!rc)
        rc = cw_way_headers_make(way, &way->prelude_headers, &err);
    if (!rc) {
        way->prelude_id = ++way->last_id; /* by POST, whatever goes by GET */
        cw_wire_write(&s->speech, &wire, way->prelude_id, p->params, way->prelude_room,
                      way->prelude_body);
        if (p->notify)
            cw_wire_drop_id(&s->speech, way->prelude_body);
        way->prelude = (cw_client_req){
            .method = CW_HTTP_POST,
            .headers = way->prelude_headers.items,
            .n_headers = way->prelude_headers.n,
            .body = way->prelude_body,
            .n_body = CW_WIRE_PIECES,
            .on_done = on_prelude,
            .ctx = way,
        };
        rc = cw_client_send(way->client, &way->prelude, &err);
    }
    if (rc)
        give_up(way, "login", cw_str_from(err.msg));
    else
        cw_loop_set_deadline(way->loop, &way->limit, &way->limits);
}

/* The token and the values of the cookies are as secret as what they were given for. */
static cw_code note_session(cw_way *way)
{
    cw_str token = {NULL, 0}, rest = cw_str_from(way->cookies);
    way->session.n = 0;
    cw_arena_reset(&way->session_texts);
    if (way->bearer.token)
        cw_str_cut(cw_str_from(way->bearer.token), ' ', &token);
    cw_code rc = cw_secrets_add(&way->session, token, &way->session_texts);
    while (rest.n && !rc) {
        cw_str value, pair = cw_str_cut(rest, ';', &rest);
        cw_str_cut(pair, '=', &value);
        if (value.p && value.n >= COOKIE_MIN)
            rc = cw_secrets_add(&way->session, value, &way->session_texts);
    }
    return rc == CW_LIMIT ? CW_OK : rc; /* so many cookies: the first ones */
}

static void go_on(cw_way *way)
{
    if (cw_bearer_is_due(&way->bearer)) {
        cw_bearer_ask(&way->bearer);
        return;
    }
    if (note_session(way)) {
        give_up(way, "login", CW_STR("not enough memory"));
        return;
    }
    if (way->n_prelude < way->service->config.prelude.n) {
        say_prelude(way);
        return;
    }
    way->login = CW_LOGIN_DONE;
    cw_way_send_waiting(way);
}

/* Not within the send that asked for it: that one must return before anybody is told. */
static void on_later(cw_later *later)
{
    cw_way *way = CW_CONTAINER(later, cw_way, later);
    /* The old session ends here: who logs in must not look like somebody who has. */
    free(way->cookies);
    way->cookies = NULL;
    way->n_prelude = 0;
    go_on(way);
}

void cw_way_log_in(cw_way *way)
{
    if (way->login == CW_LOGIN_RUNS)
        return;
    way->login = CW_LOGIN_RUNS;
    way->later.fn = on_later;
    cw_loop_do_later(way->loop, &way->later);
}

void cw_way_login_init(cw_way *way)
{
    cw_deadline_list_init(&way->limits, way->service->config.timeout_ms, on_limit);
    cw_loop_watch(way->loop, &way->limits);
    cw_bearer_init(&way->bearer, way->service, way->loop, on_token);
}

void cw_way_login_done(cw_way *way)
{
    cw_deadline_clear(&way->limit);
    cw_loop_unwatch(way->loop, &way->limits);
    cw_loop_forget_later(&way->later);
    cw_bearer_done(&way->bearer);
    if (way->client && way->prelude.ctx)
        cw_client_cancel(way->client, &way->prelude);
    cw_way_headers_done(&way->prelude_headers);
}
