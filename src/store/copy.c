/* SPDX-License-Identifier: GPL-2.0-or-later */
/* copy.c - copies all rows of a database to another one, and compares the two. */
#include "store/copy.h"

#include "store/stmt.h"

typedef struct table {
    const char *name;
    const char *read, *write;
    const char *kinds; /* of the columns: number, text, bytes */
} table;

/* Rows come after those that they refer to. Sessions are last: new roles of an account end them. */
static const table tables[] = {
    {"account", "SELECT id, name, password, language, created, blocked FROM account ORDER BY id",
     "INSERT INTO account (id, name, password, language, created, blocked)"
     " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
     "ntttnn"},
    {"role", "SELECT name FROM role ORDER BY name",
     "INSERT INTO role (name) VALUES (?1) ON CONFLICT DO NOTHING", "t"},
    {"role_permission", "SELECT role, permission FROM role_permission ORDER BY role, permission",
     "INSERT INTO role_permission (role, permission) VALUES (?1, ?2)", "tt"},
    {"account_role", "SELECT account, role FROM account_role ORDER BY account, role",
     "INSERT INTO account_role (account, role) VALUES (?1, ?2)", "nt"},
    {"token", "SELECT id, account, name, hash, created, expires, revoked FROM token ORDER BY id",
     "INSERT INTO token (id, account, name, hash, created, expires, revoked)"
     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
     "nntbnnn"},
    {"token_scope", "SELECT token, scope FROM token_scope ORDER BY token, scope",
     "INSERT INTO token_scope (token, scope) VALUES (?1, ?2)", "nt"},
    {"secret", "SELECT name, value, created, begins FROM secret ORDER BY name",
     "INSERT INTO secret (name, value, created, begins) VALUES (?1, ?2, ?3, ?4)", "tbnn"},
    {"session", "SELECT id, account, hash, created, used FROM session ORDER BY id",
     "INSERT INTO session (id, account, hash, created, used) VALUES (?1, ?2, ?3, ?4, ?5)", "nnbnn"},
    {"oauth_client", "SELECT id, record, secret, created, denied FROM oauth_client ORDER BY id",
     "INSERT INTO oauth_client (id, record, secret, created, denied) VALUES (?1, ?2, ?3, ?4, ?5)",
     "ttbnn"},
    {"oauth_code",
     "SELECT hash, account, client, record, redirect_uri, challenge, resource, scopes, refresh,"
     " expires, given FROM oauth_code ORDER BY hash",
     "INSERT INTO oauth_code (hash, account, client, record, redirect_uri, challenge, resource,"
     " scopes, refresh, expires, given)"
     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
     "bnttttttnnn"},
    {"oauth_grant",
     "SELECT id, account, client, record, redirect_uri, resource, scopes, created, used, expires,"
     " generation, rotated, secret FROM oauth_grant ORDER BY id",
     "INSERT INTO oauth_grant (id, account, client, record, redirect_uri, resource, scopes,"
     " created, used, expires, generation, rotated, secret)"
     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
     "nntttttnnnnnb"},
    {"oauth_token",
     "SELECT hash, given_by, scopes, created, expires FROM oauth_token ORDER BY hash",
     "INSERT INTO oauth_token (hash, given_by, scopes, created, expires)"
     " VALUES (?1, ?2, ?3, ?4, ?5)",
     "bntnn"},
    {"oauth_assertion", "SELECT hash, until FROM oauth_assertion ORDER BY hash",
     "INSERT INTO oauth_assertion (hash, until) VALUES (?1, ?2)", "bn"},
    {"oauth_device",
     "SELECT hash, code, client, record, resource, scopes, address, created, expires, polled,"
     " pause, coalesce(account, 0), denied FROM oauth_device ORDER BY hash",
     "INSERT INTO oauth_device (hash, code, client, record, resource, scopes, address, created,"
     " expires, polled, pause, account, denied)"
     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, nullif(?12, 0), ?13)",
     "bbtttttnnnnnn"},
    {"task",
     "SELECT id, owner, caller, tool, method, process, status, message, payload, created, ended,"
     " expires, alive, node, updated FROM task ORDER BY id",
     "INSERT INTO task (id, owner, caller, tool, method, process, status, message, payload,"
     " created, ended, expires, alive, node, updated)"
     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
     "ttttttnttnnnntn"},
    {"oauth_key",
     "SELECT id, alg, jwk, secret, state, created, since, ends FROM oauth_key ORDER BY id",
     "INSERT INTO oauth_key (id, alg, jwk, secret, state, created, since, ends)"
     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
     "ttttnnnn"},
    {"webhook", "SELECT id, owner, state, expires FROM webhook ORDER BY id",
     "INSERT INTO webhook (id, owner, state, expires) VALUES (?1, ?2, ?3, ?4)", "tttn"},
    {"token_use", "SELECT token, used, address FROM token_use ORDER BY token",
     "INSERT INTO token_use (token, used, address) VALUES (?1, ?2, ?3)", "nnt"},
    {"approval", "SELECT source, entries, n FROM approval ORDER BY source",
     "INSERT INTO approval (source, entries, n) VALUES (?1, ?2, ?3)", "ttn"},
};

