/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli.h - what the sub-commands share: entry points, options, exit codes, output.
 *
 * A sub-command is one file with one function, listed in the table in program.c (or in
 * the table of the group it belongs to). It gets its own name as argv[0] and
 * returns an exit code.
 *
 * Options are GNU style and come from a table, from which --help is printed too:
 *
 *     const char *config = NULL;
 *     const cw_cli_option options[] = {
 *         {"config", 'c', CW_CLI_TEXT, &config, "FILE", "read the configuration from FILE"},
 *         {0},
 *     };
 *     const cw_cli_spec spec = {"serve", "", "Start the server.", options, 0};
 *     int exit = cw_cli_parse(&spec, argc, argv, NULL);
 *     if (exit >= 0)
 *         return exit;
 *
 * Threads: main thread only, before any loop starts.
 */
#ifndef CW_CLI_LIB_CLI_H
#define CW_CLI_LIB_CLI_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "config/config.h"

/* The exit codes of every sub-command; docs/cli.md and `causeway help exit-codes` list them. */
typedef enum cw_exit {
    CW_EXIT_OK = 0,
    CW_EXIT_FAILURE = 1, /* something failed at run time */
    CW_EXIT_USAGE = 2,   /* wrong command line or configuration: a retry will not help */
} cw_exit;

typedef enum cw_cli_kind {
    CW_CLI_FLAG,  /* bool *: --name */
    CW_CLI_TEXT,  /* const char **: --name VALUE or --name=VALUE; may be given once */
    CW_CLI_TEXTS, /* cw_cli_texts *: the same, repeatable */
} cw_cli_kind;

#define CW_CLI_MAX_TEXTS 16u    /* of an option that does not say how many it takes */
#define CW_CLI_MANY_TEXTS 1024u /* that any may take */

typedef struct cw_cli_texts {
    const char *items[CW_CLI_MANY_TEXTS];
    size_t n;
    size_t max;          /* 0: CW_CLI_MAX_TEXTS */
    const char *instead; /* what to do where there are more; or NULL */
} cw_cli_texts;

typedef struct cw_cli_option {
    const char *name; /* without dashes; NULL ends the table */
    char letter;      /* or 0 */
    cw_cli_kind kind;
    void *target;
    const char *value; /* "FILE" in the help; NULL for a flag */
    const char *help;  /* a newline begins another line */
} cw_cli_option;

/* The command line of a sub-command, for parsing and for --help. */
typedef struct cw_cli_spec {
    const char *name;             /* "serve", "config check" */
    const char *args;             /* "[FILE...]"; "" when it takes none */
    const char *about;            /* sentences for --help, lines of at most 79 columns */
    const cw_cli_option *options; /* NULL: only those that every command takes */
    size_t max_args;
} cw_cli_spec;

/* A word and its explanation: a row of a help topic. */
typedef struct cw_cli_term {
    const char *word; /* NULL ends the table */
    const char *text; /* a newline begins another line */
} cw_cli_term;

/* A topic of `causeway help`; the manual page has the same rows. */
typedef struct cw_cli_topic {
    const char *name; /* NULL ends the table */
    const char *heading;
    const cw_cli_term *terms;
    int width;        /* of the words */
    const char *more; /* a line behind the terms; NULL: none */
} cw_cli_topic;

extern const cw_cli_topic cw_cli_topics[];

/* Options that several commands take. */
#define CW_CLI_CONFIG_OPTION(target)                                                               \
    {                                                                                              \
        "config", 'c', CW_CLI_TEXT, target, "FILE",                                                \
            "read the configuration from FILE; default: the file\n"                                \
            "named by $CAUSEWAY_CONFIG, if any"                                                    \
    }
#define CW_CLI_TOOL_NAMES_OPTION(target)                                                           \
    {                                                                                              \
        "tool-names", 0, CW_CLI_TEXT, target, "FORM",                                              \
            "show MCP clients portable or exact names of tools\n"                                  \
            "instead of mcp.tool_names in the configuration"                                       \
    }
