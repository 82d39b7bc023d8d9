/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tools.h - what the commands share that show or call tools without a server.
 *
 * The sources are loaded into this process as the server would load them, and what is asked for
 * goes the way of every call: nothing is allowed here that a client may not do.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_TOOL_TOOLS_H
#define CW_CLI_TOOL_TOOLS_H

#include "cli/lib/cli.h"
#include "server/app.h"

typedef struct cw_tools_opts {
    const char *config;  /* --config, or NULL */
    const char *account; /* who asks; NULL: the anonymous role */
    const char *plugin;  /* --plugin: only this file, and all permissions; or NULL */
    bool is_read_only;   /* the command calls nothing: no audit record */
    bool needs_config;   /* without a configuration: no sources instead of the examples */
    cw_err *ret_err;     /* receives a failure, and nothing is printed or logged; NULL: report it */
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

/* Whether the caller may call, or (`discovers`) list and describe, any tool. A refusal has been
 * reported. */
bool cw_tools_may(const cw_tools *t, bool discovers);
/* The tool, or the callable method, with this name. NULL: the caller sees none, which has been
 * reported with the nearest name. */
const cw_entry *cw_tools_find(const cw_tools *t, const char *name);

#define CW_TOOLS_LINE 100u /* characters */

/* Append the first line of a text, safe for a terminal, with "..." where it is too long. */
void cw_tools_add_line(cw_buf *out, cw_str text);

#endif
