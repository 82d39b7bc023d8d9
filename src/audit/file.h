/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file.h - the audit's file: append, rotate, follow the path.
 *
 * Ownership: the caller of cw_audit_file_open calls cw_audit_file_close, also after a failure.
 * Threads:   one at a time. The calling thread waits for the disk.
 */
#ifndef CW_AUDIT_FILE_H
#define CW_AUDIT_FILE_H

#include <sys/types.h>

#include "audit/audit.h"

typedef struct cw_audit_file {
    char *path; /* own copy; NULL: none */
    int fd;     /* -1: not open */
    dev_t dev;
    ino_t ino;
    int64_t begun; /* time of its first record, ms since 1970 */
    uint64_t rotate_bytes, rotate_ms;
    unsigned files;
    bool has_complained; /* that it cannot be rotated, since it was opened */
} cw_audit_file;

/* Open or make it (mode 0600). On failure f->path stands, and append tries again. */
CW_MUST_USE cw_code cw_audit_file_open(cw_audit_file *f, const cw_audit_opts *opts, cw_err *err);
void cw_audit_file_close(cw_audit_file *f);
/* Add whole lines: all of them, or none. */
CW_MUST_USE cw_code cw_audit_file_append(cw_audit_file *f, cw_str lines, int64_t now, cw_err *err);
/* Sync the file to the disk. */
CW_MUST_USE cw_code cw_audit_file_sync(cw_audit_file *f, cw_err *err);

#endif
