/* SPDX-License-Identifier: GPL-2.0-or-later */
/* db.c - the rows of accounts, roles, tokens, sessions and keys. */
#include "store/db.h"

#include "base/clock.h"
#include "store/stmt.h"

typedef cw_db_query query;

#define CHANGES_KEPT 10000

/* One statement with a name; CW_DONE: it changed nothing. */
static cw_code change_named(cw_db *db, const char *sql, cw_str name, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, sql);
    cw_stmt_bind_text(&q, 1, name);
    return cw_stmt_run_change(&q, err);
}

/* ---- open and close ---- */

bool cw_db_is_server(const char *where)
{
    cw_str text = cw_str_from(where);
    return cw_str_starts(text, CW_STR("postgresql://")) ||
           cw_str_starts(text, CW_STR("postgres://"));
}

cw_code cw_db_check_opts(const cw_db_opts *opts, cw_err *err)
{
    return cw_db_is_server(opts->where) ? cw_postgres_check_opts(opts, err) : CW_OK;
}

cw_code cw_db_open(const cw_db_opts *opts, cw_db **ret, cw_err *err)
{
    return cw_db_is_server(opts->where) ? cw_postgres_open(opts, ret, err)
                                        : cw_sqlite_open(opts, ret, err);
}

cw_code cw_db_check(const cw_db_opts *opts, cw_db_health *ret, cw_err *err)
{
    return cw_db_is_server(opts->where) ? cw_postgres_check(opts, ret, err)
                                        : cw_sqlite_check(opts, ret, err);
}

void cw_db_close(cw_db *db)
{
    if (db)
        db->ops->close(db);
}

bool cw_db_is_current(const cw_db *db)
{
    return db->ops->is_current(db);
}

cw_code cw_db_data_version(cw_db *db, int64_t *ret, cw_err *err)
{
    return db->ops->data_version(db, ret, err);
}

static cw_code read_generation(cw_db *db, cw_db_reading *ret, cw_err *err)
{
    query q;
    cw_db_reading now = {0};
    cw_stmt_open(&q, db, "SELECT n, epoch FROM generation");
    if (cw_stmt_step(&q))
        now = (cw_db_reading){cw_stmt_i64(&q, 0), cw_stmt_i64(&q, 1)};
    cw_code rc = cw_stmt_close(&q, err);
    if (!rc)
        *ret = now;
    return rc;
}

/* Numbers without a gap: each change has its row. */
static cw_code read_accounts(cw_db *db, int64_t after, int64_t until, int64_t *accounts,
                             bool *ret_is_whole, cw_err *err)
{
    query q;
    int64_t n = 0;
    cw_stmt_open(&q, db, "SELECT account FROM change WHERE n > ?1 AND n <= ?2 ORDER BY n");
    cw_stmt_bind_i64(&q, 1, after);
    cw_stmt_bind_i64(&q, 2, until);
    while (n < until - after && cw_stmt_step(&q))
        accounts[n++] = cw_stmt_i64(&q, 0);
    *ret_is_whole = n == until - after;
    return cw_stmt_close(&q, err);
}

cw_code cw_db_read_changes(cw_db *db, cw_db_reading *at, cw_db_changed_fn fn, void *ctx,
                           cw_err *err)
{
    int64_t accounts[CW_DB_MAX_CHANGES];
    cw_db_reading now;
    bool is_whole = false;
    cw_code rc = read_generation(db, &now, err);
    if (!rc && now.n == at->n && now.epoch == at->epoch)
        return CW_DONE;
    if (!rc && now.epoch == at->epoch && now.n > at->n && now.n - at->n <= CW_DB_MAX_CHANGES)
        rc = read_accounts(db, at->n, now.n, accounts, &is_whole, err);
    if (rc)
        return rc;
    for (int64_t i = 0; is_whole && i < now.n - at->n; i++)
        fn(accounts[i], ctx);
    if (!is_whole)
        fn(0, ctx);
    *at = now;
    return CW_OK;
}

