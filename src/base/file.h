/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file.h - the whole of a file as bytes, up to a ceiling.
 *
 *     cw_buf text;
 *     cw_buf_init(&text, MAX_BYTES);
 *     cw_code rc = cw_file_read(path, CW_FILE_PLAIN, &text, err);
 *
 * Errors name the file: "cannot open 'x': No such file or directory".
 *
 * Threads: no state. The calling thread waits for the disk.
 * Limits:  the buffer's ceiling. A file with more is CW_LIMIT, and the buffer then holds as much of
 *          it as it may.
 */
#ifndef CW_BASE_FILE_H
#define CW_BASE_FILE_H

#include "base/buf.h"

typedef enum cw_file_kind {
    CW_FILE_ANY,   /* pipes and devices too, which may keep the reader waiting */
    CW_FILE_PLAIN, /* files only: CW_IO for anything else, without waiting for it */
} cw_file_kind;

/* Append all of the file to `out`. CW_IO, CW_LIMIT, CW_NOMEM. */
CW_MUST_USE cw_code cw_file_read(const char *path, cw_file_kind kind, cw_buf *out, cw_err *err);
/* The same from an open descriptor, from where it stands up to its end; `name` is for messages. It
 * stays open. */
CW_MUST_USE cw_code cw_file_read_fd(int fd, const char *name, cw_buf *out, cw_err *err);

#endif
