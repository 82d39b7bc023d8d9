/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bridge.h - what all doors share on a loop: the catalogue as it is now, and who may see it.
 *
 * The main thread publishes a state (snapshot, callers, settings) as a whole; each
 * loop hears of it in its mailbox and uses it from then on. A request takes one
 * reference to a view at its start and keeps it to its end, so it sees one
 * consistent catalogue.
 *
 *     main      cw_bridge_publish ──┬──► loop 0: view, watchers, sweep
 *                                   └──► loop 1: …
 *
 * Ownership: the bridge owns its loops' parts; a published state is reference counted.
 * Threads:   new, publish, start and free on the main thread; everything with a cw_bridge_loop on
 *            that loop.
 * Limits:    cw_bridge_settings.
 */
#ifndef CW_CALL_BRIDGE_H
#define CW_CALL_BRIDGE_H

#include "catalogue/view.h"
#include "net/loop.h"
#include "source/source.h"

typedef struct cw_bridge cw_bridge;
typedef struct cw_bridge_loop cw_bridge_loop;

typedef struct cw_bridge_settings {
    uint32_t calls;       /* running at once, per loop */
    uint32_t batch;       /* calls in one JSON-RPC batch */
    uint32_t list_ttl_ms; /* for how long a client may keep a list */
    bool ignore_unknown_arguments;
} cw_bridge_settings;

CW_MUST_USE cw_code cw_bridge_new(cw_loop *main_loop, unsigned n_loops, cw_bridge **ret,
                                  cw_err *err);
/* Tell the bridge its loops, before they start; `loops` has n_loops pointers. */
void cw_bridge_attach(cw_bridge *b, cw_loop *const *loops);
/* Replace the state on all loops. Takes over the reference to `snapshot`; takes its own of the
 * caller and of each retired source. Before cw_bridge_started the state is in force at once. A loop
 * whose mailbox is full is tried again until it has room. */
CW_MUST_USE cw_code cw_bridge_publish(cw_bridge *b, cw_snapshot *snapshot, cw_caller *anonymous,
                                      const cw_bridge_settings *settings, cw_source *const *retired,
                                      size_t n_retired, cw_err *err);
/* The loops run from now on. */
void cw_bridge_started(cw_bridge *b);
/* After the loops have ended (or were never started). NULL is fine. */
void cw_bridge_free(cw_bridge *b);

/* The part of this loop (by cw_loop.index). On that loop only: its first use registers what ends
 * with the loop. */
cw_bridge_loop *cw_bridge_at(cw_bridge *b, const cw_loop *loop);
/* How an anonymous caller sees the catalogue now; take a reference to keep it. */
cw_view *cw_bridge_anonymous(cw_bridge_loop *bl);
const cw_bridge_settings *cw_bridge_settings_of(const cw_bridge_loop *bl);
uint64_t cw_bridge_generation(const cw_bridge_loop *bl); /* grows with every publish */

/* Told when the list of tools that the anonymous caller sees has changed. Embedded in its owner,
 * which must remove it. on_change may remove it. */
typedef struct cw_bridge_watch {
    struct cw_bridge_watch *prev, *next; /* NULL: not added */
    cw_bridge_loop *bl;
    void (*on_change)(struct cw_bridge_watch *w);
} cw_bridge_watch;

void cw_bridge_watch_add(cw_bridge_loop *bl, cw_bridge_watch *w);
/* Removing one that was not added is fine. */
void cw_bridge_watch_remove(cw_bridge_watch *w);
/* How many watch on this loop. */
size_t cw_bridge_watching(const cw_bridge_loop *bl);

#endif