cw_code cw_db_forget_changes(cw_db *db, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "DELETE FROM change WHERE n <= (SELECT n - ?1 FROM generation)");
    cw_stmt_bind_i64(&q, 1, CHANGES_KEPT);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_notify(cw_db *db, cw_err *err)
{
    query q;
    if (!db->ops->notify)
        return CW_OK;
    cw_stmt_open(&q, db, db->ops->notify);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_begin_epoch(cw_db *db, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, db->ops->new_epoch);
    cw_code rc = cw_stmt_commit_change(&q, err);
    return rc == CW_DONE || !rc ? cw_db_notify(db, err) : rc;
}

cw_code cw_db_now(cw_db *db, int64_t *ret, cw_err *err)
{
    query q;
    int64_t now = cw_clock_wall_ms();
    if (db->ops->now) {
        cw_stmt_open(&q, db, db->ops->now);
        if (cw_stmt_step(&q))
            now = cw_stmt_i64(&q, 0);
        cw_code rc = cw_stmt_close(&q, err);
        if (rc)
            return rc;
    }
    *ret = now;
    return CW_OK;
}

cw_code cw_db_begin(cw_db *db, cw_err *err)
{
    return db->ops->begin(db, err);
}

cw_code cw_db_end(cw_db *db, cw_code rc, cw_err *err)
{
    return db->ops->end(db, rc, err);
}

/* ---- accounts ---- */

static cw_account account_of(query *q, int column)
{
    return (cw_account){
        .id = cw_stmt_i64(q, column),
        .name = cw_stmt_text(q, column + 1),
        .password = cw_stmt_text(q, column + 2),
        .language = cw_stmt_text(q, column + 3),
        .created = cw_stmt_i64(q, column + 4),
        .is_blocked = cw_stmt_i64(q, column + 5) != 0,
    };
}

#define ACCOUNT_N_COLUMNS 6

static void bind_separator(query *q)
{
    static const char separator = CW_DB_SEPARATOR;
    cw_stmt_bind_text(q, 2, cw_str_make(&separator, 1));
}

/* From the columns of CW_DB_ACCOUNT_AND_RIGHTS. */
static cw_account *copy_account(query *q, int column, cw_arena *arena)
{
    cw_account *copy = cw_stmt_alloc(q, arena, sizeof *copy);
    cw_db_rights *rights = copy ? cw_stmt_alloc(q, arena, sizeof *rights) : NULL;
    if (!rights)
        return NULL;
    *copy = account_of(q, column);
    copy->name = cw_stmt_dup_text(q, arena, copy->name);
    copy->password = cw_stmt_dup_text(q, arena, copy->password);
    copy->language = cw_stmt_dup_text(q, arena, copy->language);
    column += ACCOUNT_N_COLUMNS;
    rights->roles = cw_stmt_dup_text(q, arena, cw_stmt_text(q, column));
    rights->permissions = cw_stmt_dup_text(q, arena, cw_stmt_text(q, column + 1));
    rights->anonymous = cw_stmt_dup_text(q, arena, cw_stmt_text(q, column + 2));
    copy->rights = rights;
    return copy;
}

cw_code cw_db_find_owned(cw_db *db, const cw_db_owned *what, const unsigned char hash[CW_DB_HASH],
                         cw_arena *arena, cw_account **ret_account, void **ret, cw_err *err)
{
    query q;
    void *row = NULL;
    cw_account *account = NULL;
    cw_stmt_open(&q, db, what->sql);
    cw_stmt_bind_hash(&q, 1, hash);
    bind_separator(&q);
    if (cw_stmt_step(&q)) {
        row = what->copy(&q, arena);
        account = copy_account(&q, what->n_columns, arena);
    }
    cw_code rc = cw_stmt_close(&q, err);
    if (!rc) {
        *ret = row;
        *ret_account = account;
    }
    return rc;
}

