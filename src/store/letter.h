/* SPDX-License-Identifier: GPL-2.0-or-later */
/* letter.h - rows that one server leaves for others (replica/replicas.h).
 *
 * A letter to a server is a row until the server takes it. A lasting letter is for all servers, also for
 * those that start later, and stays until its time is over. Bodies are sealed: the database cannot read or
 * change them.
 *
 * Ownership, threads, failures: as db.h says.
 * Limits:    CW_DB_LETTER bytes of a body, CW_DB_LETTERS for one server, CW_DB_LASTING_LETTERS in all. A
 *            letter that is not taken is removed after CW_DB_LETTER_MS. Callers share the lasting letters:
 *            the one with the most loses its oldest, and the anonymous ones together have half.
 */
#ifndef CW_STORE_LETTER_H
#define CW_STORE_LETTER_H

#include "store/db.h"

#define CW_DB_LETTER ((size_t)2 << 20)
#define CW_DB_LETTERS 1000
#define CW_DB_LASTING_LETTERS 32768
#define CW_DB_LETTER_MS 60000

typedef cw_code (*cw_db_letter_fn)(cw_str body, void *ctx, cw_err *err);

/* Add a letter from `from` to the server with this number; 0: to all others. A number that no running
 * server has, and a server with too many letters, gets none. *ret_n is how many were added. */
CW_MUST_USE cw_code cw_db_send_letter(cw_db *db, cw_str from, int64_t to, cw_str body,
                                      int64_t *ret_n, cw_err *err);
typedef struct cw_db_lasting {
    cw_str body;
    int64_t until; /* ms since 1970 */
    int64_t share; /* the caller, the same for all servers; 0: the server; below 0: anonymous */
} cw_db_lasting;

/* Add a lasting letter, until its time. */
CW_MUST_USE cw_code cw_db_keep_letter(cw_db *db, const cw_db_lasting *letter, cw_err *err);
/* Take the letters to this node, oldest first, at most CW_DB_LETTERS. */
CW_MUST_USE cw_code cw_db_take_letters(cw_db *db, cw_str node, cw_db_letter_fn fn, void *ctx,
                                       cw_err *err);
/* Read the lasting letters after number *at, and set it: also on failure, to the last one that fn took. */
CW_MUST_USE cw_code cw_db_read_letters(cw_db *db, int64_t *at, cw_db_letter_fn fn, void *ctx,
                                       cw_err *err);
/* Remove those whose time is over. */
CW_MUST_USE cw_code cw_db_expire_letters(cw_db *db, cw_err *err);

#endif
