/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runtime.h - what all doors share on a loop: the catalogue as it is now, and who may see it.
 *
 * The main thread publishes a state (snapshot, callers, settings) as a whole; each
 * loop hears of it in its mailbox and uses it from then on. A request takes one
 * reference to a view at its start and keeps it to its end, so it sees one
 * consistent catalogue.
 *
 *     main      cw_runtime_publish ──┬──► loop 0: view, watchers, sweep
 *               cw_runtime_invalidate      └──► loop 1: …
 *
 * Ownership: the bridge owns its loops' parts; a published state is reference counted.
 * Threads:   new, publish, start and free on the main thread; everything with a cw_runtime_loop on
 *            that loop.
 * Limits:    cw_runtime_settings; CW_RUNTIME_VIEWS views of callers kept per loop.
 */
#ifndef CW_CALL_RUNTIME_H
#define CW_CALL_RUNTIME_H

#include "access/login/accounts.h"
#include "audit/audit.h"
#include "base/limits.h"
#include "call/rate_limits.h"
#include "catalogue/i18n/translations.h"
#include "catalogue/page_cache.h"
#include "catalogue/view.h"
#include "config/config.h"
#include "net/loop/loop.h"
#include "source/source.h"

#define CW_RUNTIME_VIEWS 256u

typedef struct cw_runtime cw_runtime;
typedef struct cw_runtime_loop cw_runtime_loop;

typedef struct cw_runtime_settings {
    uint64_t revision;         /* grows when any of this changes: documents are written anew */
    uint32_t calls;            /* running at once, per loop */
    uint32_t batch;            /* calls in one JSON-RPC batch */
    uint32_t validation_steps; /* of one request, batch or result; 0: the default */
    uint32_t subscriptions;    /* MCP streams that are told of changes, of all loops */
    uint32_t list_ttl_ms;      /* for how long a client may keep a list */
    cw_rate_limits limits;     /* of `config` */
    bool ignore_unknown_arguments;
    bool
        is_loading; /* a source was not tried yet: unknown methods may be its own (catalogue_wait.h) */
    bool clear_text_passwords; /* taken over connections that others can listen to */
    bool debug_headers;
    bool legacy_sessions;               /* MCP clients of the handshake get a session */
    uint32_t session_s;                 /* how long one lasts */
    uint32_t elicitation_timeout_s;     /* how long a client may take to answer a question */
    uint32_t mcp_page;                  /* entries on one page of an MCP list */
    uint32_t page_size;                 /* tools on one page; <= CW_PAGE_SIZE_MAX, 0: the default */
    size_t cache_size;                  /* bytes of documents, per loop */
    cw_translations *translations;      /* NULL: none; a state has a reference of its own */
    cw_config *config;                  /* NULL: the defaults; a state has a reference of its own */
    char public_url[CW_PUBLIC_URL_MAX]; /* of all that we say about ourselves; "": the Host */
} cw_runtime_settings;

CW_MUST_USE cw_code cw_runtime_new(unsigned n_loops, cw_runtime **ret, cw_err *err);
/* Tell the bridge its loops, before they start; `loops` has n_loops pointers. */
void cw_runtime_attach(cw_runtime *b, cw_loop *const *loops);
/* Replace the state on all loops. Takes over the reference to `snapshot`; takes its own of the
 * caller and of each retired source. Before cw_runtime_started the state is in force at once. */
CW_MUST_USE cw_code cw_runtime_publish(cw_runtime *b, cw_snapshot *snapshot, cw_caller *anonymous,
                                       const cw_runtime_settings *settings,
                                       cw_source *const *retired, size_t n_retired, cw_err *err);
/* Forget the documents with one of these tags (catalogue/page_cache.h) on all loops. A publish
 * does so itself: all for another catalogue or other settings, else those of permissions. */
void cw_runtime_invalidate(cw_runtime *b, unsigned tags);
/* Who can log in, before the loops start; borrowed. Without this nobody can. */
void cw_runtime_set_accounts(cw_runtime *b, cw_accounts *accounts);
/* Where calls are recorded, likewise. Without this they are not. */
void cw_runtime_set_audit(cw_runtime *b, cw_audit *audit);
/* Where sources tell their news: the watches of every loop hear them. */
cw_change_sink *cw_runtime_changes(cw_runtime *b);
/* Have every loop call fn with its part and a copy of the bytes, this one now, the others soon.
 * Whoever is asked for something on any loop (an answer of a client, a cancel) reaches it so.
 * A loop that cannot be reached is logged. */
typedef void (*cw_runtime_fn)(cw_runtime_loop *rl, cw_str bytes);
void cw_runtime_broadcast(cw_runtime_loop *from, cw_runtime_fn fn, cw_str bytes);
/* The same for one loop, by its index; an index that does not exist is nobody. The caller (NULL:
 * none) is kept until fn has returned: its address may be among the bytes. */
void cw_runtime_send(cw_runtime_loop *from, uint32_t index, cw_caller *caller, cw_runtime_fn fn,
                     cw_str bytes);
/* The loops run from now on. */
void cw_runtime_started(cw_runtime *b);
/* After the loops have ended (or were never started). NULL is fine. */
void cw_runtime_free(cw_runtime *b);

/* The part of this loop (by cw_loop.index). On that loop only: its first use registers what ends
 * with the loop. */
cw_runtime_loop *cw_runtime_at(cw_runtime *b, const cw_loop *loop);
cw_loop *cw_runtime_loop_of(const cw_runtime_loop *rl);
/* How an anonymous caller sees the catalogue now; take a reference to keep it. */
cw_view *cw_runtime_anonymous(cw_runtime_loop *rl);
/* How this caller sees it: made when it is first wanted, and kept until the catalogue is replaced
 * or CW_RUNTIME_VIEWS others were wanted since. Borrowed, until another is asked for; NULL without
 * memory. */
cw_view *cw_runtime_view(cw_runtime_loop *rl, cw_caller *caller);
/* NULL: nobody can log in. */
cw_accounts *cw_runtime_accounts(const cw_runtime_loop *rl);
/* NULL: nothing is recorded. */
cw_audit *cw_runtime_audit(const cw_runtime_loop *rl);
/* Documents of the catalogue that is in force. */
cw_page_cache *cw_runtime_cache(cw_runtime_loop *rl);
const cw_runtime_settings *cw_runtime_settings_of(const cw_runtime_loop *rl);

/* Told when lists that the anonymous caller sees have changed (which: CW_CHANGE_…), or (is_always)
 * whenever anything may have. Embedded in its owner, which must remove it. on_change may remove it.
 */
typedef struct cw_runtime_watch {
    struct cw_runtime_watch *prev, *next; /* NULL: not added */
    cw_runtime_loop *rl;
    bool is_always;
    void (*on_change)(struct cw_runtime_watch *w, unsigned lists);
    void (*on_change_event)(struct cw_runtime_watch *w, const cw_change *change); /* or NULL */
} cw_runtime_watch;

void cw_runtime_watch_add(cw_runtime_loop *rl, cw_runtime_watch *w);
/* Removing one that was not added is fine. */
void cw_runtime_watch_remove(cw_runtime_watch *w);
/* How many watch on this loop. */
size_t cw_runtime_watching(const cw_runtime_loop *rl);

#endif