#define IS_EMPTY                                                                                   \
    "SELECT count(*) FROM (SELECT 1 FROM account UNION ALL SELECT 1 FROM role_permission"          \
    " UNION ALL SELECT 1 FROM secret UNION ALL SELECT 1 FROM approval"                             \
    " UNION ALL SELECT 1 FROM role WHERE name NOT IN ('anonymous', 'authenticated')) AS found"

/* ---- queries ---- */

static cw_db_value value_of(cw_db_query *q, int column, char kind)
{
    const cw_db_ops *ops = q->db->ops;
    if (kind == 'n')
        return (cw_db_value){.kind = CW_DB_I64, .number = ops->column_i64(q, column)};
    cw_str text = kind == 't' ? ops->column_text(q, column) : ops->column_bytes(q, column);
    cw_db_kind filled = kind == 't' ? CW_DB_TEXT : CW_DB_BYTES;
    return (cw_db_value){.kind = text.p ? filled : CW_DB_NULL, .text = text};
}

/* A statement with at most one value, whose first number is the result; 0 without a row. */
static cw_code run_number(cw_db *db, const char *sql, const int64_t *value, int64_t *ret,
                          cw_err *err)
{
    cw_db_query q;
    cw_stmt_open(&q, db, sql);
    if (value && !q.code)
        db->ops->bind(&q, 1, &(cw_db_value){.kind = CW_DB_I64, .number = *value});
    bool is_there = cw_stmt_step(&q);
    if (ret)
        *ret = is_there ? db->ops->column_i64(&q, 0) : 0;
    return cw_stmt_close(&q, err);
}

static cw_code run_all(cw_db *db, const char *const *list, cw_err *err)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; list && list[i] && !rc; i++)
        rc = run_number(db, list[i], NULL, NULL, err);
    return rc;
}

/* ---- rows ---- */

static void write_row(cw_db_query *in, cw_db_query *out, const table *t)
{
    for (int i = 0; t->kinds[i] && !out->code; i++) {
        cw_db_value value = value_of(in, i, t->kinds[i]);
        out->db->ops->bind(out, i + 1, &value);
    }
    (void)cw_stmt_step(out);
    if (!out->code)
        out->db->ops->reset(out);
}

static cw_code copy_table(cw_db *from, cw_db *to, const table *t, cw_err *err)
{
    cw_db_query in, out;
    cw_stmt_open(&in, from, t->read);
    cw_stmt_open(&out, to, t->write);
    while (!out.code && cw_stmt_step(&in))
        write_row(&in, &out, t);
    cw_code written = cw_stmt_close(&out, err);
    cw_code read = cw_stmt_close(&in, written ? NULL : err);
    return written ? written : read;
}

