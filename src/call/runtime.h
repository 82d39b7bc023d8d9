/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runtime.h - the state that all doors share on a loop: catalogue, callers, settings.
 *
 * The main thread publishes a state (snapshot, callers, settings) as a whole; each loop receives it as a
 * message and uses it from then on. A request takes one reference to a view at its start and keeps it
 * to its end, so it sees one consistent catalogue.
 *
 *     main      cw_runtime_publish ──┬──► loop 0: view, watches, sweep
 *               cw_runtime_invalidate └──► loop 1: …
 *
 * Ownership: the runtime owns the data of its loops; a published state is reference counted.
 * Threads:   new, publish, start and free on the main thread; everything with a cw_runtime_loop on
 *            that loop.
 * Limits:    cw_runtime_settings; CW_RUNTIME_VIEWS views of callers cached per loop.
 */
#ifndef CW_CALL_RUNTIME_H
#define CW_CALL_RUNTIME_H

#include "access/login/accounts.h"
#include "access/seal.h"
#include "audit/audit.h"
#include "base/limits.h"
#include "base/list.h"
#include "call/rate_limits.h"
#include "catalogue/i18n/translations.h"
#include "catalogue/interest.h"
#include "catalogue/page_cache.h"
#include "catalogue/view.h"
#include "config/config.h"
#include "net/loop/loop.h"
#include "replica/replicas.h"
#include "source/source.h"
#include "task/tasks.h"
#include "trace/tracer.h"

#define CW_RUNTIME_VIEWS 256u

typedef struct cw_runtime cw_runtime;
typedef struct cw_runtime_loop cw_runtime_loop;

typedef struct cw_runtime_settings {
    uint64_t revision;     /* grows when any of this changes: documents are written anew */
    uint32_t calls;        /* running at once, per loop */
    uint32_t list_ttl_ms;  /* for how long a client may keep a list */
    cw_rate_limits limits; /* of `config` */
    bool
        is_loading; /* a source was not tried yet: unknown methods may belong to it (catalogue_wait.h) */
    cw_translations *translations; /* NULL: none; a state has a reference of its own */
    cw_config *config;             /* NULL: the defaults; a state has a reference of its own */
} cw_runtime_settings;

typedef struct cw_runtime_opts {
    unsigned n_loops;
    cw_accounts *accounts;                    /* borrowed; NULL: every login fails */
    cw_audit *audit;                          /* borrowed; NULL: nothing is recorded */
    cw_tracer *tracer;                        /* borrowed; NULL: no traces */
    cw_caller *operator_self, *operator_root; /* cw_runtime_operator; borrowed; NULL: none */
    cw_str console_host;   /* cw_runtime_console_host; borrowed; empty: no console */
    cw_caller *guest;      /* cw_runtime_guest; borrowed; NULL: none */
    cw_tasks *tasks;       /* borrowed; NULL: no call becomes a task */
    cw_replicas *replicas; /* borrowed; NULL: no other server shares the database */
    const cw_seal *seal;   /* borrowed; NULL: none */
} cw_runtime_opts;

CW_MUST_USE cw_code cw_runtime_new(const cw_runtime_opts *opts, cw_runtime **ret, cw_err *err);
/* The limits of all loops. */
cw_limiter *cw_runtime_limiter(cw_runtime *b);
/* Set the loops, before they start; `loops` has n_loops pointers. */
void cw_runtime_attach(cw_runtime *b, cw_loop *const *loops);
/* Replace the state on all loops. Takes over the reference to `snapshot`; takes its own of the
 * caller and of each retired source. Before cw_runtime_started the state is in force at once. */
CW_MUST_USE cw_code cw_runtime_publish(cw_runtime *b, cw_snapshot *snapshot, cw_caller *anonymous,
                                       const cw_runtime_settings *settings,
                                       cw_source *const *retired, size_t n_retired, cw_err *err);
/* Wait until all loops have what was published, at most `ms`. False: some loop is too busy. */
bool cw_runtime_wait(cw_runtime *b, uint32_t ms);
/* Drop the cached pages with one of these tags (catalogue/page_cache.h) on all loops. A publish
 * does so itself: all pages for another catalogue or other settings, otherwise those that depend on
 * permissions. */
void cw_runtime_invalidate(cw_runtime *b, unsigned tags);
/* The sink for changes that sources report; the watches of every loop are notified. */
cw_change_sink *cw_runtime_changes(cw_runtime *b);
/* The resources that clients are subscribed to. */
cw_interest *cw_runtime_interest(cw_runtime *b);
/* Call fn on every loop with a copy of the bytes: on this loop now, on the others soon. Used for
 * answers and cancels, which can arrive on any loop. A loop that cannot be reached is logged. */
