/* SPDX-License-Identifier: GPL-2.0-or-later */
/* issuer_ask.c - those who wait for an issuer, and introspection. All on the main loop but asking.
 *
 *     asked ─► JWT:     keys there, or a refresh of them ─► checked again
 *            └ opaque:  each issuer that can be asked, in their order, until one knows it
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "access/issuer_int.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/percent.h"

#define FORM_MAX (3u * CW_JWS_MAX_BYTES + 64u)
#define SECRET_MAX 4096u
#define COMPLAINT_MS 60000u

static void end(cw_issuer_ask *ask, cw_code rc)
{
    cw_issuers *is = ask->issuers;
    pthread_mutex_lock(&is->lock);
    is->n_asks--;
    pthread_mutex_unlock(&is->lock);
    cw_issuer_unref(ask->issuer);
    ask->issuer = NULL;
    cw_issuer_set_unref(ask->set);
    ask->set = NULL;
    ask->done(ask, rc);
}

static void wait_for(cw_issuer *issuer, cw_issuer_ask *ask)
{
    ask->issuer = cw_issuer_ref(issuer);
    ask->next = issuer->waiting;
    issuer->waiting = ask;
}

/* ---- introspection ---- */

/* Whoever shows opaque tokens gets 503 meanwhile, and must not be able to fill the log. */
static void complain(cw_issuer *issuer, const char *why)
{
    uint64_t now = cw_clock_ms();
    if (now < issuer->next_complaint)
        return;
    issuer->next_complaint = now + COMPLAINT_MS;
    cw_log(CW_LOG_WARN, "access", "an issuer cannot be asked about tokens",
           CW_KV("issuer", issuer->opts.rules.issuer), CW_KV("problem", cw_str_from(why)));
}

/* client_secret_basic (RFC 6749, 2.3.1): both are encoded as in a form first. */
static void add_basic(cw_buf *out, const cw_issuer_opts *o)
{
    cw_buf pair;
    cw_buf_init(&pair, SECRET_MAX);
    cw_percent_encode(&pair, o->client_id);
    cw_buf_add_char(&pair, ':');
    cw_percent_encode(&pair, o->client_secret);
    char text[CW_BASE64_TEXT(SECRET_MAX)];
    cw_buf_add(out, CW_STR("Basic "));
    if (pair.code)
        out->code = pair.code;
    else
        cw_buf_add_bytes(out, text, cw_base64_encode(cw_buf_str(&pair), text));
    sodium_memzero(text, sizeof text);
    if (pair.p)
        sodium_memzero(pair.p, pair.n);
    cw_buf_done(&pair);
}

/* What an issuer says about a token is held against the rules for its JWTs; only type and
 * algorithm have nothing to be held against. */
static cw_code check_answer(cw_issuer_ask *ask, cw_str body)
{
    cw_issuer *issuer = ask->issuer;
    cw_jwt *jwt = &ask->issued.jwt;
    cw_jwt_rules rules = issuer->opts.rules;
    *jwt = (cw_jwt){.jws = {.alg = CW_JOSE_RS256, .typ = CW_STR("at+jwt")}};
    cw_str copy = cw_arena_dup_str(ask->arena, body);
    if (!copy.p)
        return cw_arena_code(ask->arena);
    cw_code rc = cw_jose_read_object(copy, ask->arena, &jwt->claims);
    if (rc == CW_PARSE)
        complain(issuer, "the answer is no JSON object");
    if (rc)
        return rc == CW_PARSE ? CW_IO : rc;
    if (!cw_json_is(cw_json_get(jwt->claims, CW_STR("active")), CW_JSON_TRUE))
        return CW_INVALID;
    const cw_json *iss = cw_json_get(jwt->claims, CW_STR("iss"));
    jwt->issuer = rules.issuer;
    if (iss)
        jwt->issuer = cw_json_is(iss, CW_JSON_STRING) ? cw_json_text(iss) : (cw_str){NULL, 0};
    rules.algs = CW_JOSE_RS256;
    rules.accept_untyped = true;
    return cw_jwt_check_claims(jwt, &rules, cw_clock_wall_ms(), ask->arena, NULL);
}

static void ask_next(cw_issuer_ask *ask);

