/* SPDX-License-Identifier: GPL-2.0-or-later */
/* audit.h - the audit log: caller, method, time, door and outcome, in a file that only grows.
 *
 * A record is copied into a bounded queue. A thread writes all queued records as JSON lines, with one
 * write and one fdatasync.
 *
 *     cw_audit_add ─► security lane ─┐
 *                 └─► calls' lane  ──┴─► thread: lines ─► write, fdatasync ─► rotate
 *
 * Refusals, logins and changes have a lane of their own, so that calls cannot displace them. While
 * writing fails, both lanes keep their records, and writing is tried again every second, security
 * records first. A record that finds its lane full is lost. A line of kind "lost" gives their number.
 *
 * Several processes may write to one file. Each append holds a lock of the file. If the path leads to
 * another file, a process continues there.
 *
 * Records of unauthenticated requests are counted beyond a rate (sums.h), so such requests cannot
 * push older records out of the files.
 *
 * Ownership: everything is copied.
 * Threads:   add and the getters on any; new, configure and free on one.
 * Limits:    CW_AUDIT_ROOM for security records, opts.room for calls; names are cut; those of sums.h.
 */
#ifndef CW_AUDIT_AUDIT_H
#define CW_AUDIT_AUDIT_H

#include "base/err.h"
#include "base/str.h"

#define CW_AUDIT_ROOM (1024u * 1024u) /* bytes of security records that may wait */
#define CW_AUDIT_HASH 32u
#define CW_AUDIT_MAX_NAME 256u /* bytes of a caller, method or detail */
#define CW_AUDIT_MAX_ARGUMENTS (1024u * 1024u)

typedef struct cw_audit cw_audit;

typedef struct cw_audit_opts {
    const char *path;      /* NULL or empty: nothing is recorded */
    uint64_t rotate_bytes; /* 0: never */
    uint64_t rotate_ms;    /* likewise; by the time of the first record in the file */
    unsigned files;        /* older ones that are kept: path.1, path.2, … */
    size_t room;           /* bytes of calls that may wait */
    size_t arguments;      /* longest arguments that are recorded; 0: none are */
    const cw_str *redact;  /* JSON pointers into them whose values are not; '*' is any member */
    size_t n_redact;
} cw_audit_opts;

typedef enum cw_audit_kind {
    CW_AUDIT_CALL,
    CW_AUDIT_REFUSAL, /* this one and those below, but for tasks, are security records */
    CW_AUDIT_LOGIN,
    CW_AUDIT_CHANGE,  /* by an administrator */
    CW_AUDIT_CONSENT, /* a person allowed an OAuth client, or did not */
    CW_AUDIT_GRANT,   /* of the built-in authorization server */
    CW_AUDIT_TASK,    /* a call became a task, was answered, was cancelled or ended */
} cw_audit_kind;

/* Empty texts are left out of the line. */
typedef struct cw_audit_record {
    cw_audit_kind kind;
    const char *door;    /* static: "mcp", "jsonrpc", "rest", "stdio", "cli"; NULL: none */
    const char *outcome; /* static: docs/audit.md lists them */
    cw_str caller;       /* name */
    cw_str caller_id;
    cw_str method; /* its id, or what was changed */
    cw_str tool;   /* its name as a tool, where that is another */
    cw_str address;
    cw_str detail;
    uint64_t us; /* how long it took */
    bool has_us, has_code;
    int64_t code;                        /* of the method's own error */
    const unsigned char *arguments_hash; /* CW_AUDIT_HASH bytes, or NULL */
    cw_str arguments;                    /* JSON, or empty */
    bool is_anonymous; /* an unauthenticated request from `address` caused it: it may be counted */
    uint64_t count;    /* records that this one stands for; 0: only itself */
    int64_t since;     /* with a count: wall clock in ms, of the first of them */
} cw_audit_record;

/* Called on the writing thread when writing fails (once), and with NULL when it works again. */
typedef void (*cw_audit_status_fn)(void *ctx, const cw_err *err);

/* Nothing is recorded before configure. */
CW_MUST_USE cw_code cw_audit_new(cw_audit_status_fn on_status, void *ctx, cw_audit **ret,
                                 cw_err *err);
/* Settings that are ready: the file is open, and memory and thread are there. */
typedef struct cw_audit_setup cw_audit_setup;
/* Do every step that can fail; the settings in force stay. *ret may be NULL: the audit is off and
 * stays off. */
CW_MUST_USE cw_code cw_audit_prepare(cw_audit *a, const cw_audit_opts *opts, cw_audit_setup **ret,
                                     cw_err *err);
/* Use them from the next write on; also to open the file again. NULL is fine for both. */
void cw_audit_use(cw_audit *a, cw_audit_setup *setup);
void cw_audit_drop(cw_audit_setup *setup);
/* Write the queued records, if possible. Returns the number of lost records since the start, including
 * those of a write that does not end. NULL is fine. */
uint64_t cw_audit_free(cw_audit *a);

/* Whether the audit is on; NULL is fine. */
bool cw_audit_is_on(const cw_audit *a);
/* The maximum length of recorded arguments; 0: they are not recorded. */
size_t cw_audit_arguments(const cw_audit *a);
/* Whether the last write failed. */
bool cw_audit_is_failing(const cw_audit *a);
/* Bytes of records that wait to be written, by lane; NULL is fine. */
void cw_audit_queued(cw_audit *a, size_t *ret_calls, size_t *ret_security);
/* Never waits, for a disk or for memory. True: the record was counted (sums.h), and the log has one
 * line for the count: the caller logs none of its own. */
bool cw_audit_add(cw_audit *a, const cw_audit_record *record);
/* BLAKE2b with 32 bytes, as `b2sum -l 256` counts it. */
void cw_audit_hash(cw_str bytes, unsigned char out[CW_AUDIT_HASH]);

/* One record, at once and without a thread: for a command. CW_IO: it is not on the disk. */
CW_MUST_USE cw_code cw_audit_write(const cw_audit_opts *opts, const cw_audit_record *record,
                                   cw_err *err);

#endif
