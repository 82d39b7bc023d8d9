/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal_keys.c - rows of keys become rings of keys; rotation. */
#include "access/seal_keys.h"

#include <sodium.h>

#include "access/seal_rows.h"
#include "base/clock.h"
#include "base/random.h"

#define OAUTH "causeway oauth\n"
#define ROWS_MAX_BYTES ((size_t)256 << 20) /* of sealed rows, opened and sealed again */

_Static_assert(CW_SEAL_KEY == CW_DB_KEY, "a key fits its column");
_Static_assert(CW_DB_SEAL_KEYS + 1 <= CW_SEAL_MAX_KEYS, "the rows and the key of a process fit");

/* ---- rings ---- */

static cw_seal_key oauth_key(const cw_seal_key *key)
{
    unsigned char bytes[sizeof OAUTH - 1 + CW_SEAL_KEY];
    memcpy(bytes, OAUTH, sizeof OAUTH - 1);
    memcpy(bytes + sizeof OAUTH - 1, key->bytes, CW_SEAL_KEY);
    cw_seal_key derived = cw_seal_make_key(cw_str_make((const char *)bytes, sizeof bytes));
    derived.seals_from = key->seals_from;
    sodium_memzero(bytes, sizeof bytes);
    return derived;
}

/* With the lock. The server's own seal is last: a failure between the two is mended by the next reading. */
static cw_code set(cw_seal_keys *keys, const cw_seal_key *list, size_t n, cw_err *err)
{
    cw_seal_key derived[CW_SEAL_MAX_KEYS];
    for (size_t i = 0; i < n; i++)
        derived[i] = oauth_key(&list[i]);
    cw_code rc = cw_seal_set_keys(&keys->oauth, derived, n, err);
    sodium_memzero(derived, sizeof derived);
    return rc ? rc : cw_seal_set_keys(&keys->server, list, n, err);
}

cw_code cw_seal_keys_init(cw_seal_keys *keys, cw_err *err)
{
    *keys = (cw_seal_keys){.is_in_files = false};
    pthread_mutex_init(&keys->lock, NULL);
    cw_code rc = cw_seal_init(&keys->server, err);
    if (rc)
        return rc;
    keys->own = keys->server.first.keys[0];
    keys->oauth.first = (cw_seal_ring){.n = 1, .keys = {oauth_key(&keys->own)}};
    return CW_OK;
}

void cw_seal_keys_done(cw_seal_keys *keys)
{
    cw_seal_done(&keys->server);
    cw_seal_done(&keys->oauth);
    sodium_memzero(&keys->own, sizeof keys->own);
    pthread_mutex_destroy(&keys->lock);
}

cw_code cw_seal_keys_set(cw_seal_keys *keys, const cw_seal_key *list, size_t n, cw_err *err)
{
    pthread_mutex_lock(&keys->lock);
    cw_code rc = set(keys, list, n, err);
    pthread_mutex_unlock(&keys->lock);
    return rc;
}

/* ---- rows ---- */

/* The clock of the database may have been set back since: then all servers know the key for long. */
static uint64_t seals_from(const cw_db_seal_key *row, int64_t now)
{
    int64_t wait = row->begins - now;
    if (wait <= 0)
        return 0;
    return cw_clock_ms() + (uint64_t)(wait < CW_SEAL_KEYS_WAIT_MS ? wait : CW_SEAL_KEYS_WAIT_MS);
}

static void ring_of_rows(const cw_db_seal_key *rows, size_t n, int64_t now, cw_seal_key *ret)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(ret[i].bytes, rows[i].key, CW_SEAL_KEY);
        ret[i].seals_from = seals_from(&rows[i], now);
    }
}

/* With the lock: add the own key of the process, if it opens texts. It leaves as the rows of its time do, so
 * three rotations end every text. A row with its bytes ends it at once: that row stands for it. */
static void add_own(cw_seal_keys *keys, const cw_db_seal_key *rows, size_t n_rows,
                    cw_seal_key *list, size_t *n)
{
    bool is_row = false;
    for (size_t i = 0; i < n_rows; i++)
        is_row = is_row || memcmp(rows[i].key, keys->own.bytes, CW_SEAL_KEY) == 0;
    if (!keys->own_until)
        keys->own_until = rows[0].number + (int64_t)CW_DB_SEAL_KEYS;
    if (is_row || rows[0].number >= keys->own_until)
        atomic_store(&keys->has_used_own, false);
    else
        list[(*n)++] = keys->own;
}

