/* SPDX-License-Identifier: GPL-2.0-or-later */
/* introspect.c - those who wait for an issuer, and introspection. All on the main loop but asking.
 *
 *     asked ─► JWT:     keys there, or a refresh of them ─► checked again
 *            └ opaque:  each issuer that can be asked, in their order, until one knows it
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "access/issuer/issuer_int.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/percent.h"

#define FORM_MAX (3u * CW_JWS_MAX_BYTES + 64u)
#define SECRET_MAX 4096u
#define COMPLAINT_MS 60000u

static void end(cw_token_check *check, cw_code rc)
{
    cw_issuers *is = check->issuers;
    pthread_mutex_lock(&is->lock);
    is->n_asks--;
    pthread_mutex_unlock(&is->lock);
    cw_issuer_unref(check->issuer);
    check->issuer = NULL;
    cw_issuer_set_unref(check->set);
    check->set = NULL;
    check->done(check, rc);
}

static void wait_for(cw_issuer *issuer, cw_token_check *check)
{
    check->issuer = cw_issuer_ref(issuer);
    check->next = issuer->waiting;
    issuer->waiting = check;
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
static cw_code check_answer(cw_token_check *check, cw_str body)
{
    cw_issuer *issuer = check->issuer;
    cw_jwt *jwt = &check->issued.jwt;
    cw_jwt_rules rules = issuer->opts.rules;
    *jwt = (cw_jwt){.jws = {.alg = CW_JOSE_RS256, .typ = CW_STR("at+jwt")}};
    cw_str copy = cw_arena_dup_str(check->arena, body);
    if (!copy.p)
        return cw_arena_code(check->arena);
    cw_code rc = cw_jose_read_object(copy, check->arena, &jwt->claims);
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
    return cw_jwt_check_claims(jwt, &rules, cw_clock_wall_ms(), check->arena, NULL);
}

static void check_next(cw_token_check *check);

static void forget(cw_token_check *check)
{
    cw_token_check **at = &check->issuers->introspecting;
    while (*at != check)
        at = &(*at)->next;
    *at = check->next;
}

static void on_introspected(cw_fetch *f, const cw_fetch_response *answer, const char *why)
{
    cw_token_check *check = CW_CONTAINER(f, cw_token_check, fetch);
    char status[64];
    cw_code rc = CW_IO;
    forget(check);
    if (answer && answer->status == 200) {
        rc = check_answer(check, answer->body);
    } else {
        if (answer)
            snprintf(status, sizeof status, "the answer is %u%s", answer->status,
                     answer->status == 401 ? ": client_id or its secret is wrong" : "");
        complain(check->issuer, answer ? status : why);
    }
    if (rc == CW_OK)
        check->issued.issuer = cw_issuer_ref(check->issuer);
    if (rc == CW_IO)
        check->is_unreachable = true;
    if (rc == CW_OK || rc == CW_NOMEM || rc == CW_LIMIT) {
        end(check, rc);
        return;
    }
    cw_issuer_unref(check->issuer);
    check->issuer = NULL;
    check->at++;
    check_next(check);
}

/* One network, and all of them, may not take the fetcher's places: keys need some as well. */
static bool has_place(const cw_token_check *check)
{
    const unsigned widest = CW_NETWORK_LEVELS - 1;
    unsigned all = 0, near = 0;
    for (const cw_token_check *a = check->issuers->introspecting; a; a = a->next) {
        all++;
        near += a->network.keys[widest] == check->network.keys[widest];
    }
    return all < CW_ISSUER_MAX_INTROSPECTING && near < CW_ISSUER_MAX_OF_NETWORK;
}

