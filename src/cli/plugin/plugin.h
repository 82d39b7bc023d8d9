/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin.h - what the `plugin` commands share.
 *
 * A plugin's code never runs in this process: it is loaded by causeway-plugin-host,
 * a child that prints what the plugin would publish.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_PLUGIN_PLUGIN_H
#define CW_CLI_PLUGIN_PLUGIN_H

#include "catalogue/skills.h"
#include "catalogue/snapshot.h"
#include "cli/lib/cli.h"
#include "json/write.h"

#define CW_PLUGIN_SUFFIX ".so"
#define CW_PLUGIN_OFF_SUFFIX ".so.disabled"

/* The methods that a plugin would publish, and its problems. */
typedef struct cw_plugin_report {
    cw_arena arena;
    cw_str name; /* of the plugin: that of its file */
    cw_str stem; /* the path up to the end of the name */
    cw_str version;
    const cw_method *methods; /* in the plugin's order */
    size_t n_methods;
    cw_snapshot *snapshot; /* of this plugin alone; NULL where the plugin has mistakes */
    cw_str problems;       /* its mistakes, one a line; empty: none */
    cw_str warnings;       /* likewise what may be meant otherwise (catalogue/lint.h) */
    cw_schema_policy policy;
    cw_skills *skills; /* those beside the file; NULL: they were not read */
} cw_plugin_report;

/* Have the host load the file, and read its schemas as `config` says. The report borrows `path`. Fails (CW_IO, CW_NOMEM) only
 * where that cannot be found out; a plugin's own mistakes are in the report. Release with
 * cw_plugin_report_done, also after a failure. */
CW_MUST_USE cw_code cw_plugin_inspect(const cw_config *config, const char *host, const char *path,
                                      cw_plugin_report *ret, cw_err *err);
void cw_plugin_report_done(cw_plugin_report *report);
/* Read the skills beside the file into a report. Those that a server would leave out are warnings.
 * CW_NOMEM. */
CW_MUST_USE cw_code cw_plugin_report_skills(cw_plugin_report *report, cw_err *err);
/* Print a report's problems on standard error, each on a line, safe for a terminal. */
void cw_plugin_print_problems(cw_str problems);
/* The lines of problems or warnings as a JSON member: "problems": […]. */
void cw_plugin_write_problems(cw_json_writer *w, cw_str name, cw_str problems);
/* The number of methods and tools; 0 where there are mistakes. */
void cw_plugin_report_count(const cw_plugin_report *report, size_t *ret_methods, size_t *ret_tools);

/* For a method without permissions: "any caller", or, if it requires a login, those that its auth
 * admits. */
const char *cw_plugin_any_caller(bool requires_login);

/* The commands of the group. */
int cw_cli_plugin_new(int argc, char **argv);
int cw_cli_plugin_check(int argc, char **argv);

#endif
