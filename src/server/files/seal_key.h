/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal_key.h - the keys that seal the state in clients (access/seal_keys.h).
 *
 * The keys come from the files that the configuration names, or from the database. The first server
 * stores one there, so that it is the same after a restart and for other servers of the database.
 * Without both, the key comes from a file of this server (state_file.h), which the first start makes.
 * Without that, it is random and ends with the process.
 *
 * Threads: the main thread. Waits for the store, which responds soon in every state.
 */
#ifndef CW_SERVER_FILES_SEAL_KEY_H
#define CW_SERVER_FILES_SEAL_KEY_H

#include "access/seal_keys.h"
#include "config/config.h"
#include "store/store.h"

/* Other sources of the key; each may be NULL. */
typedef struct cw_seal_key_opts {
    cw_store *store;
    const char *path; /* of the server's own file */
} cw_seal_key_opts;

/* Once, before `keys` seal anything. CW_PARAMS, CW_IO: a file that the configuration names cannot be used.
 * A database or a file of the server that cannot be used is logged. */
CW_MUST_USE cw_code cw_seal_key_load(const cw_config *config, const cw_seal_key_opts *opts,
                                     cw_seal_keys *keys, cw_err *err);
/* Read the files of the configuration again, if the keys come from files. Fails as cw_seal_key_load, and
 * then the old keys stay. */
CW_MUST_USE cw_code cw_seal_key_reload(const cw_config *config, cw_seal_keys *keys, cw_err *err);

#endif