static cw_code insert_account(cw_db *db, const cw_account *account, int64_t *ret_id, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "INSERT INTO account (name, password, language, created, blocked)"
                 " VALUES (?1, ?2, ?3, ?4, ?5) RETURNING id");
    cw_stmt_bind_text(&q, 1, account->name);
    cw_stmt_bind_optional(&q, 2, account->password);
    cw_stmt_bind_optional(&q, 3, account->language);
    cw_stmt_bind_i64(&q, 4, account->created);
    cw_stmt_bind_i64(&q, 5, account->is_blocked);
    cw_code rc = cw_stmt_run_insert(&q, ret_id, err);
    if (rc == CW_PARAMS)
        return cw_fail(err, rc, "account '%.*s' exists already", CW_STR_ARG(account->name));
    return rc;
}

/* CW_DONE: the account has it already, or does not have it. */
static cw_code set_role(cw_db *db, int64_t account, cw_str role, bool has_it, cw_err *err)
{
    query q;
    cw_stmt_open(
        &q, db,
        has_it ? "INSERT INTO account_role (account, role) VALUES (?1, ?2) ON CONFLICT DO NOTHING"
               : "DELETE FROM account_role WHERE account = ?1 AND role = ?2");
    cw_stmt_bind_i64(&q, 1, account);
    cw_stmt_bind_text(&q, 2, role);
    return cw_stmt_run_change(&q, err);
}

cw_code cw_db_add_account(cw_db *db, const cw_account *account, const cw_str *roles, size_t n_roles,
                          int64_t *ret_id, cw_err *err)
{
    int64_t id = 0;
    cw_code rc = cw_db_begin(db, err);
    if (rc)
        return rc;
    rc = insert_account(db, account, &id, err);
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
    query q;
    cw_account *found = NULL;
    cw_stmt_open(&q, db, "SELECT " CW_DB_ACCOUNT_AND_RIGHTS " FROM account a WHERE a.name = ?1");
    cw_stmt_bind_text(&q, 1, name);
    bind_separator(&q);
    if (cw_stmt_step(&q))
        found = copy_account(&q, 0, arena);
    cw_code rc = cw_stmt_close(&q, err);
    if (!rc)
        *ret = found;
    return rc;
}

cw_code cw_db_each_account(cw_db *db, cw_db_account_fn fn, void *ctx, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "SELECT " CW_DB_ACCOUNT_COLUMNS " FROM account a ORDER BY a.name");
    while (cw_stmt_step(&q)) {
        cw_err problem = {0};
        cw_account account = account_of(&q, 0);
        cw_code rc = q.code ? CW_OK : fn(&account, ctx, &problem);
        cw_stmt_fail(&q, rc, &problem);
    }
    return cw_stmt_close(&q, err);
}

static cw_code unknown_account(cw_str name, cw_err *err)
{
    return cw_fail(err, CW_NOTFOUND, "no account '%.*s'", CW_STR_ARG(name));
}

/* Run a change of one account that was opened; CW_NOTFOUND when it changed none. */
static cw_code change_account(query *q, cw_str name, cw_err *err)
{
    cw_code rc = cw_stmt_commit_change(q, err);
    return rc == CW_DONE ? unknown_account(name, err) : rc;
}

cw_code cw_db_remove_account(cw_db *db, cw_str name, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "DELETE FROM account WHERE name = ?1");
    cw_stmt_bind_text(&q, 1, name);
    return change_account(&q, name, err);
}

cw_code cw_db_block_account(cw_db *db, cw_str name, bool is_blocked, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "UPDATE account SET blocked = ?2 WHERE name = ?1");
    cw_stmt_bind_text(&q, 1, name);
    cw_stmt_bind_i64(&q, 2, is_blocked);
    return change_account(&q, name, err);
}

cw_code cw_db_set_password(cw_db *db, cw_str name, cw_str hash, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "UPDATE account SET password = ?2 WHERE name = ?1");
    cw_stmt_bind_text(&q, 1, name);
    cw_stmt_bind_optional(&q, 2, hash);
    return change_account(&q, name, err);
}

