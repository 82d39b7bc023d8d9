/* SPDX-License-Identifier: GPL-2.0-or-later */
/* issuer.c - the configured issuers, and the checks of their tokens. */
#include "access/issuer/issuer.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "access/issuer/issuer_int.h"
#include "access/trust_id.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/percent.h"

#define ISSUER_MAX_BYTES ((size_t)4 << 20)
#define FORM_MAX (3u * CW_JWS_MAX_BYTES + 64u)
#define SECRET_MAX 4096u
#define COMPLAINT_MS 60000u

/* ---- one issuer ---- */

static cw_issuer *ref_issuer(cw_issuer *issuer)
{
    atomic_fetch_add_explicit(&issuer->refs, 1, memory_order_relaxed);
    return issuer;
}

void cw_issuer_unref(cw_issuer *issuer)
{
    if (!issuer || atomic_fetch_sub_explicit(&issuer->refs, 1, memory_order_acq_rel) != 1)
        return;
    cw_jwks_unref(issuer->keys);
    cw_trust_unref(issuer->trust);
    pthread_mutex_destroy(&issuer->lock);
    cw_arena_done(&issuer->arena);
    free(issuer);
}

const cw_issuer_opts *cw_issuer_opts_of(const cw_issuer *issuer)
{
    return &issuer->opts;
}

static bool copy_text(cw_issuer *issuer, cw_str *text)
{
    *text = cw_arena_dup_str(&issuer->arena, text->p ? *text : CW_STR(""));
    return text->p != NULL;
}

static bool copy_texts(cw_issuer *issuer, const cw_str **texts, size_t n)
{
    cw_str *copy = cw_arena_calloc(&issuer->arena, n ? n : 1, sizeof *copy);
    bool is_good = copy != NULL;
    for (size_t i = 0; i < n && is_good; i++) {
        copy[i] = (*texts)[i];
        is_good = copy_text(issuer, &copy[i]);
    }
    *texts = copy;
    return is_good;
}

static bool copy_grants(cw_issuer *issuer)
{
    cw_issuer_opts *o = &issuer->opts;
    cw_issuer_grant *copy =
        cw_arena_calloc(&issuer->arena, o->n_grants ? o->n_grants : 1, sizeof *copy);
    bool is_good = copy != NULL;
    for (size_t i = 0; i < o->n_grants && is_good; i++) {
        copy[i] = o->grants[i];
        is_good = copy_text(issuer, &copy[i].scope) &&
                  copy_texts(issuer, &copy[i].permissions, copy[i].n_permissions);
    }
    o->grants = copy;
    return is_good;
}

static bool copy_opts(cw_issuer *issuer, const cw_issuer_opts *opts)
{
    cw_issuer_opts *o = &issuer->opts;
    *o = *opts;
    cw_str *const texts[] = {&o->rules.issuer,  &o->jwks_uri,  &o->account,
                             &o->introspection, &o->client_id, &o->client_secret,
                             &o->token_prefix,  &o->ca_file};
    for (size_t i = 0; i < CW_COUNT(texts); i++) {
        if (!copy_text(issuer, texts[i]))
            return false;
    }
    return copy_texts(issuer, &o->rules.audiences, o->rules.n_audiences) &&
           copy_texts(issuer, &o->rules.roles, o->rules.n_roles) && copy_grants(issuer);
}

static void add_texts(crypto_hash_sha256_state *id, const cw_str *texts, size_t n)
{
    cw_trust_id_add_number(id, n);
    for (size_t i = 0; i < n; i++)
        cw_trust_id_add(id, texts[i]);
}

