/* SPDX-License-Identifier: GPL-2.0-or-later */
/* handed.h - listening sockets that another process has handed over, by address.
 *
 * A predecessor passes them (server/upgrade/takeover.h), or the service manager has stored them. Several
 * sockets of one address share its connections (SO_REUSEPORT). None may be closed before another
 * process polls it: the connections that wait in its queue would be reset.
 *
 *     cw_handed_add(&all, &offer, err);
 *     cw_handed_listener *l = cw_handed_find(&all, CW_STR("127.0.0.1:8080"), false);
 *     if (l)
 *         cw_server_adopt(server, l, tls, err);       takes its descriptors
 *     ...
 *     cw_handed_done(&all, true);                     closes the others
 *
 * Ownership: the list owns its descriptors until a listener adopts them.
 * Threads:   main thread only.
 * Limits:    CW_HANDED_MAX addresses, CW_HANDED_FDS descriptors of each.
 */
#ifndef CW_NET_ADDR_HANDED_H
#define CW_NET_ADDR_HANDED_H

#include "net/addr/listener.h"

#define CW_HANDED_MAX 32u
#define CW_HANDED_FDS 64u

struct cw_handed_listener {
    cw_address address;                /* the bound one */
    char configured[CW_LISTENER_TEXT]; /* "" if it is not known */
    int fds[CW_HANDED_FDS];
    size_t n_fds; /* 0: adopted */
    bool is_local;
    bool inherited; /* the manager opened it, and closes it */
    bool has_file;
    dev_t file_dev;
    ino_t file_ino;
};

typedef struct cw_handed {
    cw_handed_listener *items;
    size_t n;
} cw_handed;

/* Add a listener with its descriptors, which the list owns from now on, on failure too. Its address
 * is that of the first socket. CW_PARAMS: a descriptor is no listening socket, or has another
 * address; CW_LIMIT, CW_NOMEM. */
CW_MUST_USE cw_code cw_handed_add(cw_handed *h, const cw_handed_listener *offer, cw_err *err);
/* Add one socket to the listener of its address, or as a new one. As above. */
CW_MUST_USE cw_code cw_handed_add_socket(cw_handed *h, int fd, cw_err *err);
/* The listener for an address of the configuration: of the same text, or of the same address. NULL:
 * none, or all are adopted, or the file of a unix socket is gone. */
cw_handed_listener *cw_handed_find(cw_handed *h, cw_str address, bool is_local);
/* How many listeners were opened by the manager. */
size_t cw_handed_n_inherited(const cw_handed *h);
/* Close what was not adopted. With `removes_files` also remove the files of unix sockets among it:
 * the process that handed them over has let go of them. A zeroed struct is fine. */
void cw_handed_done(cw_handed *h, bool removes_files);

#endif
