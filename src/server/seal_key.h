/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal_key.h - the key with which a server seals what clients carry for it.
 *
 * From a file that the configuration names; else from the database, where the first
 * server that needs one puts it, so that what was sealed can still be opened after a
 * restart and by other servers with the same database; else made for this process.
 *
 * Threads: the main thread. Waits for the store, which answers soon whatever its state.
 */
#ifndef CW_SERVER_SEAL_KEY_H
#define CW_SERVER_SEAL_KEY_H

#include "access/seal.h"
#include "config/config.h"
#include "store/store.h"

/* `store` may be NULL. CW_PARAMS, CW_IO: the file cannot be used; a database that cannot be is
 * logged. */
CW_MUST_USE cw_code cw_seal_key_load(const cw_config *config, cw_store *store, cw_seal *ret,
                                     cw_err *err);

#endif
