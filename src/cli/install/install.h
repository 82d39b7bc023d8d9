/* SPDX-License-Identifier: GPL-2.0-or-later */
/* install.h - files of other programs: reading, replacing, and showing a change.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_INSTALL_INSTALL_H
#define CW_CLI_INSTALL_INSTALL_H

#include "base/buf.h"

/* Append the lines that differ, with a few around them, as in a diff. */
void cw_install_add_diff(cw_buf *out, cw_str old_text, cw_str new_text);

/* Replace a file as a whole, or make it; mode and owner stay. Links are followed. */
CW_MUST_USE cw_code cw_install_write(const char *path, cw_str text, cw_err *err);
/* All of a file; *ret_exists is false without one. */
CW_MUST_USE cw_code cw_install_load(const char *path, cw_buf *out, bool *ret_exists, cw_err *err);
/* Make the directories of a file. */
CW_MUST_USE cw_code cw_install_make_folders(const char *path, cw_err *err);

#endif
