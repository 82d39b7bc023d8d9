/* SPDX-License-Identifier: GPL-2.0-or-later */
/* local_socket.h - the unix socket through which commands reach a running server.
 *
 *     admin.socket of the configuration
 *     else STORE.sock, beside the database
 *     else causeway/admin-DIGEST in the state directory of the user (state_file.h)
 *
 * The digest is that of the path of the configuration. A command finds the socket by the same rules.
 *
 * Threads: the main one. Waits for the disk.
 */
#ifndef CW_SERVER_FILES_LOCAL_SOCKET_H
#define CW_SERVER_FILES_LOCAL_SOCKET_H

#include "config/config.h"

#define CW_LOCAL_SOCKET_PATH 4096u

/* The path of the socket; nothing is created. CW_PARAMS: it is too long for a socket; CW_IO: no
 * state directory is known. */
CW_MUST_USE cw_code cw_local_socket_path(const cw_config *config, const char *config_path,
                                         char out[CW_LOCAL_SOCKET_PATH], cw_err *err);
/* Create the directory of the socket, if it is in the state directory of the user. A failure is that
 * of the check that follows. */
void cw_local_socket_make_folder(const cw_config *config);
/* Whether the folder of the path is safe: no other user can replace files in it. CW_PARAMS: another
 * user owns it, or others may write there; CW_IO. */
CW_MUST_USE cw_code cw_local_socket_check_folder(const char *path, cw_err *err);
/* Whether a socket that exists belongs to this user or to root, so that a command may trust it. Root
 * also trusts the owner of a folder that only this owner may write to. CW_NOTFOUND: no file;
 * CW_PARAMS: another owner, or no socket. */
CW_MUST_USE cw_code cw_local_socket_check_file(const char *path, cw_err *err);

#endif
