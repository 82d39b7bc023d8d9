/* SPDX-License-Identifier: GPL-2.0-or-later */
/* registry_int.h - types and functions that the files of the registry share.
 *
 *     registry.c      the list, the plugin folder, publishing, configuration
 *     loader.c        loading one item, one load at a time; retries; the state of the services
 *     approvals.c     approved definitions of the database
 *     order.c         services in the order of the configuration
 *     follow.c        resources that clients are subscribed to
 *     skills.c        the skills of the sources
 *     sessions_end.c  the end of sessions with MCP servers
 *
 * An item is a plugin's file or a remote service of the configuration. Its
 * `source` is the one that should run, its `published` the one of the last snapshot.
 * A publish removes the difference.
 */
#ifndef CW_SOURCE_REGISTRY_REGISTRY_INT_H
#define CW_SOURCE_REGISTRY_REGISTRY_INT_H

#include <sys/stat.h>
#include <time.h>

#include "catalogue/skills.h"
#include "source/registry/registry.h"
#include "source/remote/last_good.h"

#define CW_SOURCES_RETRY_MIN_MS 1000u
#define CW_SOURCES_RETRY_MAX_MS 60000u

/* The identity and state of a file when it was last read; all zero: none. */
typedef struct cw_file_id {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec mtime;
} cw_file_id;

typedef struct cw_registry_item {
    struct cw_registry_item
        *next; /* plugins by name, then services in the order of the configuration */
    cw_sources *all;
    char *name;
    char *path;                     /* of a plugin; NULL for a service */
    const cw_config_remote *remote; /* in the configuration in force; NULL for a plugin */
    cw_last_good *last_good;        /* of a service, from its first load on */
    cw_file_id file_id;             /* of the file that was loaded last: plugin or OpenRPC */
    cw_source *source, *published;
    cw_plugin_job *plugin_job; /* at most one of the two is not NULL: a load runs */
    cw_remote_job *remote_job;
    cw_list waiters;        /* cw_sources_waiter: for the end of the load */
    cw_shared_conn *shared; /* of a service that has one; retired when another takes its place */
    cw_skills *skills;      /* NULL: none */
    uint64_t skills_stamp;  /* of their directory when it was read; 0: never */
    bool again;             /* it changed while it was loaded */
    bool is_waiting;        /* to be loaded after others */
    bool tried;             /* at least once */
    bool is_left_out;       /* of the last publication, and no older version replaced it */
    bool must_replace;      /* its configuration or rules have changed: dropped if the load fails */
    bool has_old_rules;     /* `published` was made before that change: it does not return */
    bool is_seen, is_new;   /* for one look at the folder or the configuration */
    bool is_gone;
    uint32_t pause_ms;     /* before the next try, doubled each time */
    uint64_t retry_at;     /* on the loop's clock; 0: no try is due */
    uint64_t announced_at; /* when the pauses after earlier announcements are over */
    unsigned announced;    /* lists of the service (CW_CHANGED_…) whose change was announced */
    /* The state of a service. */
    bool is_stale;        /* the last load failed: the last good description is used */
    bool is_refused;      /* the service rejected the credentials of the last load */
    bool is_withheld;     /* the lock file is lost: no tool is shown */
    bool is_noted;        /* the log has the notes about `source`, under this configuration */
    uint64_t warned;      /* hash of the warnings of the last load that are in the log; 0: none */
    char *problem;        /* of the last load, or a lack of the service; or NULL */
    char *left_out;       /* methods that are not in the last catalogue, a line each; or NULL */
    const char *trouble;  /* of its calls; static, or NULL */
    const char *state;    /* as it was last recorded */
    int64_t since_ms;     /* of that, since 1970 */
    int64_t refreshed_ms; /* when it was last discovered */
    uint32_t n_found, n_withheld;
    int64_t approved_ms; /* the latest approval; 0: not known */
    char *approved_by;   /* NULL: not known */
} cw_registry_item;

