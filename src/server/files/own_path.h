/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own_path.h - the directory of this program, and the files that were installed with it.
 *
 * An installation can be moved as a whole: its files are found from the place of the program.
 *
 * Threads: main thread only.
 */
#ifndef CW_SERVER_FILES_OWN_PATH_H
#define CW_SERVER_FILES_OWN_PATH_H

#include "base/err.h"

/* The directory of this program, without a slash at its end. CW_IO. */
CW_MUST_USE cw_code cw_own_path_directory(char *out, size_t n, cw_err *err);
/* The path of an installed file, such as "include" (server/paths.h). It is below the prefix in which this
 * program lies. If the program is not in the directory for programs of a prefix, or the file is not there,
 * the prefix is that of the build. Whether the result exists is not checked. */
void cw_own_path_installed(const char *below, char *out, size_t n);

#endif
