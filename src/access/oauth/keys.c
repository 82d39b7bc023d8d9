/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys.c - keys of the database: opened, made, published, rotated. */
#include "access/oauth/keys.h"

#include "access/jwt/signing_key.h"
#include "access/seal_rows.h"
#include "base/buf.h"
#include "base/log.h"

#define TYP "at+jwt"
#define MEMORY ((size_t)1 << 20)
#define SET_MAX 65536u
#define HOUR_MS (3600 * 1000LL)

/* ---- keys of the server ---- */

static cw_code make(cw_db *db, const cw_oauth_settings *settings, cw_db_oauth_key_state state,
                    int64_t now, cw_arena *arena, cw_err *err)
{
    cw_signing_key key;
    cw_db_oauth_key row = {.state = state, .created = now, .since = now};
    cw_code rc = cw_signing_key_make(settings->signs_with_rsa ? CW_JOSE_RS256 : CW_JOSE_ES256,
                                     arena, &key, err);
    if (!rc)
        rc =
            cw_seal_close(settings->seal, CW_SEAL_SIGNING_KEY, key.secret, arena, &row.secret, err);
    if (rc)
        return rc;
    row.id = key.id;
    row.jwk = key.jwk;
    row.alg = cw_str_from(cw_signing_key_alg_name(key.alg));
    rc = cw_db_add_oauth_key(db, &row, err);
    if (!rc)
        cw_log(CW_LOG_INFO, "access", "made a key for access tokens", CW_KV("key", key.id),
               CW_KV("alg", row.alg));
    return rc;
}

/* Within a change. */
static cw_code add_missing(cw_db *db, const cw_oauth_settings *settings, int64_t now,
                           cw_arena *arena, cw_err *err)
{
    static const cw_db_oauth_key_state needed[] = {CW_DB_KEY_CURRENT, CW_DB_KEY_NEXT};
    cw_code rc = cw_db_remove_ended_oauth_keys(db, now, err);
    for (size_t i = 0; i < CW_COUNT(needed) && !rc; i++) {
        cw_db_oauth_key *row = NULL;
        rc = cw_db_find_oauth_key(db, needed[i], arena, &row, err);
        if (!rc && !row)
            rc = make(db, settings, needed[i], now, arena, err);
    }
    return rc;
}

static cw_code open_key(const cw_oauth_settings *settings, const cw_db_oauth_key *row,
                        cw_arena *arena, cw_signing_key *ret, cw_err *err)
{
    *ret = (cw_signing_key){.id = row->id, .jwk = row->jwk};
    cw_code rc = cw_jose_alg_parse(row->alg, &ret->alg) ? CW_OK : CW_PARSE;
    if (!rc)
        rc = cw_seal_open(settings->seal, CW_SEAL_SIGNING_KEY, row->secret, arena, &ret->secret);
    if (rc == CW_PARSE)
        return cw_fail(err, CW_CONFIG,
                       "the key for access tokens was sealed with another secret: restore "
                       "mcp.secret_file, or run \"causeway key rotate --lost\"");
    return rc ? cw_fail_nomem(err) : CW_OK;
}

static cw_code find_current(cw_db *db, const cw_oauth_settings *settings, int64_t now,
                            cw_arena *arena, cw_signing_key *ret, cw_err *err)
{
    cw_db_oauth_key *row = NULL;
    cw_code rc = add_missing(db, settings, now, arena, err);
    if (!rc)
        rc = cw_db_find_oauth_key(db, CW_DB_KEY_CURRENT, arena, &row, err);
    if (!rc && !row)
        rc = cw_fail(err, CW_INTERNAL, "there is no key for access tokens");
    return rc ? rc : open_key(settings, row, arena, ret, err);
}

cw_code cw_oauth_keys_prepare(cw_db *db, const cw_oauth_settings *settings, int64_t now,
                              cw_err *err)
{
    cw_arena arena;
    cw_signing_key key;
    cw_arena_init(&arena, MEMORY);
    cw_code rc = cw_db_begin(db, err);
    if (!rc) {
        rc = find_current(db, settings, now, &arena, &key, err);
        /* mcp.secret_file may have changed, and the old secret is not known for ever. */
        if (!rc)
            rc = cw_seal_renew_signing_keys(db, settings->seal, &arena, err);
        rc = cw_db_end(db, rc, err);
    }
    cw_arena_wipe(&arena);
    return rc;
}

