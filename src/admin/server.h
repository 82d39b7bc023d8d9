/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server.h - the parts of a running server that administration methods use.
 *
 * Ownership: borrows; the owner (server/app.h) keeps the pointers up to date.
 * Threads:   the main one.
 */
#ifndef CW_ADMIN_SERVER_H
#define CW_ADMIN_SERVER_H

#include "admin/admin.h"
#include "admin/stats.h"
#include "audit/audit.h"
#include "call/runtime.h"
#include "net/server/server.h"
#include "source/registry/registry.h"

/* The loop that waits for operations. */
typedef struct cw_admin_loop {
    cw_loop *loop;   /* NULL: it has not called a method */
    cw_list running; /* operations whose call waits */
    cw_loop_hook hook;
    pthread_mutex_t calls; /* of `running` and its calls; taken after `lock` */
    pthread_mutex_t lock;  /* of is_ended: a loop that has ended may be gone */
    bool is_ended;
} cw_admin_loop;

struct cw_admin_server {
    cw_loop *loop; /* the main one */
    cw_admin_loop loops[CW_SERVER_MAX_LOOPS];
    cw_list loads;         /* on the main loop: definitions.h */
    cw_list operations;    /* on the main loop: those that finish later */
    cw_fair_queue files;   /* on the main loop: those that wait for a thread */
    unsigned n_files;      /* those that have one */
    cw_admin_stats *stats; /* NULL: nothing is counted */
    uv_timer_t log_timer;  /* ends a level of the log; .data is NULL: not used */
    cw_runtime *runtime;
    cw_accounts *accounts; /* NULL: no logins */
    cw_sources *sources;
    struct cw_approvals *approvals; /* of the database */
    cw_tasks *tasks;
    struct cw_seal_keys *seals;
    const cw_audit *audit; /* NULL: none */
    cw_spawner *spawner;   /* of child programs; NULL: none */
    const cw_sources_health *health;
    cw_config *config;
    const cw_config *at_start;          /* in force since the start; NULL: no server */
    cw_snapshot *snapshot;              /* NULL: none yet */
    const char *config_path;            /* NULL: no configuration file */
    int64_t started;                    /* ms since 1970 */
    char (*addresses)[CW_ADDRESS_TEXT]; /* that it listens on */
    size_t n_addresses;
    /* Open connections. NULL: no server listens; this is a command. */
    uint32_t (*connections)(void *ctx);
    /* Read the configuration file again and write the members of the result. NULL: not possible. */
    cw_code (*reload)(cw_json_writer *out, void *ctx, cw_err *err);
    /* Start a new process that takes over; finishes the call later (CW_AGAIN). NULL: not possible. */
    cw_code (*upgrade)(cw_admin_call *call, void *ctx, cw_err *err);
    void *ctx;
    bool has_no_logins; /* tools that require a login are hidden from the anonymous caller */
    bool has_console;   /* methods for its pages exist */
    bool is_closed;     /* no further operation starts */
};

/* Make the struct ready for calls. It must live until the main loop has ended. */
void cw_admin_server_init(cw_admin_server *server, cw_loop *loop);
/* The main loop ends: operations that wait fail. No source may finish one after this. */
void cw_admin_server_close(cw_admin_server *server);

#endif
