/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/sqlite_int.h"

/* The columns of a session with its account's name. */
#define COLUMNS "s.id, s.account, a.name, s.hash, s.created, s.used"
#define N_COLUMNS 6

static cw_session session_of(cw_query *q)
{
    cw_session session = {
        .id = cw_query_i64(q, 0),
        .account = cw_query_i64(q, 1),
        .account_name = cw_query_text(q, 2),
        .created = cw_query_i64(q, 4),
        .used = cw_query_i64(q, 5),
    };
    const void *hash = sqlite3_column_blob(q->stmt, 3);
    if (hash && sqlite3_column_bytes(q->stmt, 3) == (int)CW_DB_HASH)
        memcpy(session.hash, hash, CW_DB_HASH);
    return session;
}

/* ---- adding ---- */

static cw_code remove_old(cw_db *db, int64_t now, const cw_session_rules *rules, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db, "DELETE FROM session WHERE created <= ?1 OR used <= ?2");
    cw_query_bind_i64(&q, 1, now - (int64_t)rules->lifetime_ms);
    cw_query_bind_i64(&q, 2, now - (int64_t)rules->idle_ms);
    cw_code rc = cw_query_change(&q, err);
    return rc == CW_DONE ? CW_OK : rc;
}

/* One statement: between the check of the password and the row nobody can change the password. */
static cw_code insert(cw_db *db, const cw_session *session, cw_str password, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db,
                  "INSERT INTO session (account, hash, created, used)"
                  " SELECT id, ?2, ?3, ?3 FROM account"
                  " WHERE id = ?1 AND password = ?4 AND blocked = 0");
    cw_query_bind_i64(&q, 1, session->account);
    cw_query_bind_hash(&q, 2, session->hash);
    cw_query_bind_i64(&q, 3, session->created);
    cw_query_bind_text(&q, 4, password);
    cw_code rc = cw_query_change(&q, err);
    if (rc == CW_DONE)
        return cw_fail(err, CW_NOTFOUND, "no account with this password");
    return rc;
}

/* By number, not by time: the clock may have been set back. */
static cw_code remove_surplus(cw_db *db, int64_t account, uint32_t kept, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db,
                  "DELETE FROM session WHERE account = ?1 AND id NOT IN"
                  " (SELECT id FROM session WHERE account = ?1 ORDER BY id DESC LIMIT ?2)");
    cw_query_bind_i64(&q, 1, account);
    cw_query_bind_i64(&q, 2, kept);
    cw_code rc = cw_query_change(&q, err);
    return rc == CW_DONE ? CW_OK : rc;
}

static cw_code add(cw_db *db, const cw_session *session, cw_str password,
                   const cw_session_rules *rules, const unsigned char *replaced, cw_err *err)
{
    cw_code rc = remove_old(db, session->created, rules, err);
    if (!rc && replaced)
        rc = cw_db_end_session(db, replaced, err);
    if (!rc || rc == CW_DONE)
        rc = insert(db, session, password, err);
    return rc ? rc : remove_surplus(db, session->account, rules->per_account, err);
}

cw_code cw_db_add_session(cw_db *db, const cw_session *session, cw_str password,
                          const cw_session_rules *rules, const unsigned char *replaced, cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, add(db, session, password, rules, replaced, err), err);
}

/* ---- using ---- */

static void *copy_session(cw_query *q, cw_arena *arena)
{
    cw_session *copy = cw_query_alloc(q, arena, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = session_of(q);
    copy->account_name = cw_query_dup(q, arena, copy->account_name);
    return copy;
}

cw_code cw_db_find_session(cw_db *db, const unsigned char hash[CW_DB_HASH], cw_arena *arena,
                           cw_session **ret, cw_account **ret_account, cw_err *err)
{
    static const cw_owned what = {
        "SELECT " COLUMNS ", " CW_ACCOUNT_COLUMNS
        " FROM session s JOIN account a ON a.id = s.account WHERE s.hash = ?1",
        N_COLUMNS, copy_session};
    void *found = NULL;
    cw_code rc = cw_query_find_owned(db, &what, hash, arena, ret_account, &found, err);
    if (!rc)
        *ret = found;
    return rc;
}

cw_code cw_db_touch_session(cw_db *db, int64_t id, int64_t when, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db, "UPDATE session SET used = ?2 WHERE id = ?1");
    cw_query_bind_i64(&q, 1, id);
    cw_query_bind_i64(&q, 2, when);
    (void)cw_query_step(&q);
    return cw_query_close(&q, err);
}

cw_code cw_db_each_session(cw_db *db, int64_t account, cw_db_session_fn fn, void *ctx, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db,
                  "SELECT " COLUMNS " FROM session s JOIN account a ON a.id = s.account"
                  " WHERE ?1 IN (0, s.account) ORDER BY s.id");
    cw_query_bind_i64(&q, 1, account);
    while (cw_query_step(&q)) {
        cw_err problem = {0};
        cw_session session = session_of(&q);
        cw_code rc = q.code ? CW_OK : fn(&session, ctx, &problem);
        cw_query_fail(&q, rc, &problem);
    }
    return cw_query_close(&q, err);
}

/* ---- ending ---- */

cw_code cw_db_remove_session(cw_db *db, int64_t id, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db, "DELETE FROM session WHERE id = ?1");
    cw_query_bind_i64(&q, 1, id);
    cw_code rc = cw_query_change(&q, err);
    if (rc == CW_DONE)
        return cw_fail(err, CW_NOTFOUND, "no session %lld", (long long)id);
    return rc;
}

cw_code cw_db_end_session(cw_db *db, const unsigned char hash[CW_DB_HASH], cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db, "DELETE FROM session WHERE hash = ?1");
    cw_query_bind_hash(&q, 1, hash);
    return cw_query_change(&q, err);
}
