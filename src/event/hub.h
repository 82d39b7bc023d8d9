/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hub.h - events of all sources: a ring buffer for each type of event, and watches for new events.
 *
 *     source (any thread) ─ admit, publish ► type: ring ─┬─ bell ──► loop: watches ── read ──► door
 *                                                        └─ at most once a second ──► main loop: updated
 *
 * A type is one kind of event of one source. Its ring has a maximum count, size and age. Events
 * have numbers that grow over all types of a process; a number is a time in microseconds, so it
 * does not show how many events of other types exist. A cursor is the id of the process (the boot
 * id) and a number. A type keeps the number of the last event that it has lost, by eviction or by
 * its rate limit, so a reader learns of a gap.
 *
 *     cw_event_batch batch;
 *     cw_event_read(type, after, CW_EVENT_BATCH, &batch);
 *     for (size_t i = 0; i < batch.n; i++)
 *         use(batch.items[i]);
 *     cw_event_batch_done(&batch);
 *
 * Ownership: types and events are reference counted. Opening a type that is open gives the same
 *            one, so a reload keeps its events. A watch is embedded in its owner, which removes it.
 * Threads:   admit, publish, read, steps and cursors on any thread; open and close on any thread; a watch on one
 *            loop; new and free on the main thread, free after the loops have ended.
 * Limits:    cw_event_rules; CW_EVENT_MAX_BYTES of data of one event.
 */
#ifndef CW_EVENT_HUB_H
#define CW_EVENT_HUB_H

#include <stdatomic.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/str.h"
#include "metrics/metrics.h"
#include "net/loop/loop.h"

typedef struct cw_event_hub cw_event_hub;
typedef struct cw_event_type cw_event_type;

typedef struct cw_event {
    atomic_uint refs;
    uint64_t number;
    int64_t time;    /* wall clock, ms: that of the source, or of its arrival */
    int64_t arrived; /* likewise, always of its arrival */
    cw_str id;       /* unique among those of its type */
    cw_str data;     /* JSON */
    char bytes[];
} cw_event;

/* The ceilings of one type. */
typedef struct cw_event_rules {
    uint32_t keep;       /* events */
    uint32_t max_age;    /* ms */
    uint32_t per_minute; /* events; further ones are lost */
} cw_event_rules;

typedef struct cw_event_hub_opts {
    cw_loop *main;
    unsigned n_loops;
    uint32_t validation_steps; /* as for cw_event_hub_set_steps */
    /* Events of a type have arrived; on the main loop, at most once in CW_EVENT_UPDATE_MS for each
     * type. May be NULL. */
    void (*updated)(void *ctx, cw_str uri);
    void *ctx;
} cw_event_hub_opts;

CW_MUST_USE cw_code cw_event_hub_new(const cw_event_hub_opts *opts, cw_event_hub **ret,
                                     cw_err *err);
/* `updated` is not called any more: the caller may free its context. NULL is fine. */
void cw_event_hub_close(cw_event_hub *hub);
/* After the loops have ended. Types that are still open keep the memory of the hub. NULL is fine. */
void cw_event_hub_free(cw_event_hub *hub);

/* Work that validation of one event may cost (limits.validation_steps). Any thread. */
void cw_event_hub_set_steps(cw_event_hub *hub, uint32_t validation_steps);

/* The type of this source and name; the rules replace the former ones. */
CW_MUST_USE cw_code cw_event_open(cw_event_hub *hub, cw_str source, cw_str name,
                                  const cw_event_rules *rules, cw_event_type **ret, cw_err *err);
cw_event_type *cw_event_type_ref(cw_event_type *type);
/* NULL is fine. */
void cw_event_type_unref(cw_event_type *type);
cw_event_hub *cw_event_type_hub(const cw_event_type *type);
cw_str cw_event_type_source(const cw_event_type *type);
cw_str cw_event_type_name(const cw_event_type *type);
/* events://SOURCE/NAME */
cw_str cw_event_type_uri(const cw_event_type *type);

