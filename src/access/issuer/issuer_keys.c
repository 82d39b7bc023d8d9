/* SPDX-License-Identifier: GPL-2.0-or-later */
/* issuer_keys.c - where an issuer's keys are, and the keys. All on the main loop. */
#include <stdio.h>
#include <stdlib.h>

#include "access/issuer/issuer_int.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "metrics/metrics.h"
#include "metrics/names.h"

#define REFRESH_MIN_S 300u
#define REFRESH_MAX_S 86400u
#define REFRESH_S 3600u
#define RETRY_MAX_MS 60000u
#define METADATA_MAX_BYTES 65536u

#define NOT_200 "the answer is not 200"
#define OAUTH "/.well-known/oauth-authorization-server"
#define OPENID "/.well-known/openid-configuration"

static void on_timer(uv_timer_t *timer)
{
    cw_issuer_refresh(timer->data);
}

static void log_problem(const cw_issuer *issuer, const char *why)
{
    cw_log(CW_LOG_WARN, "access", "keys of an issuer cannot be fetched",
           CW_KV("issuer", issuer->opts.rules.issuer), CW_KV("url", cw_str_from(issuer->url)),
           CW_KV("problem", cw_str_from(why)));
}

/* Not all replicas, and not all issuers, at the same moment. */
static uint64_t jitter(uint64_t ms)
{
    unsigned char byte = 0;
    (void)!cw_random_bytes(&byte, 1, NULL);
    return ms - ms / 10 * byte / 255;
}

static void set_keys(cw_issuer *issuer, cw_jwks *keys)
{
    pthread_mutex_lock(&issuer->lock);
    cw_jwks *old = issuer->keys;
    cw_jwks_succeed(keys, old);
    issuer->keys = keys;
    pthread_mutex_unlock(&issuer->lock);
    cw_jwks_unref(old);
    atomic_fetch_add(&issuer->all->generation, 1);
}

static void count_fetch(const cw_issuer *issuer, cw_metrics_result result)
{
    uint32_t slot = cw_metrics_slot(CW_METRICS_ISSUER, issuer->opts.rules.issuer);
    cw_metrics_count(CW_METRIC_ISSUER_FETCHES, slot, result, 0);
}

static void fail(cw_issuer *issuer, const char *why)
{
    uint64_t ms = (uint64_t)1000 << (issuer->failures < 6 ? issuer->failures : 6);
    issuer->failures++;
    count_fetch(issuer, CW_RESULT_FAILED);
    snprintf(issuer->problem, sizeof issuer->problem, "%s", why);
    issuer->jwks_uri[0] = 0; /* it may have moved */
    log_problem(issuer, why);
    if (issuer->keys && cw_clock_ms() - issuer->keys_at > CW_ISSUER_KEEP_MS)
        set_keys(issuer, NULL);
    atomic_store(&issuer->is_fetching, false);
    uv_timer_start(&issuer->timer, on_timer, jitter(ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS), 0);
    cw_issuer_finish_check(issuer);
}

static void on_metadata(cw_fetch *f, const cw_fetch_response *answer, const char *why);
static void on_keys(cw_fetch *f, const cw_fetch_response *answer, const char *why);

static void fetch(cw_issuer *issuer, bool is_keys)
{
    cw_err err = {0};
    const cw_issuer_opts *o = &issuer->opts;
    atomic_store(&issuer->is_fetching, true);
    issuer->fetch = (cw_fetch){
        .url = cw_str_from(issuer->url),
        .allow_private = o->allow_private,
        .ca_file = o->ca_file.n ? o->ca_file.p : NULL,
        .max_bytes = is_keys ? CW_JWKS_MAX_BYTES : METADATA_MAX_BYTES,
        .on_done = is_keys ? on_keys : on_metadata,
    };
    if (cw_fetcher_start(issuer->all->fetcher, &issuer->fetch, &err))
        fail(issuer, err.msg);
}

static void note_date(cw_issuer *issuer, const cw_fetch_response *answer)
{
    if (answer && answer->date_ms)
        issuer->clock_ms = answer->date_ms - cw_clock_wall_ms();
}

/* ---- metadata ---- */

