/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reader.h - reads the lines of an audit and of its rotated files, oldest first.
 *
 * Files are identified by device and inode, not by name, because a server may rotate them
 * meanwhile. At the end of a file the reader finds its current position in the chain and
 * continues with the next younger file.
 *
 *     audit.2 ─► audit.1 ─► audit ─► (follow: wait for more)
 *
 * Ownership: `path` is borrowed.
 * Threads:   one at a time. The calling thread waits for the disk.
 * Limits:    CW_AUDIT_LINE_MAX bytes of a line; longer lines count as damaged.
 */
#ifndef CW_AUDIT_READER_H
#define CW_AUDIT_READER_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define CW_AUDIT_LINE_MAX (16u * 1024u * 1024u)

typedef struct cw_audit_reader {
    const char *path;
    unsigned files; /* the number of rotated files */
    int fd;         /* -1: none yet */
    dev_t dev;
    ino_t ino;
    cw_buf text; /* read and not yet returned */
    size_t at;   /* the position of the next line in it */
    bool is_skipping;
    uint64_t n_damaged;
} cw_audit_reader;

void cw_audit_reader_init(cw_audit_reader *r, const char *path, unsigned files);
void cw_audit_reader_done(cw_audit_reader *r);
/* Whether the newest file can be read; errno has the reason if not. While a server rotates its files
 * the newest one is missing for a moment: this waits, and then looks for the one before it. */
bool cw_audit_is_readable(const char *path);
/* The next line, without its line break. CW_OK; CW_DONE: there are no more for now (ask again to
 * follow); CW_IO, CW_NOMEM. The line lives until the next call. */
CW_MUST_USE cw_code cw_audit_reader_next(cw_audit_reader *r, cw_str *ret, cw_err *err);
/* The text after the last line break: an unfinished line. */
cw_str cw_audit_reader_rest(const cw_audit_reader *r);

#endif
