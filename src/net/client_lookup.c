/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client_lookup.c - where a client's server is: a path, a literal address, or a name.
 *
 * A lookup runs in libuv's thread pool and cannot always be stopped, so it is an
 * object of its own that may outlive its client.
 */
#include <arpa/inet.h>
#include <stdlib.h>

#include "net/client_int.h"

struct cw_lookup {
    uv_getaddrinfo_t req;
    cw_client *client; /* NULL: nobody wants to know any more */
};

static void find_unix(cw_client *c, cw_str path)
{
    cw_address *a = &c->addresses[0];
    struct sockaddr_un *un = (struct sockaddr_un *)&a->sa;
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, path.p, path.n);
    a->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.n + 1);
    c->n_addresses = 1;
}

static void find_literal(cw_client *c)
{
    cw_address *a = &c->addresses[0];
    struct sockaddr_in *v4 = (struct sockaddr_in *)&a->sa;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a->sa;
    const char *host = c->opts.url.host.p; /* our copy, with a NUL behind it */
    c->n_addresses = 1;
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(c->opts.url.port);
        a->len = sizeof *v4;
    } else if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(c->opts.url.port);
        a->len = sizeof *v6;
    } else {
        c->n_addresses = 0;
        c->is_name = true;
    }
}

void cw_client_find_address(cw_client *c)
{
    if (c->opts.url.unix_path.n)
        find_unix(c, c->opts.url.unix_path);
    else
        find_literal(c);
}

static void take_addresses(cw_client *c, const struct addrinfo *found)
{
    uint8_t n = 0;
    for (; found && n < CW_CLIENT_ADDRESSES; found = found->ai_next) {
        cw_address *a = &c->addresses[n];
        if (found->ai_family != AF_INET && found->ai_family != AF_INET6)
            continue;
        memset(&a->sa, 0, sizeof a->sa);
        memcpy(&a->sa, found->ai_addr, found->ai_addrlen);
        a->len = found->ai_addrlen;
        if (found->ai_family == AF_INET)
            ((struct sockaddr_in *)&a->sa)->sin_port = htons(c->opts.url.port);
        else
            ((struct sockaddr_in6 *)&a->sa)->sin6_port = htons(c->opts.url.port);
        n++;
    }
    if (n == 0)
        return;
    c->n_addresses = n;
    c->best = 0;
}

static void on_found(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
    cw_lookup *lookup = req->data;
    cw_client *c = lookup->client;
    free(lookup);
    if (c) {
        c->lookup = NULL;
        cw_deadline_clear(&c->lookup_deadline);
        /* Old addresses are kept when no new ones are found. */
        if (status == 0)
            take_addresses(c, found);
        c->looked_up = cw_loop_now(c->loop);
    }
    uv_freeaddrinfo(found);
    if (c)
        cw_client_looked_up(c, status ? uv_strerror(status) : "no address");
}

cw_code cw_client_look_up(cw_client *c, cw_err *err)
{
    if (c->lookup)
        return CW_OK;
    cw_lookup *lookup = calloc(1, sizeof *lookup);
    if (!lookup)
        return cw_fail_nomem(err);
    lookup->client = c;
    lookup->req.data = lookup;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int rc = uv_getaddrinfo(&c->loop->uv, &lookup->req, on_found, c->opts.url.host.p, NULL, &hints);
    if (rc) {
        free(lookup);
        return rc == UV_ENOMEM
                   ? cw_fail_nomem(err)
                   : cw_fail(err, CW_IO, "look up '%s': %s", c->opts.url.host.p, uv_strerror(rc));
    }
    c->lookup = lookup;
    cw_loop_set_deadline(c->loop, &c->lookup_deadline, &c->naming);
    return CW_OK;
}

void cw_client_forget_lookup(cw_client *c)
{
    cw_deadline_clear(&c->lookup_deadline);
    if (!c->lookup)
        return;
    c->lookup->client = NULL;
    uv_cancel((uv_req_t *)&c->lookup->req); /* where it has not begun; else it ends by itself */
    c->lookup = NULL;
}

void cw_client_on_name_deadline(cw_deadline *d)
{
    cw_client *c = CW_CONTAINER(d, cw_client, lookup_deadline);
    cw_client_forget_lookup(c);
    c->looked_up = cw_loop_now(c->loop);
    /* Not from here: who is told may close the client, and with it this list of deadlines. */
    c->lookup_late = true;
    cw_loop_do_later(c->loop, &c->later);
}
