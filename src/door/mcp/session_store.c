/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session_store.c - session state of the process, with a share for each owner. */
#include "door/mcp/session_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"
#include "door/mcp/mcp_int.h"

/* Looking at all that is remembered takes milliseconds: not more often than this. */
#define SWEEP_MS 1000

typedef struct cw_mcp_session_record known;

#define NO_SLOT UINT32_MAX
/* The owner of ends that an earlier process left: those have no share. No account has this id. */
#define RESTORED cw_str_make("\0", 1)

/* A slot of the file of ends. */
typedef struct end_slot {
    unsigned char number[CW_MCP_NUMBER];
    int64_t expires;
    uint64_t kind; /* SLOT_ACCOUNT, SLOT_NETWORK; anything else: empty */
} end_slot;

#define SLOT_ACCOUNT UINT64_C(0x43574e4431000001)
#define SLOT_NETWORK UINT64_C(0x43574e4431000002)

_Static_assert(sizeof(end_slot) == 32, "slots of the file");
_Static_assert(CW_MCP_ENDS <= UINT16_MAX + 1u, "a slot is 16 bits");

/* An account, or a network. Goes with the last of its sessions. */
typedef struct owner {
    size_t used[CW_MCP_POOLS];
    size_t n_known;
    known *first; /* of those with a state */
    cw_list ends; /* of those that have ended, oldest first */
    bool is_anonymous;
    bool is_restored; /* RESTORED */
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
    bool has_state, has_level, is_ended;
    cw_list end_own, end_all; /* in owner.ends, and in cw_mcp_session_store.ends */
    uint32_t slot;            /* of the file, or NO_SLOT */
    cw_buf uris;              /* a NUL behind each */
};

static const size_t most[CW_MCP_POOLS] = {CW_MCP_STATES, CW_MCP_ENDS, CW_MCP_URIS};
static const size_t shares[CW_MCP_POOLS] = {CW_MCP_STATES_SHARE, CW_MCP_ENDS_SHARE,
                                            CW_MCP_URIS_SHARE};

/* ---- what there is room for ---- */

