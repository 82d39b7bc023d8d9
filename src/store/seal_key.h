/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal_key.h - rows of the keys that seal what clients carry (access/seal_keys.h).
 *
 * They are rows of the table `secret`: "seal" is the first key, "seal/2" the second, and so on. All servers
 * of the database read them.
 *
 * Secrets:   the keys are in clear text, as db.h says.
 * Ownership, threads, failures: as db.h says.
 */
#ifndef CW_STORE_SEAL_KEY_H
#define CW_STORE_SEAL_KEY_H

#include "store/db.h"

#define CW_DB_KEY 32u
#define CW_DB_SEAL_KEYS 3u /* that are kept by a rotation */

typedef struct cw_db_seal_key {
    int64_t number; /* 1 is the first */
    unsigned char key[CW_DB_KEY];
    int64_t created; /* ms since 1970, by the clock of the database; 0: before keys had a time */
    int64_t begins;  /* likewise: it seals from then on; 0: from the start */
} cw_db_seal_key;

/* The newest keys, the newest first. */
CW_MUST_USE cw_code cw_db_read_seal_keys(cw_db *db, cw_db_seal_key ret[CW_DB_SEAL_KEYS],
                                         size_t *ret_n, cw_err *err);
/* The highest number of a row, also of one that was damaged; 0: none. */
CW_MUST_USE cw_code cw_db_find_newest_seal_key(cw_db *db, int64_t *ret, cw_err *err);
/* Add a key, unless one of this number exists. It may be called within a change. */
CW_MUST_USE cw_code cw_db_add_seal_key(cw_db *db, const cw_db_seal_key *key, cw_err *err);
/* Within a change: remove the keys with lower numbers, and let all servers read the rows soon. */
CW_MUST_USE cw_code cw_db_remove_seal_keys(cw_db *db, int64_t below, cw_err *err);

#endif