/* The places where an issuer's metadata may be; false when there is no such candidate. RFC 8414
 * puts its name between host and path, OpenID Connect behind the path. */
static bool metadata_url(cw_issuer *issuer, unsigned candidate)
{
    cw_str name = issuer->opts.rules.issuer;
    const char *authority = strstr(name.p, "://");
    if (!authority)
        return false;
    const char *path = strchr(authority + 3, '/');
    cw_str origin = cw_str_make(name.p, path ? (size_t)(path - name.p) : name.n);
    cw_str rest = path ? cw_str_from(path) : CW_STR("");
    if (rest.n && rest.p[rest.n - 1] == '/')
        rest.n--;
    const char *wellknown = candidate == 0 ? OAUTH : OPENID;
    bool is_behind = candidate == 2;
    if (candidate > 2 || (is_behind && !rest.n))
        return false;
    int n = is_behind ? snprintf(issuer->url, sizeof issuer->url, "%.*s%.*s%s", CW_STR_ARG(origin),
                                 CW_STR_ARG(rest), wellknown)
                      : snprintf(issuer->url, sizeof issuer->url, "%.*s%s%.*s", CW_STR_ARG(origin),
                                 wellknown, CW_STR_ARG(rest));
    return n > 0 && (size_t)n < sizeof issuer->url;
}

static void discover(cw_issuer *issuer, unsigned candidate)
{
    issuer->candidate = candidate;
    if (metadata_url(issuer, candidate))
        fetch(issuer, /* is_keys= */ false);
    else
        fail(issuer, "no metadata");
}

static void take_url(const cw_json *metadata, const char *name, char out[CW_FETCH_MAX_URL])
{
    const cw_json *v = cw_json_get(metadata, cw_str_from(name));
    cw_str text = cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
    out[0] = 0;
    if (text.n < CW_FETCH_MAX_URL && (!text.n || !memchr(text.p, 0, text.n))) {
        memcpy(out, text.p, text.n);
        out[text.n] = 0;
    }
}

/* NULL, or what is wrong with it. */
static const char *read_metadata(cw_issuer *issuer, cw_str body)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    const cw_json *root = NULL;
    cw_arena_init(&arena, (size_t)METADATA_MAX_BYTES * 32);
    if (cw_json_read(body, NULL, &arena, &root, NULL, NULL) || !cw_json_is(root, CW_JSON_OBJECT))
        return "the metadata is no JSON object";
    const cw_json *name = cw_json_get(root, CW_STR("issuer"));
    if (!cw_json_is(name, CW_JSON_STRING) ||
        !cw_str_eq(cw_json_text(name), issuer->opts.rules.issuer))
        return "the metadata is of another issuer";
    take_url(root, "jwks_uri", issuer->jwks_uri);
    take_url(root, "introspection_endpoint", issuer->introspection);
    return issuer->jwks_uri[0] || issuer->opts.jwks_uri.n ? NULL : "the metadata has no jwks_uri";
}

static void fetch_keys(cw_issuer *issuer)
{
    cw_str uri = issuer->opts.jwks_uri;
    snprintf(issuer->url, sizeof issuer->url, "%.*s",
             CW_STR_ARG(uri.n ? uri : cw_str_from(issuer->jwks_uri)));
    fetch(issuer, /* is_keys= */ true);
}

static void on_metadata(cw_fetch *f, const cw_fetch_response *answer, const char *why)
{
    cw_issuer *issuer = CW_CONTAINER(f, cw_issuer, fetch);
    const char *problem = why;
    note_date(issuer, answer);
    if (answer && answer->status == 200) {
        /* Metadata that was found must be right; no other URL is tried. */
        problem = read_metadata(issuer, answer->body);
        if (problem)
            fail(issuer, problem);
        else
            fetch_keys(issuer);
        return;
    }
    if (answer)
        problem = NOT_200;
    unsigned next = issuer->candidate + 1;
    char url[sizeof issuer->url];
    memcpy(url, issuer->url, sizeof url);
    if (metadata_url(issuer, next)) {
        discover(issuer, next);
        return;
    }
    memcpy(issuer->url, url, sizeof url);
    fail(issuer, problem);
}

/* ---- keys ---- */

