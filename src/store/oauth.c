/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oauth.c - rows of the built-in authorization server. */
#include "store/oauth.h"

#include "store/stmt.h"

typedef cw_db_query query;

/* CW_DONE is fine. */
static cw_code as_done(cw_code rc)
{
    return rc == CW_DONE ? CW_OK : rc;
}

/* Run a statement with one number. */
static cw_code run_number(cw_db *db, const char *sql, int64_t number, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, sql);
    cw_stmt_bind_i64(&q, 1, number);
    return cw_stmt_run(&q, err);
}

/* Run a change with two numbers. CW_DONE: nothing was changed. */
static cw_code change_by_two(cw_db *db, const char *sql, int64_t one, int64_t two, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, sql);
    cw_stmt_bind_i64(&q, 1, one);
    cw_stmt_bind_i64(&q, 2, two);
    return cw_stmt_run_change(&q, err);
}

static cw_code end_grants_of_client(cw_db *db, cw_str id, cw_err *err)
{
    static const char *const statements[] = {"DELETE FROM oauth_code WHERE client = ?1",
                                             "DELETE FROM oauth_device WHERE client = ?1",
                                             "DELETE FROM oauth_grant WHERE client = ?1"};
    cw_code rc = CW_OK;
    for (size_t i = 0; i < CW_COUNT(statements) && !rc; i++) {
        query q;
        cw_stmt_open(&q, db, statements[i]);
        cw_stmt_bind_text(&q, 1, id);
        rc = cw_stmt_run(&q, err);
    }
    return rc;
}

/* ---- clients ---- */

#define CLIENT_COLUMNS "id, record, secret, created, denied"

static cw_db_oauth_client client_of(query *q)
{
    cw_db_oauth_client client = {
        .id = cw_stmt_text(q, 0),
        .record = cw_stmt_text(q, 1),
        .created = cw_stmt_i64(q, 3),
        .denied = cw_stmt_i64(q, 4),
    };
    client.has_secret = cw_stmt_hash(q, 2, client.secret);
    return client;
}

static cw_code insert_client(cw_db *db, const cw_db_oauth_client *client, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "INSERT INTO oauth_client (" CLIENT_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5)");
    cw_stmt_bind_text(&q, 1, client->id);
    cw_stmt_bind_text(&q, 2, client->record);
    cw_stmt_bind_hash(&q, 3, client->has_secret ? client->secret : NULL);
    cw_stmt_bind_i64(&q, 4, client->created);
    cw_stmt_bind_i64(&q, 5, client->denied);
    cw_code rc = cw_stmt_run(&q, err);
    if (rc == CW_PARAMS)
        return cw_fail(err, rc, "client '%.*s' exists already", CW_STR_ARG(client->id));
    return rc;
}

cw_code cw_db_add_oauth_client(cw_db *db, const cw_db_oauth_client *client, cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, insert_client(db, client, err), err);
}

cw_code cw_db_find_oauth_client(cw_db *db, cw_str id, cw_arena *arena, cw_db_oauth_client **ret,
                                cw_err *err)
{
    query q;
    cw_db_oauth_client *found = NULL;
    cw_stmt_open(&q, db, "SELECT " CLIENT_COLUMNS " FROM oauth_client WHERE id = ?1");
    cw_stmt_bind_text(&q, 1, id);
    if (cw_stmt_step(&q) && (found = cw_stmt_alloc(&q, arena, sizeof *found))) {
        *found = client_of(&q);
        found->id = cw_stmt_dup_text(&q, arena, found->id);
        found->record = cw_stmt_dup_text(&q, arena, found->record);
    }
    cw_code rc = cw_stmt_close(&q, err);
    if (!rc)
        *ret = found;
    return rc;
}

