/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/sqlite_int.h"

static cw_account account_of(cw_query *q, int column)
{
    return (cw_account){
        .id = cw_query_i64(q, column),
        .name = cw_query_text(q, column + 1),
        .password = cw_query_text(q, column + 2),
        .language = cw_query_text(q, column + 3),
        .created = cw_query_i64(q, column + 4),
        .is_blocked = cw_query_i64(q, column + 5) != 0,
    };
}

void *cw_query_alloc(cw_query *q, cw_arena *arena, size_t n)
{
    void *p = cw_arena_alloc(arena, n);
    if (!p) {
        cw_err err;
        cw_query_fail(q, cw_arena_fail(arena, &err), &err);
    }
    return p;
}

static cw_account *copy_account(cw_query *q, int column, cw_arena *arena)
{
    cw_account *copy = cw_query_alloc(q, arena, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = account_of(q, column);
    copy->name = cw_query_dup(q, arena, copy->name);
    copy->password = cw_query_dup(q, arena, copy->password);
    copy->language = cw_query_dup(q, arena, copy->language);
    return copy;
}

cw_code cw_query_find_owned(cw_db *db, const cw_owned *what, const unsigned char hash[CW_DB_HASH],
                            cw_arena *arena, cw_account **ret_account, void **ret, cw_err *err)
{
    cw_query q;
    void *row = NULL;
    cw_account *account = NULL;
    cw_query_open(&q, db, what->sql);
    cw_query_bind_hash(&q, 1, hash);
    if (cw_query_step(&q)) {
        row = what->copy(&q, arena);
        account = copy_account(&q, what->n_columns, arena);
    }
    cw_code rc = cw_query_close(&q, err);
    if (!rc) {
        *ret = row;
        *ret_account = account;
    }
    return rc;
}

static cw_code insert(cw_db *db, const cw_account *account, int64_t *ret_id, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db,
                  "INSERT INTO account (name, password, language, created, blocked)"
                  " VALUES (?1, ?2, ?3, ?4, ?5)");
    cw_query_bind_text(&q, 1, account->name);
    cw_query_bind_optional(&q, 2, account->password);
    cw_query_bind_optional(&q, 3, account->language);
    cw_query_bind_i64(&q, 4, account->created);
    cw_query_bind_i64(&q, 5, account->is_blocked);
    (void)cw_query_step(&q);
    cw_code rc = cw_query_close(&q, err);
    if (rc == CW_PARAMS)
        return cw_fail(err, rc, "account '%.*s' exists already", CW_STR_ARG(account->name));
    if (!rc)
        *ret_id = sqlite3_last_insert_rowid(db->sqlite);
    return rc;
}

/* CW_DONE: the account has it already, or does not have it. */
static cw_code set_role(cw_db *db, int64_t account, cw_str role, bool has_it, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db,
                  has_it ? "INSERT OR IGNORE INTO account_role (account, role) VALUES (?1, ?2)"
                         : "DELETE FROM account_role WHERE account = ?1 AND role = ?2");
    cw_query_bind_i64(&q, 1, account);
    cw_query_bind_text(&q, 2, role);
    return cw_query_change(&q, err);
}

cw_code cw_db_add_account(cw_db *db, const cw_account *account, const cw_str *roles, size_t n_roles,
                          int64_t *ret_id, cw_err *err)
{
    int64_t id = 0;
    cw_code rc = cw_db_begin(db, err);
    if (rc)
        return rc;
    rc = insert(db, account, &id, err);
    for (size_t i = 0; i < n_roles && !rc; i++) {
        rc = set_role(db, id, roles[i], true, err);
        rc = rc == CW_DONE ? CW_OK : rc; /* it was named twice */
    }
    rc = cw_db_end(db, rc, err);
    if (!rc)
        *ret_id = id;
    return rc;
}