/* A database that cannot be written is of use for all else: that is no failure of it. */
static cw_code read_or_offer(cw_db *db, const cw_seal_key *own, cw_db_seal_key *ret, size_t *ret_n,
                             cw_err *err)
{
    cw_err why = {0};
    cw_code rc = cw_db_read_seal_keys(db, ret, ret_n, err);
    if (rc || *ret_n)
        return rc;
    cw_db_seal_key first = {.number = 1};
    memcpy(first.key, own->bytes, CW_SEAL_KEY);
    cw_code written = cw_db_add_seal_key(db, &first, &why);
    if (!written)
        rc = cw_db_read_seal_keys(db, ret, ret_n, err);
    sodium_memzero(&first, sizeof first);
    if (!rc && !*ret_n)
        return cw_fail(err, CW_NOTFOUND, "%s", written ? why.msg : "the row of the key is damaged");
    return rc;
}

cw_code cw_seal_keys_read(cw_seal_keys *keys, cw_db *db, cw_err *err)
{
    cw_db_seal_key rows[CW_DB_SEAL_KEYS];
    cw_seal_key list[CW_SEAL_MAX_KEYS];
    size_t n = 0;
    int64_t now = 0;
    if (!atomic_load(&keys->is_in_store))
        return CW_OK;
    cw_code rc = read_or_offer(db, &keys->own, rows, &n, err);
    if (!rc)
        rc = cw_db_now(db, &now, err);
    if (rc)
        return rc;
    ring_of_rows(rows, n, now, list);
    pthread_mutex_lock(&keys->lock);
    if (atomic_load(&keys->has_used_own))
        add_own(keys, rows, n, list, &n);
    rc = set(keys, list, n, err);
    pthread_mutex_unlock(&keys->lock);
    sodium_memzero(rows, sizeof rows);
    sodium_memzero(list, sizeof list);
    return rc;
}

/* ---- rotation ---- */

/* `rows` are the keys before it, the newest first. */
static cw_code check(const cw_db_seal_key *rows, size_t n, const cw_seal_keys_rotation *r,
                     int64_t now, cw_err *err)
{
    char date[CW_CLOCK_ISO_LEN + 1];
    if (n && rows[0].begins > now && rows[0].begins - now <= CW_SEAL_KEYS_WAIT_MS)
        return cw_fail(err, CW_INVALID, "the newest key begins to seal in %lld s: wait until then",
                       (long long)((rows[0].begins - now + 999) / 1000));
    /* The oldest one has sealed until the one after it began. */
    int64_t until = n < CW_DB_SEAL_KEYS ? 0 : rows[n - 2].begins + r->session_ms;
    if (r->is_now || until <= now)
        return CW_OK;
    cw_clock_format_iso(until, date);
    return cw_fail(
        err, CW_INVALID,
        "sessions may be alive until %s that the oldest key has sealed: wait until then, "
        "or end them with --now",
        date);
}

static cw_code renew_rows(cw_db *db, const cw_db_seal_key *rows, size_t n, int64_t now, cw_err *err)
{
    cw_seal_keys keys;
    cw_seal_key list[CW_SEAL_MAX_KEYS];
    cw_arena arena;
    cw_code rc = cw_seal_keys_init(&keys, err);
    ring_of_rows(rows, n, now, list);
    cw_arena_init(&arena, ROWS_MAX_BYTES);
    if (!rc)
        rc = cw_seal_keys_set(&keys, list, n, err);
    if (!rc)
        rc = cw_seal_renew_signing_keys(db, &keys.oauth, &arena, err);
    if (!rc)
        rc = cw_seal_renew_webhooks(db, &keys.server, cw_clock_wall_ms(), &arena, err);
    cw_arena_wipe(&arena);
    cw_seal_keys_done(&keys);
    sodium_memzero(list, sizeof list);
    return rc;
}

/* The new key seals no row yet: a server that has not read it could not open the row. */
static cw_code rotate(cw_db *db, const cw_seal_keys_rotation *r, cw_db_seal_key *ret, cw_err *err)
{
    cw_db_seal_key rows[CW_DB_SEAL_KEYS];
    size_t n = 0;
    int64_t now = 0, newest = 0;
    cw_code rc = cw_db_read_seal_keys(db, rows, &n, err);
    if (!rc)
        rc = cw_db_find_newest_seal_key(db, &newest, err);
    if (!rc)
        rc = cw_db_now(db, &now, err);
    if (!rc)
        rc = check(rows, n, r, now, err);
    if (!rc && n)
        rc = renew_rows(db, rows, n, now, err);
    *ret = (cw_db_seal_key){
        .number = newest + 1, .created = now, .begins = n ? now + CW_SEAL_KEYS_WAIT_MS : now};
    sodium_memzero(rows, sizeof rows);
    if (!rc)
        rc = cw_random_bytes(ret->key, CW_DB_KEY, err);
    if (!rc)
        rc = cw_db_add_seal_key(db, ret, err);
    return rc ? rc : cw_db_remove_seal_keys(db, ret->number - (int64_t)CW_DB_SEAL_KEYS + 1, err);
}

cw_code cw_seal_keys_rotate(cw_db *db, const cw_seal_keys_rotation *rotation, cw_db_seal_key *ret,
                            cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, rotate(db, rotation, ret, err), err);
}