cw_code cw_db_each_oauth_client(cw_db *db, cw_db_oauth_client_fn fn, void *ctx, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "SELECT " CLIENT_COLUMNS " FROM oauth_client ORDER BY id");
    while (cw_stmt_step(&q)) {
        cw_err problem = {0};
        cw_db_oauth_client client = client_of(&q);
        cw_code rc = q.code ? CW_OK : fn(&client, ctx, &problem);
        cw_stmt_fail(&q, rc, &problem);
    }
    return cw_stmt_close(&q, err);
}

static cw_code remove_client(cw_db *db, cw_str id, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "DELETE FROM oauth_client WHERE id = ?1");
    cw_stmt_bind_text(&q, 1, id);
    cw_code rc = cw_stmt_run_change(&q, err);
    if (rc == CW_DONE)
        return cw_fail(err, CW_NOTFOUND, "no client '%.*s'", CW_STR_ARG(id));
    return rc ? rc : end_grants_of_client(db, id, err);
}

cw_code cw_db_remove_oauth_client(cw_db *db, cw_str id, cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, remove_client(db, id, err), err);
}

static cw_code deny_client(cw_db *db, cw_str id, cw_str record, int64_t when, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "INSERT INTO oauth_client (id, record, created, denied) VALUES (?1, ?2, ?3, ?3)"
                 " ON CONFLICT (id) DO UPDATE SET denied = ?3 WHERE oauth_client.denied = 0");
    cw_stmt_bind_text(&q, 1, id);
    cw_stmt_bind_text(&q, 2, record);
    cw_stmt_bind_i64(&q, 3, when);
    cw_code rc = cw_stmt_run_change(&q, err);
    return rc ? rc : end_grants_of_client(db, id, err);
}

cw_code cw_db_deny_oauth_client(cw_db *db, cw_str id, cw_str record, int64_t when, cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, deny_client(db, id, record, when, err), err);
}

/* ---- codes ---- */

