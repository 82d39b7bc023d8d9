/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lock_approve.h - collects the definitions that an operator approves, for the lock file or the database.
 *
 *     cw_lock_approval a;
 *     cw_lock_approval_init(&a, lock, methods, n_methods, &w);
 *     for each source that could be read
 *         rc = cw_lock_approve(&a, name, definitions, n);
 *     if (!rc)
 *         rc = cw_lock_approval_write(&a, path, err);
 *     cw_lock_approval_done(&a);
 *
 * Without names of methods a source is approved as a whole. With names exactly these methods are
 * approved; the others of the source stay approved or not approved.
 *
 * Ownership: borrows all texts until done.
 * Threads:   no state.
 */
#ifndef CW_SOURCE_REMOTE_LOCK_LOCK_APPROVE_H
#define CW_SOURCE_REMOTE_LOCK_LOCK_APPROVE_H

#include "json/write.h"
#include "source/remote/lock/lock.h"
#include "source/remote/remote.h"

typedef struct cw_lock_approval {
    const cw_lock *lock; /* before the approval; NULL: none yet */
    const cw_str *methods;
    size_t n_methods;    /* 0: all */
    cw_lock_stamp stamp; /* of new and changed entries; may be set after init */
    cw_json_writer *w;   /* an open array */
    size_t n_accepted;   /* objects that were written */
    cw_lock_entry *entries;
    size_t n, cap;
    cw_str *replaced; /* sources */
    size_t n_replaced, cap_replaced;
    /* The source at hand. */
    cw_str source;
    const cw_remote_definition *definitions;
    size_t n_definitions;
} cw_lock_approval;

void cw_lock_approval_init(cw_lock_approval *a, const cw_lock *lock, const cw_str *methods,
                           size_t n_methods, cw_json_writer *w);
void cw_lock_approval_done(cw_lock_approval *a);

/* Whether a source exposes this method. */
bool cw_lock_is_defined(const cw_remote_definition *definitions, size_t n, cw_str method);

/* The definitions of one source; none if it could not be read. */
typedef struct cw_lock_offer {
    cw_str source;
    const cw_remote_definition *definitions;
    size_t n;
} cw_lock_offer;

/* Check the names of methods before anything is written. CW_NOTFOUND: none of the sources exposes a
 * method. CW_PARAMS: the operator named the sources (`is_named`), and one exposes none of the
 * methods. */
CW_MUST_USE cw_code cw_lock_check_methods(const cw_lock_offer *offers, size_t n, bool is_named,
                                          const cw_str *methods, size_t n_methods, cw_err *err);
/* Whether this is the hash of the differences (lock_diff.h) that the operator saw; else
 * CW_INVALID. */
CW_MUST_USE cw_code cw_lock_check_etag(cw_str seen, const char *etag, cw_err *err);

/* Approve definitions of a source, and write {"source":…,"method":…,"change":…} for each that is
 * new, changed or gone. A source without any of the named methods stays as it is. CW_NOMEM. */
CW_MUST_USE cw_code cw_lock_approve(cw_lock_approval *a, cw_str source,
                                    const cw_remote_definition *definitions, size_t n);
/* The change that the approval makes to the lock. Borrows. */
cw_lock_change cw_lock_approval_change(const cw_lock_approval *a);
/* Write the file, unless no source was approved. Fails as cw_lock_write. */
CW_MUST_USE cw_code cw_lock_approval_write(const cw_lock_approval *a, const char *path,
                                           cw_err *err);

#endif
