/* SPDX-License-Identifier: GPL-2.0-or-later */
/* failure.c - failed logins that all servers of a database count together. */
#include "store/failure.h"

#include "store/stmt.h"

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number
#define COUNTS_MS TEXT(CW_DB_FAILURES_MS)
#define MAX_ROWS TEXT(CW_DB_FAILURE_ROWS)
#define KNOWN_MS "2592000000"

/* The clock in ms since 1970, the same for a whole statement. */
#define FILE_NOW "CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)"
#define SERVER_NOW "floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint"

/* One text for each back end, which differ in the clock alone. */
typedef struct texts {
    const char *file, *server;
} texts;

#define TEXTS(sql)                                                                                 \
    {                                                                                              \
        sql(FILE_NOW), sql(SERVER_NOW)                                                             \
    }

#define READ(now)                                                                                  \
    "SELECT who, CASE WHEN at + " COUNTS_MS " > " now " THEN n ELSE 0 END, " now                   \
    " - at, until - " now " FROM failure WHERE who IN (?1, ?2, ?3, ?4, ?5) AND until > " now

/* Sorted by name: two servers lock the rows in the same order. */
#define ADD(now)                                                                                   \
    "INSERT INTO failure AS f (who, n, at, until)"                                                 \
    " SELECT column1, column2, " now ", " now " + " COUNTS_MS                                      \
    " FROM (VALUES (?1, ?2), (?3, ?4), (?5, ?6), (?7, ?8), (?9, ?10)) AS v"                        \
    " WHERE column1 IS NOT NULL ORDER BY column1 ON CONFLICT (who) DO UPDATE SET"                  \
    " n = CASE WHEN f.at + " COUNTS_MS " > excluded.at THEN f.n ELSE 0 END + excluded.n,"          \
    " at = excluded.at,"                                                                           \
    " until = CASE WHEN f.until > excluded.until THEN f.until ELSE excluded.until END"             \
    " RETURNING who, n, " now " - at, until - " now

#define KNOW(now)                                                                                  \
    "INSERT INTO failure (who, n, at, until) VALUES (?1, 0, " now ", " now " + " KNOWN_MS ")"      \
    " ON CONFLICT (who) DO UPDATE SET n = 0, at = excluded.at, until = excluded.until"

/* Rows of clients go first: a stranger with many networks can add any number of them. */
#define TRIM(now)                                                                                  \
    "DELETE FROM failure WHERE until <= " now " OR who IN"                                         \
    " (SELECT who FROM failure WHERE until > " now                                                 \
    " ORDER BY who LIKE 'client:%', at DESC LIMIT 1000000000 OFFSET " MAX_ROWS ")"

static void open_for(cw_db_query *q, cw_db *db, const texts *sql)
{
    cw_stmt_open(q, db, db->ops->now ? sql->server : sql->file);
}

static void take_row(cw_db_query *q, cw_db_failures *counters, size_t n)
{
    cw_str who = cw_stmt_text(q, 0);
    for (size_t i = 0; i < n; i++) {
        if (!cw_str_eq(counters[i].who, who))
            continue;
        int64_t age = cw_stmt_i64(q, 2);
        counters[i].n = cw_stmt_i64(q, 1);
        counters[i].age_ms = age > 0 ? age : 0;
        counters[i].left_ms = cw_stmt_i64(q, 3);
    }
}

cw_code cw_db_read_failures(cw_db *db, cw_db_failures *counters, size_t n, cw_err *err)
{
    static const texts sql = TEXTS(READ);
    cw_db_query q;
    open_for(&q, db, &sql);
    for (size_t i = 0; i < CW_DB_FAILURE_COUNTERS; i++)
        cw_stmt_bind_optional(&q, (int)i + 1, i < n ? counters[i].who : CW_STR(""));
    for (size_t i = 0; i < n; i++)
        counters[i] = (cw_db_failures){.who = counters[i].who};
    while (cw_stmt_step(&q))
        take_row(&q, counters, n);
    return cw_stmt_close(&q, err);
}

cw_code cw_db_add_failures(cw_db *db, cw_db_failures *counters, size_t n, cw_err *err)
{
    static const texts sql = TEXTS(ADD);
    cw_db_query q;
    open_for(&q, db, &sql);
    for (size_t i = 0; i < CW_DB_FAILURE_COUNTERS; i++) {
        bool is_counted = i < n && counters[i].n > 0;
        cw_stmt_bind_optional(&q, (int)(2 * i) + 1, is_counted ? counters[i].who : CW_STR(""));
        cw_stmt_bind_i64(&q, (int)(2 * i) + 2, is_counted ? counters[i].n : 0);
    }
    while (cw_stmt_step(&q))
        take_row(&q, counters, n);
    return cw_stmt_close(&q, err);
}

cw_code cw_db_forget_failures(cw_db *db, cw_str who, cw_err *err)
{
    cw_db_query q;
    cw_stmt_open(&q, db, "DELETE FROM failure WHERE who = ?1");
    cw_stmt_bind_text(&q, 1, who);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_know_network(cw_db *db, cw_str who, cw_err *err)
{
    static const texts sql = TEXTS(KNOW);
    cw_db_query q;
    _Static_assert(CW_DB_KNOWN_NETWORK_MS == INT64_C(2592000000), "as in the text");
    open_for(&q, db, &sql);
    cw_stmt_bind_text(&q, 1, who);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_trim_failures(cw_db *db, cw_err *err)
{
    static const texts sql = TEXTS(TRIM);
    cw_db_query q;
    open_for(&q, db, &sql);
    return cw_stmt_run(&q, err);
}
