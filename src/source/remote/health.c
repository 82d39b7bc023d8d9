/* SPDX-License-Identifier: GPL-2.0-or-later */
/* health.c - whether a service is called at all: its breaker, and the credentials for it. */
#include <stdlib.h>

#include "base/clock.h"
#include "source/remote/remote_int.h"

cw_remote_health *cw_remote_health_new(void)
{
    cw_remote_health *h = calloc(1, sizeof *h);
    if (h)
        atomic_init(&h->refs, 1);
    return h;
}

cw_remote_health *cw_remote_health_ref(cw_remote_health *h)
{
    atomic_fetch_add(&h->refs, 1);
    return h;
}

void cw_remote_health_unref(cw_remote_health *h)
{
    if (h && atomic_fetch_sub(&h->refs, 1) == 1)
        free(h);
}

void cw_remote_health_failed(cw_remote_health *h, bool trial, uint64_t now)
{
    static const cw_breaker_rule rule = {.failures = CW_REMOTE_FAILURES,
                                         .pause_min_ms = CW_REMOTE_PAUSE_MIN_MS,
                                         .pause_max_ms = CW_REMOTE_PAUSE_MAX_MS};
    cw_breaker_failure(&h->breaker, &rule, trial, now);
}

/* Without a load that has checked the credentials, calls are counted: their account may get locked. */
static void on_refused(cw_remote_health *h, uint64_t now, bool has_load)
{
    uint64_t last = atomic_load(&h->doubted_at);
    atomic_store(&h->call_refused, true);
    if (has_load && !atomic_load(&h->is_unsettled)) {
        if (atomic_load(&h->load_refused) ||
            (last && cw_clock_since(now, last) < CW_REMOTE_RECHECK_MS))
            return;
        atomic_store(&h->refusals, 0);
        atomic_store(&h->doubted_at, now ? now : 1);
        atomic_store(&h->is_unsettled, true);
        atomic_store(&h->is_doubted, true);
    }
    if (atomic_fetch_add(&h->refusals, 1) + 1 >= CW_REMOTE_REFUSALS)
        atomic_store(&h->refused_until, now + CW_REMOTE_REFUSED_MS);
}

static void forget_refusals(cw_remote_health *h)
{
    atomic_store(&h->refusals, 0);
    atomic_store(&h->refused_until, 0);
}

static void on_accepted(cw_remote_health *h)
{
    /* Read before write: every call runs this. */
    if (atomic_load_explicit(&h->call_refused, memory_order_relaxed)) {
        atomic_store(&h->call_refused, false);
        forget_refusals(h);
    }
}

bool cw_remote_is_refused(const cw_remote_health *h, uint64_t now)
{
    if (CW_LIKELY(!atomic_load_explicit(&h->call_refused, memory_order_relaxed)))
        return false;
    bool is_doubted = atomic_load(&h->is_doubted) &&
                      cw_clock_since(now, atomic_load(&h->doubted_at)) < CW_REMOTE_SETTLE_MS;
    return is_doubted || atomic_load(&h->load_refused) || now < atomic_load(&h->refused_until);
}

/* Whether a request may be tried after a pause because of rejected calls: one, whose response decides
 * about the others, or another one if that has none. The mark does not concern the request itself, which
 * may have to wait for a place. */
static bool may_try(cw_remote_health *h, uint64_t now)
{
    uint64_t until = atomic_load(&h->refused_until), last = atomic_load(&h->tried_at);
    if (CW_LIKELY(!until))
        return true;
    return now >= until && (!last || cw_clock_since(now, last) >= CW_REMOTE_SETTLE_MS) &&
           atomic_compare_exchange_strong(&h->tried_at, &last, now ? now : 1);
}

bool cw_remote_denies(cw_remote_health *h, uint64_t now)
{
    return cw_remote_is_refused(h, now) || !may_try(h, now);
}

static void report_to_breaker(cw_remote *r, uint64_t now, bool trial, cw_client_end end)
{
    if (end == CW_CLIENT_CONNECT || end == CW_CLIENT_SLOW)
        cw_remote_health_failed(r->health, trial, now);
    else if (end == CW_CLIENT_LOST || end == CW_CLIENT_NOMEM || end == CW_CLIENT_REFUSED)
        cw_breaker_neutral(&r->health->breaker, trial);
    else
        cw_breaker_success(&r->health->breaker, trial);
}

/* Whether a load sends the credentials: a description in a file needs no request. */
static bool has_load(const cw_remote *r)
{
    return r->service->config.openrpc.n == 0;
}

static void record_credentials(cw_remote *r, uint64_t now, const cw_upstream_reply *reply)
{
    unsigned status = reply->end == CW_CLIENT_OK ? reply->answer->status : 0;
    bool is_denied = status == 401 || status == 403 || reply->end == CW_CLIENT_REFUSED;
    bool is_login = status != 403 || has_load(r) || atomic_load(&r->health->refused_until);
    if (!r->service->protocol.has_credentials)
        return;
    /* With a file, a 403 is more likely due to one method than to the login, unless calls were rejected
     * so often that the account may be locked. */
    if (is_denied && is_login)
        on_refused(r->health, now, has_load(r));
    else if (!is_denied && reply->end == CW_CLIENT_OK)
        on_accepted(r->health);
}

void cw_remote_record_end(cw_remote *r, uint64_t now, bool trial, const cw_upstream_reply *reply)
{
    report_to_breaker(r, now, trial, reply->end);
    record_credentials(r, now, reply);
}

bool cw_remote_may_ask(cw_remote *r, uint64_t now, bool *ret_trial)
{
    return !cw_remote_denies(r->health, now) &&
           cw_breaker_allow(&r->health->breaker, now, ret_trial);
}

void cw_remote_record_not_begun(cw_remote *r, cw_code why, bool trial, uint64_t now)
{
    if (why == CW_IO)
        cw_remote_health_failed(r->health, trial, now);
    else
        cw_breaker_neutral(&r->health->breaker, trial);
}

void cw_remote_set_credentials(const cw_source *s, cw_remote_credentials credentials)
{
    const cw_remote *r = cw_remote_of(s);
    if (!r)
        return;
    cw_remote_health *h = r->health;
    atomic_store(&h->is_doubted, false);
    if (credentials == CW_REMOTE_CREDENTIALS_UNKNOWN)
        return;
    atomic_store(&h->load_refused, credentials == CW_REMOTE_CREDENTIALS_REFUSED);
    atomic_store(&h->is_unsettled, false);
    if (credentials == CW_REMOTE_CREDENTIALS_ACCEPTED && has_load(r))
        forget_refusals(h);
    if (credentials != CW_REMOTE_CREDENTIALS_NEW)
        return;
    atomic_store(&h->doubted_at, 0);
    on_accepted(h);
}

bool cw_remote_needs_recheck(const cw_source *s)
{
    const cw_remote *r = cw_remote_of(s);
    return r && atomic_load(&r->health->is_doubted);
}

const char *cw_remote_trouble(const cw_source *s, uint64_t now_ms)
{
    const cw_remote *r = cw_remote_of(s);
    if (r && cw_remote_is_refused(r->health, now_ms))
        return "it refuses our credentials";
    return r && cw_breaker_is_paused(&r->health->breaker, now_ms)
               ? "it could not be reached several times in a row"
               : NULL;
}
