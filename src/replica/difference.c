/* SPDX-License-Identifier: GPL-2.0-or-later */
/* difference.c - catalogues of other servers: services are discovered again if one differs, and
 * subscribers are notified again if one has changed. */
#include "base/map.h"
#include "base/random.h"
#include "replica/replicas_int.h"
#include "store/replica.h"

/* A server shows zeros until it has a catalogue. */
static bool has_catalogue(cw_str digest)
{
    for (size_t i = 0; i < digest.n; i++) {
        if (digest.p[i] != '0')
            return true;
    }
    return false;
}

/* Servers with another version or configuration are skipped: their catalogues differ permanently. */
void cw_replicas_compare(const cw_replicas *r, const cw_db_replica *other,
                         cw_replicas_catalogues *found)
{
    bool is_like = cw_str_is(other->version, r->opts.version) &&
                   cw_str_is(other->config, r->shown.config) && has_catalogue(other->catalogue) &&
                   has_catalogue(cw_str_from(r->shown.catalogue));
    if (!is_like)
        return;
    /* Hashes are added, because rows come in any order. None is 0, which means no server. */
    uint64_t hash = (cw_hash(other->node) ^ 3 * cw_hash(other->catalogue)) | 1;
    found->all += hash;
    if (!cw_str_is(other->catalogue, r->shown.catalogue))
        found->differing += hash;
}

static uint64_t by_chance(uint64_t ms)
{
    return cw_random_u64() % (ms + 1);
}

/* A client that this server has notified may have read the old list of another server. */
static void take_all(cw_replicas *r, uint64_t all)
{
    cw_replicas_difference *d = &r->difference;
    d->must_repeat = d->must_repeat || all != d->all;
    d->all = all;
}

/* The server with the newer catalogue waits longer. The others discover the same meanwhile. */
void cw_replicas_compared(cw_replicas *r, const cw_replicas_catalogues *found, uint64_t now)
{
    cw_replicas_difference *d = &r->difference;
    uint64_t hash = found->differing;
    take_all(r, found->all);
    atomic_store(&r->is_settled, !hash);
    if (!hash) {
        *d = (cw_replicas_difference){
            .changed_at = d->changed_at, .all = d->all, .must_repeat = d->must_repeat};
        return;
    }
    if (hash == d->others)
        return;
    bool is_newer = d->changed_at && now - d->changed_at < CW_REPLICAS_CHANGED_MS;
    uint64_t wait = is_newer ? CW_REPLICAS_CHANGED_MS : CW_REPLICAS_WAIT_MS;
    d->others = hash;
    d->ask_at = now + wait + by_chance(CW_REPLICAS_WAIT_MS);
    if (d->asked_at && d->ask_at < d->asked_at + d->pause_ms)
        d->ask_at = d->asked_at + d->pause_ms + by_chance(d->pause_ms / 4);
}

bool cw_replicas_must_ask(cw_replicas *r, uint64_t now)
{
    cw_replicas_difference *d = &r->difference;
    if (!d->ask_at || now < d->ask_at)
        return false;
    d->ask_at = 0;
    d->asked_at = now;
    d->pause_ms = d->pause_ms ? 2 * d->pause_ms : CW_REPLICAS_PAUSE_MS;
    if (d->pause_ms > CW_REPLICAS_PAUSE_MAX_MS)
        d->pause_ms = CW_REPLICAS_PAUSE_MAX_MS;
    return true;
}

bool cw_replicas_must_repeat(cw_replicas *r)
{
    bool must = r->difference.must_repeat;
    r->difference.must_repeat = false;
    return must;
}