#define CW_CLI_TOOLSET_OPTION(target)                                                              \
    {                                                                                              \
        "toolset", 0, CW_CLI_TEXT, target, "TOOLSET",                                              \
            "show only the tools of this entry of toolsets: NAME,\n"                               \
            "or NAME/readonly"                                                                     \
    }
#define CW_CLI_JSON_OPTION(target)                                                                 \
    {                                                                                              \
        "json", 0, CW_CLI_FLAG, target, NULL, "print JSON"                                         \
    }

/* The arguments after the options, in order: pointers into argv. */
typedef struct cw_cli_args {
    char **items;
    size_t n;
} cw_cli_args;

/* Read the options of argv (argv[0] is the command's name) into their targets. --help prints the
 * spec, --color=WHEN is taken by every command, "--" ends the options; options and arguments may be
 * mixed (argv is reordered). Returns -1 to go on, else the exit code to return at once: a mistake
 * has been reported on standard error with the nearest right spelling. `ret_args` may be NULL when
 * max_args is 0. */
int cw_cli_parse(const cw_cli_spec *spec, int argc, char **argv, cw_cli_args *ret_args);

/* A sub-command as its group knows it. */
typedef struct cw_cli_command {
    const char *name;    /* NULL ends the table */
    const char *summary; /* NULL: for programs; help, manual and completions omit it */
    int (*run)(int argc, char **argv);
} cw_cli_command;

typedef struct cw_cli_group {
    const char *name; /* "causeway", "causeway config" */
    const char *about;
    const char *more; /* printed behind the commands; may be NULL */
    const cw_cli_command *commands;
} cw_cli_group;

/* Run the command that argv[1] names, with argv + 1. --help (or -h), --version (or -V) and
 * --color=WHEN may stand in front of it. */
int cw_cli_dispatch(const cw_cli_group *group, int argc, char **argv);

/* Receives the tables of a command that is visited. `common` are the options that every command, or
 * every group, takes. The tables live until the function returns. */
typedef struct cw_cli_visitor {
    void (*on_group)(const cw_cli_group *group, const cw_cli_option *common, void *ctx);
    void (*on_command)(const cw_cli_spec *spec, const cw_cli_option *common, void *ctx);
    void *ctx;
} cw_cli_visitor;

/* Call one of the functions with the table from which `run --help` prints its help. Nothing is
 * printed, and nothing is run. A function may visit the commands of its group. */
void cw_cli_visit(int (*run)(int argc, char **argv), const char *name,
                  const cw_cli_visitor *visitor);

/* The program: all sub-commands. */
int cw_cli_program(int argc, char **argv);

/* The sub-commands. */
int cw_cli_access(int argc, char **argv);
int cw_cli_account(int argc, char **argv);
int cw_cli_audit(int argc, char **argv);
int cw_cli_cache(int argc, char **argv);
int cw_cli_call(int argc, char **argv);
int cw_cli_complete(int argc, char **argv);
int cw_cli_config(int argc, char **argv);
int cw_cli_describe(int argc, char **argv);
int cw_cli_doctor(int argc, char **argv);
int cw_cli_import(int argc, char **argv);
int cw_cli_init(int argc, char **argv);
int cw_cli_install(int argc, char **argv);
int cw_cli_list(int argc, char **argv);
int cw_cli_log(int argc, char **argv);
int cw_cli_permission(int argc, char **argv);
int cw_cli_plugin(int argc, char **argv);
int cw_cli_reload(int argc, char **argv);
int cw_cli_role(int argc, char **argv);
int cw_cli_schema(int argc, char **argv);
int cw_cli_scope(int argc, char **argv);
int cw_cli_serve(int argc, char **argv);
int cw_cli_server_json(int argc, char **argv);
int cw_cli_client(int argc, char **argv);
int cw_cli_grant(int argc, char **argv);
int cw_cli_key(int argc, char **argv);
int cw_cli_session(int argc, char **argv);
int cw_cli_task(int argc, char **argv);
int cw_cli_source(int argc, char **argv);
int cw_cli_status(int argc, char **argv);
int cw_cli_top(int argc, char **argv);
int cw_cli_stdio(int argc, char **argv);
int cw_cli_store(int argc, char **argv);
int cw_cli_token(int argc, char **argv);
int cw_cli_token_inspect(int argc, char **argv);
int cw_cli_translations(int argc, char **argv);
int cw_cli_upgrade(int argc, char **argv);
int cw_cli_version(int argc, char **argv);
int cw_cli_why(int argc, char **argv);