/* Issuers with equal options have the same trust id. NULL without memory. */
static cw_trust *new_trust(const cw_issuer_opts *o)
{
    crypto_hash_sha256_state state;
    unsigned char id[CW_TRUST_ID];
    const cw_str texts[] = {o->rules.issuer, o->jwks_uri,      o->account,      o->introspection,
                            o->client_id,    o->client_secret, o->token_prefix, o->ca_file};
    const uint64_t numbers[] = {o->rules.names_account, o->rules.algs, o->rules.leeway_s,
                                o->rules.allow_missing_typ, o->allow_private};
    crypto_hash_sha256_init(&state);
    add_texts(&state, texts, CW_COUNT(texts));
    for (size_t i = 0; i < CW_COUNT(numbers); i++)
        cw_trust_id_add_number(&state, numbers[i]);
    add_texts(&state, o->rules.audiences, o->rules.n_audiences);
    add_texts(&state, o->rules.roles, o->rules.n_roles);
    cw_trust_id_add_number(&state, o->n_grants);
    for (size_t i = 0; i < o->n_grants; i++) {
        cw_trust_id_add(&state, o->grants[i].scope);
        add_texts(&state, o->grants[i].permissions, o->grants[i].n_permissions);
    }
    crypto_hash_sha256_final(&state, id);
    sodium_memzero(&state, sizeof state); /* it may have some of the secret */
    return cw_trust_new(id);
}

static cw_issuer *new_issuer(cw_issuers *is, const cw_issuer_opts *opts)
{
    cw_issuer *issuer = calloc(1, sizeof *issuer);
    if (!issuer)
        return NULL;
    atomic_init(&issuer->refs, 1);
    atomic_init(&issuer->next_forced, 0);
    atomic_init(&issuer->is_fetching, false);
    pthread_mutex_init(&issuer->lock, NULL);
    cw_arena_init(&issuer->arena, ISSUER_MAX_BYTES);
    issuer->all = is;
    issuer->trust = new_trust(opts);
    if (issuer->trust && copy_opts(issuer, opts))
        return issuer;
    cw_issuer_unref(issuer);
    return NULL;
}

/* ---- all of them ---- */

