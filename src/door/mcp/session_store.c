/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session_store.c - session state of the process, with a share for each owner. */
#include "door/mcp/session_store.h"

#include <stdlib.h>

#include "door/mcp/mcp_int.h"

/* Looking at all that is remembered takes milliseconds: not more often than this. */
#define SWEEP_MS 1000

typedef struct cw_mcp_session_record known;

/* An account, or a network. Goes with the last of its sessions. */
typedef struct owner {
    size_t used[CW_MCP_POOLS];
    size_t n_known;
    known *first; /* of those with a state */
    bool is_anonymous;
    size_t n_key;
    char key[];
} owner;

struct cw_mcp_session_record {
    unsigned char number[CW_MCP_NUMBER];
    owner *owner;
    known *prev, *next;         /* of all */
    known *prev_own, *next_own; /* of the owner's, with a state */
    int64_t expires, used;      /* wall clock, ms */
    uint32_t holds;             /* streams, and functions that use it */
    cw_log_level level;
    bool has_state, is_ended;
    cw_buf uris; /* a NUL behind each */
};

static const size_t most[CW_MCP_POOLS] = {CW_MCP_STATES, CW_MCP_ENDS, CW_MCP_URIS};
static const size_t shares[CW_MCP_POOLS] = {CW_MCP_STATES_SHARE, CW_MCP_ENDS_SHARE,
                                            CW_MCP_URIS_SHARE};

/* ---- what there is room for ---- */

/* How much is left of a pool for this owner. */
static size_t room(const cw_mcp_session_store *m, const owner *o, int pool)
{
    size_t own = shares[pool] - o->used[pool], all = most[pool] - m->used[pool];
    size_t others = most[pool] / 2 - m->by_anonymous[pool];
    size_t n = own < all ? own : all;
    return o->is_anonymous && others < n ? others : n;
}

static bool take(cw_mcp_session_store *m, owner *o, int pool, size_t n)
{
    if (room(m, o, pool) < n)
        return false;
    o->used[pool] += n;
    m->used[pool] += n;
    if (o->is_anonymous)
        m->by_anonymous[pool] += n;
    return true;
}

static void give_back(cw_mcp_session_store *m, owner *o, int pool, size_t n)
{
    o->used[pool] -= n;
    m->used[pool] -= n;
    if (o->is_anonymous)
        m->by_anonymous[pool] -= n;
}

/* ---- records ---- */

static known *find(const cw_mcp_session_store *m, const cw_mcp_session *session)
{
    return cw_map_find(&m->sessions, cw_mcp_number(session));
}

static void link_own(known *k)
{
    owner *o = k->owner;
    k->prev_own = NULL;
    k->next_own = o->first;
    if (o->first)
        o->first->prev_own = k;
    o->first = k;
}

static void unlink_own(known *k)
{
    if (k->next_own)
        k->next_own->prev_own = k->prev_own;
    if (k->prev_own)
        k->prev_own->next_own = k->next_own;
    else
        k->owner->first = k->next_own;
}

/* Neither level nor subscriptions. */
static void drop_state(cw_mcp_session_store *m, known *k)
{
    if (!k->has_state)
        return;
    unlink_own(k);
    give_back(m, k->owner, CW_MCP_POOL_URIS, k->uris.n);
    give_back(m, k->owner, CW_MCP_POOL_STATES, 1);
    cw_buf_release(&k->uris);
    k->level = CW_LOG_OFF;
    k->has_state = false;
}

static void leave_owner(cw_mcp_session_store *m, owner *o)
{
    if (o->n_known)
        return;
    (void)cw_map_remove(&m->owners[o->is_anonymous], cw_str_make(o->key, o->n_key));
    free(o);
}

static void forget(cw_mcp_session_store *m, known *k)
{
    owner *o = k->owner;
    drop_state(m, k);
    if (k->is_ended)
        give_back(m, o, CW_MCP_POOL_ENDS, 1);
    (void)cw_map_remove(&m->sessions, cw_str_make((const char *)k->number, CW_MCP_NUMBER));
    if (k->next)
        k->next->prev = k->prev;
    if (k->prev)
        k->prev->next = k->next;
    else
        m->first = k->next;
    cw_buf_done(&k->uris);
    free(k);
    o->n_known--;
    leave_owner(m, o);
}

static owner *owner_of(cw_mcp_session_store *m, const cw_mcp_session_owner *by)
{
    cw_map *owners = &m->owners[by->is_anonymous];
    owner *o = cw_map_find(owners, by->owner);
    if (o)
        return o;
    o = calloc(1, sizeof *o + by->owner.n + 1);
    if (!o)
        return NULL;
    o->is_anonymous = by->is_anonymous;
    o->n_key = by->owner.n;
    if (by->owner.n)
        memcpy(o->key, by->owner.p, by->owner.n);
    if (!cw_map_put(owners, cw_str_make(o->key, o->n_key), o, NULL))
        return o;
    free(o);
    return NULL;
}

