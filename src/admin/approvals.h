/* SPDX-License-Identifier: GPL-2.0-or-later */
/* approvals.h - approved definitions of tools in the database, which all servers of it share.
 *
 * With `approvals: store` the definitions that operators have approved are rows of the database
 * (store/approval.h) instead of a file of one machine. Their form is that of source/remote/lock/lock.h. A
 * server holds what it has read last. An approval by any program is read within a second:
 *
 *     approve ──► rows + 1 ··► cw_approvals_read_news (store's thread) ──► on_change (main thread)
 *
 * Until the rows were read once, and while there are none, every tool of sources is withheld. While the
 * database is away, the last rows count.
 *
 * Ownership: borrows the store, which ends before cw_approvals_free.
 * Threads:   cw_approvals_read and _write on the thread of the database, _read_news on the store's, the
 *            others on the main one.
 * Limits:    CW_LOCK_MAX_BYTES of all definitions.
 */
#ifndef CW_ADMIN_APPROVALS_H
#define CW_ADMIN_APPROVALS_H

#include "net/loop/loop.h"
#include "source/remote/lock/lock.h"
#include "store/approval.h"
#include "store/store.h"

#define CW_APPROVALS_NONE                                                                          \
    "the database has no approved definitions: review them with `causeway source diff`, and "      \
    "approve them with `causeway source approve`"

/* ---- the rows ---- */

/* *ret is NULL, and the version 0, if nothing was ever approved. CW_PARAMS: a row is damaged. */
CW_MUST_USE cw_code cw_approvals_read(cw_db *db, cw_lock **ret, int64_t *ret_version, cw_err *err);
/* Change `old`, which was read with this version. CW_INVALID: another program has changed it since. */
CW_MUST_USE cw_code cw_approvals_write(cw_db *db, const cw_lock *old, int64_t version,
                                       const cw_lock_change *change, cw_err *err);

/* ---- of a server ---- */

typedef struct cw_approvals cw_approvals;

CW_MUST_USE cw_code cw_approvals_new(cw_loop *main, void (*on_change)(void *ctx), void *ctx,
                                     cw_approvals **ret, cw_err *err);
/* After the store has ended. NULL is fine. */
void cw_approvals_free(cw_approvals *a);
/* Read the rows now and from now on, or no more. Waits for the store at the first time. `store` may be
 * NULL: then no rows can be read. */
void cw_approvals_use(cw_approvals *a, cw_store *store, bool is_used);
/* For cw_store_opts.on_news. */
bool cw_approvals_read_news(cw_approvals *a, cw_db *db);
/* The rows that were read last: a reference, or NULL with the reason. CW_NOTFOUND: nothing was ever approved. */
CW_MUST_USE cw_code cw_approvals_get(cw_approvals *a, cw_lock **ret, int64_t *ret_version,
                                     cw_err *why);

/* A change that the store makes. Embedded in its owner, which lives until `done` is called, on the main
 * thread, or `drop`, because the loop ends. */
typedef struct cw_approvals_change {
    void (*done)(struct cw_approvals_change *change, cw_code rc, const cw_err *err);
    void (*drop)(struct cw_approvals_change *change);
    /* Private. */
    cw_approvals *all;
    cw_lock *fresh;
    cw_db_approval *rows;
    size_t n;
    int64_t version;
    cw_store_job job;
    cw_message message;
    cw_code rc;
    cw_err err;
} cw_approvals_change;

/* As cw_approvals_write, with names of sources that live until then, and on_change is called before `done`. A failure here calls neither. */
CW_MUST_USE cw_code cw_approvals_start(cw_approvals *a, const cw_lock *old, int64_t version,
                                       const cw_lock_change *what, cw_approvals_change *ret,
                                       cw_err *err);

#endif
