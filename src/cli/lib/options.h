/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options.h - the option reader, as cw_cli_parse and cw_cli_dispatch share it.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_LIB_OPTIONS_H
#define CW_CLI_LIB_OPTIONS_H

#include "cli/lib/cli.h"

typedef struct cw_cli_reader {
    const char *command; /* "causeway serve", for messages */
    /* Tables of options; the second may be NULL. */
    const cw_cli_option *own, *common;
    bool stop_at_argument; /* leave what follows the first argument alone */
    char **argv;
    int argc;
    int at;     /* the word being read; at the end: the first that was left alone */
    int n_args; /* arguments found, moved to argv[1] and up */
} cw_cli_reader;

/* Read the words of argv from 1 on. Returns -1, or reports a mistake and returns CW_EXIT_USAGE. */
int cw_cli_read_options(cw_cli_reader *r);

/* Append "Options:" and a line or more for each option of both tables. */
void cw_cli_describe_options(cw_buf *out, const cw_cli_option *own, const cw_cli_option *common);

/* The options that every command takes. */
#define CW_CLI_COLOR_OPTION(target)                                                                \
    {                                                                                              \
        "color", 0, CW_CLI_TEXT, target, "WHEN", "use colours: auto, always or never"              \
    }
#define CW_CLI_HELP_OPTION(target)                                                                 \
    {                                                                                              \
        "help", 'h', CW_CLI_FLAG, target, NULL, "print this help"                                  \
    }
/* Hand --color on. NULL is fine. Returns -1, or reports a wrong word and returns CW_EXIT_USAGE. */
int cw_cli_apply_color(const char *when);

/* A heading of the help: bold on a terminal. */
void cw_cli_add_heading(cw_buf *out, const char *text);

#endif
