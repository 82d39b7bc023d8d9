/* SPDX-License-Identifier: GPL-2.0-or-later */
/* app.h - the parts of a running server behind its doors: sources, catalogue, callers.
 *
 * Connects spawner, sources and runtime, and keeps the last published state, so that the catalogue
 * and the callers and settings can be replaced separately. A reload, or a change of the database,
 * publishes once, and only if the state differs.
 *
 *     open -> configure -> wait -> attach -> (the loops start) -> cw_runtime_started
 *     ... configure (reload) ...
 *     close (on the main loop) -> (the loops have ended) -> done
 *
 * Threads: the main one.
 */
#ifndef CW_SERVER_APP_H
#define CW_SERVER_APP_H

#include "access/oauth/cimd_cache.h"
#include "access/seal_keys.h"
#include "admin/approvals.h"
#include "admin/source.h"
#include "call/runtime.h"
#include "door/mcp/mcp.h"
#include "net/process/child.h"
#include "net/server/server.h"
#include "replica/replicas.h"
#include "server/options/permissions.h"
#include "server/shared_changes.h"
#include "server/shared_rates.h"
#include "source/registry/registry.h"

#define CW_APP_TOKEN_MS 5000u

typedef struct cw_app {
    cw_loop *loop; /* the main one */
    char *host;    /* path of causeway-plugin-host */
    cw_spawner *spawner;
    cw_runtime *runtime;
    cw_mcp *mcp;                /* the door for MCP clients */
    cw_tasks *tasks;            /* of its clients */
    cw_event_hub *events;       /* of its sources */
    cw_replicas *replicas;      /* NULL: no database is shared */
    cw_shared_changes *changes; /* NULL like replicas */
    cw_shared_rates *rates;     /* NULL: no server of databases is used */
    uv_timer_t rates_timer;
    cw_audit *audit; /* may be switched off */
    cw_tracer *tracer;
    void (*on_flushed)(void *ctx); /* cw_app_flush */
    void *flushed_ctx;
    cw_admin_server admin; /* what administration methods see of this */
    cw_sources *sources;
    cw_approvals *approvals;  /* of the database */
    cw_sources_health health; /* of the services */
    atomic_bool store_away;   /* the database cannot be used now */
    cw_snapshot *snapshot;    /* the latest; NULL: none yet */
    cw_accounts *accounts;    /* NULL: no logins */
    cw_issuers *issuers;      /* NULL like accounts */
    cw_cimd_cache *documents; /* of OAuth clients; NULL: none at start */
    cw_caller *anonymous;     /* by the configuration, and by the database as it was read last */
    cw_caller *configured;    /* by the configuration alone */
    cw_caller *operator_self, *operator_root; /* callers on the local socket */
    cw_caller *guest;                         /* of the console of a demo; NULL: none */
    pthread_mutex_t lock;                     /* of what the store's thread leaves here: */
    cw_caller *read;    /* the anonymous caller, with has_read; NULL: there is no database */
    int n_readings;     /* that the store's thread has yet to do */
    cw_err store_error; /* why the database cannot be used; CW_OK: it can */
    pthread_cond_t has_no_readings;
    cw_message on_anonymous, on_store_changed; /* to the main loop */
    const char *account;                       /* stands for the anonymous; NULL: none does */
    cw_str token;                  /* an Authorization header, likewise; .p is NULL without one */
    cw_login_waiter token_login;   /* while the token is checked */
    uv_timer_t token_timer;        /* until it is checked again */
    uv_timer_t task_timer;         /* CW_TASKS_TICK_MS */
    cw_name_list permissions;      /* of roles, for warnings */
    cw_translations *translations; /* NULL: none */
    cw_runtime_settings settings;
    uv_timer_t timer;   /* the end of waiting; later: publishing again after a failure */
    uv_timer_t again;   /* asking a store again that was too busy */
    uv_timer_t loading; /* the end of waiting for sources, for calls of methods not there yet */
    unsigned n_loops;
    cw_seal_keys seals;    /* others borrow its seals */
    bool is_quiet;         /* another process may be the server */
    bool is_read_only;     /* nothing is recorded */
    bool is_dirty;         /* the state differs from the published one */
    bool has_store;        /* with a database */
    atomic_bool has_oauth; /* the authorization server is on: its routes exist */
    bool has_late_keys;    /* the store's thread: keys of the seal could not be read */
    bool has_read;         /* under the lock: `read` is new */
    bool is_owner;         /* the anonymous caller has all permissions */
    bool is_demo;          /* no configuration, and no logins */
    bool is_shown;         /* the row in the database shows configuration and catalogue */
    bool is_open, is_waiting, is_settled, is_late, is_read;
} cw_app;

typedef struct cw_app_opts {
    cw_loop *loop; /* the main one */
    unsigned n_loops;
    /* For a program with one user: callers without credentials have the rights of this account, or
     * of the caller of this token ("Bearer TOKEN"), which is checked again each CW_APP_TOKEN_MS and
     * after each change of the database. Both are borrowed. */
    const char *account; /* may be NULL */
    cw_str token;        /* .p may be NULL */
    /* Load only this file of the plugin directory, and give callers without credentials all
     * permissions that the catalogue requires. Borrowed; NULL: load all. */
    const char *plugin;
    /* Services that are loaded already (cw_sources_opts). Borrowed; NULL: load all. */
    const cw_sources_given *services;
    bool is_demo; /* no configuration file: tools that require a login are hidden, because no login
                     exists */
    cw_str console_host; /* of the console; borrowed; empty: none */
    /* Keep the seal key and the ends of sessions in files (state_file.h), and tasks in the store. */
    bool keeps_state;
    const char *config_path; /* keeps_state: of the configuration file; NULL: none */
    bool is_quiet;           /* another process may be the server: see cw_sources_opts. A missing
                                database is not created. */
    bool is_read_only;       /* is_quiet, and no calls are made: the audit is not opened */
} cw_app_opts;

/* Create all parts; nothing is loaded yet. On failure cw_app_done must be called all the same. */
CW_MUST_USE cw_code cw_app_open(cw_app *b, const cw_app_opts *opts, const cw_config *config,
                                cw_err *err);
/* Use a configuration: the first time, and again for a reload. On failure the old one stays. */
CW_MUST_USE cw_code cw_app_configure(cw_app *b, cw_config *config, cw_err *err);
/* After cw_app_configure: wait until the rights of the anonymous caller that follow from the roles of the
 * database are published, at most `ms`. False: they are published later. */
bool cw_app_wait_roles(cw_app *b, uint32_t ms);
/* Run the main loop until every source and the database were tried once, for at most `ms`, or until
 * *stop. */
void cw_app_wait(cw_app *b, uint64_t ms, const bool *stop);
/* After cw_app_wait: CW_OK if the account of the options has logged in. Otherwise CW_NOTFOUND, or the
 * error of a database that cannot be used. */
CW_MUST_USE cw_code cw_app_check_account(cw_app *b, cw_err *err);
/* Attach the loops of the server before they run. Call cw_runtime_started when they run. */
void cw_app_attach(cw_app *b, cw_server *server);
/* The last messages of the process: spans, and the ends of sessions with MCP servers. Then fn(ctx). */
void cw_app_flush(cw_app *b, void (*fn)(void *ctx), void *ctx);
/* Stop loading and watching; handles close on the main loop. Twice is fine. */
void cw_app_close(cw_app *b);
/* Free the rest, after the server's loops have ended; run the main loop once more after this. */
void cw_app_done(cw_app *b);

#endif