/* How much is left of a pool for this owner. */
static size_t room(const cw_mcp_session_store *m, const owner *o, int pool)
{
    size_t own = o->is_restored ? SIZE_MAX : shares[pool] - o->used[pool];
    size_t all = most[pool] - m->used[pool];
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

static void leave_uris(cw_mcp_session_store *m, const known *k)
{
    for (size_t at = 0; at < k->uris.n; at += strlen(k->uris.p + at) + 1)
        cw_interest_leave(m->interest, cw_str_from(k->uris.p + at));
}

/* Neither level nor subscriptions. */
static void drop_state(cw_mcp_session_store *m, known *k)
{
    if (!k->has_state)
        return;
    leave_uris(m, k);
    unlink_own(k);
    give_back(m, k->owner, CW_MCP_POOL_URIS, k->uris.n);
    give_back(m, k->owner, CW_MCP_POOL_STATES, 1);
    cw_buf_release(&k->uris);
    k->has_level = false;
    k->has_state = false;
}

static void leave_owner(cw_mcp_session_store *m, owner *o)
{
    if (o->n_known)
        return;
    (void)cw_map_remove(&m->owners[o->is_anonymous], cw_str_make(o->key, o->n_key));
    free(o);
}

/* It is as if the session had not ended. */
static void drop_end(cw_mcp_session_store *m, known *k)
{
    if (!k->is_ended)
        return;
    give_back(m, k->owner, CW_MCP_POOL_ENDS, 1);
    cw_list_remove(&k->end_own);
    cw_list_remove(&k->end_all);
    if (k->slot != NO_SLOT)
        m->free_slots[m->n_slots++] = (uint16_t)k->slot;
    k->slot = NO_SLOT;
    k->is_ended = false;
}

static void forget(cw_mcp_session_store *m, known *k)
{
    owner *o = k->owner;
    drop_state(m, k);
    drop_end(m, k);
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
    cw_list_init(&o->ends);
    o->is_anonymous = by->is_anonymous;
    o->is_restored = cw_str_eq(by->owner, RESTORED);
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
            k->slot = NO_SLOT;
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

/* The end that gives way to one of this owner: its own oldest, else the oldest of its kind, else the
 * oldest of the other kind; the pool is full, so one exists. To forget an end opens nothing: a session
 * grants nothing. */
static known *oldest_end(cw_mcp_session_store *m, const owner *o)
{
    const cw_list *own_kind = &m->ends[o->is_anonymous], *other_kind = &m->ends[!o->is_anonymous];
    const cw_list *all = cw_list_is_empty(own_kind) ? other_kind : own_kind;
    /* NOLINTNEXTLINE: an end that was freed is in no list */
    return cw_list_is_empty(&o->ends) ? CW_CONTAINER(all->next, known, end_all)
                                      : CW_CONTAINER(o->ends.next, known, end_own);
}

/* An end that a function or a stream uses stays as a record without one. */
static void forget_end(cw_mcp_session_store *m, known *k)
{
    drop_end(m, k);
    if (!k->holds)
        forget(m, k);
}

/* The slot of a dropped end is written again by the next one. After a failure nothing more is
 * written. */
static void write_end(cw_mcp_session_store *m, known *k)
{
    if (m->ends_fd < 0 || !m->n_slots)
        return;
    end_slot slot = {.expires = k->expires,
                     .kind = k->owner->is_anonymous ? SLOT_NETWORK : SLOT_ACCOUNT};
    memcpy(slot.number, k->number, CW_MCP_NUMBER);
    k->slot = m->free_slots[--m->n_slots];
    if (pwrite(m->ends_fd, &slot, sizeof slot, (off_t)(k->slot * sizeof slot)) ==
        (ssize_t)sizeof slot)
        return;
    cw_log(CW_LOG_WARN, "mcp", "ended sessions are valid again after a restart",
           CW_KV("error", cw_str_from(strerror(errno))));
    close(m->ends_fd);
    m->ends_fd = -1;
}

static void mark_ended(cw_mcp_session_store *m, known *k)
{
    drop_state(m, k);
    k->is_ended = true;
    cw_list_add(&k->owner->ends, &k->end_own);
    cw_list_add(&m->ends[k->owner->is_anonymous], &k->end_all);
}

/* Room always exists: an older end gives way. */
static void end_known(cw_mcp_session_store *m, known *k)
{
    while (!take(m, k->owner, CW_MCP_POOL_ENDS, 1))
        forget_end(m, oldest_end(m, k->owner));
    mark_ended(m, k);
    write_end(m, k);
}

/* The owner's least recently used session, if it has been idle long enough. */
static bool end_idle(cw_mcp_session_store *m, const owner *o, int64_t now)
{
    known *oldest = NULL;
    for (known *k = o->first; k; k = k->next_own) {
        if (!k->holds && now - k->used >= CW_MCP_IDLE_MS && (!oldest || k->used < oldest->used))
            oldest = k;
    }
    if (oldest)
        end_known(m, oldest);
    return oldest;
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
    if (k->has_state && !k->has_level && !k->uris.n)
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
    if (!room(m, k->owner, CW_MCP_POOL_ENDS))
        sweep(m, by->now);
    if (!k->is_ended)
        end_known(m, k);
    put_back(m, k);
    return CW_OK;
}

cw_code cw_mcp_session_store_set_level(cw_mcp_session_store *m, const cw_mcp_session_owner *by,
                                       const cw_mcp_session *session, cw_log_level level)
{
    known *k = open_known(m, by, session);
    if (!k)
        return CW_NOMEM;
    /* It may have ended a moment ago. */
    cw_code rc = k->is_ended ? CW_LIMIT : take_state(m, k, by->now);
    if (!rc) {
        k->has_level = true;
        k->level = level;
    }
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
    cw_interest_enter(m->interest, uri);
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
        cw_interest_leave(m->interest, uri);
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
        if (k->has_level)
            session->level = k->level;
        session->has_level = k->has_level;
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

/* ---- ends that outlive the process ---- */

/* False: the slot is free, or there is no room or memory for it. */
static bool restore(cw_mcp_session_store *m, const end_slot *slot, uint32_t at, int64_t now)
{
    cw_mcp_session session = {.expires = slot->expires};
    cw_mcp_session_owner by = {
        .owner = RESTORED, .is_anonymous = slot->kind == SLOT_NETWORK, .now = now};
    if ((slot->kind != SLOT_ACCOUNT && slot->kind != SLOT_NETWORK) || slot->expires <= now)
        return false;
    memcpy(session.number, slot->number, CW_MCP_NUMBER);
    known *k = find(m, &session) ? NULL : make(m, &by, &session);
    if (!k)
        return false;
    if (!take(m, k->owner, CW_MCP_POOL_ENDS, 1)) {
        forget(m, k);
        return false;
    }
    mark_ended(m, k);
    k->slot = at;
    return true;
}

cw_code cw_mcp_session_store_keep_ends(cw_mcp_session_store *m, int fd, int64_t now, cw_err *err)
{
    const size_t size = CW_MCP_ENDS * sizeof(end_slot);
    end_slot *slots = calloc(CW_MCP_ENDS, sizeof *slots);
    m->free_slots = calloc(CW_MCP_ENDS, sizeof *m->free_slots);
    ssize_t n = slots && m->free_slots ? pread(fd, slots, size, 0) : 0;
    cw_code rc = slots && m->free_slots ? CW_OK : cw_fail_nomem(err);
    if (n < 0)
        rc = cw_fail(err, CW_IO, "cannot read the ends of sessions: %s", strerror(errno));
    /* From the last on, so that the first slots are used first. */
    for (uint32_t at = CW_MCP_ENDS; !rc && at-- > 0;) {
        if (!restore(m, &slots[at], at, now))
            m->free_slots[m->n_slots++] = (uint16_t)at;
    }
    free(slots);
    atomic_store(&m->n, m->used[CW_MCP_POOL_ENDS]);
    if (rc)
        close(fd);
    else
        m->ends_fd = fd;
    return rc;
}

static int by_number(const void *a, const void *b)
{
    return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

void cw_mcp_session_store_yield(cw_mcp_session_store *m)
{
    pthread_mutex_lock(&m->lock);
    if (!m->yields && m->n_slots)
        qsort(m->free_slots, m->n_slots, sizeof *m->free_slots, by_number);
    m->yields = true;
    pthread_mutex_unlock(&m->lock);
}

/* The slot is in use. */
static void take_slot(cw_mcp_session_store *m, uint32_t at)
{
    for (size_t i = 0; i < m->n_slots; i++) {
        if (m->free_slots[i] != at)
            continue;
        memmove(m->free_slots + i, m->free_slots + i + 1,
                (--m->n_slots - i) * sizeof *m->free_slots);
        return;
    }
}

/* A session that is used here has ended there. */
static void end_elsewhere(cw_mcp_session_store *m, const end_slot *slot, uint32_t at, int64_t now)
{
    cw_mcp_session session = {.expires = slot->expires};
    memcpy(session.number, slot->number, CW_MCP_NUMBER);
    known *k = find(m, &session);
    if (k && k->is_ended)
        return;
    if (!k && restore(m, slot, at, now)) {
        take_slot(m, at);
        return;
    }
    if (!k || !take(m, k->owner, CW_MCP_POOL_ENDS, 1))
        return;
    mark_ended(m, k);
    k->slot = at;
    take_slot(m, at);
}

void cw_mcp_session_store_reread_ends(cw_mcp_session_store *m, int64_t now)
{
    end_slot *slots = calloc(CW_MCP_ENDS, sizeof *slots);
    if (!slots)
        return; /* the next time */
    pthread_mutex_lock(&m->lock);
    ssize_t n = m->ends_fd < 0 ? 0 : pread(m->ends_fd, slots, CW_MCP_ENDS * sizeof *slots, 0);
    for (uint32_t at = 0; n > 0 && at < (size_t)n / sizeof *slots; at++) {
        bool is_end = slots[at].kind == SLOT_ACCOUNT || slots[at].kind == SLOT_NETWORK;
        if (is_end && slots[at].expires > now)
            end_elsewhere(m, &slots[at], at, now);
    }
    atomic_store(&m->n, m->used[CW_MCP_POOL_STATES] + m->used[CW_MCP_POOL_ENDS]);
    pthread_mutex_unlock(&m->lock);
    free(slots);
}

/* ---- state for a successor ---- */

static void write_number(cw_json_writer *w, const known *k)
{
    char text[2 * CW_MCP_NUMBER + 1];
    cw_hex_write(text, k->number, CW_MCP_NUMBER);
    cw_json_add_string_member(w, CW_STR("number"), cw_str_from(text));
}

static void write_record(cw_json_writer *w, const known *k)
{
    cw_json_open_object(w);
    write_number(w, k);
    cw_json_add_string_member(w, CW_STR("owner"), cw_str_make(k->owner->key, k->owner->n_key));
    cw_json_add_bool_member(w, CW_STR("anonymous"), k->owner->is_anonymous);
    cw_json_add_i64_member(w, CW_STR("expires"), k->expires == INT64_MAX ? 0 : k->expires);
    if (k->has_level)
        cw_json_add_i64_member(w, CW_STR("level"), k->level);
    cw_json_add_key(w, CW_STR("uris"));
    cw_json_open_array(w);
    for (size_t at = 0; at < k->uris.n; at += strlen(k->uris.p + at) + 1)
        cw_json_add_string(w, cw_str_from(k->uris.p + at));
    cw_json_close(w);
    cw_json_close(w);
}

void cw_mcp_session_store_write(cw_mcp_session_store *m, cw_json_writer *w)
{
    cw_json_open_array(w);
    pthread_mutex_lock(&m->lock);
    for (const known *k = m->first; k; k = k->next) {
        if (k->has_state)
            write_record(w, k);
    }
    pthread_mutex_unlock(&m->lock);
    cw_json_close(w);
}

static bool read_number(const cw_json *state, unsigned char out[CW_MCP_NUMBER])
{
    const cw_json *v = cw_json_get(state, CW_STR("number"));
    cw_str text = cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
    if (text.n != 2 * CW_MCP_NUMBER)
        return false;
    for (size_t i = 0; i < CW_MCP_NUMBER; i++) {
        int high = cw_hex_value(text.p[2 * i]), low = cw_hex_value(text.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

static void read_state(cw_mcp_session_store *m, const cw_json *state, int64_t now)
{
    cw_mcp_session session = {.is_named = true};
    const cw_json *owner_id = cw_json_get(state, CW_STR("owner"));
    const cw_json *expires = cw_json_get(state, CW_STR("expires"));
    const cw_json *level = cw_json_get(state, CW_STR("level"));
    const cw_json *uris = cw_json_get(state, CW_STR("uris"));
    int64_t n = 0;
    if (!read_number(state, session.number) || !cw_json_is(owner_id, CW_JSON_STRING) || !expires ||
        !cw_json_to_i64(expires, &session.expires))
        return;
    cw_mcp_session_owner by = {
        .owner = cw_json_text(owner_id),
        .is_anonymous = cw_json_is(cw_json_get(state, CW_STR("anonymous")), CW_JSON_TRUE),
        .now = now};
    /* State that does not fit is lost, as it would be after a restart. */
    if (level && cw_json_to_i64(level, &n) && n >= CW_LOG_OFF && n <= CW_LOG_DEBUG)
        (void)!cw_mcp_session_store_set_level(m, &by, &session, (cw_log_level)n);
    if (!cw_json_is(uris, CW_JSON_ARRAY))
        return;
    for (const cw_json *v = cw_json_first(uris); v; v = cw_json_next(v)) {
        if (cw_json_is(v, CW_JSON_STRING))
            (void)!cw_mcp_session_store_subscribe(m, &by, &session, cw_json_text(v));
    }
}

void cw_mcp_session_store_read(cw_mcp_session_store *m, const cw_json *states, int64_t now)
{
    if (!cw_json_is(states, CW_JSON_ARRAY))
        return;
    for (const cw_json *v = cw_json_first(states); v; v = cw_json_next(v))
        read_state(m, v, now);
}

cw_str cw_mcp_session_owner_name(const cw_mcp_session_owner *by, char out[CW_MCP_OWNER_MAX])
{
    if (by->owner.n >= CW_MCP_OWNER_MAX)
        return (cw_str){NULL, 0};
    out[0] = by->is_anonymous ? '-' : '+';
    memcpy(out + 1, by->owner.p, by->owner.n);
    return cw_str_make(out, by->owner.n + 1);
}

void cw_mcp_session_store_init(cw_mcp_session_store *m)
{
    m->ends_fd = -1;
    /* The pools are the ceiling, and the streams that are open. */
    cw_map_init(&m->sessions, SIZE_MAX / 2);
    cw_map_init(&m->owners[false], SIZE_MAX / 2);
    cw_map_init(&m->owners[true], SIZE_MAX / 2);
    cw_list_init(&m->ends[false]);
    cw_list_init(&m->ends[true]);
    pthread_mutex_init(&m->lock, NULL);
}

void cw_mcp_session_store_done(cw_mcp_session_store *m)
{
    while (m->first)
        forget(m, m->first);
    if (m->ends_fd >= 0)
        close(m->ends_fd);
    free(m->free_slots);
    cw_map_done(&m->sessions);
    cw_map_done(&m->owners[false]);
    cw_map_done(&m->owners[true]);
    pthread_mutex_destroy(&m->lock);
}
