/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/deadline.h"

#include <stddef.h>

void cw_deadline_list_init(cw_deadline_list *list, uint64_t ms, void (*on_expired)(cw_deadline *))
{
    *list = (cw_deadline_list){.ms = ms, .on_expired = on_expired};
    list->root.prev = list->root.next = &list->root;
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

uint64_t cw_deadline_list_run(cw_deadline_list *list, uint64_t now)
{
    for (;;) {
        cw_deadline *d = list->root.next;
        if (d == &list->root)
            return UINT64_MAX;
        if (d->at > now)
            return d->at;
        cw_deadline_clear(d);
        list->on_expired(d);
    }
}