static cw_code introspect(cw_token_check *check, cw_issuer *issuer, cw_str url, cw_err *err)
{
    if (!has_place(check))
        return cw_fail(err, CW_LIMIT, "too many tokens are asked about at once");
    CW_CLEANUP(cw_buf_done) cw_buf form, authorization;
    cw_buf_init(&form, FORM_MAX);
    cw_buf_init(&authorization, 2 * SECRET_MAX);
    cw_buf_add(&form, CW_STR("token_type_hint=access_token&token="));
    cw_percent_encode(&form, check->token);
    add_basic(&authorization, &issuer->opts);
    cw_code rc = form.code ? form.code : authorization.code;
    check->fetch = (cw_fetch){
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
        rc = cw_fetcher_start(check->issuers->fetcher, &check->fetch, err);
    if (!rc) {
        check->issuer = cw_issuer_ref(issuer);
        check->next = check->issuers->introspecting;
        check->issuers->introspecting = check;
    }
    if (form.p)
        sodium_memzero(form.p, form.n);
    if (authorization.p)
        sodium_memzero(authorization.p, authorization.n);
    return rc;
}

static void check_next(cw_token_check *check)
{
    for (; check->at < check->set->n; check->at++) {
        cw_issuer *issuer = check->set->items[check->at];
        cw_str url = cw_issuer_introspection(issuer);
        if (!cw_issuer_introspects(issuer, check->token))
            continue;
        if (!url.n && cw_issuer_is_busy(issuer)) {
            wait_for(issuer, check);
            return;
        }
        cw_err err = {.msg = "its metadata names no introspection endpoint"};
        if (check->issuers->is_closed)
            break;
        if (url.n && !introspect(check, issuer, url, &err))
            return;
        complain(issuer, err.msg);
        check->is_unreachable = true;
    }
    end(check, check->is_unreachable || check->issuers->is_closed ? CW_IO : CW_INVALID);
}

/* ---- keys ---- */

/* Begin, or after waiting (is_last): the answer now. */
static void go_on(cw_token_check *check, bool is_last)
{
    if (check->set) {
        check_next(check);
        return;
    }
    cw_code rc = cw_issuers_find(check->issuers, check->token, check->arena, &check->issued, NULL);
    cw_issuer *issuer = check->issued.issuer;
    if (!rc && !check->verifies) {
        end(check, CW_AGAIN);
        return;
    }
    if (!rc)
        rc = cw_verified_token_check(&check->issued, check->arena, NULL);
    if (rc != CW_AGAIN) {
        if (rc)
            cw_verified_token_done(&check->issued);
        end(check, rc);
        return;
    }
    if (!issuer) {
        check->set = cw_issuer_set_of(check->issuers);
        if (check->set)
            check_next(check);
        else
            end(check, CW_INVALID);
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
        wait_for(issuer, check);
    else
        is_last = true;
    cw_verified_token_done(&check->issued);
    if (is_last)
        end(check, has_keys ? CW_INVALID : CW_IO);
}

void cw_issuer_finish_check(cw_issuer *issuer)
{
    cw_token_check *check = issuer->waiting;
    issuer->waiting = NULL;
    while (check) {
        cw_token_check *next = check->next;
        cw_issuer_unref(check->issuer);
        check->issuer = NULL;
        go_on(check, /* is_last= */ true);
        check = next;
    }
}

static cw_token_check *take_checks(cw_issuers *is)
{
    pthread_mutex_lock(&is->lock);
    cw_token_check *checks = is->checks;
    is->checks = NULL;
    is->checks_end = &is->checks;
    pthread_mutex_unlock(&is->lock);
    return checks;
}

/* On the main loop: what was asked. */
void cw_issuers_on_checks(cw_message *message)
{
    cw_token_check *check = take_checks(CW_CONTAINER(message, cw_issuers, on_checks));
    while (check) {
        cw_token_check *next = check->next;
        go_on(check, /* is_last= */ false);
        check = next;
    }
}

void cw_issuers_end_checks(cw_issuers *is)
{
    pthread_mutex_lock(&is->lock);
    is->is_closed = true;
    pthread_mutex_unlock(&is->lock);
    cw_token_check *check = take_checks(is);
    while (check) {
        cw_token_check *next = check->next;
        end(check, CW_IO);
        check = next;
    }
}

void cw_issuers_end_introspections(cw_issuers *is)
{
    while (is->introspecting) {
        cw_token_check *check = is->introspecting;
        is->introspecting = check->next;
        cw_fetch_cancel(&check->fetch);
        end(check, CW_IO);
    }
}

cw_code cw_issuers_start_check(cw_issuers *is, cw_token_check *check)
{
    cw_code rc = CW_OK;
    check->next = NULL;
    check->issuer = NULL;
    check->set = NULL;
    check->at = 0;
    check->is_unreachable = false;
    check->issuers = is;
    check->issued = (cw_verified_token){0};
    pthread_mutex_lock(&is->lock);
    if (is->is_closed)
        rc = CW_IO;
    else if (is->n_asks == CW_ISSUER_MAX_ASKS)
        rc = CW_LIMIT;
    if (!rc) {
        is->n_asks++;
        *is->checks_end = check;
        is->checks_end = &check->next;
        cw_loop_notify(is->loop, &is->on_checks);
    }
    pthread_mutex_unlock(&is->lock);
    return rc;
}
