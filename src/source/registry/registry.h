/* SPDX-License-Identifier: GPL-2.0-or-later */
/* registry.h - all sources of the configuration, kept up to date.
 *
 * Loads every plugin of the plugin folder and every remote service, builds a
 * snapshot whenever something changed, and hands it on. Plugins are the files
 * NAME.so of the folder; NAME.so.disabled is a plugin that is switched off. The
 * folder is watched: a file that comes, goes or changes takes effect within half a
 * second. A plugin that cannot be loaded is left out and logged; if an older
 * version of it runs, that one stays. A remote service that does not respond is
 * tried again with growing pauses. One that does is discovered again regularly
 * (`refresh`, with a random part), and shortly after it announces that its methods
 * have changed. Methods that a plugin, or a service before it in the
 * configuration, has too are left out of a service, one by one, and logged.
 *
 * Threads: the main loop's thread.
 */
#ifndef CW_SOURCE_REGISTRY_REGISTRY_H
#define CW_SOURCE_REGISTRY_REGISTRY_H

#include "catalogue/interest.h"
#include "catalogue/lint.h"
#include "config/config.h"
#include "source/plugin/plugin.h"
#include "source/remote/remote.h"

typedef struct cw_sources cw_sources;

/* How many services are in which state; written by the main thread, read by any. */
typedef struct cw_sources_health {
    atomic_uint ready;
    atomic_uint stale;    /* used by their last description */
    atomic_uint down;     /* without a description, with an open breaker, or withheld */
    atomic_uint withheld; /* of those: the lock file is lost, so that every tool is withheld */
    atomic_uint plugins;  /* plugins that are loaded */
    atomic_uint failed;   /* plugins that could not be loaded, and have no older version */
} cw_sources_health;

/* Services that the owner of a registry has loaded itself. */
typedef struct cw_sources_given {
    cw_source *const *items;
    size_t n;
} cw_sources_given;

typedef struct cw_sources_opts {
    cw_loop *loop; /* the main one */
    unsigned n_loops;
    cw_spawner *spawner;
    const char *host; /* path of causeway-plugin-host */
    /* A new snapshot: takes the reference. Old sources are retired before the call; the
     * receiver makes every loop use it and then sweeps its parts of the retired sources. */
    void (*publish)(cw_snapshot *snapshot, cw_source *const *retired, size_t n_retired, void *ctx);
    /* Every source has been tried once. */
    void (*settled)(void *ctx);
    /* Whether some source was never tried: with each change, after the catalogue that goes with it.
     * May be NULL. */
    void (*loading)(bool is_loading, void *ctx);
    cw_change_sink *change;       /* gets notifications of sources; may be NULL */
    cw_interest *interest;        /* resources that clients are subscribed to; may be NULL */
    cw_event_hub *events;         /* for events of sources; may be NULL */
    struct cw_accounts *accounts; /* of callers that wait for events; may be NULL */
    cw_sources_health *health;    /* to be kept up to date; may be NULL */
    /* The permissions that roles have, for warnings; they live until the next call. False: not
     * known. May be NULL. */
    bool (*permissions)(const cw_config *config, const cw_str **ret, size_t *ret_n, void *ctx);
    /* Make the built-in source of a configuration; *ret stays NULL: it has none. May be NULL. */
    cw_code (*builtin)(const cw_config *config, cw_source **ret, void *ctx, cw_err *err);
    void *ctx;
    /* Use these services instead of loading those of the configuration. A service of the
     * configuration that is not among them is down. Borrowed; NULL: load all. */
    const cw_sources_given *given;
    const char *only; /* load only this file of the plugin directory; borrowed; NULL: load all */
    bool is_quiet; /* write no state files, which belong to the running server, and do not log the
                         findings of cw_lint */
} cw_sources_opts;

/* The settings of the configuration for schemas. */
cw_schema_policy cw_sources_policy(const cw_config *config);
/* Its settings and facts for cw_lint. Borrows. */
cw_lint_opts cw_sources_lint_opts(const cw_config *config);

CW_MUST_USE cw_code cw_sources_new(const cw_sources_opts *opts, cw_sources **ret, cw_err *err);
/* Begin, or continue with another configuration: load sources that are new or changed, and retire
 * those that are gone. Takes a reference to config. */
CW_MUST_USE cw_code cw_sources_configure(cw_sources *s, cw_config *config, cw_err *err);
/* Load each plugin of the folder and each service again, changed or not. A source that cannot be
 * loaded stays as it is. */
void cw_sources_rebuild(cw_sources *s);
/* The state of a source. */
typedef struct cw_source_report {
    cw_str name;
    bool is_plugin;
    const char *state;              /* "ready", "stale", "down", "broken", "withheld", "loading" */
    int64_t since_ms, refreshed_ms; /* since 1970; 0: never */
    uint32_t tools, methods, withheld;
    int64_t approved_ms; /* of the latest approval of a definition, since 1970; 0: not known */
    cw_str approved_by;  /* empty: not known */
    uint32_t exposed[CW_EXPOSED_KINDS]; /* resources, templates and prompts that clients see */
    cw_str problem;                     /* may have several lines; empty: none */
    const char *protocol; /* of an MCP server: "modern", "legacy", "unknown"; else NULL */
} cw_source_report;

/* Waits for the end of a load. Embedded in its owner. */
typedef struct cw_sources_waiter {
    cw_list node;
    void (*fn)(struct cw_sources_waiter *w, const cw_source_report *report);
} cw_sources_waiter;

/* As cw_sources_rebuild, for one service. False: none has this name. `w` (may be NULL) is called
 * once, later, when the load has ended and its result is published; it is not called any more after
 * cw_sources_free. */
bool cw_sources_refresh(cw_sources *s, cw_str name, cw_sources_waiter *w);
/* cw_change.source for a source of this name; NULL: none is published. `s` may be NULL. */
const void *cw_sources_find(const cw_sources *s, cw_str name);
/* Whether a plugin has not been tried yet. */
bool cw_sources_is_loading_plugins(const cw_sources *s);
/* Discover the usable services again, as when their `refresh` is due. */
void cw_sources_ask_again(cw_sources *s);
/* Use these approved definitions of the database, and load the services again whose entries differ.
 * `lock` may be NULL: every tool is withheld, and `problem` is the reason. A reference is taken.
 * Used while the configuration has `approvals: store`. CW_NOMEM. */
CW_MUST_USE cw_code cw_sources_set_approvals(cw_sources *s, struct cw_lock *lock, cw_str problem);
/* Report on every source: plugins by name, then services in the order of the configuration. */
void cw_sources_each(const cw_sources *s, void (*fn)(const cw_source_report *report, void *ctx),
                     void *ctx);
/* Count the tools and methods of plugins and services; those of the built-in source are left out. */
void cw_sources_count(const cw_sources *s, const cw_snapshot *snapshot, size_t *ret_tools,
                      size_t *ret_methods);
/* Stop watching and loading; handles close on the loop. Sources stay until their last reference. */
void cw_sources_free(cw_sources *s);
/* Before cw_sources_free, when the loops have ended: end the sessions with MCP servers, then call
 * fn(ctx), after `ms` at the latest. */
void cw_sources_end_sessions(cw_sources *s, uint32_t ms, void (*fn)(void *ctx), void *ctx);

#endif
