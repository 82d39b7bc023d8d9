/* SPDX-License-Identifier: GPL-2.0-or-later */
/* temp_dir.h - a directory for the files of a test.
 *
 *     cmocka_unit_test_setup_teardown(test, temp_dir_setup, temp_dir_teardown)
 *     temp_dir_write("lock.json", "{}");
 *     unlink(temp_dir_path("lock.json"));
 *
 * The test removes its files. The teardown fails when one is left, so that a test notices files
 * that the code leaves behind.
 *
 * Threads: for one thread; one directory at a time.
 */
#ifndef CW_TESTS_TEMP_DIR_H
#define CW_TESTS_TEMP_DIR_H

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

extern char temp_dir[64];

int temp_dir_setup(void **state);
int temp_dir_teardown(void **state);
/* The path of a file in the directory; valid for the next three calls. */
const char *temp_dir_path(const char *name);
/* Create or replace a file. */
void temp_dir_write(const char *name, const char *text);

#endif
