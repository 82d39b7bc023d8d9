/* SPDX-License-Identifier: GPL-2.0-or-later */
/* listener.h - addresses to listen on, and the sockets behind them.
 *
 * "127.0.0.1:8080", "[::1]:8080", "localhost:0" (port 0: any free one),
 * "unix:/run/causeway.sock". Every loop gets a socket of its own: for TCP one
 * bound with SO_REUSEPORT, so that the kernel spreads connections; for unix
 * sockets and inherited ones (LISTEN_FDS) a duplicate.
 *
 * Ownership: cw_listener_open makes `n` descriptors that the caller closes; cw_listener_unlink
 *            removes a unix socket's file.
 * Threads:   main thread, before the loops start.
 */
#ifndef CW_NET_ADDR_LISTENER_H
#define CW_NET_ADDR_LISTENER_H

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/err.h"
#include "base/str.h"

#define CW_ADDRESS_TEXT 128
#define CW_LISTENER_FIRST_FD 3 /* of the inherited sockets */
#define CW_LISTENER_MAX_INHERITED 2048u
#define CW_LISTENER_TEXT 280u        /* bytes of an address in the configuration, with a NUL */
#define CW_LISTENER_STORED "listen-" /* names of sockets that the service manager stores for us */

typedef struct cw_address {
    struct sockaddr_storage sa;
    socklen_t len;
} cw_address;

/* Parse an address to listen on; names are resolved. Fails with CW_PARAMS saying what is wrong. */
CW_MUST_USE cw_code cw_address_parse(cw_str text, cw_address *ret, cw_err *err);
/* "127.0.0.1:8080", "[::1]:8080" or "unix:/path", NUL-terminated, cut to fit. */
void cw_address_format(const cw_address *a, char *out, size_t n);
/* A peer's address without its port: what logs and limits use. */
void cw_address_format_host(const cw_address *a, char *out, size_t n);
/* 0: it has none. */
uint16_t cw_address_port(const cw_address *a);
bool cw_address_is_loopback(const cw_address *a);

typedef struct cw_listener {
    cw_address address; /* the bound one: a port 0 has become the real port */
    bool tls;
    bool
        is_local; /* unix, for this user only: mode 0600, and peers are checked when they connect */
    bool proxy;   /* each connection begins with a header of the PROXY protocol */
    bool is_for_metrics; /* GET /metrics alone is answered */
    bool is_for_console; /* has the pages that the others then lack */
    bool inherited;
    bool has_file;  /* a unix socket's file, made by us and still ours to remove */
    bool owes_file; /* adopted: the file is ours when the server has started */
    dev_t file_dev;
    ino_t file_ino;
    int *fds; /* one per loop, or more if it was adopted */
    size_t n_fds;
    size_t n_listening;                /* the others are bound only */
    char configured[CW_LISTENER_TEXT]; /* the address as it was given; "" if it is too long */
} cw_listener;

/* Only this machine can connect: a unix socket or a loopback address. */
CW_INLINE bool cw_listener_is_near(const cw_listener *l)
{
    return l->address.sa.ss_family == AF_UNIX || cw_address_is_loopback(&l->address);
}

typedef struct cw_handed_listener cw_handed_listener; /* net/addr/handed.h */

/* Bind and listen `n` times. An address that another process listens on is an error, SO_REUSEPORT
 * or not. Fails with CW_IO naming the address and a remedy. */
CW_MUST_USE cw_code cw_listener_open(cw_listener *l, cw_str address, size_t n, cw_err *err);
/* Take over a listening socket that this process inherited: on success there are `n` duplicates of
 * it, and `fd` itself is closed. */
CW_MUST_USE cw_code cw_listener_inherit(cw_listener *l, int fd, size_t n, cw_err *err);
/* Take over the sockets of another process: all of `from`, and further ones up to `n`. The others
 * are bound, or duplicates where an address has one socket only. Until cw_listener_listen the other
 * process can go on as if nothing had happened. On failure `from` keeps its descriptors. */
CW_MUST_USE cw_code cw_listener_adopt(cw_listener *l, cw_handed_listener *from, size_t n,
                                      cw_err *err);
/* Listen on the sockets that are only bound. CW_IO. */
CW_MUST_USE cw_code cw_listener_listen(cw_listener *l, cw_err *err);
/* Remove a unix socket's file, unless it is inherited or belongs to another server by now. A
 * stopping server does this first, so that its successor can bind while it drains. */
void cw_listener_unlink(cw_listener *l);
/* Close what is still open; remove a unix socket's file unless inherited. */
void cw_listener_close(cw_listener *l);

/* How many sockets a supervisor handed over (LISTEN_FDS for this LISTEN_PID), from descriptor 3 on.
 * Marks them close-on-exec and removes the variables, so that no child believes them. ret_stored[i]:
 * descriptor 3 + i is one that an earlier process has stored (LISTEN_FDNAMES). */
int cw_listener_inherited(bool ret_stored[CW_LISTENER_MAX_INHERITED]);

#endif
