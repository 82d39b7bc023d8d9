/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/sqlite_int.h"

_Static_assert(CW_DB_KEY == CW_DB_HASH, "keys are bound like hashes");

cw_code cw_db_find_key(cw_db *db, cw_str name, unsigned char ret[CW_DB_KEY], bool *ret_is_there,
                       cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db, "SELECT value FROM secret WHERE name = ?1");
    cw_query_bind_text(&q, 1, name);
    *ret_is_there = false;
    if (cw_query_step(&q)) {
        const void *value = sqlite3_column_blob(q.stmt, 0);
        *ret_is_there = value && sqlite3_column_bytes(q.stmt, 0) == (int)CW_DB_KEY;
        if (*ret_is_there)
            memcpy(ret, value, CW_DB_KEY);
    }
    return cw_query_close(&q, err);
}

cw_code cw_db_offer_key(cw_db *db, cw_str name, const unsigned char key[CW_DB_KEY], cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db,
                  "INSERT INTO secret (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING");
    cw_query_bind_text(&q, 1, name);
    cw_query_bind_hash(&q, 2, key);
    (void)cw_query_step(&q);
    return cw_query_close(&q, err);
}