static known *make(cw_mcp_session_store *m, const cw_mcp_session_owner *by,
                   const cw_mcp_session *session)
{
    owner *o = owner_of(m, by);
    known *k = o ? calloc(1, sizeof *k) : NULL;
    if (k) {
        memcpy(k->number, session->number, CW_MCP_NUMBER);
        if (!cw_map_put(&m->sessions, cw_str_make((const char *)k->number, CW_MCP_NUMBER), k,
                        NULL)) {
            k->owner = o;
            k->expires = session->expires ? session->expires : INT64_MAX;
            k->level = CW_LOG_OFF;
            cw_buf_init(&k->uris, CW_MCP_URIS_SESSION);
            k->next = m->first;
            if (m->first)
                m->first->prev = k;
            m->first = k;
            o->n_known++;
            return k;
        }
        free(k);
    }
    if (o)
        leave_owner(m, o);
    return NULL;
}

/* ---- making room ---- */

static void sweep(cw_mcp_session_store *m, int64_t now)
{
    known *next;
    if (now >= m->swept && now - m->swept < SWEEP_MS)
        return;
    m->swept = now;
    for (known *k = m->first; k; k = next) {
        next = k->next;
        if (k->expires <= now && !k->holds)
            forget(m, k);
    }
}

static bool end_known(cw_mcp_session_store *m, known *k)
{
    if (!take(m, k->owner, CW_MCP_POOL_ENDS, 1))
        return false;
    drop_state(m, k);
    k->is_ended = true;
    return true;
}

/* The owner's least recently used session, if it has been idle long enough. */
static bool end_idle(cw_mcp_session_store *m, const owner *o, int64_t now)
{
    known *oldest = NULL;
    for (known *k = o->first; k; k = k->next_own) {
        if (!k->holds && now - k->used >= CW_MCP_IDLE_MS && (!oldest || k->used < oldest->used))
            oldest = k;
    }
    return oldest && end_known(m, oldest);
}

static cw_code take_state(cw_mcp_session_store *m, known *k, int64_t now)
{
    if (k->has_state)
        return CW_OK;
    bool is_taken = take(m, k->owner, CW_MCP_POOL_STATES, 1);
    if (!is_taken) {
        sweep(m, now);
        is_taken = take(m, k->owner, CW_MCP_POOL_STATES, 1) ||
                   (end_idle(m, k->owner, now) && take(m, k->owner, CW_MCP_POOL_STATES, 1));
    }
    if (!is_taken)
        return CW_LIMIT;
    k->has_state = true;
    link_own(k);
    return CW_OK;
}

/* ---- one thing after the other ---- */

/* The record of a session, made when it is not there, and kept until put_back. NULL without
 * memory; else the lock is held. */
static known *open_known(cw_mcp_session_store *m, const cw_mcp_session_owner *by,
                         const cw_mcp_session *session)
{
    pthread_mutex_lock(&m->lock);
    known *k = find(m, session);
    if (!k)
        k = make(m, by, session);
    if (!k) {
        pthread_mutex_unlock(&m->lock);
        return NULL;
    }
    k->used = by->now;
    k->holds++;
    return k;
}

/* An entry without state is removed. */
static void put_back(cw_mcp_session_store *m, known *k)
{
    k->holds--;
    if (k->has_state && k->level == CW_LOG_OFF && !k->uris.n)
        drop_state(m, k);
    if (!k->holds && !k->has_state && !k->is_ended)
        forget(m, k);
    atomic_store(&m->n, m->used[CW_MCP_POOL_STATES] + m->used[CW_MCP_POOL_ENDS]);
    pthread_mutex_unlock(&m->lock);
}

cw_code cw_mcp_session_store_end(cw_mcp_session_store *m, const cw_mcp_session_owner *by,
                                 const cw_mcp_session *session)
{
    known *k = open_known(m, by, session);
    if (!k)
        return CW_NOMEM;
    if (!k->is_ended && !end_known(m, k)) {
        sweep(m, by->now);
        (void)end_known(m, k);
    }
    cw_code rc = k->is_ended ? CW_OK : CW_LIMIT;
    put_back(m, k);
    return rc;
}

cw_code cw_mcp_session_store_set_level(cw_mcp_session_store *m, const cw_mcp_session_owner *by,
                                       const cw_mcp_session *session, cw_log_level level)
{
    known *k = open_known(m, by, session);
    if (!k)
        return CW_NOMEM;
    cw_code rc = CW_OK;
    if (k->is_ended)
        rc = CW_LIMIT; /* a moment ago */
    else if (level != CW_LOG_OFF)
        rc = take_state(m, k, by->now);
    if (!rc)
        k->level = level;
    put_back(m, k);
    return rc;
}

/* ---- subscriptions ---- */

/* The position of the URI among those of a session, or their length. */
static size_t find_uri(const known *k, cw_str uri)
{
    const cw_buf *b = &k->uris;
    for (size_t at = 0; at < b->n;) {
        size_t n = strlen(b->p + at);
        if (cw_str_eq(cw_str_make(b->p + at, n), uri))
            return at;
        at += n + 1;
    }
    return b->n;
}