static void forget(cw_issuer_ask *ask)
{
    cw_issuer_ask **at = &ask->issuers->introspecting;
    while (*at != ask)
        at = &(*at)->next;
    *at = ask->next;
}

static void on_introspected(cw_fetch *f, const cw_fetch_answer *answer, const char *why)
{
    cw_issuer_ask *ask = CW_CONTAINER(f, cw_issuer_ask, fetch);
    char status[64];
    cw_code rc = CW_IO;
    forget(ask);
    if (answer && answer->status == 200) {
        rc = check_answer(ask, answer->body);
    } else {
        if (answer)
            snprintf(status, sizeof status, "the answer is %u%s", answer->status,
                     answer->status == 401 ? ": client_id or its secret is wrong" : "");
        complain(ask->issuer, answer ? status : why);
    }
    if (rc == CW_OK)
        ask->issued.issuer = cw_issuer_ref(ask->issuer);
    if (rc == CW_IO)
        ask->is_unreachable = true;
    if (rc == CW_OK || rc == CW_NOMEM || rc == CW_LIMIT) {
        end(ask, rc);
        return;
    }
    cw_issuer_unref(ask->issuer);
    ask->issuer = NULL;
    ask->at++;
    ask_next(ask);
}

/* One network, and all of them, may not take the fetcher's places: keys need some as well. */
static bool has_place(const cw_issuer_ask *ask)
{
    const unsigned widest = CW_NETWORK_LEVELS - 1;
    unsigned all = 0, near = 0;
    for (const cw_issuer_ask *a = ask->issuers->introspecting; a; a = a->next) {
        all++;
        near += a->network.keys[widest] == ask->network.keys[widest];
    }
    return all < CW_ISSUER_MAX_INTROSPECTING && near < CW_ISSUER_MAX_OF_NETWORK;
}

static cw_code introspect(cw_issuer_ask *ask, cw_issuer *issuer, cw_str url, cw_err *err)
{
    if (!has_place(ask))
        return cw_fail(err, CW_LIMIT, "too many tokens are asked about at once");
    CW_CLEANUP(cw_buf_done) cw_buf form, authorization;
    cw_buf_init(&form, FORM_MAX);
    cw_buf_init(&authorization, 2 * SECRET_MAX);
    cw_buf_add(&form, CW_STR("token_type_hint=access_token&token="));
    cw_percent_encode(&form, ask->token);
    add_basic(&authorization, &issuer->opts);
    cw_code rc = form.code ? form.code : authorization.code;
    ask->fetch = (cw_fetch){
        .url = url,
        .allow_private = issuer->opts.allow_private,
        .ca_file = issuer->opts.ca_file.n ? issuer->opts.ca_file.p : NULL,
        .form = cw_buf_str(&form),
        .authorization = cw_buf_str(&authorization),
        .on_done = on_introspected,
    };
    if (rc)
        cw_fail(err, rc, "%s", cw_code_text(rc));
    else
        rc = cw_fetcher_start(ask->issuers->fetcher, &ask->fetch, err);
    if (!rc) {
        ask->issuer = cw_issuer_ref(issuer);
        ask->next = ask->issuers->introspecting;
        ask->issuers->introspecting = ask;
    }
    if (form.p)
        sodium_memzero(form.p, form.n);
    if (authorization.p)
        sodium_memzero(authorization.p, authorization.n);
    return rc;
}

static void ask_next(cw_issuer_ask *ask)
{
    for (; ask->at < ask->set->n; ask->at++) {
        cw_issuer *issuer = ask->set->items[ask->at];
        cw_str url = cw_issuer_introspection(issuer);
        if (!cw_issuer_introspects(issuer, ask->token))
            continue;
        if (!url.n && cw_issuer_is_busy(issuer)) {
            wait_for(issuer, ask);
            return;
        }
        cw_err err = {.msg = "its metadata names no introspection endpoint"};
        if (ask->issuers->is_closed)
            break;
        if (url.n && !introspect(ask, issuer, url, &err))
            return;
        complain(issuer, err.msg);
        ask->is_unreachable = true;
    }
    end(ask, ask->is_unreachable || ask->issuers->is_closed ? CW_IO : CW_INVALID);
}