static bool same_value(const cw_db_value *a, const cw_db_value *b)
{
    return a->kind == b->kind && a->number == b->number && cw_str_eq(a->text, b->text);
}

static bool same_row(cw_db_query *a, cw_db_query *b, const table *t)
{
    bool is_same = true;
    for (int i = 0; t->kinds[i] && is_same; i++) {
        cw_db_value in_a = value_of(a, i, t->kinds[i]), in_b = value_of(b, i, t->kinds[i]);
        is_same = same_value(&in_a, &in_b);
    }
    return is_same;
}

static cw_code compare_table(cw_db *from, cw_db *to, const table *t, int64_t *ret_n, cw_err *err)
{
    cw_db_query a, b;
    bool is_same = true, has_a, has_b;
    int64_t n = 0;
    cw_stmt_open(&a, from, t->read);
    cw_stmt_open(&b, to, t->read);
    do {
        has_a = cw_stmt_step(&a);
        has_b = cw_stmt_step(&b);
        is_same = has_a == has_b && (!has_a || same_row(&a, &b, t));
        n += has_a;
    } while (has_a && is_same);
    cw_code rc_a = cw_stmt_close(&a, err), rc_b = cw_stmt_close(&b, rc_a ? NULL : err);
    if (rc_a || rc_b)
        return rc_a ? rc_a : rc_b;
    if (!is_same)
        return cw_fail(err, CW_IO, "the copy of table %s differs from the original", t->name);
    *ret_n = n;
    return CW_OK;
}

/* Numbers that were given to rows that are gone are not given again. */
static cw_code copy_counters(cw_db *from, cw_db *to, cw_err *err)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < CW_DB_COUNTERS && !rc; i++) {
        const cw_db_counter *target = &to->ops->counters[i];
        int64_t last = 0;
        rc = run_number(from, from->ops->counters[i].read, NULL, &last, err);
        if (!rc && target->reset)
            rc = run_number(to, target->reset, NULL, NULL, err);
        if (!rc)
            rc = run_number(to, target->write, &last, NULL, err);
    }
    return rc;
}

/* ---- all ---- */

static cw_code check_empty(cw_db *to, cw_err *err)
{
    int64_t n = 0;
    cw_code rc = run_number(to, IS_EMPTY, NULL, &n, err);
    if (!rc && n)
        return cw_fail(err, CW_PARAMS, "the other database is not empty");
    return rc;
}

static cw_code copy_rows(cw_db *from, cw_db *to, cw_db_copied *ret, cw_err *err)
{
    int64_t n[CW_COUNT(tables)] = {0};
    cw_code rc = check_empty(to, err);
    if (!rc)
        rc = run_all(from, from->ops->hold, err);
    if (!rc)
        rc = run_all(to, to->ops->begin_load, err);
    for (size_t i = 0; i < CW_COUNT(tables) && !rc; i++)
        rc = copy_table(from, to, &tables[i], err);
    for (size_t i = 0; i < CW_COUNT(tables) && !rc; i++)
        rc = compare_table(from, to, &tables[i], &n[i], err);
    if (!rc)
        rc = copy_counters(from, to, err);
    if (!rc)
        rc = run_all(to, to->ops->end_load, err);
    *ret = (cw_db_copied){.accounts = n[0], .roles = n[1], .tokens = n[4], .sessions = n[7]};
    return rc;
}

cw_code cw_db_copy(cw_db *from, cw_db *to, cw_db_copied *ret, cw_err *err)
{
    cw_code rc = from->ops->begin(from, err);
    if (rc)
        return rc;
    rc = to->ops->begin(to, err);
    if (!rc)
        rc = to->ops->end(to, copy_rows(from, to, ret, err), err);
    /* Nothing was changed there. */
    (void)!from->ops->end(from, CW_LIMIT, NULL);
    return rc;
}