static cw_code find_id(cw_db *db, cw_str name, int64_t *ret, cw_err *err)
{
    query q;
    int64_t id = 0;
    cw_stmt_open(&q, db, "SELECT id FROM account WHERE name = ?1");
    cw_stmt_bind_text(&q, 1, name);
    if (cw_stmt_step(&q))
        id = cw_stmt_i64(&q, 0);
    cw_code rc = cw_stmt_close(&q, err);
    if (!rc && id == 0)
        return unknown_account(name, err);
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
    query q;
    cw_stmt_open(&q, db, "SELECT role FROM account_role WHERE account = ?1 ORDER BY role");
    cw_stmt_bind_i64(&q, 1, account);
    return cw_stmt_each_text(&q, fn, ctx, err);
}

cw_code cw_db_each_permission_of(cw_db *db, int64_t account, cw_db_text_fn fn, void *ctx,
                                 cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "SELECT permission FROM role_permission WHERE role = 'authenticated'"
                 " OR role IN (SELECT role FROM account_role WHERE account = ?1)");
    cw_stmt_bind_i64(&q, 1, account);
    return cw_stmt_each_text(&q, fn, ctx, err);
}

/* ---- roles ---- */

cw_code cw_db_add_role(cw_db *db, cw_str role, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "INSERT INTO role (name) VALUES (?1)");
    cw_stmt_bind_text(&q, 1, role);
    cw_code rc = cw_stmt_commit_change(&q, err);
    if (rc == CW_PARAMS)
        return cw_fail(err, rc, "role '%.*s' exists already", CW_STR_ARG(role));
    return rc;
}

static cw_code remove_role(cw_db *db, cw_str role, cw_err *err)
{
    cw_code rc = change_named(db, "DELETE FROM role WHERE name = ?1", role, err);
    if (rc == CW_DONE)
        return cw_fail(err, CW_NOTFOUND, "no role '%.*s'", CW_STR_ARG(role));
    if (!rc)
        rc = change_named(db, "DELETE FROM account_role WHERE role = ?1", role, err);
    return rc == CW_DONE ? CW_OK : rc;
}

cw_code cw_db_remove_role(cw_db *db, cw_str role, cw_err *err)
{
    if (cw_str_is(role, "anonymous") || cw_str_is(role, "authenticated"))
        return cw_fail(err, CW_PARAMS, "role '%.*s' is built in", CW_STR_ARG(role));
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, remove_role(db, role, err), err);
}

cw_code cw_db_has_role(cw_db *db, cw_str role, bool *ret, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "SELECT 1 FROM role WHERE name = ?1");
    cw_stmt_bind_text(&q, 1, role);
    bool has_it = cw_stmt_step(&q);
    cw_code rc = cw_stmt_close(&q, err);
    if (!rc)
        *ret = has_it;
    return rc;
}

cw_code cw_db_each_role(cw_db *db, cw_db_text_fn fn, void *ctx, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "SELECT name FROM role ORDER BY name");
    return cw_stmt_each_text(&q, fn, ctx, err);
}

static cw_code allow(cw_db *db, cw_str role, cw_str permission, bool may, cw_err *err)
{
    bool is_there = false;
    cw_code rc = cw_db_has_role(db, role, &is_there, err);
    if (!rc && !is_there)
        return cw_fail(err, CW_NOTFOUND, "no role '%.*s'", CW_STR_ARG(role));
    if (rc)
        return rc;
    query q;
    cw_stmt_open(&q, db,
                 may ? "INSERT INTO role_permission (role, permission) VALUES (?1, ?2) ON CONFLICT "
                       "DO NOTHING"
                     : "DELETE FROM role_permission WHERE role = ?1 AND permission = ?2");
    cw_stmt_bind_text(&q, 1, role);
    cw_stmt_bind_text(&q, 2, permission);
    return cw_stmt_run_change(&q, err);
}

cw_code cw_db_allow(cw_db *db, cw_str role, cw_str permission, bool may, cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, allow(db, role, permission, may, err), err);
}

cw_code cw_db_each_permission(cw_db *db, cw_str role, cw_db_text_fn fn, void *ctx, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "SELECT permission FROM role_permission WHERE role = ?1 ORDER BY permission");
    cw_stmt_bind_text(&q, 1, role);
    return cw_stmt_each_text(&q, fn, ctx, err);
}

/* ---- tokens ---- */

