/* SPDX-License-Identifier: GPL-2.0-or-later */
/* last_good.h - the last good description of a service, in its file and in memory.
 *
 * Each new description is compared with it (required_access.h). The file has all of it and outlives
 * the process. Memory has the facts without the document. It outlives the sources that are made
 * from them, so that a source that was dropped leaves its requirements behind. It counts if there
 * is no file, and if the file could not be written: until an operator accepts a later file.
 *
 * Ownership: a cw_last_good belongs to its creator; loads borrow it.
 * Threads:   the main loop's thread. At most one load of a service runs at once.
 * Limits:    those of the file (state_files.h).
 */
#ifndef CW_SOURCE_REMOTE_LAST_GOOD_H
#define CW_SOURCE_REMOTE_LAST_GOOD_H

#include "source/remote/state_files.h"

typedef struct cw_last_good cw_last_good;

/* A service and its files. */
typedef struct cw_last_good_key {
    cw_str folder;   /* empty: nothing is written, and no file is found */
    bool is_quiet;   /* nothing is written */
    cw_str name;     /* of the source */
    cw_str at;       /* its URL or command */
    cw_str describe; /* `discovery` in the configuration */
} cw_last_good_key;

/* With nothing in it; NULL without memory. */
cw_last_good *cw_last_good_new(void);
/* NULL is fine. */
void cw_last_good_free(cw_last_good *g);

/* Find the description; g may be NULL. Its texts are in the arena. ret->kind is empty: none of this
 * address and `discovery`; ret->is_of_other: the file has one of others. ret->openrpc is empty: only the facts
 * are known. CW_NOMEM. Another code: the file exists and is unusable. */
CW_MUST_USE cw_code cw_last_good_find(cw_last_good *g, const cw_last_good_key *key, cw_arena *arena,
                                      cw_state_description *ret, cw_err *err);

/* Keep a new description; g may be NULL. `last` is the result of cw_last_good_find: a file with the
 * same contents is not written again, unless d->accepted_ms is set. CW_NOMEM: it is not kept. Another code: it is kept in memory,
 * and could not be written. */
CW_MUST_USE cw_code cw_last_good_keep(cw_last_good *g, const cw_last_good_key *key,
                                      const cw_state_description *last,
                                      const cw_state_description *d, cw_err *err);

#endif