cw_code cw_db_add_oauth_code(cw_db *db, const cw_db_oauth_code *code, int64_t now, cw_err *err)
{
    query q;
    cw_code rc = run_number(db, "DELETE FROM oauth_code WHERE expires <= ?1", now, err);
    if (rc)
        return rc;
    cw_stmt_open(&q, db,
                 "INSERT INTO oauth_code (hash, account, client, record, redirect_uri, challenge,"
                 " resource, scopes, refresh, expires)"
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
    cw_stmt_bind_hash(&q, 1, code->hash);
    cw_stmt_bind_i64(&q, 2, code->account);
    cw_stmt_bind_text(&q, 3, code->client);
    cw_stmt_bind_text(&q, 4, code->record);
    cw_stmt_bind_text(&q, 5, code->redirect_uri);
    cw_stmt_bind_text(&q, 6, code->challenge);
    cw_stmt_bind_text(&q, 7, code->resource);
    cw_stmt_bind_text(&q, 8, code->scopes);
    cw_stmt_bind_i64(&q, 9, code->may_refresh);
    cw_stmt_bind_i64(&q, 10, code->expires);
    return cw_stmt_run(&q, err);
}

static cw_db_oauth_code *copy_code(query *q, const unsigned char hash[CW_DB_HASH], cw_arena *arena)
{
    cw_db_oauth_code *copy = cw_stmt_alloc(q, arena, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = (cw_db_oauth_code){
        .account = cw_stmt_i64(q, 0),
        .account_name = cw_stmt_dup_text(q, arena, cw_stmt_text(q, 1)),
        .client = cw_stmt_dup_text(q, arena, cw_stmt_text(q, 2)),
        .record = cw_stmt_dup_text(q, arena, cw_stmt_text(q, 3)),
        .redirect_uri = cw_stmt_dup_text(q, arena, cw_stmt_text(q, 4)),
        .challenge = cw_stmt_dup_text(q, arena, cw_stmt_text(q, 5)),
        .resource = cw_stmt_dup_text(q, arena, cw_stmt_text(q, 6)),
        .scopes = cw_stmt_dup_text(q, arena, cw_stmt_text(q, 7)),
        .may_refresh = cw_stmt_i64(q, 8) != 0,
        .expires = cw_stmt_i64(q, 9),
        .given = cw_stmt_i64(q, 10),
    };
    memcpy(copy->hash, hash, CW_DB_HASH);
    return copy;
}

cw_code cw_db_find_oauth_code(cw_db *db, const unsigned char hash[CW_DB_HASH], cw_arena *arena,
                              cw_db_oauth_code **ret, cw_err *err)
{
    query q;
    cw_db_oauth_code *found = NULL;
    cw_stmt_open(&q, db,
                 "SELECT c.account, a.name, c.client, c.record, c.redirect_uri, c.challenge,"
                 " c.resource, c.scopes, c.refresh, c.expires, c.given"
                 " FROM oauth_code c JOIN account a ON a.id = c.account WHERE c.hash = ?1");
    cw_stmt_bind_hash(&q, 1, hash);
    if (cw_stmt_step(&q))
        found = copy_code(&q, hash, arena);
    cw_code rc = cw_stmt_close(&q, err);
    if (!rc)
        *ret = found;
    return rc;
}

cw_code cw_db_use_oauth_code(cw_db *db, const unsigned char hash[CW_DB_HASH], int64_t grant,
                             cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "UPDATE oauth_code SET given = ?2 WHERE hash = ?1");
    cw_stmt_bind_hash(&q, 1, hash);
    cw_stmt_bind_i64(&q, 2, grant);
    return cw_stmt_run(&q, err);
}

/* ---- grants ---- */

#define GRANT_COLUMNS                                                                              \
    "g.id, g.account, a.name, g.client, g.record, g.redirect_uri, g.resource, g.scopes,"           \
    " g.created, g.used, g.expires, g.generation, g.rotated, g.secret"
#define GRANTS "SELECT " GRANT_COLUMNS " FROM oauth_grant g JOIN account a ON a.id = g.account"

static cw_db_oauth_grant grant_of(query *q)
{
    cw_db_oauth_grant grant = {
        .id = cw_stmt_i64(q, 0),
        .account = cw_stmt_i64(q, 1),
        .account_name = cw_stmt_text(q, 2),
        .client = cw_stmt_text(q, 3),
        .record = cw_stmt_text(q, 4),
        .redirect_uri = cw_stmt_text(q, 5),
        .resource = cw_stmt_text(q, 6),
        .scopes = cw_stmt_text(q, 7),
        .created = cw_stmt_i64(q, 8),
        .used = cw_stmt_i64(q, 9),
        .expires = cw_stmt_i64(q, 10),
        .generation = cw_stmt_i64(q, 11),
        .rotated = cw_stmt_i64(q, 12),
    };
    grant.has_secret = cw_stmt_hash(q, 13, grant.secret);
    return grant;
}

static cw_code remove_old_grants(cw_db *db, int64_t now, const cw_oauth_grant_rules *rules,
                                 cw_err *err)
{
    return as_done(change_by_two(db, "DELETE FROM oauth_grant WHERE expires <= ?1 OR used <= ?2",
                                 now, now - rules->idle_ms, err));
}

/* The new one stays: by its number it is the first among those of one moment. CW_DONE: no surplus. */
static cw_code remove_surplus_grants(cw_db *db, int64_t account, uint32_t kept, cw_err *err)
{
    return change_by_two(db,
                         "DELETE FROM oauth_grant WHERE account = ?1 AND id NOT IN (SELECT id FROM"
                         " oauth_grant WHERE account = ?1 ORDER BY used DESC, id DESC LIMIT ?2)",
                         account, kept, err);
}

static cw_code insert_grant(cw_db *db, cw_db_oauth_grant *grant, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "INSERT INTO oauth_grant (account, client, record, redirect_uri, resource, scopes,"
                 " created, used, expires, generation, rotated, secret)"
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) RETURNING id");
    cw_stmt_bind_i64(&q, 1, grant->account);
    cw_stmt_bind_text(&q, 2, grant->client);
    cw_stmt_bind_text(&q, 3, grant->record);
    cw_stmt_bind_text(&q, 4, grant->redirect_uri);
    cw_stmt_bind_text(&q, 5, grant->resource);
    cw_stmt_bind_text(&q, 6, grant->scopes);
    cw_stmt_bind_i64(&q, 7, grant->created);
    cw_stmt_bind_i64(&q, 8, grant->used);
    cw_stmt_bind_i64(&q, 9, grant->expires);
    cw_stmt_bind_i64(&q, 10, grant->generation);
    cw_stmt_bind_i64(&q, 11, grant->rotated);
    cw_stmt_bind_hash(&q, 12, grant->has_secret ? grant->secret : NULL);
    return cw_stmt_run_insert(&q, &grant->id, err);
}

