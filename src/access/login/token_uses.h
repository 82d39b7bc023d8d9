/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token_uses.h - the last use of each API token, on its way to the database.
 *
 * A loop caches a verified token for CW_ACCOUNTS_REMEMBER_MS, so a token in use is read at least that
 * often. The reading notes the use; cached callers cost nothing. Uses wait here and are written
 * together, once a second. A use within CW_TOKEN_USE_MS of the recorded one is not noted: neither on
 * another loop, nor on another server with this database.
 *
 * Threads: that of the store.
 * Limits:  CW_TOKEN_USES_MAX wait; the next one has them written.
 */
#ifndef CW_ACCESS_LOGIN_TOKEN_USES_H
#define CW_ACCESS_LOGIN_TOKEN_USES_H

#include "store/db.h"

#define CW_TOKEN_USE_MS 60000
#define CW_TOKEN_USES_MAX 256u

typedef struct cw_token_uses {
    size_t n;
    uint64_t next; /* when they may be written, by cw_clock_ms */
    cw_token_use items[CW_TOKEN_USES_MAX];
} cw_token_uses;

/* The token was accepted for a client with this address. */
void cw_token_uses_note(cw_token_uses *u, cw_db *db, const cw_token *token, cw_str address);
/* Write them if that is due, or at once. A failure loses them: a token in use is noted again, and a
 * database that can only be read serves all else. */
void cw_token_uses_write(cw_token_uses *u, cw_db *db, bool at_once);

#endif
