/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state_file.h - files of a server that outlive it: below the state directory of its user.
 *
 *     $STATE_DIRECTORY (its first entry), else $XDG_STATE_HOME, else ~/.local/state
 *         causeway/KIND-DIGEST
 *
 * The digest is that of the configuration's path and the listen addresses. So each server has files of
 * its own, and state that one server sealed cannot be opened by another.
 *
 * Threads: the main one. Waits for the disk.
 */
#ifndef CW_SERVER_FILES_STATE_FILE_H
#define CW_SERVER_FILES_STATE_FILE_H

#include "config/config.h"

#define CW_STATE_FILE_PATH 4096u

/* Find and make the directory `causeway`. False: no directory is known, or it cannot be made. */
bool cw_state_file_directory(char *out, size_t n);
/* The path of a file, in a directory that exists. `config_path` may be NULL: no configuration file. `config` may be NULL: the
 * digest is that of the path alone. CW_IO: no directory. */
CW_MUST_USE cw_code cw_state_file_path(const cw_config *config, const char *config_path,
                                       const char *kind, char out[CW_STATE_FILE_PATH], cw_err *err);
/* The same path, without making the directory: for programs that only read. */
CW_MUST_USE cw_code cw_state_file_name(const cw_config *config, const char *config_path,
                                       const char *kind, char out[CW_STATE_FILE_PATH], cw_err *err);
/* Open a file for reading and writing. Refuses a link, anything but a plain file, another owner, and
 * a file that others may read or write: CW_PARAMS. CW_NOTFOUND: it does not exist; CW_IO. */
CW_MUST_USE cw_code cw_state_file_open(const char *path, int *ret_fd, cw_err *err);
/* Make a file with these bytes and mode 0600, all of it or none, unless it exists: of two processes one
 * wins, and both get CW_OK. CW_IO. */
CW_MUST_USE cw_code cw_state_file_make(const char *path, cw_str bytes, cw_err *err);

#endif