cw_code cw_db_add_oauth_grant(cw_db *db, cw_db_oauth_grant *grant,
                              const cw_oauth_grant_rules *rules, bool *ret_ended, cw_err *err)
{
    cw_code rc = remove_old_grants(db, grant->created, rules, err);
    if (!rc)
        rc = insert_grant(db, grant, err);
    if (rc)
        return rc;
    rc = remove_surplus_grants(db, grant->account, rules->per_account, err);
    *ret_ended = rc == CW_OK;
    return as_done(rc);
}

cw_code cw_db_find_oauth_grant(cw_db *db, int64_t id, cw_arena *arena, cw_db_oauth_grant **ret,
                               cw_err *err)
{
    query q;
    cw_db_oauth_grant *found = NULL;
    cw_stmt_open(&q, db, GRANTS " WHERE g.id = ?1");
    cw_stmt_bind_i64(&q, 1, id);
    if (cw_stmt_step(&q) && (found = cw_stmt_alloc(&q, arena, sizeof *found))) {
        *found = grant_of(&q);
        cw_str *const texts[] = {&found->account_name, &found->client,   &found->record,
                                 &found->redirect_uri, &found->resource, &found->scopes};
        for (size_t i = 0; i < CW_COUNT(texts); i++)
            *texts[i] = cw_stmt_dup_text(&q, arena, *texts[i]);
    }
    cw_code rc = cw_stmt_close(&q, err);
    if (!rc)
        *ret = found;
    return rc;
}

cw_code cw_db_find_oauth_grant_of(cw_db *db, int64_t account, cw_str client, cw_str resource,
                                  int64_t *ret_id, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "SELECT id FROM oauth_grant WHERE account = ?1 AND client = ?2 AND resource = ?3"
                 " AND secret IS NULL AND redirect_uri = '' ORDER BY id DESC LIMIT 1");
    cw_stmt_bind_i64(&q, 1, account);
    cw_stmt_bind_text(&q, 2, client);
    cw_stmt_bind_text(&q, 3, resource);
    int64_t id = cw_stmt_step(&q) ? cw_stmt_i64(&q, 0) : 0;
    cw_code rc = cw_stmt_close(&q, err);
    if (!rc)
        *ret_id = id;
    return rc;
}

cw_code cw_db_rotate_oauth_grant(cw_db *db, const cw_db_oauth_grant *grant, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "UPDATE oauth_grant SET generation = ?2, rotated = ?3, secret = ?4, used = ?5"
                 " WHERE id = ?1");
    cw_stmt_bind_i64(&q, 1, grant->id);
    cw_stmt_bind_i64(&q, 2, grant->generation);
    cw_stmt_bind_i64(&q, 3, grant->rotated);
    cw_stmt_bind_hash(&q, 4, grant->secret);
    cw_stmt_bind_i64(&q, 5, grant->used);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_touch_oauth_grant(cw_db *db, int64_t id, int64_t when, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "UPDATE oauth_grant SET used = ?2 WHERE id = ?1");
    cw_stmt_bind_i64(&q, 1, id);
    cw_stmt_bind_i64(&q, 2, when);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_each_oauth_grant(cw_db *db, int64_t account, cw_db_oauth_grant_fn fn, void *ctx,
                               cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, GRANTS " WHERE ?1 IN (0, g.account) ORDER BY g.id DESC");
    cw_stmt_bind_i64(&q, 1, account);
    while (cw_stmt_step(&q)) {
        cw_err problem = {0};
        cw_db_oauth_grant grant = grant_of(&q);
        cw_code rc = q.code ? CW_OK : fn(&grant, ctx, &problem);
        cw_stmt_fail(&q, rc, &problem);
    }
    return cw_stmt_close(&q, err);
}