/* ---- keys ---- */

/* Begin, or after waiting (is_last): the answer now. */
static void go_on(cw_issuer_ask *ask, bool is_last)
{
    if (ask->set) {
        ask_next(ask);
        return;
    }
    cw_code rc = cw_issuers_find(ask->issuers, ask->token, ask->arena, &ask->issued, NULL);
    cw_issuer *issuer = ask->issued.issuer;
    if (!rc && !ask->verifies) {
        end(ask, CW_AGAIN);
        return;
    }
    if (!rc)
        rc = cw_issued_verify(&ask->issued, ask->arena, NULL);
    if (rc != CW_AGAIN) {
        if (rc)
            cw_issued_done(&ask->issued);
        end(ask, rc);
        return;
    }
    if (!issuer) {
        ask->set = cw_issuer_set_of(ask->issuers);
        if (ask->set)
            ask_next(ask);
        else
            end(ask, CW_INVALID);
        return;
    }
    bool has_keys = issuer->keys != NULL;
    bool may_wait = !is_last && !issuer->is_retired;
    /* Without keys, whoever failed to get them tries again by itself. */
    if (may_wait && has_keys && !cw_issuer_is_busy(issuer)) {
        cw_issuer_refresh(issuer);
        atomic_store(&issuer->next_forced, cw_clock_ms() + CW_ISSUER_FORCED_MS);
    }
    if (may_wait && cw_issuer_is_busy(issuer))
        wait_for(issuer, ask);
    else
        is_last = true;
    cw_issued_done(&ask->issued);
    if (is_last)
        end(ask, has_keys ? CW_INVALID : CW_IO);
}

void cw_issuer_tell(cw_issuer *issuer)
{
    cw_issuer_ask *ask = issuer->waiting;
    issuer->waiting = NULL;
    while (ask) {
        cw_issuer_ask *next = ask->next;
        cw_issuer_unref(ask->issuer);
        ask->issuer = NULL;
        go_on(ask, /* is_last= */ true);
        ask = next;
    }
}

static cw_issuer_ask *take_asked(cw_issuers *is)
{
    pthread_mutex_lock(&is->lock);
    cw_issuer_ask *asked = is->asked;
    is->asked = NULL;
    is->asked_end = &is->asked;
    is->is_posted = false;
    pthread_mutex_unlock(&is->lock);
    return asked;
}

/* On the main loop: what was asked. */
static void on_asked(void *arg)
{
    cw_issuer_ask *ask = take_asked(arg);
    while (ask) {
        cw_issuer_ask *next = ask->next;
        go_on(ask, /* is_last= */ false);
        ask = next;
    }
}

void cw_issuers_end_asks(cw_issuers *is)
{
    pthread_mutex_lock(&is->lock);
    is->is_closed = true;
    pthread_mutex_unlock(&is->lock);
    cw_issuer_ask *ask = take_asked(is);
    while (ask) {
        cw_issuer_ask *next = ask->next;
        end(ask, CW_IO);
        ask = next;
    }
}

void cw_issuers_end_introspections(cw_issuers *is)
{
    while (is->introspecting) {
        cw_issuer_ask *ask = is->introspecting;
        is->introspecting = ask->next;
        cw_fetch_cancel(&ask->fetch);
        end(ask, CW_IO);
    }
}

cw_code cw_issuers_ask(cw_issuers *is, cw_issuer_ask *ask)
{
    cw_code rc = CW_OK;
    ask->next = NULL;
    ask->issuer = NULL;
    ask->set = NULL;
    ask->at = 0;
    ask->is_unreachable = false;
    ask->issuers = is;
    ask->issued = (cw_issued){0};
    pthread_mutex_lock(&is->lock);
    if (is->is_closed)
        rc = CW_IO;
    else if (is->n_asks == CW_ISSUER_MAX_ASKS)
        rc = CW_LIMIT;
    else if (!is->is_posted)
        rc = cw_loop_post(is->loop, on_asked, is);
    if (!rc) {
        is->is_posted = true;
        is->n_asks++;
        *is->asked_end = ask;
        is->asked_end = &ask->next;
    }
    pthread_mutex_unlock(&is->lock);
    return rc;
}