typedef void (*cw_runtime_fn)(cw_runtime_loop *rl, cw_str bytes);
/* The same from the main thread, to one loop. One that does not exist is ignored. */
void cw_runtime_post(cw_runtime *runtime, uint32_t index, cw_runtime_fn fn, cw_str bytes);
void cw_runtime_broadcast(cw_runtime_loop *from, cw_runtime_fn fn, cw_str bytes);
/* The same for one loop, by its index. The caller (NULL: none) is kept until fn has returned: its address
 * may be among the bytes. False: no loop has this index, or it cannot be reached. */
bool cw_runtime_send(cw_runtime_loop *from, uint32_t index, cw_caller *caller, cw_runtime_fn fn,
                     cw_str bytes);
/* The loops are running from now on. */
void cw_runtime_started(cw_runtime *b);
/* After the loops have ended (or were never started). NULL is fine. */
void cw_runtime_free(cw_runtime *b);

/* The part of this loop (by cw_loop.index). On that loop only: its first use registers what ends
 * with the loop. */
cw_runtime_loop *cw_runtime_at(cw_runtime *b, const cw_loop *loop);
cw_loop *cw_runtime_loop_of(const cw_runtime_loop *rl);
/* The anonymous caller's view; take a reference to keep it. */
cw_view *cw_runtime_anonymous(cw_runtime_loop *rl);
/* The caller of a request on the local socket from this user: administration, nothing else. NULL: no
 * such caller. */
cw_caller *cw_runtime_operator(const cw_runtime_loop *rl, uid_t uid);
/* The host name of the console; empty: this server has none. */
cw_str cw_runtime_console_host(const cw_runtime_loop *rl);
/* The caller of requests of the console without credentials, on a server without a configuration. NULL:
 * they are anonymous. */
cw_caller *cw_runtime_guest(const cw_runtime_loop *rl);
/* A caller's view: made on first use, and cached until the catalogue is replaced or
 * CW_RUNTIME_VIEWS other views were used. Borrowed until the next call; NULL without memory. */
cw_view *cw_runtime_view(cw_runtime_loop *rl, cw_caller *caller);
/* The same in a toolset of the current catalogue, or in the one that has its name now (NULL:
 * everything). `caller` NULL: the anonymous one. NULL also when no toolset has that name. */
cw_view *cw_runtime_view_in(cw_runtime_loop *rl, cw_caller *caller, const cw_toolset *toolset);
/* Whether a view that was taken on this loop, since the last publish, is the anonymous caller's. */
bool cw_runtime_is_anonymous(const cw_runtime_loop *rl, const cw_view *view);
/* As in cw_runtime_opts. */
cw_accounts *cw_runtime_accounts(const cw_runtime_loop *rl);
cw_audit *cw_runtime_audit(const cw_runtime_loop *rl);
cw_tasks *cw_runtime_tasks(const cw_runtime_loop *rl);
/* NULL: no other server shares the database. */
cw_replicas *cw_runtime_replicas(const cw_runtime_loop *rl);
const cw_seal *cw_runtime_seal(const cw_runtime_loop *rl);
/* The part of this loop; NULL: no traces. */
cw_trace_loop *cw_runtime_tracer(const cw_runtime_loop *rl);
/* The cached pages of the current catalogue. */
cw_page_cache *cw_runtime_cache(cw_runtime_loop *rl);
const cw_runtime_settings *cw_runtime_settings_of(const cw_runtime_loop *rl);
/* The configuration in force; never NULL. */
const cw_config *cw_runtime_config(const cw_runtime_loop *rl);
/* Whether callers can log in, as of the last publish (cw_accounts_has_logins). */
bool cw_runtime_has_logins(const cw_runtime_loop *rl);

/* Called when lists of the anonymous caller have changed (CW_CHANGE_…), or (is_always) whenever any
 * list may have. All loops have the new state by then. Embedded in its owner, which must remove it.
 * on_change may remove it. */
typedef struct cw_runtime_watch {
    cw_list node; /* cw_list_remove(&w->node) removes the watch */
    cw_runtime_loop *rl;
    bool is_always;
    void (*on_change)(struct cw_runtime_watch *w, unsigned lists);
    void (*on_change_event)(struct cw_runtime_watch *w, const cw_change *change); /* or NULL */
} cw_runtime_watch;

void cw_runtime_watch_add(cw_runtime_loop *rl, cw_runtime_watch *w);

#endif
