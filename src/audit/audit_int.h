/* SPDX-License-Identifier: GPL-2.0-or-later */
/* audit_int.h - records, lines and the file, for the files of the audit.
 *
 *     audit.c         lanes and the thread
 *     record_json.c   a record as bytes in a lane, and as a line
 *     file.c          the file: append, rotate, follow the path
 */
#ifndef CW_AUDIT_AUDIT_INT_H
#define CW_AUDIT_AUDIT_INT_H

#include <sys/types.h>

#include "audit/audit.h"
#include "base/arena.h"
#include "base/buf.h"

/* ---- records in a lane ---- */

#define CW_AUDIT_MAX_ADDRESS 64u

/* Followed by its texts, and by bytes up to the next multiple of 8. */
typedef struct cw_audit_packed {
    uint32_t size; /* of all of it */
    uint32_t n_arguments;
    uint64_t number; /* in the order they came, over both lanes */
    int64_t when;
    uint64_t us;
    int64_t code;
    const char *door, *outcome;
    uint16_t n_caller, n_caller_id, n_method, n_tool, n_address, n_detail;
    uint8_t kind;
    bool has_us, has_code, has_hash, is_cut; /* the arguments were too long */
    unsigned char hash[CW_AUDIT_HASH];
} cw_audit_packed;

/* Bytes that the record takes. */
size_t cw_audit_packed_size(const cw_audit_record *r, size_t max_arguments);
/* Write it to `to`, which has that many. */
void cw_audit_pack(const cw_audit_record *r, size_t max_arguments, uint64_t number, char *to);

/* ---- lines ---- */

/* A parsed JSON pointer. */
typedef struct cw_audit_pointer {
    cw_str *tokens;
    size_t n;
} cw_audit_pointer;

/* The pointers to values that are redacted in arguments; in an arena. */
typedef struct cw_audit_rules {
    cw_audit_pointer *items;
    size_t n;
} cw_audit_rules;

/* CW_PARAMS for a text that is no pointer. */
CW_MUST_USE cw_code cw_audit_rules_make(const cw_str *pointers, size_t n, cw_arena *arena,
                                        cw_audit_rules *ret, cw_err *err);
/* Append the line of a record. `scratch` is reset. Errors are sticky in `out`. */
void cw_audit_add_line(cw_buf *out, const char *packed, const cw_audit_rules *rules,
                       cw_arena *scratch);
/* The line with the number of lost records. */
void cw_audit_add_lost(cw_buf *out, int64_t when, uint64_t security, uint64_t calls);
/* The size of the record that begins here. */
uint32_t cw_audit_packed_step(const char *packed);

/* ---- the file ---- */

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
