/* SPDX-License-Identifier: GPL-2.0-or-later */
/* serve.h - what the host program does: serve a socket, check a plugin, or run one method.
 *
 * Threads: one thread; the process is a worker of its own.
 */
#ifndef CW_HOST_SERVE_H
#define CW_HOST_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/landlock.h"

#define CW_HOST_SOCKET 3
#define CW_HOST_OBJECT 4
#define CW_HOST_FRAME (16u * 1024u * 1024u)
#define CW_HOST_FRAME_MAX (1024u * 1024u * 1024u)

typedef struct cw_host_opts {
    const char *name;   /* of the plugin, for messages */
    const char *file;   /* the shared object */
    const char *method; /* --call */
    const char *params; /* --call: JSON, NULL: none */
    const char *caller; /* --call: JSON, NULL: anonymous */
    const char *with;   /* --call: JSON, other members of the request, NULL: none */
    bool partial;       /* --check: of a plugin with mistakes, what else can be checked */
    uint64_t memory;    /* bytes; 0: no limit */
    uint64_t files;     /* 0: as it is */
    size_t frame;
    const cw_landlock *landlock;
} cw_host_opts;

/* Take away from this process what a plugin must not have, and tie its life to the parent's.
 * Returns an exit status, 0 for success; says why on standard error. */
int cw_host_confine(const cw_host_opts *opts);

/* The modes. Each returns the exit status of the program. */
int cw_host_serve(const cw_host_opts *opts);
int cw_host_check(const cw_host_opts *opts);
int cw_host_call(const cw_host_opts *opts);

#endif