static void log_left_out(const cw_issuer *issuer, const cw_jwks *keys)
{
    size_t n;
    const cw_jwks_left_out *out = cw_jwks_left_out_keys(keys, &n);
    for (size_t i = 0; i < n; i++)
        cw_log(CW_LOG_INFO, "access", "a key of an issuer is not used",
               CW_KV("issuer", issuer->opts.rules.issuer), CW_KV("kid", out[i].kid),
               CW_KV("why", cw_str_from(out[i].why)));
    if (!cw_jwks_count(keys))
        cw_log(CW_LOG_WARN, "access", "an issuer has no key that can be used",
               CW_KV("issuer", issuer->opts.rules.issuer));
}

/* NULL, or what is wrong. The same keys again change nothing. */
static const char *take_keys(cw_issuer *issuer, cw_str body, char *problem, size_t n)
{
    cw_err err = {0};
    unsigned char digest[CW_DIGEST];
    cw_jwks *keys = NULL;
    cw_secret_digest(body, digest);
    if (issuer->keys && cw_secret_equal(digest, issuer->keys_digest))
        return NULL;
    if (cw_jwks_parse(body, issuer->opts.rules.algs, &keys, &err)) {
        snprintf(problem, n, "%s", err.msg);
        return problem;
    }
    log_left_out(issuer, keys);
    cw_log(CW_LOG_INFO, "access", "new keys of an issuer",
           CW_KV("issuer", issuer->opts.rules.issuer), CW_KN("keys", cw_jwks_count(keys)));
    memcpy(issuer->keys_digest, digest, CW_DIGEST);
    set_keys(issuer, keys);
    return NULL;
}

static uint64_t refresh_ms(const cw_fetch_response *answer)
{
    uint64_t s = answer->has_max_age ? answer->max_age_s : REFRESH_S;
    s = s < REFRESH_MIN_S ? REFRESH_MIN_S : s;
    return (s > REFRESH_MAX_S ? REFRESH_MAX_S : s) * 1000;
}

static void on_keys(cw_fetch *f, const cw_fetch_response *answer, const char *why)
{
    cw_issuer *issuer = CW_CONTAINER(f, cw_issuer, fetch);
    char text[CW_ERR_MSG_MAX];
    const char *problem = answer ? NOT_200 : why;
    note_date(issuer, answer);
    if (answer && answer->status == 200)
        problem = take_keys(issuer, answer->body, text, sizeof text);
    if (!answer || problem) {
        fail(issuer, problem);
        return;
    }
    atomic_store(&issuer->is_fetching, false);
    issuer->failures = 0;
    count_fetch(issuer, CW_RESULT_OK);
    issuer->problem[0] = 0;
    issuer->keys_at = cw_clock_ms();
    uv_timer_start(&issuer->timer, on_timer, jitter(refresh_ms(answer)), 0);
    cw_issuer_finish_check(issuer);
}

/* ---- begin and end ---- */

void cw_issuer_refresh(cw_issuer *issuer)
{
    bool needs_endpoint = issuer->opts.client_id.n && !cw_issuer_introspection(issuer).n;
    if (cw_issuer_is_busy(issuer) || issuer->is_retired)
        return;
    if ((issuer->opts.jwks_uri.n || issuer->jwks_uri[0]) && !needs_endpoint)
        fetch_keys(issuer);
    else
        discover(issuer, 0);
}

bool cw_issuer_is_busy(const cw_issuer *issuer)
{
    return atomic_load(&issuer->is_fetching);
}

cw_str cw_issuer_introspection(const cw_issuer *issuer)
{
    cw_str configured = issuer->opts.introspection;
    return configured.n ? configured : cw_str_from(issuer->introspection);
}

static void on_closed(uv_handle_t *handle)
{
    cw_issuer_unref(handle->data);
}

void cw_issuer_retire(cw_issuer *issuer)
{
    if (issuer->is_retired)
        return;
    issuer->is_retired = true;
    cw_fetch_cancel(&issuer->fetch);
    atomic_store(&issuer->is_fetching, false);
    cw_issuer_finish_check(issuer);
    uv_close((uv_handle_t *)&issuer->timer, on_closed);
}
