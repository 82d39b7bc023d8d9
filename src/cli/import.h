/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import.h - what the files of `causeway import` share.
 *
 *     import.c         the command
 *     import_try.c     finding out what speaks there
 *     import_write.c   the table, the overlay file, the entry of the configuration
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_IMPORT_H
#define CW_CLI_IMPORT_H

#include "cli/cli.h"
#include "source/asking.h"
#include "source/openrpc.h"

typedef struct cw_import {
    /* What was asked for; NULL: not said. */
    const char *target; /* URL or file */
    const char *preset, *name, *secret_file, *secret_env, *output;
    bool force, json;
    cw_config_strings command; /* in place of a target */
    /* What was found. */
    cw_arena arena;
    cw_config_remote config; /* of what answered; texts are in the arena, or live as long */
    bool is_file;            /* the description is one */
    bool lacks_url;          /* and does not say where the service is */
    const char *describer;
    cw_str warnings;
    const cw_method *methods;
    const cw_guess *guesses; /* one for each */
    size_t n;
    cw_str overlay; /* path of the file */
} cw_import;

/* Ask until something answers, and fill what was found. Returns -1, or reports and returns the exit
 * code. */
int cw_import_try(cw_import *im);

/* Append the overlay: every method, none of them a tool. */
void cw_import_write_overlay(const cw_import *im, cw_buf *out);
/* Append the entry for `sources` of a configuration. */
void cw_import_write_entry(const cw_import *im, cw_buf *out);
/* Append a line for each method; or everything as JSON. */
void cw_import_write_table(const cw_import *im, cw_buf *out);
void cw_import_write_json(const cw_import *im, cw_buf *out);

int cw_cli_import(int argc, char **argv);

#endif
