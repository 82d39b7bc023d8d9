/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal_key.c - rows of the keys that seal what clients carry. */
#include "store/seal_key.h"

#include "store/stmt.h"

#define FIRST "seal"

_Static_assert(CW_DB_KEY == CW_DB_HASH, "keys are bound like hashes");

typedef cw_db_query query;

/* The number in a name; 0: it is not the name of such a key. */
static int64_t number_of(cw_str name)
{
    int64_t number = 0;
    if (cw_str_is(name, FIRST))
        return 1;
    if (name.n < sizeof FIRST + 1 || name.n > sizeof FIRST + 9)
        return 0;
    for (size_t i = sizeof FIRST; i < name.n; i++) {
        if (name.p[i] < '0' || name.p[i] > '9')
            return 0;
        number = number * 10 + (name.p[i] - '0');
    }
    return number;
}

/* A longer name has a higher number: numbers have no leading zeros. */
#define ROWS                                                                                       \
    " FROM secret WHERE name = '" FIRST "' OR name LIKE '" FIRST "/%'"                             \
    " ORDER BY length(name) DESC, name DESC"

cw_code cw_db_find_newest_seal_key(cw_db *db, int64_t *ret, cw_err *err)
{
    query q;
    int64_t newest = 0;
    cw_stmt_open(&q, db, "SELECT name" ROWS);
    while (!newest && cw_stmt_step(&q))
        newest = number_of(cw_stmt_text(&q, 0));
    *ret = newest;
    return cw_stmt_close(&q, err);
}

/* A row that was damaged is no key. */
cw_code cw_db_read_seal_keys(cw_db *db, cw_db_seal_key ret[CW_DB_SEAL_KEYS], size_t *ret_n,
                             cw_err *err)
{
    query q;
    size_t n = 0;
    cw_stmt_open(&q, db, "SELECT name, value, created, begins" ROWS);
    while (cw_stmt_step(&q)) {
        cw_db_seal_key key = {.number = number_of(cw_stmt_text(&q, 0)),
                              .created = cw_stmt_i64(&q, 2),
                              .begins = cw_stmt_i64(&q, 3)};
        if (n < CW_DB_SEAL_KEYS && key.number && cw_stmt_hash(&q, 1, key.key))
            ret[n++] = key;
    }
    cw_code rc = cw_stmt_close(&q, err);
    if (!rc)
        *ret_n = n;
    return rc;
}

cw_code cw_db_add_seal_key(cw_db *db, const cw_db_seal_key *key, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "INSERT INTO secret (name, value, created, begins)"
                 " VALUES (CASE WHEN ?1 = 1 THEN '" FIRST "' ELSE '" FIRST "/' || ?1 END,"
                 " ?2, ?3, ?4) ON CONFLICT (name) DO NOTHING");
    cw_stmt_bind_i64(&q, 1, key->number);
    cw_stmt_bind_hash(&q, 2, key->key);
    cw_stmt_bind_i64(&q, 3, key->created);
    cw_stmt_bind_i64(&q, 4, key->begins);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_remove_seal_keys(cw_db *db, int64_t below, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "DELETE FROM secret WHERE (name = '" FIRST "' AND ?1 > 1)"
                 " OR (name LIKE '" FIRST "/%' AND CAST(substr(name, 6) AS INTEGER) < ?1)");
    cw_stmt_bind_i64(&q, 1, below);
    cw_code rc = cw_stmt_run(&q, err);
    return rc ? rc : cw_db_notify(db, err);
}