cw_code cw_db_find_account(cw_db *db, cw_str name, cw_arena *arena, cw_account **ret, cw_err *err)
{
    cw_query q;
    cw_account *found = NULL;
    cw_query_open(&q, db, "SELECT " CW_ACCOUNT_COLUMNS " FROM account a WHERE a.name = ?1");
    cw_query_bind_text(&q, 1, name);
    if (cw_query_step(&q))
        found = copy_account(&q, 0, arena);
    cw_code rc = cw_query_close(&q, err);
    if (!rc)
        *ret = found;
    return rc;
}

cw_code cw_db_each_account(cw_db *db, cw_db_account_fn fn, void *ctx, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db, "SELECT " CW_ACCOUNT_COLUMNS " FROM account a ORDER BY a.name");
    while (cw_query_step(&q)) {
        cw_err problem = {0};
        cw_account account = account_of(&q, 0);
        cw_code rc = q.code ? CW_OK : fn(&account, ctx, &problem);
        cw_query_fail(&q, rc, &problem);
    }
    return cw_query_close(&q, err);
}

/* Run a change of one account that was opened; CW_NOTFOUND when it changed none. */
static cw_code change(cw_query *q, cw_str name, cw_err *err)
{
    cw_code rc = cw_query_change(q, err);
    if (rc == CW_DONE)
        return cw_fail(err, CW_NOTFOUND, "no account '%.*s'", CW_STR_ARG(name));
    return rc;
}

cw_code cw_db_remove_account(cw_db *db, cw_str name, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db, "DELETE FROM account WHERE name = ?1");
    cw_query_bind_text(&q, 1, name);
    return change(&q, name, err);
}

cw_code cw_db_block_account(cw_db *db, cw_str name, bool is_blocked, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db, "UPDATE account SET blocked = ?2 WHERE name = ?1");
    cw_query_bind_text(&q, 1, name);
    cw_query_bind_i64(&q, 2, is_blocked);
    return change(&q, name, err);
}

cw_code cw_db_set_password(cw_db *db, cw_str name, cw_str hash, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db, "UPDATE account SET password = ?2 WHERE name = ?1");
    cw_query_bind_text(&q, 1, name);
    cw_query_bind_optional(&q, 2, hash);
    return change(&q, name, err);
}

static cw_code find_id(cw_db *db, cw_str name, int64_t *ret, cw_err *err)
{
    cw_query q;
    int64_t id = 0;
    cw_query_open(&q, db, "SELECT id FROM account WHERE name = ?1");
    cw_query_bind_text(&q, 1, name);
    if (cw_query_step(&q))
        id = cw_query_i64(&q, 0);
    cw_code rc = cw_query_close(&q, err);
    if (!rc && id == 0)
        return cw_fail(err, CW_NOTFOUND, "no account '%.*s'", CW_STR_ARG(name));
    *ret = id;
    return rc;
}

static cw_code grant(cw_db *db, cw_str name, cw_str role, bool has_it, cw_err *err)
{
    int64_t id = 0;
    cw_code rc = find_id(db, name, &id, err);
    return rc ? rc : set_role(db, id, role, has_it, err);
}

cw_code cw_db_grant(cw_db *db, cw_str name, cw_str role, bool has_it, cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, grant(db, name, role, has_it, err), err);
}

cw_code cw_db_each_role_of(cw_db *db, int64_t account, cw_db_text_fn fn, void *ctx, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db, "SELECT role FROM account_role WHERE account = ?1 ORDER BY role");
    cw_query_bind_i64(&q, 1, account);
    return cw_query_each_text(&q, fn, ctx, err);
}

cw_code cw_db_each_permission_of(cw_db *db, int64_t account, cw_db_text_fn fn, void *ctx,
                                 cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db,
                  "SELECT permission FROM role_permission WHERE role = 'authenticated'"
                  " OR role IN (SELECT role FROM account_role WHERE account = ?1)");
    cw_query_bind_i64(&q, 1, account);
    return cw_query_each_text(&q, fn, ctx, err);
}
