/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replica_fixture.h - two servers of one database: this one, and another that is a row and a connection.
 *
 *     replica_fixture f;
 *     replica_fixture_open(&f, on_letter);    // in a setup, after temp_db_setup
 *     replica_fixture_join(&f);               // this server has a number and knows the other
 *     replica_fixture_wait_until(&f, check);  // the loop runs meanwhile
 *     replica_fixture_stop(&f);
 *     // owners of messages are freed here
 *     replica_fixture_close(&f);
 */
#ifndef CW_TESTS_REPLICA_FIXTURE_H
#define CW_TESTS_REPLICA_FIXTURE_H

#include "replica/replicas.h"

#define REPLICA_FIXTURE_OTHER CW_STR("00000000000other")

typedef struct replica_fixture {
    cw_loop loop;
    cw_seal seal;
    cw_store *store;
    cw_replicas *replicas;
    cw_db *db;     /* of the other server */
    int64_t other; /* its number */
} replica_fixture;

void replica_fixture_open(replica_fixture *f,
                          void (*on_letter)(const cw_letter *letter, void *ctx));
void replica_fixture_join(replica_fixture *f);
void replica_fixture_wait_until(replica_fixture *f, bool (*check)(void));
/* End the store, which may have ended already (NULL), and the loop. */
void replica_fixture_stop(replica_fixture *f);
void replica_fixture_close(replica_fixture *f);

#endif
