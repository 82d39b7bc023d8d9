/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bridge.h - what all doors share on a loop: the catalogue as it is now, and who may see it.
 *
 * The main thread publishes a state (snapshot, callers, settings) as a whole; each
 * loop hears of it in its mailbox and uses it from then on. A request takes one
 * reference to a view at its start and keeps it to its end, so it sees one
 * consistent catalogue.
 *
 *     main      cw_bridge_publish ──┬──► loop 0: view, watchers, sweep
 *               cw_bridge_drop      └──► loop 1: …
 *
 * Ownership: the bridge owns its loops' parts; a published state is reference counted.
 * Threads:   new, publish, start and free on the main thread; everything with a cw_bridge_loop on
 *            that loop.
 * Limits:    cw_bridge_settings; CW_BRIDGE_VIEWS views of callers kept per loop.
 */
#ifndef CW_CALL_BRIDGE_H
#define CW_CALL_BRIDGE_H

#include "access/accounts.h"
#include "access/audit.h"
#include "base/limits.h"
#include "call/limits.h"
#include "catalogue/cache.h"
#include "catalogue/translations.h"
#include "catalogue/view.h"
#include "config/config.h"
#include "net/loop.h"
#include "source/source.h"

#define CW_BRIDGE_VIEWS 256u

typedef struct cw_bridge cw_bridge;
typedef struct cw_bridge_loop cw_bridge_loop;

typedef struct cw_bridge_settings {
    uint64_t revision;         /* grows when any of this changes: documents are written anew */
    uint32_t calls;            /* running at once, per loop */
    uint32_t batch;            /* calls in one JSON-RPC batch */
    uint32_t validation_steps; /* of one request, batch or result; 0: the default */
    uint32_t subscriptions;    /* MCP streams that are told of changes, of all loops */
    uint32_t list_ttl_ms;      /* for how long a client may keep a list */
    cw_call_limits limits;     /* of `config` */
    bool ignore_unknown_arguments;
    bool is_loading; /* a source was not tried yet: unknown methods may be its own (await.h) */
    bool clear_text_passwords; /* taken over connections that others can listen to */
    bool debug_headers;
    bool legacy_sessions;               /* MCP clients of the handshake get a session */
    uint32_t session_s;                 /* how long one lasts */
    uint32_t ask_s;                     /* how long a client may take to answer a question */
    uint32_t mcp_page;                  /* entries on one page of an MCP list */
    uint32_t page_size;                 /* tools on one page; <= CW_PAGE_SIZE_MAX, 0: the default */
    size_t cache_size;                  /* bytes of documents, per loop */
    cw_translations *translations;      /* NULL: none; a state has a reference of its own */
    cw_config *config;                  /* NULL: the defaults; a state has a reference of its own */
    char public_url[CW_PUBLIC_URL_MAX]; /* of all that we say about ourselves; "": the Host */
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
/* Forget the documents with one of these tags (catalogue/cache.h) on all loops. A publish does so
 * itself: all for another catalogue or other settings, else those of permissions. */
void cw_bridge_drop(cw_bridge *b, unsigned tags);
/* Who can log in, before the loops start; borrowed. Without this nobody can. */
void cw_bridge_set_accounts(cw_bridge *b, cw_accounts *accounts);
/* Where calls are recorded, likewise. Without this they are not. */
void cw_bridge_set_audit(cw_bridge *b, cw_audit *audit);
/* Where sources tell their news: the watches of every loop hear them. */
cw_news_port *cw_bridge_news(cw_bridge *b);
/* Have every loop call fn with its part and a copy of the bytes, this one now, the others soon.
 * Whoever is asked for something on any loop (an answer of a client, a cancel) reaches it so.
 * A loop that cannot be reached is logged. */
typedef void (*cw_bridge_fn)(cw_bridge_loop *bl, cw_str bytes);
void cw_bridge_tell(cw_bridge_loop *from, cw_bridge_fn fn, cw_str bytes);
/* The same for one loop, by its index; an index that does not exist is nobody. The caller (NULL:
 * none) is kept until fn has returned: its address may be among the bytes. */
void cw_bridge_tell_one(cw_bridge_loop *from, uint32_t index, cw_caller *caller, cw_bridge_fn fn,
                        cw_str bytes);
/* The loops run from now on. */
void cw_bridge_started(cw_bridge *b);
/* After the loops have ended (or were never started). NULL is fine. */
void cw_bridge_free(cw_bridge *b);

/* The part of this loop (by cw_loop.index). On that loop only: its first use registers what ends
 * with the loop. */
cw_bridge_loop *cw_bridge_at(cw_bridge *b, const cw_loop *loop);
cw_loop *cw_bridge_loop_of(const cw_bridge_loop *bl);
/* How an anonymous caller sees the catalogue now; take a reference to keep it. */
cw_view *cw_bridge_anonymous(cw_bridge_loop *bl);
/* How this caller sees it: made when it is first wanted, and kept until the catalogue is replaced
 * or CW_BRIDGE_VIEWS others were wanted since. Borrowed, until another is asked for; NULL without
 * memory. */
cw_view *cw_bridge_view(cw_bridge_loop *bl, cw_caller *caller);
/* NULL: nobody can log in. */
cw_accounts *cw_bridge_accounts(const cw_bridge_loop *bl);
/* NULL: nothing is recorded. */
cw_audit *cw_bridge_audit(const cw_bridge_loop *bl);
/* Documents of the catalogue that is in force. */
cw_cache *cw_bridge_cache(cw_bridge_loop *bl);
const cw_bridge_settings *cw_bridge_settings_of(const cw_bridge_loop *bl);

/* Told when lists that the anonymous caller sees have changed (which: CW_NEWS_…), or (is_always)
 * whenever anything may have. Embedded in its owner, which must remove it. on_change may remove it.
 */
typedef struct cw_bridge_watch {
    struct cw_bridge_watch *prev, *next; /* NULL: not added */
    cw_bridge_loop *bl;
    bool is_always;
    void (*on_change)(struct cw_bridge_watch *w, unsigned lists);
    void (*on_news)(struct cw_bridge_watch *w, const cw_news *news); /* or NULL */
} cw_bridge_watch;

void cw_bridge_watch_add(cw_bridge_loop *bl, cw_bridge_watch *w);
/* Removing one that was not added is fine. */
void cw_bridge_watch_remove(cw_bridge_watch *w);
/* How many watch on this loop. */
size_t cw_bridge_watching(const cw_bridge_loop *bl);

#endif
