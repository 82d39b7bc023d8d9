/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_fixture.h - a store with the database of temp_db.h, and counts of its reports.
 *
 *     cw_store *s = store_fixture_start();
 *     assert_int_equal(store_fixture_ask(s), CW_OK);
 *     store_fixture_wait_for(&store_changes, 1);
 *     cw_store_free(s);
 */
#ifndef CW_TESTS_STORE_FIXTURE_H
#define CW_TESTS_STORE_FIXTURE_H

#include <stdatomic.h>

#include "store/store.h"
#include "support/temp_db.h"

/* Since the last start: reports that the database is away or back, and changes of rights. */
extern atomic_int store_downs, store_ups, store_changes;

/* Options of a store that creates the database and counts its reports. */
cw_store_opts store_fixture_opts(void);
/* A store with these options. */
cw_store *store_fixture_start(void);
/* Run a job that reads, and return its result. */
cw_code store_fixture_ask(cw_store *s);
/* Wait until a count has this value or a higher one. */
void store_fixture_wait_for(const atomic_int *count, int value);

#endif