/* The columns of a token with its account's name and its last use, and their tables. */
#define TOKEN_COLUMNS                                                                              \
    "t.id, t.account, a.name, t.name, t.hash, t.created, t.expires, t.revoked,"                    \
    " coalesce(u.used, 0), coalesce(u.address, '')"
#define TOKEN_N_COLUMNS 10
#define TOKEN_TABLES                                                                               \
    " FROM token t JOIN account a ON a.id = t.account LEFT JOIN token_use u ON u.token = t.id"

static cw_token token_of(query *q)
{
    cw_token token = {
        .id = cw_stmt_i64(q, 0),
        .account = cw_stmt_i64(q, 1),
        .account_name = cw_stmt_text(q, 2),
        .name = cw_stmt_text(q, 3),
        .created = cw_stmt_i64(q, 5),
        .expires = cw_stmt_i64(q, 6),
        .revoked = cw_stmt_i64(q, 7),
        .used = cw_stmt_i64(q, 8),
        .used_from = cw_stmt_text(q, 9),
    };
    (void)cw_stmt_hash(q, 4, token.hash);
    return token;
}

static cw_code add_scopes(cw_db *db, int64_t id, const cw_str *scopes, size_t n, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "INSERT INTO token_scope (token, scope) VALUES (?1, ?2) ON CONFLICT DO NOTHING");
    cw_stmt_bind_i64(&q, 1, id);
    for (size_t i = 0; i < n; i++) {
        cw_stmt_bind_text(&q, 2, scopes[i]);
        (void)cw_stmt_step(&q);
        cw_stmt_reset(&q);
    }
    return cw_stmt_close(&q, err);
}

static cw_code add_token(cw_db *db, const cw_token *token, int64_t *ret_id, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "INSERT INTO token (account, name, hash, created, expires)"
                 " VALUES (?1, ?2, ?3, ?4, ?5) RETURNING id");
    cw_stmt_bind_i64(&q, 1, token->account);
    cw_stmt_bind_text(&q, 2, token->name);
    cw_stmt_bind_hash(&q, 3, token->hash);
    cw_stmt_bind_i64(&q, 4, token->created);
    cw_stmt_bind_i64(&q, 5, token->expires);
    return cw_stmt_run_insert(&q, ret_id, err);
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

static void *copy_token(query *q, cw_arena *arena)
{
    cw_token *copy = cw_stmt_alloc(q, arena, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = token_of(q);
    copy->account_name = cw_stmt_dup_text(q, arena, copy->account_name);
    copy->name = cw_stmt_dup_text(q, arena, copy->name);
    copy->used_from = cw_stmt_dup_text(q, arena, copy->used_from);
    copy->scopes = cw_stmt_dup_text(q, arena, cw_stmt_text(q, TOKEN_N_COLUMNS));
    return copy;
}

cw_code cw_db_find_token(cw_db *db, const unsigned char hash[CW_DB_HASH], cw_arena *arena,
                         cw_token **ret, cw_account **ret_account, cw_err *err)
{
    static const cw_db_owned what = {
        "SELECT " TOKEN_COLUMNS ", (SELECT " CW_DB_LIST(
            "scope") " FROM token_scope WHERE token = t.id), " CW_DB_ACCOUNT_AND_RIGHTS TOKEN_TABLES
                     " WHERE t.hash = ?1",
        TOKEN_N_COLUMNS + 1, copy_token};
    void *found = NULL;
    cw_code rc = cw_db_find_owned(db, &what, hash, arena, ret_account, &found, err);
    if (!rc)
        *ret = found;
    return rc;
}

cw_code cw_db_each_token(cw_db *db, int64_t account, cw_db_token_fn fn, void *ctx, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "SELECT " TOKEN_COLUMNS TOKEN_TABLES " WHERE ?1 IN (0, t.account) ORDER BY t.id");
    cw_stmt_bind_i64(&q, 1, account);
    while (cw_stmt_step(&q)) {
        cw_err problem = {0};
        cw_token token = token_of(&q);
        cw_code rc = q.code ? CW_OK : fn(&token, ctx, &problem);
        cw_stmt_fail(&q, rc, &problem);
    }
    return cw_stmt_close(&q, err);
}

