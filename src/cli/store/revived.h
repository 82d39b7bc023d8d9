/* SPDX-License-Identifier: GPL-2.0-or-later */
/* revived.h - rights that the audit records as withdrawn, and that a database has all the same.
 *
 * A database that was restored from a backup has the rights of that moment: tokens that were revoked
 * since are valid again. The audit is a file beside the database, so it still names them.
 *
 *     cw_withdrawals *w = NULL;
 *     cw_code rc = cw_withdrawals_new(&w, err);
 *     if (!rc)
 *         rc = cw_withdrawals_read(w, path, files, since, err);
 *     if (!rc)
 *         rc = cw_revived_find(w, db, config, &arena, &lists, err);
 *     cw_withdrawals_free(w);
 *
 * The newest record about a right decides: a role that was granted again is not revived. A number or a
 * name may be that of another thing, which was created after the record: after an older restore the
 * database gives numbers a second time. So a thing that is younger than its withdrawal is not revived. If it is
 * younger by less than CW_REVIVED_CLOCKS_MS, the clocks of two servers may differ: it is unsure.
 *
 * A removal takes other rights along, and an addition of the same name does not bring them back. An account that is
 * older than its removal is revived, also if another one of that name was added since. The same holds for
 * permissions of a role, for its accounts, and for sessions and grants that a block or a new password has ended.
 *
 * A database does not hold the age of passwords: those with a record are revived if the records begin with
 * the time of the backup.
 *
 * Ownership: a list lives as long as its arena.
 * Threads:   one thread. It waits for the disk and the database.
 * Limits:    CW_WITHDRAWALS_MAX rights, CW_WITHDRAWALS_ROUNDS times CW_AUDIT_SEARCH_MS for each audit;
 *            the newest records are read first.
 */
#ifndef CW_CLI_STORE_REVIVED_H
#define CW_CLI_STORE_REVIVED_H

#include "audit/search.h"
#include "base/arena.h"
#include "config/config.h"
#include "store/db.h"

#define CW_WITHDRAWALS_MAX 100000u
#define CW_WITHDRAWALS_ROUNDS 12u
#define CW_REVIVED_CLOCKS_MS 60000

typedef struct cw_withdrawals cw_withdrawals;

CW_MUST_USE cw_code cw_withdrawals_new(cw_withdrawals **ret, cw_err *err);
/* NULL is fine. */
void cw_withdrawals_free(cw_withdrawals *w);
/* Read an audit and its rotated files; `since` is "" or a time as records have it. More audits may
 * follow. CW_LIMIT: a limit ended it before the oldest record. CW_IO: it cannot be read. Then the list
 * may be incomplete. */
CW_MUST_USE cw_code cw_withdrawals_read(cw_withdrawals *w, const char *path, unsigned files,
                                        const char *since, cw_err *err);
/* Lines that are no records, and records of changes that the server could not write. */
uint64_t cw_withdrawals_n_damaged(const cw_withdrawals *w);
uint64_t cw_withdrawals_n_lost(const cw_withdrawals *w);

/* A list has the credentials of an account before the account, and the permissions of a role before the
 * role: a withdrawal of the second would take the first along. */
typedef enum cw_revived_kind {
    CW_REVIVED_TOKEN,
    CW_REVIVED_GRANT,
    CW_REVIVED_SESSION,
    CW_REVIVED_ACCOUNT_ROLE, /* a role of an account */
    CW_REVIVED_BLOCK,        /* an account that was blocked */
    CW_REVIVED_ACCOUNT,      /* an account that was removed */
    CW_REVIVED_PERMISSION,   /* a permission of a role */
    CW_REVIVED_ROLE,         /* a role that was removed */
    CW_REVIVED_CLIENT,       /* a registered OAuth client that was removed */
    CW_REVIVED_DENIAL,       /* an OAuth client of any kind that was denied */
    CW_REVIVED_PASSWORD,     /* that was changed */
    CW_REVIVED_KINDS,
} cw_revived_kind;

typedef struct cw_revived cw_revived;
struct cw_revived {
    cw_revived *next;
    cw_revived_kind kind;
    int64_t id;        /* 0: it has none */
    cw_str account;    /* its name; empty: it belongs to none */
    cw_str name;       /* label of a token, id of an OAuth client, role; empty: none */
    cw_str permission; /* CW_REVIVED_PERMISSION */
    cw_str when, by;   /* of the record */
};

/* NULL for none. */
typedef struct cw_revived_lists {
    cw_revived *sure;
    cw_revived *young; /* unsure, because of clocks */
    cw_revived *cut;   /* unsure: the record has the beginning of a long id only */
} cw_revived_lists;

/* All that are revived. Tokens, grants and sessions that have expired are not. */
CW_MUST_USE cw_code cw_revived_find(const cw_withdrawals *w, cw_db *db, const cw_config *config,
                                    cw_arena *arena, cw_revived_lists *ret, cw_err *err);

#endif
