/* SPDX-License-Identifier: GPL-2.0-or-later */
/* approvals.c - approved definitions of the database, and the services that they concern. */
#include <stdlib.h>

#include "source/registry/registry_int.h"
#include "source/remote/lock/lock.h"

void cw_sources_free_approvals(cw_sources *s)
{
    cw_lock_unref(s->approved);
    free(s->unapproved);
}

/* Whether the approved definitions of a service differ. Without a lock on one side, they all do. */
static bool is_concerned(const cw_registry_item *item, const cw_lock *old, const cw_lock *now)
{
    cw_str name = cw_str_from(item->name);
    if (!item->remote || item->is_gone)
        return false;
    return !old || !now || !cw_str_eq(cw_lock_entries(old, name), cw_lock_entries(now, name));
}

cw_code cw_sources_set_approvals(cw_sources *s, cw_lock *lock, cw_str problem)
{
    char *reason = lock ? NULL : cw_str_dup(problem);
    cw_lock *old = s->approved;
    bool was_lost = s->unapproved != NULL;
    if (!lock && !reason)
        return CW_NOMEM;
    free(s->unapproved);
    s->unapproved = reason;
    s->approved = cw_lock_ref(lock);
    bool is_used = s->config && s->config->state.approvals_in_store;
    bool is_lost_again = was_lost && !lock; /* the services are withheld already */
    for (cw_registry_item *item = s->items; item && is_used && !is_lost_again; item = item->next) {
        if (is_concerned(item, old, lock))
            cw_sources_reload(item);
    }
    cw_lock_unref(old);
    return CW_OK;
}
