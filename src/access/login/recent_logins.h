/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recent_logins.h - logins that succeeded, shared by all loops.
 *
 * Two tables of fixed size. Only successful logins add entries, so that guessing fills neither.
 *
 *     credentials   keyed digest of name and password, and of the hash that they satisfied: while
 *                   the account has that hash, no loop hashes these credentials again
 *     networks      an account and a network that it logged in from: others' wrong guesses for
 *                   this account do not delay logins from there
 *
 * Nothing is kept over a restart.
 *
 * Threads: any; one lock. Only for the slow path of a login.
 * Limits:  CW_RECENT_LOGINS_ENTRIES of each; the least recently used entry of a set is replaced.
 */
#ifndef CW_ACCESS_LOGIN_RECENT_LOGINS_H
#define CW_ACCESS_LOGIN_RECENT_LOGINS_H

#include <pthread.h>

#include "access/credentials.h"
#include "net/addr/network.h"

#define CW_RECENT_LOGINS_ENTRIES 4096u
#define CW_RECENT_LOGINS_NETWORK_MS (UINT64_C(30) * 24 * 3600 * 1000)

typedef struct cw_recent_logins {
    pthread_mutex_t lock;
    struct cw_recent_logins_credentials *credentials;
    struct cw_recent_logins_network *networks;
    uint64_t tick;
} cw_recent_logins;

CW_MUST_USE cw_code cw_recent_logins_init(cw_recent_logins *v, cw_err *err);
/* A zeroed struct is fine. */
void cw_recent_logins_done(cw_recent_logins *v);

/* These credentials satisfied the hash with this digest. */
void cw_recent_logins_add(cw_recent_logins *v, const unsigned char key[CW_DIGEST],
                          const unsigned char proof[CW_DIGEST]);
/* The digest of the hash that they satisfied last; false: not known. */
bool cw_recent_logins_find(cw_recent_logins *v, const unsigned char key[CW_DIGEST],
                           unsigned char ret_proof[CW_DIGEST]);

/* An account has logged in from here. `now` is the monotonic clock in ms. */
void cw_recent_logins_add_network(cw_recent_logins *v, cw_str account, const cw_network *network,
                                  uint64_t now);
/* Whether it has in the last CW_RECENT_LOGINS_NETWORK_MS. */
bool cw_recent_logins_has_network(cw_recent_logins *v, cw_str account, const cw_network *network,
                                  uint64_t now);

#endif