/* An event as a source reports it. */
typedef struct cw_event_news {
    cw_str id;    /* from the source; an id that is in the ring is a repetition. Empty: none */
    int64_t time; /* wall clock, ms; 0: now */
    cw_str data;  /* JSON, complete */
} cw_event_news;

/* Whether the event may be examined and published. It costs credit of the rate, so a flood of events is
 * rejected before their data is looked at. CW_DECLINED: a repetition. CW_LIMIT (rate, size): it is lost,
 * and readers learn of the gap. */
CW_MUST_USE cw_code cw_event_admit(cw_event_type *type, const cw_event_news *news);
/* Copy an admitted event into the ring and wake the watches. CW_DECLINED: a repetition, of an event that
 * another thread has published since. CW_NOMEM: it is lost, and readers learn of the gap. */
CW_MUST_USE cw_code cw_event_publish(cw_event_type *type, const cw_event_news *news);

/* Events may be missing from here on: readers learn of the gap. Watches are woken, as for every loss,
 * at most once in CW_EVENT_UPDATE_MS for each type, since losses may be a flood. */
void cw_event_gap(cw_event_type *type);
/* An admitted event, or one that was not considered, is lost: count it, and readers learn of the gap. */
void cw_event_drop(cw_event_type *type, cw_metrics_event_drop reason);
/* The work that validation of an event may cost now: less for the events of a source that has wasted it
 * (net/addr/wasted_work.h). */
int64_t cw_event_type_steps(const cw_event_type *type);
/* An event has failed its validation, which has cost so many steps. */
void cw_event_type_add_waste(const cw_event_type *type, int64_t spent);
/* Count events that a client has received. */
void cw_event_count_delivered(cw_event_type *type, cw_metrics_event_mode mode, size_t n);

/* Some events, in order. */
typedef struct cw_event_batch {
    cw_event *items[CW_EVENT_BATCH]; /* references */
    size_t n;
    uint64_t cursor;   /* to read on after these events */
    uint64_t lost;     /* number of the last event that the type has lost */
    bool is_truncated; /* events after `after` are lost, before, among or after these */
    bool has_more;
} cw_event_batch;

/* Read the first `max` events behind `after`. `after` 0: the last `max` events of the ring. */
void cw_event_read(cw_event_type *type, uint64_t after, size_t max, cw_event_batch *ret);
void cw_event_batch_done(cw_event_batch *batch);
cw_event *cw_event_ref(cw_event *event);
void cw_event_unref(cw_event *event);

/* ---- cursors ---- */

#define CW_EVENT_CURSOR 34u /* with a NUL */
void cw_event_cursor_write(const cw_event_hub *hub, uint64_t number, char out[CW_EVENT_CURSOR]);
/* The number of a cursor. False: the text is no cursor. *ret_is_old: the cursor is of another
 * process, whose events are lost; the number is then 1, before all others. */
bool cw_event_cursor_parse(const cw_event_hub *hub, cw_str text, uint64_t *ret, bool *ret_is_old);
/* A number behind all events that were published before this call. */
uint64_t cw_event_now(cw_event_hub *hub);

/* ---- watches ---- */

typedef struct cw_event_watch {
    cw_list node; /* in no list: not added */
    struct cw_event_loop *home;
    cw_event_type *type;                       /* a reference */
    cw_metrics_event_mode mode;                /* the owner's, set before add */
    uint64_t seen;                             /* the last number that was reported to it */
    void (*on_news)(struct cw_event_watch *w); /* may remove this and other watches */
} cw_event_watch;

/* Call on_news for events behind `after`, on this loop and never within this call. */
void cw_event_watch_add(cw_event_type *type, cw_loop *loop, uint64_t after, cw_event_watch *w);
/* Removing one that was not added is fine. */
void cw_event_watch_remove(cw_event_watch *w);

#endif