cw_code cw_db_remove_oauth_grant(cw_db *db, int64_t account, int64_t id, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "DELETE FROM oauth_grant WHERE id = ?1 AND ?2 IN (0, account)");
    cw_stmt_bind_i64(&q, 1, id);
    cw_stmt_bind_i64(&q, 2, account);
    cw_code rc = cw_stmt_run_change(&q, err);
    if (rc == CW_DONE)
        return cw_fail(err, CW_NOTFOUND, "no grant %lld", (long long)id);
    return rc;
}

/* ---- access tokens ---- */

/* CW_DONE: no surplus. */
static cw_code remove_surplus_tokens(cw_db *db, int64_t grant, uint32_t kept, cw_err *err)
{
    return change_by_two(
        db,
        "DELETE FROM oauth_token WHERE given_by = ?1 AND hash NOT IN (SELECT hash FROM"
        " oauth_token WHERE given_by = ?1 ORDER BY created DESC, hash LIMIT ?2)",
        grant, kept, err);
}

cw_code cw_db_add_oauth_token(cw_db *db, const cw_db_oauth_token *token, uint32_t per_grant,
                              bool *ret_ended, cw_err *err)
{
    query q;
    cw_code rc = run_number(db, "DELETE FROM oauth_token WHERE expires <= ?1", token->created, err);
    if (rc)
        return rc;
    rc = remove_surplus_tokens(db, token->grant, per_grant - 1, err);
    *ret_ended = rc == CW_OK;
    if (rc && rc != CW_DONE)
        return rc;
    cw_stmt_open(&q, db,
                 "INSERT INTO oauth_token (hash, given_by, scopes, created, expires)"
                 " VALUES (?1, ?2, ?3, ?4, ?5)");
    cw_stmt_bind_hash(&q, 1, token->hash);
    cw_stmt_bind_i64(&q, 2, token->grant);
    cw_stmt_bind_text(&q, 3, token->scopes);
    cw_stmt_bind_i64(&q, 4, token->created);
    cw_stmt_bind_i64(&q, 5, token->expires);
    return cw_stmt_run(&q, err);
}

static void *copy_token(query *q, cw_arena *arena)
{
    cw_db_oauth_token *copy = cw_stmt_alloc(q, arena, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = (cw_db_oauth_token){
        .grant = cw_stmt_i64(q, 1),
        .scopes = cw_stmt_dup_text(q, arena, cw_stmt_text(q, 2)),
        .created = cw_stmt_i64(q, 3),
        .expires = cw_stmt_i64(q, 4),
        .client = cw_stmt_dup_text(q, arena, cw_stmt_text(q, 5)),
        .record = cw_stmt_dup_text(q, arena, cw_stmt_text(q, 6)),
        .resource = cw_stmt_dup_text(q, arena, cw_stmt_text(q, 7)),
    };
    (void)cw_stmt_hash(q, 0, copy->hash);
    return copy;
}

cw_code cw_db_find_oauth_token(cw_db *db, const unsigned char hash[CW_DB_HASH], cw_arena *arena,
                               cw_db_oauth_token **ret, cw_account **ret_account, cw_err *err)
{
    static const cw_db_owned what = {
        "SELECT t.hash, t.given_by, t.scopes, t.created, t.expires, g.client, g.record,"
        " g.resource, " CW_DB_ACCOUNT_AND_RIGHTS " FROM oauth_token t"
        " JOIN oauth_grant g ON g.id = t.given_by JOIN account a ON a.id = g.account"
        " WHERE t.hash = ?1",
        8, copy_token};
    void *found = NULL;
    cw_code rc = cw_db_find_owned(db, &what, hash, arena, ret_account, &found, err);
    if (!rc)
        *ret = found;
    return rc;
}

cw_code cw_db_remove_oauth_token(cw_db *db, const unsigned char hash[CW_DB_HASH], cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "DELETE FROM oauth_token WHERE hash = ?1");
    cw_stmt_bind_hash(&q, 1, hash);
    return cw_stmt_run_change(&q, err);
}

