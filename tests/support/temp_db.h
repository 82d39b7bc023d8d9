/* SPDX-License-Identifier: GPL-2.0-or-later */
/* temp_db.h - a directory of its own for each test, and the path of a database in it; or the URL of
 * an empty database on a server, with CAUSEWAY_TEST_POSTGRES (with-postgres.sh).
 *
 *     cmocka_unit_test_setup_teardown(test, temp_db_setup, temp_db_teardown)
 *
 * The test creates the database at temp_db_path. The teardown removes it with the files that SQLite
 * keeps beside it and a copy that the test moved to PATH.away; it fails when another file is left.
 */
#ifndef CW_TESTS_TEMP_DB_H
#define CW_TESTS_TEMP_DB_H

#include "support/temp_dir.h"

extern char temp_db_path[96];

/* The first members of a cw_db_opts. */
#define TEMP_DB .where = temp_db_path, .timeout_ms = 5000

/* Whether the database is on a server. */
bool temp_db_is_server(void);
/* Run statements on the database, as another program would. */
void temp_db_run(const char *sql);

int temp_db_setup(void **state);
int temp_db_teardown(void **state);

#endif
