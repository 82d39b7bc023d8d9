/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remotes.h - what the `source` commands share: services of a configuration, loaded as the server
 * would load them, but with nothing kept of it.
 *
 *     cw_remotes all;
 *     int code = cw_remotes_open(path, names, n, &all);
 *     if (code < 0)
 *         code = cw_remotes_load(&all, CW_REMOTES_LOCKED);
 *     if (code < 0)
 *         ... all.items ...
 *     cw_remotes_done(&all);
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_REMOTES_H
#define CW_CLI_REMOTES_H

#include "cli/access.h"
#include "source/asking.h"
#include "source/lock.h"
#include "source/remote.h"

typedef struct cw_remote_item {
    const cw_config_remote *config;
    bool is_wanted; /* named on the command line, or none was */
    /* After loading. */
    cw_source *source; /* NULL: it could not be loaded */
    cw_hub *hub;
    char *problem;   /* lines, or NULL */
    char *warnings;  /* likewise */
    char *widened;   /* likewise: what was accepted of it */
    bool is_faulty;  /* problems that keep no server from using it: credentials, clashes of names */
    bool is_lacking; /* methods that the configuration names, or the lock: warnings say which */
    size_t n_found, n_withheld;
    const cw_remote_definition *definitions;
    size_t n_definitions;
    struct cw_remotes *all;
    cw_remote_job *job;
    cw_asking *probe; /* of its credentials */
} cw_remote_item;

typedef struct cw_remotes {
    cw_config *config;
    cw_remote_item *items; /* in the order of the configuration */
    size_t n;
    size_t n_loading;
    cw_loop *loop;
} cw_remotes;

/* Load the configuration. Names that are no source's are reported, unless *ret_others is wanted:
 * then they are moved to the front of `names`, and counted there. Returns -1, or the exit code;
 * done must be called in either case. */
int cw_remotes_open(const char *config, char **names, size_t n, size_t *ret_others,
                    cw_remotes *ret);
/* `source NOUN [NAME...]` with --config and --json: read the command line, open, have it run and
 * end. Returns the exit code. */
int cw_remotes_command(int argc, char **argv, const char *name, const char *about,
                       int (*run)(cw_remotes *all, bool json));
/* All, whether wanted or not. */
void cw_remotes_want_all(cw_remotes *all);
void cw_remotes_done(cw_remotes *all);

typedef enum cw_remotes_mode {
    CW_REMOTES_CHECK,  /* as the server does, with the lock file */
    CW_REMOTES_DEFINE, /* whatever the lock file says, with definitions */
    CW_REMOTES_ACCEPT, /* as the server does, and its description is kept for the server */
} cw_remotes_mode;

/* Load those that are wanted, call fn, end everything. Returns what fn does. */
int cw_remotes_run(cw_remotes *all, cw_remotes_mode mode, int (*fn)(cw_remotes *all, void *ctx),
                   void *ctx);

/* Report that a source could not be loaded, each line of its problem on one. */
void cw_remotes_report(const cw_remote_item *item);
/* The lock file of the configuration, *ret NULL where there is none yet. Returns -1, or reports why
 * not and returns the exit code. */
int cw_remotes_read_lock(const cw_remotes *all, cw_lock **ret);

/* Order a running server to ask those that are wanted again. CW_CONFIG: there is no database. */
CW_MUST_USE cw_code cw_remotes_order(const cw_remotes *all, cw_err *err);

int cw_cli_source(int argc, char **argv);
int cw_cli_source_list(int argc, char **argv);
int cw_cli_source_check(int argc, char **argv);
int cw_cli_source_refresh(int argc, char **argv);
int cw_cli_source_diff(int argc, char **argv);
int cw_cli_source_approve(int argc, char **argv);
int cw_cli_source_accept(int argc, char **argv);

#endif