/* The plugin folder. */
typedef struct cw_dir_watch {
    uv_fs_event_t event;
    uv_timer_t timer;   /* for a scan: soon after an event, or regularly if watching fails */
    cw_file_id watched; /* only dev and ino */
    bool is_watched;
    bool is_reported;    /* that it cannot be watched or read */
    uint64_t changed_at; /* of the first change since the last scan; 0: none */
} cw_dir_watch;

/* Sessions with MCP servers that end before the process does. */
typedef struct cw_sources_end {
    cw_loop *loop; /* NULL: not running */
    size_t n;      /* requests without a response, and 1 while they are being sent */
    cw_deferred later;
    cw_deadline_list limit;
    cw_deadline late;
    void (*fn)(void *ctx);
    void *ctx;
} cw_sources_end;

struct cw_sources {
    cw_sources_opts opts;
    cw_sources_end end;
    cw_config *config;
    struct cw_lock *approved; /* of the database; NULL: `unapproved` is the reason */
    char *unapproved;
    cw_plugin_opts plugin_opts;
    cw_registry_item builtin; /* has neither path nor remote; its source may be NULL */
    cw_registry_item *items;
    cw_snapshot *last; /* that was published, or NULL */
    cw_dir_watch folder;
    uv_timer_t retry;
    uv_timer_t publish;
    uv_timer_t trim;   /* give memory back, some time after a publish */
    uv_timer_t skills; /* check the directories of skills */
    uv_timer_t health; /* check the state of the services */
    uv_async_t wanted; /* clients have subscribed to other resources */
    uint64_t build_ms; /* that the last snapshot took */
    unsigned open_handles;
    bool is_dirty;  /* the items differ from what is published */
    bool is_change; /* not only because services were discovered again: the log has a line for it */
    bool is_settled; /* and opts.settled was called */
    bool is_loading; /* the last argument of opts.loading */
    bool was_logged; /* a snapshot with sources was logged */
    bool is_closing;
};

/* ---- registry.c ---- */

/* A source came or went: publish, soon after the last of several. Without `is_change` a service was
 * discovered again and may offer the same: nothing is logged then. */
void cw_sources_changed(cw_sources *s, bool is_change);
/* Call opts.settled when every item was tried. */
void cw_sources_check_settled(cw_sources *s);

/* ---- approvals.c ---- */

void cw_sources_free_approvals(cw_sources *s);

/* ---- order.c ---- */

/* Put the services into the order of the configuration. Returns whether it was another one. */
bool cw_sources_order(cw_sources *s);

/* ---- sessions_end.c ---- */

/* The sources are freed: do not call back. */
void cw_sources_end_drop(cw_sources_end *end);

/* ---- skills.c ---- */

/* Check the directories of skills now, and regularly if an item has one. */
void cw_sources_look_at_skills(cw_sources *s);

/* ---- follow.c ---- */

/* Subscribe to the resources that clients are subscribed to now. */
void cw_sources_follow(cw_sources *s);
/* A server has updated a resource; `ctx` is its item. */
void cw_sources_on_updated(void *ctx, cw_str uri);

/* ---- loader.c ---- */

/* Call the waiters of sources that are not being loaded. */
void cw_sources_call_waiters(cw_sources *s);

/* Load, or load once more when the load that runs has ended. */
void cw_sources_load(cw_registry_item *item);
/* The same by an operator's order: pauses after failures end. */
void cw_sources_reload(cw_registry_item *item);
void cw_sources_cancel_load(cw_registry_item *item);
/* False: the file does not exist, or is not accessible. */
bool cw_file_id_read(const char *path, cw_file_id *ret);

/* Record what the last catalogue leaves out, for the reports on its sources. `items` are those of its
 * offers. Without memory its lines are lost. */
void cw_sources_note_left_out(cw_sources *s, cw_registry_item *const *items);
/* Check the state of all services now, and regularly. */
void cw_sources_check_health(cw_sources *s);

#endif