/* "causeway: message" on standard error, in colour on a terminal. Return CW_EXIT_USAGE and
 * CW_EXIT_FAILURE. */
CW_PRINTF(1, 2) int cw_cli_usage(const char *fmt, ...);
CW_PRINTF(1, 2) int cw_cli_failure(const char *fmt, ...);
/* Also append all such messages to a buffer, for a process that starts this one. Borrowed. */
void cw_cli_keep_complaints(cw_buf *out);
/* Report what cw_config_load returned: every problem on a line of its own, or the error. Returns
 * CW_EXIT_USAGE, or CW_EXIT_FAILURE for CW_NOMEM. */
int cw_cli_config_failure(cw_code code, const cw_config_problems *problems, const cw_err *err);
/* Check the words of `sources`, which cw_config_load takes as texts. CW_CONFIG: `problems` has what
 * is wrong, as if cw_config_load had found it. */
CW_MUST_USE cw_code cw_cli_check_sources(const char *file, const cw_config *config,
                                         cw_config_problems *problems, cw_err *err);
/* --config, else $CAUSEWAY_CONFIG when set and not empty, else NULL: the defaults. */
const char *cw_cli_config_path(const char *option);
/* Load the configuration that this names, or report why not. Returns -1 with one, else the exit
 * code. */
int cw_cli_load_config(const char *option, cw_config **ret);
/* The same, with the words of `sources` checked too. */
int cw_cli_load_checked(const char *option, cw_config **ret);

/* Whether the configuration (NULL: the defaults) has the toolset of --toolset: "NAME" or
 * "NAME/readonly". Returns -1, or reports that it has not and returns the exit code. */
int cw_cli_check_toolset(const cw_config *config, const char *toolset);

/* For commands that load one plugin file instead of a configuration. */
/* Whether FILE has the name of a plugin. Returns -1, or reports it and returns the exit code. */
int cw_cli_check_plugin(const char *plugin);
/* The file without its directory, a part of `plugin`. */
const char *cw_cli_plugin_file(const char *plugin);
/* Write a configuration whose plugin directory is that of the file. CW_IO: it cannot be read. */
CW_MUST_USE cw_code cw_cli_plugin_config(const char *plugin, cw_buf *out, cw_err *err);

/* Use the log options of a configuration. */
CW_MUST_USE cw_code cw_cli_configure_log(const cw_config *config, cw_err *err);

/* Write all of `text` to standard output and flush. Returns CW_EXIT_OK, or reports (a full disk, a
 * closed pipe) and returns CW_EXIT_FAILURE. */
int cw_cli_print(cw_str text);
/* The same for a finished buffer, which may have failed; it is done with afterwards. */
int cw_cli_print_buf(cw_buf *text);

/* Colours: for a terminal, unless NO_COLOR is set and not empty or TERM is "dumb"; --color=always
 * and --color=never override that. */
typedef enum cw_cli_style {
    CW_CLI_PLAIN,
    CW_CLI_BOLD,
    CW_CLI_RED,
    CW_CLI_GREEN,
} cw_cli_style;

/* "auto", "always" or "never"; false for anything else. */
bool cw_cli_set_color(cw_str when);
/* The escape sequence for a style on standard output (fd 1) or standard error (fd 2), or "". */
const char *cw_cli_escape(int fd, cw_cli_style style);

#endif