cw_code cw_oauth_keys_sign(cw_db *db, const cw_oauth_settings *settings, cw_str claims, int64_t now,
                           cw_arena *arena, cw_str *ret, cw_err *err)
{
    cw_signing_key key;
    cw_code rc = find_current(db, settings, now, arena, &key, err);
    return rc ? rc : cw_signing_key_sign(&key, TYP, claims, arena, ret, err);
}

/* ---- the public set ---- */

typedef struct publisher {
    cw_buf *out;
    int64_t now;
    bool has_current, has_next;
} publisher;

static cw_code publish_row(const cw_db_oauth_key *row, void *ctx, cw_err *err)
{
    publisher *p = ctx;
    (void)err;
    p->has_current = p->has_current || row->state == CW_DB_KEY_CURRENT;
    p->has_next = p->has_next || row->state == CW_DB_KEY_NEXT;
    if (row->ends && row->ends <= p->now)
        return CW_OK;
    cw_buf_add(p->out, cw_buf_str(p->out).n ? CW_STR(",") : CW_STR("{\"keys\":["));
    cw_buf_add(p->out, row->jwk);
    return CW_OK;
}

cw_code cw_oauth_keys_publish(cw_db *db, const cw_oauth_settings *settings, int64_t now,
                              cw_arena *arena, cw_str *ret, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, SET_MAX);
    publisher p = {.out = &out, .now = now};
    cw_code rc = cw_db_each_oauth_key(db, publish_row, &p, err);
    if (!rc && !(p.has_current && p.has_next)) {
        cw_buf_clear(&out);
        rc = cw_oauth_keys_prepare(db, settings, now, err);
        if (!rc)
            rc = cw_db_each_oauth_key(db, publish_row, &p, err);
    }
    cw_buf_add(&out, CW_STR("]}"));
    if (rc || out.code)
        return rc ? rc : cw_fail(err, out.code, "%s", cw_code_text(out.code));
    *ret = cw_arena_dup_str(arena, cw_buf_str(&out));
    return ret->p ? CW_OK : cw_arena_fail(arena, err);
}

/* ---- rotation ---- */

static cw_code retire(cw_db *db, cw_db_oauth_key_state state, const cw_oauth_keys_rotation *r,
                      int64_t now, cw_arena *arena, cw_err *err)
{
    cw_db_oauth_key *row = NULL;
    cw_code rc = cw_db_find_oauth_key(db, state, arena, &row, err);
    if (rc || !row)
        return rc;
    row->state = CW_DB_KEY_OLD;
    row->since = now;
    row->ends = now + r->token_ms + CW_OAUTH_KEYS_KEPT_MS;
    return cw_db_change_oauth_key(db, row, err);
}

static cw_code rotate(cw_db *db, const cw_oauth_keys_rotation *r, int64_t now, cw_arena *arena,
                      cw_str *ret_id, cw_err *err)
{
    cw_db_oauth_key *next = NULL;
    cw_code rc = cw_db_find_oauth_key(db, CW_DB_KEY_NEXT, arena, &next, err);
    if (rc)
        return rc;
    if (!next)
        return cw_fail(
            err, CW_INVALID,
            "there is no next key: a server with access.server.token_format jwt makes it");
    int64_t age = now - next->created;
    if (age < CW_OAUTH_KEYS_PUBLISHED_MS && !r->is_now)
        return cw_fail(err, CW_INVALID,
                       "the next key was published %lld h ago: others may not know it yet. Wait "
                       "until it is 24 h, or use --now",
                       (long long)(age / HOUR_MS));
    rc = retire(db, CW_DB_KEY_CURRENT, r, now, arena, err);
    next->state = CW_DB_KEY_CURRENT;
    next->since = now;
    *ret_id = next->id;
    return rc ? rc : cw_db_change_oauth_key(db, next, err);
}

static cw_code replace_all(cw_db *db, const cw_oauth_keys_rotation *r, int64_t now, cw_arena *arena,
                           cw_err *err)
{
    cw_code rc = retire(db, CW_DB_KEY_CURRENT, r, now, arena, err);
    return rc ? rc : retire(db, CW_DB_KEY_NEXT, r, now, arena, err);
}

cw_code cw_oauth_keys_rotate(cw_db *db, const cw_oauth_keys_rotation *rotation, int64_t now,
                             cw_arena *arena, cw_str *ret_id, cw_err *err)
{
    *ret_id = CW_STR("");
    cw_code rc = cw_db_begin(db, err);
    if (rc)
        return rc;
    rc = rotation->is_lost ? replace_all(db, rotation, now, arena, err)
                           : rotate(db, rotation, now, arena, ret_id, err);
    return cw_db_end(db, rc, err);
}
