/* SPDX-License-Identifier: GPL-2.0-or-later */
/* change.h - changes that a source reports by itself.
 *
 * Threads: a sink may be used by any loop.
 */
#ifndef CW_CATALOGUE_CHANGE_H
#define CW_CATALOGUE_CHANGE_H

#include "base/str.h"

/* Lists that clients should ask for again. */
enum {
    CW_CHANGED_TOOLS = 1,
    CW_CHANGED_PROMPTS = 2,
    CW_CHANGED_RESOURCES = 4,
    /* The same tools are shown in another form or language, to all callers. */
    CW_CHANGED_FORM = 8,
    /* Events that clients may receive; it follows from the resources. */
    CW_CHANGED_EVENTS = 16,
    /* Lists that the subscriber was notified of since the last such change: clients may have read them at
     * a server that still had the old ones. */
    CW_CHANGED_AGAIN = 32,
    /* With that: all servers have the same lists now. */
    CW_CHANGED_SETTLED = 64,
};

typedef struct cw_change {
    unsigned lists; /* CW_CHANGE_… */
    cw_str uri;     /* of a resource whose contents have changed; empty: none */
    /* The source of the lists: a subscriber learns nothing of a source that it does not see.
     * Compared, never dereferenced. NULL: no source, sent to all. */
    const void *source;
    /* The name of the source, if perhaps only this server learns of the change. Other servers of the
     * database are told then (server/shared_changes.h). Empty: they learn of it by themselves. */
    cw_str from;
} cw_change;

/* Embedded in its owner. The change lives for the call only. */
typedef struct cw_change_sink {
    void (*tell)(struct cw_change_sink *port, const cw_change *change);
} cw_change_sink;

#endif