static void unref_set(cw_issuer_set *set)
{
    if (!set || atomic_fetch_sub_explicit(&set->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < set->n; i++)
        cw_issuer_unref(set->items[i]);
    free(set);
}

static cw_issuer_set *current_set(cw_issuers *is)
{
    pthread_mutex_lock(&is->lock);
    cw_issuer_set *set = is->set;
    if (set)
        atomic_fetch_add_explicit(&set->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&is->lock);
    return set;
}

static cw_code new_set(cw_issuers *is, const cw_issuer_opts *items, size_t n, cw_issuer_set **ret,
                       cw_err *err)
{
    cw_issuer_set *set = calloc(1, sizeof *set + n * sizeof(cw_issuer *));
    if (!set)
        return cw_fail_nomem(err);
    atomic_init(&set->refs, 1);
    for (; set->n < n; set->n++) {
        set->items[set->n] = new_issuer(is, &items[set->n]);
        if (!set->items[set->n]) {
            unref_set(set);
            return cw_fail_nomem(err);
        }
    }
    *ret = set;
    return CW_OK;
}

/* Keys that are there already are used until new ones come. */
static void take_keys(cw_issuer *issuer, const cw_issuer_set *old)
{
    for (size_t i = 0; old && i < old->n; i++) {
        cw_issuer *o = old->items[i];
        if (!cw_str_eq(o->opts.rules.issuer, issuer->opts.rules.issuer) ||
            !cw_str_eq(o->opts.jwks_uri, issuer->opts.jwks_uri) ||
            o->opts.rules.algs != issuer->opts.rules.algs || !o->keys)
            continue;
        issuer->keys = cw_jwks_ref(o->keys);
        issuer->keys_at = o->keys_at;
        memcpy(issuer->keys_digest, o->keys_digest, CW_DIGEST);
    }
}

/* Fetch its keys, which an issuer that stays does again. */
static void begin(cw_issuers *is, cw_issuer *issuer)
{
    if (!issuer->timer.data) {
        uv_timer_init(&is->loop->uv, &issuer->timer);
        issuer->timer.data = ref_issuer(issuer);
    }
    cw_issuer_refresh(issuer);
}

/* The issuer of the set whose trust has this id, or NULL. */
static cw_issuer *find_trusted(const cw_issuer_set *set, const unsigned char id[CW_TRUST_ID])
{
    for (size_t i = 0; set && i < set->n; i++) {
        if (cw_trust_has_id(set->items[i]->trust, id))
            return set->items[i];
    }
    return NULL;
}

cw_code cw_issuers_prepare(cw_issuers *is, const cw_issuer_opts *items, size_t n,
                           cw_issuer_set **ret, cw_err *err)
{
    *ret = NULL;
    if (n > CW_ISSUERS_MAX)
        return cw_fail(err, CW_LIMIT, "more than %u issuers", CW_ISSUERS_MAX);
    cw_code rc = n && !is->fetcher ? cw_fetcher_new(is->loop, &is->fetcher, err) : CW_OK;
    return rc || !n ? rc : new_set(is, items, n, ret, err);
}

/* An equal issuer stays, with its keys and what its tokens opened. */
static void keep_or_prepare(cw_issuer **item, const cw_issuer_set *old)
{
    cw_issuer *same = find_trusted(old, (*item)->trust->id);
    if (!same) {
        take_keys(*item, old);
        return;
    }
    cw_issuer_unref(*item);
    *item = ref_issuer(same);
}

void cw_issuers_drop(cw_issuer_set *set)
{
    unref_set(set);
}

void cw_issuers_use(cw_issuers *is, cw_issuer_set *fresh)
{
    cw_issuer_set *old = is->set;
    size_t n = fresh ? fresh->n : 0;
    for (size_t i = 0; i < n; i++)
        keep_or_prepare(&fresh->items[i], old);
    pthread_mutex_lock(&is->lock);
    is->set = fresh;
    pthread_mutex_unlock(&is->lock);
    atomic_store(&is->has_any, n > 0);
    atomic_fetch_add(&is->generation, 1);
    for (size_t i = 0; old && i < old->n; i++) {
        if (find_trusted(fresh, old->items[i]->trust->id))
            continue;
        cw_trust_withdraw(old->items[i]->trust);
        cw_issuer_retire(old->items[i]);
    }
    unref_set(old);
    for (size_t i = 0; i < n; i++)
        begin(is, fresh->items[i]);
}

/* ---- waiting for an issuer ----
 *
 *     JWT      keys there, or a refresh of them, and then checked again
 *     opaque   introspection by each issuer in turn, until one recognizes it
 *
 * All on the main loop but cw_issuers_start_check. */

static bool introspects(const cw_issuer *issuer, cw_str token)
{
    return issuer->opts.client_id.n && cw_str_starts(token, issuer->opts.token_prefix);
}

static void end(cw_token_check *check, cw_code rc)
{
    cw_issuers *is = check->issuers;
    pthread_mutex_lock(&is->lock);
    is->n_asks--;
    pthread_mutex_unlock(&is->lock);
    cw_issuer_unref(check->issuer);
    check->issuer = NULL;
    unref_set(check->set);
    check->set = NULL;
    check->done(check, rc);
}

static void wait_for(cw_issuer *issuer, cw_token_check *check)
{
    check->issuer = ref_issuer(issuer);
    check->next = issuer->waiting;
    issuer->waiting = check;
}

/* ---- introspection ---- */

/* Clients with opaque tokens get 503 meanwhile. Their requests must not fill the log. */
static void complain(cw_issuer *issuer, const char *why)
{
    uint64_t now = cw_clock_ms();
    if (now < issuer->next_complaint)
        return;
    issuer->next_complaint = now + COMPLAINT_MS;
    cw_log(CW_LOG_WARN, "access", "an issuer cannot introspect tokens",
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

/* The rules for JWTs apply to the introspection response, except for type and algorithm, which it does
 * not have. */
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
    rules.allow_missing_typ = true;
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
    if (rc == CW_OK) {
        check->issued.issuer = ref_issuer(check->issuer);
        check->issued.by_issuer = cw_trust_ref(check->issuer->trust);
    }
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
        check->issuer = ref_issuer(issuer);
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
        if (!introspects(issuer, check->token))
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
        check->set = current_set(check->issuers);
        if (check->set)
            check_next(check);
        else
            end(check, CW_INVALID);
        return;
    }
    bool has_keys = issuer->keys != NULL;
    bool may_wait = !is_last && !issuer->is_retired;
    /* Without keys, the timer of the failed fetch tries again. */
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
static void on_checks(cw_message *message)
{
    cw_token_check *check = take_checks(CW_CONTAINER(message, cw_issuers, on_checks));
    while (check) {
        cw_token_check *next = check->next;
        go_on(check, /* is_last= */ false);
        check = next;
    }
}

static void end_checks(cw_issuers *is)
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

static void end_introspections(cw_issuers *is)
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

/* ---- start and end ---- */

cw_code cw_issuers_new(cw_loop *main_loop, cw_issuers **ret, cw_err *err)
{
    cw_issuers *is = calloc(1, sizeof *is);
    if (!is)
        return cw_fail_nomem(err);
    is->loop = main_loop;
    is->on_checks.fn = on_checks;
    is->checks_end = &is->checks;
    atomic_init(&is->generation, 0);
    atomic_init(&is->has_any, false);
    pthread_mutex_init(&is->lock, NULL);
    *ret = is;
    return CW_OK;
}

void cw_issuers_close(cw_issuers *is)
{
    if (!is || is->is_closed)
        return;
    end_checks(is);
    for (size_t i = 0; is->set && i < is->set->n; i++)
        cw_issuer_retire(is->set->items[i]);
    end_introspections(is);
    cw_fetcher_close(is->fetcher);
    is->fetcher = NULL;
}

void cw_issuers_free(cw_issuers *is)
{
    if (!is)
        return;
    unref_set(is->set);
    pthread_mutex_destroy(&is->lock);
    free(is);
}

bool cw_issuers_any(const cw_issuers *is)
{
    return is && atomic_load(&is->has_any);
}

uint64_t cw_issuers_generation(const cw_issuers *is)
{
    return atomic_load(&is->generation);
}

/* ---- tokens ---- */

/* RFC 6750: b64token. */
bool cw_issuer_may_be_token(cw_str token)
{
    size_t i = 0;
    for (; i < token.n && token.p[i] != '='; i++) {
        char c = token.p[i];
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_alnum && (!c || !strchr("-._~+/", c)))
            return false;
    }
    if (i == 0)
        return false;
    while (i < token.n && token.p[i] == '=')
        i++;
    return i == token.n && token.n <= CW_JWS_MAX_BYTES;
}

static bool is_jwt(cw_str token)
{
    cw_str rest;
    cw_str_cut(token, '.', &rest);
    return rest.p && memchr(rest.p, '.', rest.n);
}

static bool any_introspects(const cw_issuer_set *set, cw_str token)
{
    for (size_t i = 0; i < set->n; i++) {
        if (introspects(set->items[i], token))
            return true;
    }
    return false;
}

static cw_issuer *find_issuer(const cw_issuer_set *set, cw_str name)
{
    for (size_t i = 0; name.p && i < set->n; i++) {
        if (cw_str_eq(set->items[i]->opts.rules.issuer, name))
            return set->items[i];
    }
    return NULL;
}

static cw_jwks *keys_of(cw_issuer *issuer)
{
    pthread_mutex_lock(&issuer->lock);
    cw_jwks *keys = issuer->keys ? cw_jwks_ref(issuer->keys) : NULL;
    pthread_mutex_unlock(&issuer->lock);
    return keys;
}

cw_jwks *cw_issuers_keys(cw_issuers *is, cw_str name)
{
    cw_issuer_set *set = current_set(is);
    cw_issuer *issuer = set ? find_issuer(set, name) : NULL;
    cw_jwks *keys = issuer ? keys_of(issuer) : NULL;
    unref_set(set);
    return keys;
}

static cw_code find_key_trust(cw_issuer *issuer, const unsigned char id[CW_TRUST_ID],
                              cw_trust **ret)
{
    cw_jwks *keys = keys_of(issuer);
    if (!keys)
        return CW_AGAIN;
    *ret = cw_jwks_find_trust(keys, id);
    cw_jwks_unref(keys);
    return *ret ? CW_OK : CW_NOTFOUND;
}

cw_code cw_issuers_find_trust(cw_issuers *is, const unsigned char issuer[CW_TRUST_ID],
                              const unsigned char *key, cw_trust **ret_issuer, cw_trust **ret_key)
{
    cw_issuer_set *set = current_set(is);
    cw_issuer *found = find_trusted(set, issuer);
    *ret_key = NULL;
    cw_code rc = CW_NOTFOUND;
    if (found)
        rc = key ? find_key_trust(found, key, ret_key) : CW_OK;
    if (!rc)
        *ret_issuer = cw_trust_ref(found->trust);
    unref_set(set);
    return rc;
}

bool cw_issuers_report(cw_issuers *is, cw_str name, cw_issuer_report *ret)
{
    cw_issuer_set *set = current_set(is);
    cw_issuer *issuer = set ? find_issuer(set, name) : NULL;
    cw_jwks *keys = issuer ? keys_of(issuer) : NULL;
    if (issuer)
        *ret = (cw_issuer_report){.is_busy = cw_issuer_is_busy(issuer),
                                  .problem = issuer->problem[0] ? issuer->problem : NULL,
                                  .url = issuer->url,
                                  .n_keys = keys ? cw_jwks_count(keys) : 0,
                                  .clock_ms = issuer->clock_ms};
    cw_jwks_unref(keys);
    unref_set(set);
    return issuer != NULL;
}

/* Find its key; and with `verifies`, check everything. */
static cw_code check_jwt(cw_verified_token *issued, bool verifies, cw_arena *arena, cw_err *err)
{
    cw_issuer *issuer = issued->issuer;
    cw_jwt *jwt = &issued->jwt;
    /* Before the keys are taken, and in this order: a thread that sees that a refresh was caused
     * sees that it runs, and one that sees that it has ended takes what it brought. */
    bool may_query = cw_clock_ms() >= atomic_load(&issuer->next_forced);
    may_query = atomic_load(&issuer->is_fetching) || may_query;
    cw_jwks *keys = keys_of(issuer);
    if (!keys)
        return CW_AGAIN;
    cw_code rc = verifies
                     ? cw_jwt_check(jwt, &issuer->opts.rules, keys, cw_clock_wall_ms(), arena, err)
                     : cw_jwt_find_key(jwt, keys, err);
    if (!rc && verifies) {
        issued->by_issuer = cw_trust_ref(issuer->trust);
        issued->by_key = cw_jwks_trust(keys, &jwt->jws);
    }
    cw_jwks_unref(keys);
    /* Perhaps there are new keys; but made-up key ids may not make us ask at will. */
    bool is_new = rc == CW_INVALID && jwt->reason == CW_TOKEN_NO_KEY;
    return is_new && may_query ? CW_AGAIN : rc;
}

static cw_code find_in(const cw_issuer_set *set, cw_str token, cw_arena *arena,
                       cw_verified_token *ret, cw_err *err)
{
    cw_code rc = cw_jwt_parse(token, arena, &ret->jwt, err);
    if (rc)
        return rc;
    cw_issuer *issuer = find_issuer(set, ret->jwt.issuer);
    if (!issuer)
        return cw_fail(err, CW_INVALID, "it comes from another issuer");
    ret->issuer = ref_issuer(issuer);
    return check_jwt(ret, /* verifies= */ false, arena, err);
}

bool cw_issuers_name(cw_issuers *is, cw_str token)
{
    cw_arena arena;
    cw_jwt jwt;
    cw_issuer_set *set = current_set(is);
    if (!set)
        return false;
    cw_arena_init(&arena, CW_JWT_MEMORY);
    bool is_named = cw_jwt_parse(token, &arena, &jwt, NULL) || find_issuer(set, jwt.issuer);
    cw_arena_done(&arena);
    unref_set(set);
    return is_named;
}

cw_code cw_issuers_find(cw_issuers *is, cw_str token, cw_arena *arena, cw_verified_token *ret,
                        cw_err *err)
{
    *ret = (cw_verified_token){0};
    cw_issuer_set *set = current_set(is);
    if (!set)
        return cw_fail(err, CW_INVALID, "there is no issuer");
    cw_code rc = CW_OK;
    if (!is_jwt(token))
        rc = any_introspects(set, token) ? CW_AGAIN : cw_fail(err, CW_INVALID, "it is no JWT");
    else
        rc = find_in(set, token, arena, ret, err);
    unref_set(set);
    return rc;
}

cw_code cw_verified_token_check(cw_verified_token *issued, cw_arena *arena, cw_err *err)
{
    return check_jwt(issued, /* verifies= */ true, arena, err);
}

void cw_verified_token_done(cw_verified_token *issued)
{
    cw_issuer_unref(issued->issuer);
    cw_trust_unref(issued->by_issuer);
    cw_trust_unref(issued->by_key);
    issued->issuer = NULL;
    issued->by_issuer = issued->by_key = NULL;
}
