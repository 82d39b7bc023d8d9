/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dns.c - where a client's server is: a path, a literal address, or a name. */
#include "net/client/client_int.h"

void cw_client_find_address(cw_client *c)
{
    cw_address *a = &c->addresses[0];
    const cw_client_url *url = &c->opts.url; /* our copy, with NULs behind its strings */
    c->is_name = false;
    if (url->unix_path.n ? cw_connect_unix(url->unix_path, a)
                         : cw_connect_literal(c->dial_host.p, c->dial_port, a))
        c->n_addresses = 1;
    else
        c->is_name = !url->unix_path.n;
}

static void on_found(void *ctx, const char *why, const struct addrinfo *found)
{
    cw_client *c = ctx;
    c->lookup = NULL;
    cw_deadline_clear(&c->lookup_deadline);
    cw_address addresses[CW_CLIENT_ADDRESSES];
    size_t n = cw_lookup_take(found, c->dial_port, addresses, CW_CLIENT_ADDRESSES);
    /* Old addresses are kept when no new ones are found. */
    if (n) {
        memcpy(c->addresses, addresses, n * sizeof *addresses);
        c->n_addresses = (uint8_t)n;
        c->best = 0;
    }
    c->looked_up = cw_loop_now(c->loop);
    cw_client_looked_up(c, why ? why : "no address");
}

cw_code cw_client_look_up(cw_client *c, cw_err *err)
{
    /* One that others have given up may still find something; a second one would hang as well. */
    cw_code rc =
        c->lookup ? CW_OK : cw_lookup_start(c->loop, c->dial_host.p, on_found, c, &c->lookup, err);
    if (!rc && !c->lookup_deadline.list)
        cw_loop_set_deadline(c->loop, &c->lookup_deadline, &c->naming);
    return rc;
}

void cw_client_forget_lookup(cw_client *c)
{
    cw_deadline_clear(&c->lookup_deadline);
    cw_lookup_forget(c->lookup);
    c->lookup = NULL;
}

void cw_client_on_name_deadline(cw_deadline *d)
{
    cw_client *c = CW_CONTAINER(d, cw_client, lookup_deadline);
    c->looked_up = cw_loop_now(c->loop);
    /* Not from here: who is told may close the client, and with it this list of deadlines. */
    c->lookup_late = true;
    cw_loop_defer(c->loop, &c->later);
}