cw_code cw_db_newest_oauth_row(cw_db *db, int64_t *ret, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "SELECT coalesce(max(created), 0) FROM (SELECT created FROM oauth_grant"
                 " UNION ALL SELECT created FROM oauth_token) AS rows");
    *ret = cw_stmt_step(&q) ? cw_stmt_i64(&q, 0) : 0;
    return cw_stmt_close(&q, err);
}

/* ---- devices ---- */

/* So long a device is told that its code has expired. */
#define DEVICE_KEPT_MS 600000

static cw_code count_devices(cw_db *db, int64_t *ret, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "SELECT count(*) FROM oauth_device");
    *ret = cw_stmt_step(&q) ? cw_stmt_i64(&q, 0) : 0;
    return cw_stmt_close(&q, err);
}

static cw_code insert_device(cw_db *db, const cw_db_oauth_device *device, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "INSERT INTO oauth_device (hash, code, client, record, resource, scopes, address,"
                 " created, expires, polled, pause)"
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT DO NOTHING");
    cw_stmt_bind_hash(&q, 1, device->hash);
    cw_stmt_bind_hash(&q, 2, device->code);
    cw_stmt_bind_text(&q, 3, device->client);
    cw_stmt_bind_text(&q, 4, device->record);
    cw_stmt_bind_text(&q, 5, device->resource);
    cw_stmt_bind_text(&q, 6, device->scopes);
    cw_stmt_bind_text(&q, 7, device->address);
    cw_stmt_bind_i64(&q, 8, device->created);
    cw_stmt_bind_i64(&q, 9, device->expires);
    cw_stmt_bind_i64(&q, 10, device->polled);
    cw_stmt_bind_i64(&q, 11, device->pause);
    return cw_stmt_run_change(&q, err);
}

cw_code cw_db_add_oauth_device(cw_db *db, const cw_db_oauth_device *device, uint32_t max,
                               cw_err *err)
{
    int64_t n = 0;
    cw_code rc = run_number(db, "DELETE FROM oauth_device WHERE expires <= ?1",
                            device->created - DEVICE_KEPT_MS, err);
    if (!rc)
        rc = count_devices(db, &n, err);
    if (!rc && n >= max)
        rc = run_number(db,
                        "DELETE FROM oauth_device WHERE hash IN (SELECT hash FROM oauth_device"
                        " ORDER BY created, hash LIMIT ?1)",
                        n - max + 1, err);
    return rc ? rc : insert_device(db, device, err);
}

#define DEVICES                                                                                    \
    "SELECT d.hash, d.client, d.record, d.resource, d.scopes, d.address, d.created, d.expires,"    \
    " d.polled, d.pause, coalesce(d.account, 0), coalesce(a.name, ''), d.denied"                   \
    " FROM oauth_device d LEFT JOIN account a ON a.id = d.account"