static cw_code add_uri(cw_mcp_session_store *m, known *k, cw_str uri, int64_t now)
{
    size_t n = uri.n + 1;
    if (k->is_ended || n > CW_MCP_URIS_SESSION - k->uris.n)
        return CW_LIMIT;
    cw_code rc = take_state(m, k, now);
    if (rc)
        return rc;
    if (!take(m, k->owner, CW_MCP_POOL_URIS, n)) {
        sweep(m, now);
        if (!take(m, k->owner, CW_MCP_POOL_URIS, n))
            return CW_LIMIT;
    }
    if (!cw_buf_reserve(&k->uris, n)) {
        k->uris.code = CW_OK; /* what was there stays */
        give_back(m, k->owner, CW_MCP_POOL_URIS, n);
        return CW_NOMEM;
    }
    cw_buf_add(&k->uris, uri);
    cw_buf_add_char(&k->uris, 0);
    return CW_OK;
}

cw_code cw_mcp_session_store_subscribe(cw_mcp_session_store *m, const cw_mcp_session_owner *by,
                                       const cw_mcp_session *session, cw_str uri)
{
    if (memchr(uri.p, 0, uri.n))
        return CW_LIMIT; /* nothing has such an address */
    known *k = open_known(m, by, session);
    if (!k)
        return CW_NOMEM;
    cw_code rc = CW_OK;
    if (find_uri(k, uri) == k->uris.n)
        rc = add_uri(m, k, uri, by->now);
    put_back(m, k);
    return rc;
}

void cw_mcp_session_store_unsubscribe(cw_mcp_session_store *m, const cw_mcp_session *session,
                                      cw_str uri)
{
    pthread_mutex_lock(&m->lock);
    known *k = find(m, session);
    if (!k) {
        pthread_mutex_unlock(&m->lock);
        return;
    }
    size_t at = find_uri(k, uri), n = uri.n + 1;
    k->holds++;
    if (at < k->uris.n) {
        memmove(k->uris.p + at, k->uris.p + at + n, k->uris.n - at - n);
        k->uris.n -= n;
        give_back(m, k->owner, CW_MCP_POOL_URIS, n);
    }
    put_back(m, k);
}

bool cw_mcp_session_store_is_subscribed(cw_mcp_session_store *m, const cw_mcp_session *session,
                                        cw_str uri)
{
    if (atomic_load(&m->n) == 0)
        return false;
    pthread_mutex_lock(&m->lock);
    const known *k = find(m, session);
    bool wants = k && find_uri(k, uri) < k->uris.n;
    pthread_mutex_unlock(&m->lock);
    return wants;
}

void cw_mcp_session_store_subscriptions(cw_mcp_session_store *m, const cw_mcp_session *session,
                                        cw_buf *out)
{
    pthread_mutex_lock(&m->lock);
    const known *k = find(m, session);
    if (k)
        cw_buf_add(out, cw_buf_str(&k->uris));
    pthread_mutex_unlock(&m->lock);
}

/* ---- sessions as they come ---- */

bool cw_mcp_session_store_recall(cw_mcp_session_store *m, cw_mcp_session *session, int64_t now)
{
    bool is_ended = false;
    if (atomic_load(&m->n) == 0)
        return true;
    pthread_mutex_lock(&m->lock);
    known *k = find(m, session);
    if (k) {
        session->level = k->level;
        is_ended = k->is_ended;
        k->used = now;
    }
    pthread_mutex_unlock(&m->lock);
    return !is_ended;
}

cw_code cw_mcp_session_store_hold(cw_mcp_session_store *m, const cw_mcp_session_owner *by,
                                  const cw_mcp_session *session)
{
    known *k = open_known(m, by, session);
    if (!k)
        return CW_NOMEM;
    k->holds++;
    put_back(m, k);
    return CW_OK;
}

void cw_mcp_session_store_release(cw_mcp_session_store *m, const cw_mcp_session *session,
                                  int64_t now)
{
    pthread_mutex_lock(&m->lock);
    known *k = find(m, session);
    if (!k) {
        pthread_mutex_unlock(&m->lock);
        return;
    }
    k->used = now;
    put_back(m, k);
}

void cw_mcp_session_store_init(cw_mcp_session_store *m)
{
    /* The pools are the ceiling, and the streams that are open. */
    cw_map_init(&m->sessions, SIZE_MAX / 2);
    cw_map_init(&m->owners[false], SIZE_MAX / 2);
    cw_map_init(&m->owners[true], SIZE_MAX / 2);
    pthread_mutex_init(&m->lock, NULL);
}

void cw_mcp_session_store_done(cw_mcp_session_store *m)
{
    while (m->first)
        forget(m, m->first);
    cw_map_done(&m->sessions);
    cw_map_done(&m->owners[false]);
    cw_map_done(&m->owners[true]);
    pthread_mutex_destroy(&m->lock);
}