cw_code cw_db_each_scope_of(cw_db *db, int64_t token, cw_db_text_fn fn, void *ctx, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "SELECT scope FROM token_scope WHERE token = ?1 ORDER BY scope");
    cw_stmt_bind_i64(&q, 1, token);
    return cw_stmt_each_text(&q, fn, ctx, err);
}

static cw_code set_revoked(cw_db *db, int64_t id, int64_t when, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "SELECT revoked FROM token WHERE id = ?1");
    cw_stmt_bind_i64(&q, 1, id);
    bool is_there = cw_stmt_step(&q);
    bool is_revoked = is_there && cw_stmt_i64(&q, 0) != 0;
    cw_code rc = cw_stmt_close(&q, err);
    if (rc)
        return rc;
    if (!is_there)
        return cw_fail(err, CW_NOTFOUND, "no token %lld", (long long)id);
    if (is_revoked)
        return CW_DONE;
    cw_stmt_open(&q, db, "UPDATE token SET revoked = ?2 WHERE id = ?1");
    cw_stmt_bind_i64(&q, 1, id);
    cw_stmt_bind_i64(&q, 2, when);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_revoke_token(cw_db *db, int64_t id, int64_t when, cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, set_revoked(db, id, when, err), err);
}

static cw_code add_token_uses(cw_db *db, const cw_token_use *uses, size_t n, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "INSERT INTO token_use (token, used, address)"
                 " SELECT t.id, ?2, ?3 FROM token t WHERE t.id = ?1"
                 " ON CONFLICT (token) DO UPDATE SET used = excluded.used,"
                 " address = excluded.address WHERE excluded.used > token_use.used");
    for (size_t i = 0; i < n; i++) {
        cw_stmt_bind_i64(&q, 1, uses[i].token);
        cw_stmt_bind_i64(&q, 2, uses[i].used);
        cw_stmt_bind_text(&q, 3, cw_str_from(uses[i].address));
        (void)cw_stmt_step(&q);
        cw_stmt_reset(&q);
    }
    return cw_stmt_close(&q, err);
}

cw_code cw_db_add_token_uses(cw_db *db, const cw_token_use *uses, size_t n, cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, add_token_uses(db, uses, n, err), err);
}

/* ---- sessions ---- */

/* The columns of a session with its account's name. */
#define SESSION_COLUMNS "s.id, s.account, a.name, s.hash, s.created, s.used"
#define SESSION_N_COLUMNS 6

static cw_session session_of(query *q)
{
    cw_session session = {
        .id = cw_stmt_i64(q, 0),
        .account = cw_stmt_i64(q, 1),
        .account_name = cw_stmt_text(q, 2),
        .created = cw_stmt_i64(q, 4),
        .used = cw_stmt_i64(q, 5),
    };
    (void)cw_stmt_hash(q, 3, session.hash);
    return session;
}

static cw_code remove_old(cw_db *db, int64_t now, const cw_session_rules *rules, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "DELETE FROM session WHERE created <= ?1 OR used <= ?2");
    cw_stmt_bind_i64(&q, 1, now - (int64_t)rules->lifetime_ms);
    cw_stmt_bind_i64(&q, 2, now - (int64_t)rules->idle_ms);
    cw_code rc = cw_stmt_run_change(&q, err);
    return rc == CW_DONE ? CW_OK : rc;
}

/* One statement, so that the password cannot change between its check and the insert. */
static cw_code insert_session(cw_db *db, const cw_session *session, cw_str password, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "INSERT INTO session (account, hash, created, used)"
                 " SELECT id, ?2, ?3, ?3 FROM account"
                 " WHERE id = ?1 AND password = ?4 AND blocked = 0");
    cw_stmt_bind_i64(&q, 1, session->account);
    cw_stmt_bind_hash(&q, 2, session->hash);
    cw_stmt_bind_i64(&q, 3, session->created);
    cw_stmt_bind_text(&q, 4, password);
    cw_code rc = cw_stmt_run_change(&q, err);
    if (rc == CW_DONE)
        return cw_fail(err, CW_NOTFOUND, "no account with this password");
    return rc;
}

