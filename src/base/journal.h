/* SPDX-License-Identifier: GPL-2.0-or-later */
/* journal.h - sends log entries to journald with their fields, over its native protocol.
 *
 *     MESSAGE=net: listener closed\nPRIORITY=4\nSYSLOG_IDENTIFIER=causeway\nCAUSEWAY_ADDRESS=…\n
 *
 * A field is NAME=value and a newline. Values have no newline, since the log escapes controls, so
 * the form for binary values is not needed. An entry that is too long for a datagram is passed as a
 * sealed file in memory.
 *
 * Ownership: the caller closes the descriptor.
 * Threads:   no state.
 */
#ifndef CW_BASE_JOURNAL_H
#define CW_BASE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

#define CW_JOURNAL_SOCKET "/run/systemd/journal/socket"
/* Between the fields of an entry in memory, where a newline ends the entry. */
#define CW_JOURNAL_FIELD_END '\x1e'

/* CW_JOURNAL_SOCKET if journald reads standard error ($JOURNAL_STREAM), else NULL. */
const char *cw_journal_of_stderr(void);
/* A socket that is connected to journald; -1: there is none. It does not block. */
int cw_journal_open(const char *path);
/* Whether the descriptor is such a socket. */
bool cw_journal_is_socket(int fd);
/* Send one entry. 0, or an errno; EAGAIN: wait until the socket is writable. */
int cw_journal_send(int fd, const char *entry, size_t n);

#endif
