/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search.h - finds records of an audit and of its rotated files, newest first.
 *
 * Each file is read from its end, so the newest records are found quickly, whatever the size of the
 * files. A file that is renamed meanwhile is read once.
 *
 * Ownership: borrows.
 * Threads:   one at a time. The calling thread waits for the disk.
 * Limits:    CW_AUDIT_SEARCH_MS; CW_AUDIT_LINE_MAX bytes of a line: longer lines count as damaged.
 */
#ifndef CW_AUDIT_SEARCH_H
#define CW_AUDIT_SEARCH_H

#include "audit/filter.h"
#include "base/err.h"

#define CW_AUDIT_SEARCH_MS 5000u

/* A place in the files, at the end of a record. Rotation keeps the inode of a file and adds to its
 * number, so a lower number is that of another file with the same inode. */
typedef struct cw_audit_place {
    uint64_t inode; /* 0: no place */
    uint64_t file;  /* 0: the newest */
    uint64_t offset;
} cw_audit_place;

typedef struct cw_audit_search {
    const char *path;
    unsigned files; /* the number of rotated files */
    cw_audit_filter filter;
    /* Only records before it. If its file is gone, older files are gone too: nothing is found. */
    cw_audit_place from;
    /* Called for each record that matches; it lives until the function returns. CW_DONE ends the
     * search before this record. */
    cw_code (*fn)(const cw_json *record, void *ctx, cw_err *err);
    void *ctx;
    /* the result */
    bool is_late;                      /* the time was over before all records were read */
    cw_audit_place end;                /* records before it were not read; none if all were */
    char oldest[CW_CLOCK_ISO_LEN + 1]; /* the earliest time of a record that was read, or "" */
    uint64_t n_damaged;                /* lines that are no records */
} cw_audit_search;

/* CW_OK: all files were read, or the time is over. CW_DONE: fn ended the search. CW_IO: the newest
 * file cannot be read. CW_NOMEM, or an error of fn. */
CW_MUST_USE cw_code cw_audit_search_run(cw_audit_search *s, cw_err *err);

#endif
