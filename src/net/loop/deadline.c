/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/loop/deadline.h"

#include <stddef.h>

void cw_deadline_list_init(cw_deadline_list *list, uint64_t ms, void (*on_expired)(cw_deadline *))
{
    *list = (cw_deadline_list){.ms = ms, .on_expired = on_expired};
    list->root.prev = list->root.next = &list->root;
}

void cw_deadline_list_set_ms(cw_deadline_list *list, uint64_t ms, uint64_t now)
{
    list->ms = ms;
    /* The entries stay in order, and those that are set from now on belong behind them. */
    for (cw_deadline *d = list->root.next; d != &list->root; d = d->next) {
        if (d->at > now + ms)
            d->at = now + ms;
    }
}

void cw_deadline_clear(cw_deadline *d)
{
    if (!d->list)
        return;
    d->prev->next = d->next;
    d->next->prev = d->prev;
    d->list = NULL;
}

void cw_deadline_set(cw_deadline *d, cw_deadline_list *list, uint64_t now)
{
    cw_deadline_clear(d);
    d->at = now + list->ms;
    d->list = list;
    d->next = &list->root;
    d->prev = list->root.prev;
    d->prev->next = d;
    list->root.prev = d;
}

/* Move what is due to a ring of its own, so that an entry that is set again while others expire
 * waits for the next run, even with a duration of 0. */
static void take_due(cw_deadline_list *list, uint64_t now, cw_deadline *due)
{
    cw_deadline *end = list->root.next;
    while (end != &list->root && end->at <= now)
        end = end->next;
    due->prev = due->next = due;
    if (end == list->root.next)
        return;
    due->next = list->root.next;
    due->prev = end->prev;
    due->next->prev = due;
    due->prev->next = due;
    list->root.next = end;
    end->prev = &list->root;
}

void cw_deadline_list_run(cw_deadline_list *list, uint64_t now)
{
    cw_deadline due;
    take_due(list, now, &due);
    void (*on_expired)(cw_deadline *) = list->on_expired;
    while (due.next != &due) {
        cw_deadline *d = due.next;
        cw_deadline_clear(d);
        on_expired(d);
    }
}
