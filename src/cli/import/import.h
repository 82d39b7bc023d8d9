/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import.h - what the files of `causeway import` share.
 *
 *     import.c         the command
 *     secret.c  how it is shown a secret
 *     probe.c     finding out what speaks there
 *     write.c   the table, the overlay file, the entry of the configuration
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_IMPORT_IMPORT_H
#define CW_CLI_IMPORT_IMPORT_H

#include "cli/lib/cli.h"
#include "source/openrpc/openrpc.h"
#include "source/remote/discovery.h"

typedef struct cw_import {
    /* Options of the command line; NULL: not given. */
    const char *target; /* URL or file */
    const char *preset, *name, *secret_file, *secret_env, *secret_as, *output;
    bool force, json;
    cw_config_strings command; /* in place of a target */
    /* What was found. */
    cw_arena arena;
    cw_config_remote config; /* of what answered; texts are in the arena, or live as long */
    cw_str place;            /* HOST:PORT[/PATH] without a scheme, or empty */
    bool is_file;            /* the description is one */
    bool lacks_url;          /* and does not say where the service is */
    const char *describer;
    bool is_partial; /* a richer description cannot be read with these credentials */
    cw_str warnings;
    const cw_method *methods;
    const cw_risk *guesses; /* one for each */
    size_t n;
    cw_str overlay; /* path of the file */
} cw_import;

/* A path from the root, whether there is such a file or not; .p is NULL without memory or a current
 * folder. */
cw_str cw_import_absolute(cw_import *im, const char *path);

/* The name of the service in messages while it is asked: what the operator calls it, its program,
 * or where it is. */
cw_str cw_import_own_name(const cw_import *im);

/* Ask until something answers, and fill what was found. Returns -1, or reports and returns the exit
 * code. */
int cw_import_try(cw_import *im);

bool cw_import_has_secret(const cw_import *im);
/* Fill how the secret is shown, as --secret-as, the preset or its shape says. Returns -1, or
 * reports and returns the exit code. */
int cw_import_place_secret(cw_import *im, bool is_http);
/* The word for `secret.as` of what was found; empty where it need not be said. */
cw_str cw_import_secret_word(const cw_import *im);
/* Report what can be done about a service that asks for a login. Returns the exit code. */
int cw_import_report_login(const cw_import *im);

/* Append the overlay: every method, none of them a tool. */
void cw_import_write_overlay(const cw_import *im, cw_buf *out);
/* Append `roles` of a configuration that allow anonymous callers to use the tools. */
void cw_import_write_roles(cw_buf *out);
/* Append the entry for `sources` of a configuration. */
void cw_import_write_entry(const cw_import *im, cw_buf *out);
/* Append a line for each method; or everything as JSON. */
void cw_import_write_table(const cw_import *im, cw_buf *out);
void cw_import_write_json(const cw_import *im, cw_buf *out);

#endif
