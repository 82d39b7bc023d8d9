/* SPDX-License-Identifier: GPL-2.0-or-later */
/* copy.h - copy a database to another one, of either kind.
 *
 * Numbers of rows stay, because sessions, sealed states and the audit log name accounts by them. No
 * other program can change either database meanwhile. The copy is compared with the original, row by
 * row, before it is committed.
 *
 * Threads: one thread uses both.
 */
#ifndef CW_STORE_COPY_H
#define CW_STORE_COPY_H

#include "store/db.h"

typedef struct cw_db_copied {
    int64_t accounts, roles, tokens, sessions;
} cw_db_copied;

/* Copy all rows to a database without any. CW_PARAMS: it has rows. */
CW_MUST_USE cw_code cw_db_copy(cw_db *from, cw_db *to, cw_db_copied *ret, cw_err *err);

#endif