static cw_code find_device(cw_db *db, const char *sql, const unsigned char hash[CW_DB_HASH],
                           cw_arena *arena, cw_db_oauth_device **ret, cw_err *err)
{
    query q;
    cw_db_oauth_device *found = NULL;
    cw_stmt_open(&q, db, sql);
    cw_stmt_bind_hash(&q, 1, hash);
    if (cw_stmt_step(&q) && (found = cw_stmt_alloc(&q, arena, sizeof *found))) {
        *found = (cw_db_oauth_device){
            .client = cw_stmt_dup_text(&q, arena, cw_stmt_text(&q, 1)),
            .record = cw_stmt_dup_text(&q, arena, cw_stmt_text(&q, 2)),
            .resource = cw_stmt_dup_text(&q, arena, cw_stmt_text(&q, 3)),
            .scopes = cw_stmt_dup_text(&q, arena, cw_stmt_text(&q, 4)),
            .address = cw_stmt_dup_text(&q, arena, cw_stmt_text(&q, 5)),
            .created = cw_stmt_i64(&q, 6),
            .expires = cw_stmt_i64(&q, 7),
            .polled = cw_stmt_i64(&q, 8),
            .pause = cw_stmt_i64(&q, 9),
            .account = cw_stmt_i64(&q, 10),
            .account_name = cw_stmt_dup_text(&q, arena, cw_stmt_text(&q, 11)),
            .is_denied = cw_stmt_i64(&q, 12) != 0,
        };
        (void)cw_stmt_hash(&q, 0, found->hash);
    }
    cw_code rc = cw_stmt_close(&q, err);
    if (!rc)
        *ret = found;
    return rc;
}

cw_code cw_db_find_oauth_device(cw_db *db, const unsigned char hash[CW_DB_HASH], cw_arena *arena,
                                cw_db_oauth_device **ret, cw_err *err)
{
    return find_device(db, DEVICES " WHERE d.hash = ?1", hash, arena, ret, err);
}

cw_code cw_db_find_oauth_device_by_code(cw_db *db, const unsigned char code[CW_DB_HASH],
                                        cw_arena *arena, cw_db_oauth_device **ret, cw_err *err)
{
    return find_device(db, DEVICES " WHERE d.code = ?1", code, arena, ret, err);
}

cw_code cw_db_poll_oauth_device(cw_db *db, const unsigned char hash[CW_DB_HASH], int64_t polled,
                                int64_t pause, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "UPDATE oauth_device SET polled = ?2, pause = ?3 WHERE hash = ?1");
    cw_stmt_bind_hash(&q, 1, hash);
    cw_stmt_bind_i64(&q, 2, polled);
    cw_stmt_bind_i64(&q, 3, pause);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_decide_oauth_device(cw_db *db, const unsigned char code[CW_DB_HASH], int64_t account,
                                  cw_str scopes, int64_t now, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "UPDATE oauth_device SET account = nullif(?2, 0), scopes = ?3,"
                 " denied = CASE WHEN ?2 = 0 THEN 1 ELSE 0 END"
                 " WHERE code = ?1 AND account IS NULL AND denied = 0 AND expires > ?4");
    cw_stmt_bind_hash(&q, 1, code);
    cw_stmt_bind_i64(&q, 2, account);
    cw_stmt_bind_text(&q, 3, scopes);
    cw_stmt_bind_i64(&q, 4, now);
    return cw_stmt_run_change(&q, err);
}

cw_code cw_db_remove_oauth_device(cw_db *db, const unsigned char hash[CW_DB_HASH], cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "DELETE FROM oauth_device WHERE hash = ?1");
    cw_stmt_bind_hash(&q, 1, hash);
    return cw_stmt_run(&q, err);
}

/* ---- keys ---- */

#define KEYS "SELECT id, alg, jwk, secret, state, created, since, ends FROM oauth_key"
#define NEWEST_KEYS " ORDER BY created DESC, id"

static cw_db_oauth_key key_of(query *q)
{
    return (cw_db_oauth_key){
        .id = cw_stmt_text(q, 0),
        .alg = cw_stmt_text(q, 1),
        .jwk = cw_stmt_text(q, 2),
        .secret = cw_stmt_text(q, 3),
        .state = (cw_db_oauth_key_state)cw_stmt_i64(q, 4),
        .created = cw_stmt_i64(q, 5),
        .since = cw_stmt_i64(q, 6),
        .ends = cw_stmt_i64(q, 7),
    };
}

