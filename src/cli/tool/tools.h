/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tools.h - what the commands share that show or call tools.
 *
 * Without a server the sources are loaded into this process as the server would load them, and what
 * is asked for goes the way of every call: nothing is allowed here that a client may not do.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_TOOL_TOOLS_H
#define CW_CLI_TOOL_TOOLS_H

#include "cli/lib/admin.h"
#include "server/app.h"

typedef struct cw_tools_opts {
    const char *config;  /* --config, or NULL */
    const char *account; /* who asks; NULL: the anonymous role */
    const char *plugin;  /* --plugin: only this file, and all permissions; or NULL */
    bool is_read_only;   /* the command calls nothing: no audit record */
    bool needs_config;   /* without a configuration: no sources instead of the examples */
    /* Services that are loaded already, instead of loading those of the configuration. Borrowed; NULL:
     * load all. */
    const cw_sources_given *services;
    cw_err *ret_err; /* receives a failure, and nothing is printed or logged; NULL: report it */
} cw_tools_opts;

typedef struct cw_tools {
    cw_loop *loop;
    cw_app app;
    cw_runtime_loop *rl;
    cw_view *view; /* of the caller */
} cw_tools;

/* Load everything, call fn, end everything. Returns what fn does, or reports why it was not called
 * and returns the exit code. Without a configuration there are the example plugins, as for stdio.
 */
int cw_tools_run(const cw_tools_opts *opts, int (*fn)(cw_tools *t, void *ctx), void *ctx);

/* Call fn with the server that `target` names, or with the one that runs. Without one, load
 * everything as cw_tools_run does, and let administration methods use it. Returns what fn does, or
 * reports why it was not called and returns the exit code. */
int cw_tools_ask(const cw_cli_target *target, const cw_tools_opts *opts,
                 int (*fn)(cw_cli_admin *a, void *ctx), void *ctx);
/* Let administration methods that run without a server use the loaded catalogue. */
void cw_tools_lend(const cw_tools *t, cw_cli_admin *a);

/* Whether the caller may call any tool. A refusal has been reported. */
bool cw_tools_may_call(const cw_tools *t);
/* Write the params of causeway.tools.* that name the caller: an account, or (NULL) the anonymous
 * role. */
void cw_tools_write_caller(cw_json_writer *w, const char *account);
/* Whether the caller of a result of causeway.tools.* may list tools. Returns -1, or reports it and
 * returns the exit code. */
int cw_tools_check_caller(const cw_cli_admin *a, const cw_json *result);

#define CW_TOOLS_UNEXPECTED "the server returned an unexpected result"
/* Report that the caller sees no tool or callable method with this name, with the nearest name. */
void cw_tools_report_unknown(const cw_tools *t, const char *name);

#define CW_TOOLS_LINE 100u /* characters */

/* Append the first line of a text, safe for a terminal, with "..." where it is too long. */
void cw_tools_add_line(cw_buf *out, cw_str text);

#endif
