/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/sqlite_int.h"

cw_code cw_db_add_role(cw_db *db, cw_str role, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db, "INSERT INTO role (name) VALUES (?1)");
    cw_query_bind_text(&q, 1, role);
    (void)cw_query_step(&q);
    cw_code rc = cw_query_close(&q, err);
    if (rc == CW_PARAMS)
        return cw_fail(err, rc, "role '%.*s' exists already", CW_STR_ARG(role));
    return rc;
}

/* One statement with the role's name; CW_DONE when it changed nothing. */
static cw_code run(cw_db *db, const char *sql, cw_str role, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db, sql);
    cw_query_bind_text(&q, 1, role);
    return cw_query_change(&q, err);
}

static cw_code remove_role(cw_db *db, cw_str role, cw_err *err)
{
    cw_code rc = run(db, "DELETE FROM role WHERE name = ?1", role, err);
    if (rc == CW_DONE)
        return cw_fail(err, CW_NOTFOUND, "no role '%.*s'", CW_STR_ARG(role));
    if (!rc)
        rc = run(db, "DELETE FROM account_role WHERE role = ?1", role, err);
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
    cw_query q;
    cw_query_open(&q, db, "SELECT 1 FROM role WHERE name = ?1");
    cw_query_bind_text(&q, 1, role);
    bool has_it = cw_query_step(&q);
    cw_code rc = cw_query_close(&q, err);
    if (!rc)
        *ret = has_it;
    return rc;
}

cw_code cw_db_each_role(cw_db *db, cw_db_text_fn fn, void *ctx, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db, "SELECT name FROM role ORDER BY name");
    return cw_query_each_text(&q, fn, ctx, err);
}

static cw_code allow(cw_db *db, cw_str role, cw_str permission, bool may, cw_err *err)
{
    bool is_there = false;
    cw_code rc = cw_db_has_role(db, role, &is_there, err);
    if (!rc && !is_there)
        return cw_fail(err, CW_NOTFOUND, "no role '%.*s'", CW_STR_ARG(role));
    if (rc)
        return rc;
    cw_query q;
    cw_query_open(&q, db,
                  may ? "INSERT OR IGNORE INTO role_permission (role, permission) VALUES (?1, ?2)"
                      : "DELETE FROM role_permission WHERE role = ?1 AND permission = ?2");
    cw_query_bind_text(&q, 1, role);
    cw_query_bind_text(&q, 2, permission);
    return cw_query_change(&q, err);
}

cw_code cw_db_allow(cw_db *db, cw_str role, cw_str permission, bool may, cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, allow(db, role, permission, may, err), err);
}

cw_code cw_db_each_permission(cw_db *db, cw_str role, cw_db_text_fn fn, void *ctx, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db,
                  "SELECT permission FROM role_permission WHERE role = ?1 ORDER BY permission");
    cw_query_bind_text(&q, 1, role);
    return cw_query_each_text(&q, fn, ctx, err);
}
