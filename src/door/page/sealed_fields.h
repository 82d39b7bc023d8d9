/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sealed_fields.h - a few texts that a browser carries for the server, sealed, with the time.
 *
 * So pages need no state on the server: a reload, two tabs and another process are no special cases.
 *
 * Ownership: what is returned lives in the arena.
 * Threads:   any.
 */
#ifndef CW_DOOR_PAGE_SEALED_FIELDS_H
#define CW_DOOR_PAGE_SEALED_FIELDS_H

#include "access/seal.h"

#define CW_SEALED_FIELDS_MAX 16u
#define CW_SEALED_FIELDS_MAX_BYTES 32768u
/* The clock of the server that sealed them may be ahead of ours by this. */
#define CW_SEALED_FIELDS_SKEW_MS 60000

/* Fields must have no NUL. CW_NOMEM, CW_LIMIT. */
CW_MUST_USE cw_code cw_sealed_fields_close(const cw_seal *seal, cw_str purpose,
                                           const cw_str *fields, size_t n, cw_arena *arena,
                                           cw_str *ret);
/* Exactly `n` fields. CW_PARSE: they were not sealed for this; CW_TIMEOUT: longer than `age_ms` ago,
 * or in the future; CW_NOMEM. */
CW_MUST_USE cw_code cw_sealed_fields_open(const cw_seal *seal, cw_str purpose, cw_str text,
                                          int64_t age_ms, cw_arena *arena, cw_str *fields,
                                          size_t n);

#endif
