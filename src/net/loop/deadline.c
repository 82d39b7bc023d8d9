/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deadline.c - lists of deadlines, in the order of expiry. */
#include "net/loop/deadline.h"

static cw_deadline *deadline_of(cw_list *node)
{
    return CW_CONTAINER(node, cw_deadline, node);
}

void cw_deadline_list_init(cw_deadline_list *list, uint64_t ms, void (*on_expired)(cw_deadline *))
{
    *list = (cw_deadline_list){.ms = ms, .on_expired = on_expired};
    cw_list_init(&list->waiting);
}

void cw_deadline_list_set_ms(cw_deadline_list *list, uint64_t ms, uint64_t now)
{
    list->ms = ms;
    /* The entries stay in order, and those that are set from now on belong behind them. */
    CW_LIST_EACH (node, &list->waiting) {
        if (deadline_of(node)->at > now + ms)
            deadline_of(node)->at = now + ms;
    }
}

const cw_deadline *cw_deadline_first(const cw_deadline_list *list)
{
    return cw_list_is_empty(&list->waiting) ? NULL : deadline_of(list->waiting.next);
}

void cw_deadline_clear(cw_deadline *d)
{
    cw_list_remove(&d->node);
    d->list = NULL;
}

void cw_deadline_set(cw_deadline *d, cw_deadline_list *list, uint64_t now)
{
    cw_list_remove(&d->node);
    d->at = now + list->ms;
    d->list = list;
    cw_list_add(&list->waiting, &d->node);
}

void cw_deadline_list_run(cw_deadline_list *list, uint64_t now)
{
    /* Entries that are due get a list of their own: one that is set again while others expire waits
     * for the next run, even with a duration of 0. */
    cw_list due, *end = list->waiting.next;
    while (end != &list->waiting && deadline_of(end)->at <= now)
        end = end->next;
    cw_list_init(&due);
    cw_list_move(&list->waiting, end, &due);
    void (*on_expired)(cw_deadline *) = list->on_expired;
    for (cw_list *node; (node = cw_list_take_first(&due));) {
        deadline_of(node)->list = NULL;
        on_expired(deadline_of(node));
    }
}
