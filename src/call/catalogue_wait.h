/* SPDX-License-Identifier: GPL-2.0-or-later */
/* catalogue_wait.h - calls of unknown methods that wait while sources load for the first time.
 *
 * The method may belong to one of those sources: the call waits for the next catalogue instead of being
 * refused.
 *
 *     entry not found ─► cw_catalogue_wait_begin ─► on_ready: look it up again ─┬─► call it
 *            ▲                                                                  ├─► refuse it
 *            └──────────────────────────────────────────────────────────────────┘
 *
 * Hidden methods are not found either, so waiting reveals nothing.
 *
 * Ownership: embedded in its owner, which ends it before it is gone.
 * Threads:   the loop of the cw_runtime_loop.
 * Limits:    CW_CATALOGUE_WAIT_MAX calls wait on one loop. The main thread ends all waiting
 *            CW_CATALOGUE_WAIT_MS after it began (cw_runtime_settings.is_loading).
 */
#ifndef CW_CALL_CATALOGUE_WAIT_H
#define CW_CALL_CATALOGUE_WAIT_H

#include "call/runtime.h"

#define CW_CATALOGUE_WAIT_MAX 1024u
#define CW_CATALOGUE_WAIT_MS 10000u

typedef struct cw_catalogue_wait cw_catalogue_wait;
struct cw_catalogue_wait {
    /* Another catalogue was published, or loading has ended; the wait is over, and may be started
     * again. `view` is the caller's, borrowed for this call; NULL without memory. */
    void (*on_ready)(cw_catalogue_wait *w, cw_view *view);
    /* Its own. */
    cw_runtime_watch watch;
    cw_deferred later;
    cw_view *view; /* a reference to the one in which the method is missing */
    bool is_anonymous;
};

/* Wait; `view` is the one in which the method is missing. False: nothing is being loaded, or too
 * many wait. */
bool cw_catalogue_wait_begin(cw_runtime_loop *rl, cw_view *view, cw_catalogue_wait *w);
/* on_ready is not called any more. Fine for one that does not wait. */
void cw_catalogue_wait_end(cw_catalogue_wait *w);

#endif
