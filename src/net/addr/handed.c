/* SPDX-License-Identifier: GPL-2.0-or-later */
/* handed.c - listening sockets of another process. */
#include "net/addr/handed.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void close_all(const int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        close(fds[i]);
}

/* ---- checks ---- */

static bool is_listening(int fd)
{
    int listening = 0;
    socklen_t len = sizeof listening;
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) == 0 && listening;
}

static bool address_of(int fd, cw_address *ret)
{
    *ret = (cw_address){.len = sizeof ret->sa};
    return getsockname(fd, (struct sockaddr *)&ret->sa, &ret->len) == 0;
}

/* By text: the rest of a socket address may hold anything. */
static bool same_address(const cw_address *a, const cw_address *b)
{
    char one[CW_ADDRESS_TEXT], other[CW_ADDRESS_TEXT];
    cw_address_format(a, one, sizeof one);
    cw_address_format(b, other, sizeof other);
    return a->sa.ss_family == b->sa.ss_family && strcmp(one, other) == 0;
}

static bool is_fit(const cw_handed_listener *l)
{
    for (size_t i = 0; i < l->n_fds; i++) {
        cw_address address;
        if (!is_listening(l->fds[i]) || !address_of(l->fds[i], &address) ||
            !same_address(&address, &l->address))
            return false;
    }
    return l->n_fds > 0;
}

/* ---- the list ---- */

static cw_code make_room(cw_handed *h, cw_err *err)
{
    if (h->n == CW_HANDED_MAX)
        return cw_fail(err, CW_LIMIT, "more than %u listeners were handed over", CW_HANDED_MAX);
    if (!h->items)
        h->items = calloc(CW_HANDED_MAX, sizeof *h->items);
    return h->items ? CW_OK : cw_fail_nomem(err);
}

cw_code cw_handed_add(cw_handed *h, const cw_handed_listener *offer, cw_err *err)
{
    cw_handed_listener l = *offer;
    cw_code rc = make_room(h, err);
    if (!rc && (!l.n_fds || !address_of(l.fds[0], &l.address) || !is_fit(&l)))
        rc = cw_fail(err, CW_PARAMS, "what was handed over is no listening socket");
    if (rc) {
        close_all(l.fds, l.n_fds);
        return rc;
    }
    h->items[h->n++] = l;
    return CW_OK;
}

cw_code cw_handed_add_socket(cw_handed *h, int fd, cw_err *err)
{
    cw_handed_listener fresh = {.fds = {fd}, .n_fds = 1};
    cw_address address;
    bool is_known = is_listening(fd) && address_of(fd, &address);
    for (size_t i = 0; is_known && i < h->n; i++) {
        cw_handed_listener *l = &h->items[i];
        if (!same_address(&l->address, &address) || l->n_fds == CW_HANDED_FDS)
            continue;
        l->fds[l->n_fds++] = fd;
        return CW_OK;
    }
    return cw_handed_add(h, &fresh, err);
}

/* A unix socket can be reached only through the file that was made for it. */
static bool has_own_file(const cw_handed_listener *l)
{
    struct stat st;
    const char *path = ((const struct sockaddr_un *)&l->address.sa)->sun_path;
    return lstat(path, &st) == 0 && st.st_dev == l->file_dev && st.st_ino == l->file_ino;
}

static bool can_be_reached(const cw_handed_listener *l)
{
    return l->address.sa.ss_family != AF_UNIX || l->inherited || (l->has_file && has_own_file(l));
}

cw_handed_listener *cw_handed_find(cw_handed *h, cw_str address, bool is_local)
{
    cw_address parsed;
    bool is_parsed = cw_address_parse(address, &parsed, NULL) == CW_OK;
    for (size_t i = 0; i < h->n; i++) {
        cw_handed_listener *l = &h->items[i];
        bool is_same =
            cw_str_is(address, l->configured) || (is_parsed && same_address(&parsed, &l->address));
        if (is_same && l->n_fds && l->is_local == is_local && can_be_reached(l))
            return l;
    }
    return NULL;
}

size_t cw_handed_n_inherited(const cw_handed *h)
{
    size_t n = 0;
    for (size_t i = 0; i < h->n; i++)
        n += h->items[i].inherited;
    return n;
}

void cw_handed_done(cw_handed *h, bool removes_files)
{
    for (size_t i = 0; i < h->n; i++) {
        cw_handed_listener *l = &h->items[i];
        if (removes_files && l->n_fds && l->has_file && has_own_file(l))
            unlink(((const struct sockaddr_un *)&l->address.sa)->sun_path);
        close_all(l->fds, l->n_fds);
    }
    free(h->items);
    *h = (cw_handed){0};
}
