/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deadline.h - time limits for very many things at almost no cost.
 *
 * All deadlines of one kind have the same duration, so a kind is a list in the
 * order of expiry: setting and clearing are a few pointer writes, and one timer
 * per loop watches the heads of the lists. (A timer per connection would cost a
 * heap operation per request and 150 bytes per idle connection.)
 *
 *     idle -> [conn 7, 10:00:05] -> [conn 3, 10:00:06] -> ...
 *
 * When the duration of a list is made shorter, entries that wait expire after the
 * new one at the latest.
 *
 * Ownership: entries are embedded in what they belong to, which must clear them before it dies.
 * Threads:   one loop.
 */
#ifndef CW_NET_LOOP_DEADLINE_H
#define CW_NET_LOOP_DEADLINE_H

#include <stdint.h>

#include "base/list.h"

typedef struct cw_deadline_list cw_deadline_list;

typedef struct cw_deadline {
    cw_list node;
    cw_deadline_list *list; /* NULL: not set */
    uint64_t at;            /* ms of the loop's clock */
} cw_deadline;

struct cw_deadline_list {
    cw_list waiting; /* the first one expires first */
    uint64_t ms;
    void (*on_expired)(cw_deadline *d); /* the entry is cleared before the call */
    cw_deadline_list *next_list;        /* the loop's (loop.c) */
};

void cw_deadline_list_init(cw_deadline_list *list, uint64_t ms, void (*on_expired)(cw_deadline *));
/* Change the duration, also for the entries that wait. */
void cw_deadline_list_set_ms(cw_deadline_list *list, uint64_t ms, uint64_t now);
/* (Re)start `d` on `list`, from `now`. */
void cw_deadline_set(cw_deadline *d, cw_deadline_list *list, uint64_t now);
void cw_deadline_clear(cw_deadline *d);
/* The entry that expires first, or NULL. */
const cw_deadline *cw_deadline_first(const cw_deadline_list *list);
/* Expire what is due. The list itself may end with the last entry that expires. */
void cw_deadline_list_run(cw_deadline_list *list, uint64_t now);

#endif