/* By number, not by time: the clock may have been set back. */
static cw_code remove_surplus(cw_db *db, int64_t account, uint32_t kept, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "DELETE FROM session WHERE account = ?1 AND id NOT IN"
                 " (SELECT id FROM session WHERE account = ?1 ORDER BY id DESC LIMIT ?2)");
    cw_stmt_bind_i64(&q, 1, account);
    cw_stmt_bind_i64(&q, 2, kept);
    cw_code rc = cw_stmt_run_change(&q, err);
    return rc == CW_DONE ? CW_OK : rc;
}

static void open_end_session(query *q, cw_db *db, const unsigned char hash[CW_DB_HASH])
{
    cw_stmt_open(q, db, "DELETE FROM session WHERE hash = ?1");
    cw_stmt_bind_hash(q, 1, hash);
}

static cw_code add_session(cw_db *db, const cw_session *session, cw_str password,
                           const cw_session_rules *rules, const unsigned char *replaced,
                           cw_err *err)
{
    query q;
    cw_code rc = remove_old(db, session->created, rules, err);
    if (!rc && replaced) {
        open_end_session(&q, db, replaced);
        rc = cw_stmt_run_change(&q, err);
    }
    if (!rc || rc == CW_DONE)
        rc = insert_session(db, session, password, err);
    return rc ? rc : remove_surplus(db, session->account, rules->per_account, err);
}

cw_code cw_db_add_session(cw_db *db, const cw_session *session, cw_str password,
                          const cw_session_rules *rules, const unsigned char *replaced, cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, add_session(db, session, password, rules, replaced, err), err);
}

static void *copy_session(query *q, cw_arena *arena)
{
    cw_session *copy = cw_stmt_alloc(q, arena, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = session_of(q);
    copy->account_name = cw_stmt_dup_text(q, arena, copy->account_name);
    return copy;
}

cw_code cw_db_find_session(cw_db *db, const unsigned char hash[CW_DB_HASH], cw_arena *arena,
                           cw_session **ret, cw_account **ret_account, cw_err *err)
{
    static const cw_db_owned what = {
        "SELECT " SESSION_COLUMNS ", " CW_DB_ACCOUNT_AND_RIGHTS
        " FROM session s JOIN account a ON a.id = s.account WHERE s.hash = ?1",
        SESSION_N_COLUMNS, copy_session};
    void *found = NULL;
    cw_code rc = cw_db_find_owned(db, &what, hash, arena, ret_account, &found, err);
    if (!rc)
        *ret = found;
    return rc;
}

cw_code cw_db_touch_session(cw_db *db, int64_t id, int64_t when, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "UPDATE session SET used = ?2 WHERE id = ?1");
    cw_stmt_bind_i64(&q, 1, id);
    cw_stmt_bind_i64(&q, 2, when);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_each_session(cw_db *db, int64_t account, cw_db_session_fn fn, void *ctx, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "SELECT " SESSION_COLUMNS " FROM session s JOIN account a ON a.id = s.account"
                 " WHERE ?1 IN (0, s.account) ORDER BY s.id");
    cw_stmt_bind_i64(&q, 1, account);
    while (cw_stmt_step(&q)) {
        cw_err problem = {0};
        cw_session session = session_of(&q);
        cw_code rc = q.code ? CW_OK : fn(&session, ctx, &problem);
        cw_stmt_fail(&q, rc, &problem);
    }
    return cw_stmt_close(&q, err);
}

cw_code cw_db_remove_session(cw_db *db, int64_t id, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "DELETE FROM session WHERE id = ?1");
    cw_stmt_bind_i64(&q, 1, id);
    cw_code rc = cw_stmt_commit_change(&q, err);
    if (rc == CW_DONE)
        return cw_fail(err, CW_NOTFOUND, "no session %lld", (long long)id);
    return rc;
}

cw_code cw_db_end_session(cw_db *db, const unsigned char hash[CW_DB_HASH], cw_err *err)
{
    query q;
    open_end_session(&q, db, hash);
    return cw_stmt_commit_change(&q, err);
}
