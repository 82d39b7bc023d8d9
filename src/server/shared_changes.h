/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_changes.h - changes that one server learns of, for the subscribers of all servers.
 *
 * A plugin that announces an updated resource, or another list, runs on one server. Subscribers of the
 * other servers of the database learn of the change by a letter (replica/replicas.h):
 *
 *     source ─► sink ─┬─► subscribers here
 *                     └─► [pending] ─► one letter ··► [received] ─► subscribers there
 *
 * Several changes of one resource within CW_SHARED_CHANGES_MS are one, at both ends. The rights of a
 * subscriber are checked where its stream is, as for any other change.
 *
 * Ownership: borrows loop, sink, replicas and sources, which live as long.
 * Threads:   the sink on any, the others on the main one.
 * Limits:    CW_SHARED_CHANGES_MAX resources and lists wait; changes of more are not sent, and are logged.
 */
#ifndef CW_SERVER_SHARED_CHANGES_H
#define CW_SERVER_SHARED_CHANGES_H

#include "catalogue/change.h"
#include "replica/replicas.h"
#include "source/registry/registry.h"

#define CW_SHARED_CHANGES_LETTER 100u /* cw_letter.kind */
#define CW_SHARED_CHANGES_MAX 256u
#define CW_SHARED_CHANGES_MS 1000u

typedef struct cw_shared_changes cw_shared_changes;

typedef struct cw_shared_changes_opts {
    cw_loop *loop;        /* the main one */
    cw_change_sink *here; /* of the subscribers of this server */
    cw_replicas *replicas;
} cw_shared_changes_opts;

CW_MUST_USE cw_code cw_shared_changes_new(const cw_shared_changes_opts *opts,
                                          cw_shared_changes **ret, cw_err *err);
/* When no thread uses the sink any more. NULL is fine. */
void cw_shared_changes_free(cw_shared_changes *s);
/* For sources. */
cw_change_sink *cw_shared_changes_sink(cw_shared_changes *s);
/* The bytes of a letter. */
void cw_shared_changes_receive(cw_shared_changes *s, cw_str bytes, const cw_sources *sources);
/* Each second. `sources` may be NULL. */
void cw_shared_changes_tick(cw_shared_changes *s, const cw_sources *sources);

#endif
