/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source_set.h - what the `source` commands share: services of a configuration, loaded as the
 * server would load them, but with nothing kept of it.
 *
 *     static int check(cw_source_set *all)
 *     {
 *         return cw_source_set_run(all, CW_SOURCE_SET_CHECK, print_checked, NULL);
 *     }
 *     static const cw_source_command command = {.name = "source check", ..., .run = check};
 *     return cw_source_set_command(&command, argc, argv);
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_SOURCE_SOURCE_SET_H
#define CW_CLI_SOURCE_SOURCE_SET_H

#include "cli/lib/admin.h"
#include "cli/lib/table.h"
#include "server/options/name_list.h"
#include "source/remote/discovery.h"
#include "source/remote/lock/lock_approve.h"
#include "source/remote/remote.h"

typedef struct cw_source_set_item {
    const cw_config_remote *config;
    bool is_wanted; /* named on the command line, or none was */
    /* After loading. */
    cw_source *source; /* NULL: it could not be loaded */
    cw_shared_conn *shared;
    char *problem;   /* lines, or NULL */
    char *warnings;  /* likewise */
    char *widened;   /* likewise: what was accepted of it */
    bool is_faulty;  /* problems that keep no server from using it: credentials, clashes of names */
    bool is_stale;   /* the service did not give a usable description: `source` has a stored one */
    bool is_lacking; /* methods that the configuration names, or the lock: warnings say which */
    size_t n_found, n_withheld;
    size_t n_tools; /* set by cw_source_set_test: without those whose names belong to others */
    const cw_remote_definition *definitions;
    size_t n_definitions;
    struct cw_source_set *all;
    cw_remote_job *job;
    cw_discovery *probe; /* of its credentials */
} cw_source_set_item;

typedef struct cw_source_set {
    cw_cli_target target;        /* the server to ask */
    cw_config *config;           /* NULL with --server */
    cw_config_remote *of_server; /* with --server: its services, by name alone */
    cw_arena names;
    cw_source_set_item *items; /* in the order of the configuration */
    size_t n;
    size_t n_loading;
    cw_loop *loop;
    cw_err uncompared; /* why names of plugins were not compared; code CW_OK: they were */
    /* Permissions of roles: others are a warning. NULL: not known, or not asked. */
    const cw_name_list *granted;
    /* The command line. */
    bool json;
    const char *etag; /* --etag, or NULL */
    bool is_silent;   /* nothing is logged */
    size_t n_named;   /* sources that are named */
    char **methods;   /* other names, if the command takes them */
    size_t n_methods;
    cw_remote_approvals approvals; /* while sources are loaded, of the database; else empty */
    int64_t version;               /* of approvals in the database that were read */
} cw_source_set;

/* A command for services: --config, perhaps --server and --json, and names. */
typedef struct cw_source_command {
    const char *name; /* "source list" */
    const char *args; /* "[SOURCE...]" */
    const char *about;
    bool has_json;
    bool has_etag;      /* takes --etag */
    bool has_server;    /* a server elsewhere can do it: all->config may be NULL */
    bool takes_methods; /* a name that is no source is a method, otherwise an error */
    int (*run)(cw_source_set *all);
} cw_source_command;

/* Read the command line, load the configuration, select the named sources (or all), run the
 * command, and release everything. Returns the exit code. */
int cw_source_set_command(const cw_source_command *command, int argc, char **argv);

typedef enum cw_source_set_mode {
    CW_SOURCE_SET_CHECK,  /* as the server does, with the lock file */
    CW_SOURCE_SET_DEFINE, /* whatever the lock file says, with definitions */
    CW_SOURCE_SET_ACCEPT, /* as the server does, and its description is kept for the server */
} cw_source_set_mode;

/* Load those that are wanted, call fn, end everything. Returns what fn does. */
int cw_source_set_run(cw_source_set *all, cw_source_set_mode mode,
                      int (*fn)(cw_source_set *all, void *ctx), void *ctx);

/* Make an item for each source of all->config, all of them wanted. The caller frees all->items.
 * CW_NOMEM. */
CW_MUST_USE cw_code cw_source_set_fill(cw_source_set *all);
/* Test the credentials of those that are loaded with one call that changes nothing, and find methods
 * that another one, a plugin or the server offers. Sets `problem`, `is_faulty` and `uncompared`.
 * CW_NOMEM. */
CW_MUST_USE cw_code cw_source_set_test(cw_source_set *all);
/* Add a line to `problem`, and set `is_faulty`. Without memory the line is lost. */
void cw_source_set_add_problem(cw_source_set_item *item, cw_str text);
/* Report that a source could not be loaded, each line of its problem on one. */
void cw_source_set_report(const cw_source_set_item *item);

/* ---- clashes.c ---- */

/* The part of cw_source_set_test that compares names. Each plugin is loaded in a separate process. */
CW_MUST_USE cw_code cw_source_set_find_clashes(cw_source_set *all);

/* ---- source_lock.c ---- */

/* The lock of the configuration, a file or in the database; *ret is NULL if nothing was ever approved.
 * Returns -1, or reports why not and returns the exit code. */
int cw_source_set_read_lock(cw_source_set *all, cw_lock **ret);
/* Set all->approvals by the database; `why` has the text of a problem. */
void cw_source_set_read_approvals(cw_source_set *all, cw_err *why);
/* Write an approval of what cw_source_set_read_lock has read. Fails as cw_lock_write and
 * cw_approvals_write. */
CW_MUST_USE cw_code cw_source_set_save(const cw_source_set *all, const cw_lock_approval *approval,
                                       cw_err *err);

/* ---- source_set.c ---- */

/* Compare those that are loaded with the lock file: an array of differences (lock_diff.h) in `out`,
 * and its hash. CW_NOMEM, CW_LIMIT, CW_PARSE: a definition cannot be read. */
CW_MUST_USE cw_code cw_source_set_compare(const cw_source_set *all, const cw_lock *lock,
                                          cw_buf *out, char ret_etag[CW_LOCK_HASH + 1],
                                          cw_err *err);
/* Write the param `names` of a method: the sources that are named, if any is. `all` is a
 * cw_source_set. */
void cw_source_set_write_names(cw_json_writer *w, const void *all);
/* Call causeway.sources.diff for those that are named, or all. *ret has the array `differences`.
 * Returns -1, or reports why not and returns the exit code. */
int cw_source_set_ask_diff(const cw_source_set *all, cw_cli_admin *a, const cw_json **ret);
/* Report an error and return the exit code: CW_PARAMS is a mistake of the command line. */
int cw_source_set_fail(cw_code rc, const cw_err *err);
/* Report the member `problems` of a result. Returns whether it is empty. */
bool cw_source_set_report_problems(const cw_json *result);

/* Make the running server read the descriptions of those that are wanted again, and append a line
 * for each to `out`. CW_NOTFOUND: no server runs. */
CW_MUST_USE cw_code cw_source_set_refresh(const cw_source_set *all, cw_buf *out, cw_err *err);

int cw_cli_source_check(int argc, char **argv);
int cw_cli_source_diff(int argc, char **argv);
int cw_cli_source_approve(int argc, char **argv);

#endif
