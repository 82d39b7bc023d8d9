/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remote_events.c - the events of a service. */
#include "source/event/event_offers.h"
#include "source/remote/remote_int.h"

cw_code cw_remote_add_events(cw_remote *r, const cw_remote_opts *opts, cw_buf *warnings,
                             cw_err *err)
{
    cw_code rc = cw_event_intake_new(opts->events, r->service, warnings, &r->intake, err);
    if (rc || !r->intake)
        return rc;
    cw_event_list events = {.n_loops = opts->n_loops,
                            .accounts = opts->accounts,
                            .absent = r->absent,
                            .n_absent = r->n_absent,
                            .lacks_needs = r->lacks_needs};
    events.rules = cw_event_intake_rules(r->intake, &events.n);
    return cw_event_source_add(&r->base, &events, &r->arena, warnings, err);
}

void cw_remote_start_events(const cw_source *s)
{
    const cw_remote *r = cw_remote_of(s);
    if (r && r->shared)
        cw_shared_conn_set_events(r->shared, r->base.companion ? r->intake : NULL);
}
