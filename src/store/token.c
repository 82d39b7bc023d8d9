/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/sqlite_int.h"

/* The columns of a token with its account's name. */
#define COLUMNS "t.id, t.account, a.name, t.name, t.hash, t.created, t.expires, t.revoked"
#define N_COLUMNS 8

static cw_token token_of(cw_query *q)
{
    cw_token token = {
        .id = cw_query_i64(q, 0),
        .account = cw_query_i64(q, 1),
        .account_name = cw_query_text(q, 2),
        .name = cw_query_text(q, 3),
        .created = cw_query_i64(q, 5),
        .expires = cw_query_i64(q, 6),
        .revoked = cw_query_i64(q, 7),
    };
    const void *hash = sqlite3_column_blob(q->stmt, 4);
    if (hash && sqlite3_column_bytes(q->stmt, 4) == (int)CW_DB_HASH)
        memcpy(token.hash, hash, CW_DB_HASH);
    return token;
}

static cw_code add_scopes(cw_db *db, int64_t id, const cw_str *scopes, size_t n, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db, "INSERT OR IGNORE INTO token_scope (token, scope) VALUES (?1, ?2)");
    cw_query_bind_i64(&q, 1, id);
    for (size_t i = 0; i < n; i++) {
        cw_query_bind_text(&q, 2, scopes[i]);
        (void)cw_query_step(&q);
        cw_query_again(&q);
    }
    return cw_query_close(&q, err);
}

static cw_code add_token(cw_db *db, const cw_token *token, int64_t *ret_id, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db,
                  "INSERT INTO token (account, name, hash, created, expires)"
                  " VALUES (?1, ?2, ?3, ?4, ?5)");
    cw_query_bind_i64(&q, 1, token->account);
    cw_query_bind_text(&q, 2, token->name);
    cw_query_bind_hash(&q, 3, token->hash);
    cw_query_bind_i64(&q, 4, token->created);
    cw_query_bind_i64(&q, 5, token->expires);
    (void)cw_query_step(&q);
    cw_code rc = cw_query_close(&q, err);
    if (!rc)
        *ret_id = sqlite3_last_insert_rowid(db->sqlite);
    return rc;
}

cw_code cw_db_add_token(cw_db *db, const cw_token *token, const cw_str *scopes, size_t n_scopes,
                        int64_t *ret_id, cw_err *err)
{
    int64_t id = 0;
    cw_code rc = cw_db_begin(db, err);
    if (rc)
        return rc;
    rc = add_token(db, token, &id, err);
    if (!rc)
        rc = add_scopes(db, id, scopes, n_scopes, err);
    rc = cw_db_end(db, rc, err);
    if (!rc)
        *ret_id = id;
    return rc;
}

static void *copy_token(cw_query *q, cw_arena *arena)
{
    cw_token *copy = cw_query_alloc(q, arena, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = token_of(q);
    copy->account_name = cw_query_dup(q, arena, copy->account_name);
    copy->name = cw_query_dup(q, arena, copy->name);
    return copy;
}

cw_code cw_db_find_token(cw_db *db, const unsigned char hash[CW_DB_HASH], cw_arena *arena,
                         cw_token **ret, cw_account **ret_account, cw_err *err)
{
    static const cw_owned what = {
        "SELECT " COLUMNS ", " CW_ACCOUNT_COLUMNS
        " FROM token t JOIN account a ON a.id = t.account WHERE t.hash = ?1",
        N_COLUMNS, copy_token};
    void *found = NULL;
    cw_code rc = cw_query_find_owned(db, &what, hash, arena, ret_account, &found, err);
    if (!rc)
        *ret = found;
    return rc;
}

cw_code cw_db_each_token(cw_db *db, int64_t account, cw_db_token_fn fn, void *ctx, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db,
                  "SELECT " COLUMNS " FROM token t JOIN account a ON a.id = t.account"
                  " WHERE ?1 IN (0, t.account) ORDER BY t.id");
    cw_query_bind_i64(&q, 1, account);
    while (cw_query_step(&q)) {
        cw_err problem = {0};
        cw_token token = token_of(&q);
        cw_code rc = q.code ? CW_OK : fn(&token, ctx, &problem);
        cw_query_fail(&q, rc, &problem);
    }
    return cw_query_close(&q, err);
}

cw_code cw_db_each_scope_of(cw_db *db, int64_t token, cw_db_text_fn fn, void *ctx, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db, "SELECT scope FROM token_scope WHERE token = ?1 ORDER BY scope");
    cw_query_bind_i64(&q, 1, token);
    return cw_query_each_text(&q, fn, ctx, err);
}

static cw_code revoke(cw_db *db, int64_t id, int64_t when, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db, "SELECT revoked FROM token WHERE id = ?1");
    cw_query_bind_i64(&q, 1, id);
    bool is_there = cw_query_step(&q);
    bool is_revoked = is_there && cw_query_i64(&q, 0) != 0;
    cw_code rc = cw_query_close(&q, err);
    if (rc)
        return rc;
    if (!is_there)
        return cw_fail(err, CW_NOTFOUND, "no token %lld", (long long)id);
    if (is_revoked)
        return CW_DONE;
    cw_query_open(&q, db, "UPDATE token SET revoked = ?2 WHERE id = ?1");
    cw_query_bind_i64(&q, 1, id);
    cw_query_bind_i64(&q, 2, when);
    (void)cw_query_step(&q);
    return cw_query_close(&q, err);
}

cw_code cw_db_revoke_token(cw_db *db, int64_t id, int64_t when, cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, revoke(db, id, when, err), err);
}