cw_code cw_db_add_oauth_key(cw_db *db, const cw_db_oauth_key *key, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "INSERT INTO oauth_key (id, alg, jwk, secret, state, created, since, ends)"
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
    cw_stmt_bind_text(&q, 1, key->id);
    cw_stmt_bind_text(&q, 2, key->alg);
    cw_stmt_bind_text(&q, 3, key->jwk);
    cw_stmt_bind_text(&q, 4, key->secret);
    cw_stmt_bind_i64(&q, 5, key->state);
    cw_stmt_bind_i64(&q, 6, key->created);
    cw_stmt_bind_i64(&q, 7, key->since);
    cw_stmt_bind_i64(&q, 8, key->ends);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_reseal_oauth_key(cw_db *db, const cw_db_oauth_key *key, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "UPDATE oauth_key SET secret = ?2 WHERE id = ?1");
    cw_stmt_bind_text(&q, 1, key->id);
    cw_stmt_bind_text(&q, 2, key->secret);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_change_oauth_key(cw_db *db, const cw_db_oauth_key *key, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "UPDATE oauth_key SET state = ?2, since = ?3, ends = ?4 WHERE id = ?1");
    cw_stmt_bind_text(&q, 1, key->id);
    cw_stmt_bind_i64(&q, 2, key->state);
    cw_stmt_bind_i64(&q, 3, key->since);
    cw_stmt_bind_i64(&q, 4, key->ends);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_find_oauth_key(cw_db *db, cw_db_oauth_key_state state, cw_arena *arena,
                             cw_db_oauth_key **ret, cw_err *err)
{
    query q;
    cw_db_oauth_key *found = NULL;
    cw_stmt_open(&q, db, KEYS " WHERE state = ?1" NEWEST_KEYS " LIMIT 1");
    cw_stmt_bind_i64(&q, 1, state);
    if (cw_stmt_step(&q) && (found = cw_stmt_alloc(&q, arena, sizeof *found))) {
        *found = key_of(&q);
        cw_str *const texts[] = {&found->id, &found->alg, &found->jwk, &found->secret};
        for (size_t i = 0; i < CW_COUNT(texts); i++)
            *texts[i] = cw_stmt_dup_text(&q, arena, *texts[i]);
    }
    cw_code rc = cw_stmt_close(&q, err);
    if (!rc)
        *ret = found;
    return rc;
}

cw_code cw_db_each_oauth_key(cw_db *db, cw_db_oauth_key_fn fn, void *ctx, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, KEYS NEWEST_KEYS);
    while (cw_stmt_step(&q)) {
        cw_err problem = {0};
        cw_db_oauth_key key = key_of(&q);
        cw_code rc = q.code ? CW_OK : fn(&key, ctx, &problem);
        cw_stmt_fail(&q, rc, &problem);
    }
    return cw_stmt_close(&q, err);
}

cw_code cw_db_remove_ended_oauth_keys(cw_db *db, int64_t now, cw_err *err)
{
    return run_number(db, "DELETE FROM oauth_key WHERE ends <> 0 AND ends <= ?1", now, err);
}

/* ---- assertions ---- */

cw_code cw_db_use_oauth_assertion(cw_db *db, const unsigned char hash[CW_DB_HASH], int64_t until,
                                  int64_t now, cw_err *err)
{
    query q;
    cw_code rc = run_number(db, "DELETE FROM oauth_assertion WHERE until <= ?1", now, err);
    if (rc)
        return rc;
    cw_stmt_open(
        &q, db, "INSERT INTO oauth_assertion (hash, until) VALUES (?1, ?2) ON CONFLICT DO NOTHING");
    cw_stmt_bind_hash(&q, 1, hash);
    cw_stmt_bind_i64(&q, 2, until);
    return cw_stmt_run_change(&q, err);
}
