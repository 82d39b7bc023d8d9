/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import.h - `causeway import`: probe.c detects the service, import.c writes the result.
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

/* Find the service, choose its name and write its overlay, which lists every method and exposes none.
 * The arena is ready. Returns -1, or reports and returns the exit code. */
int cw_import_service(cw_import *im);
/* Append `sources` of a configuration with the entry of the service. */
void cw_import_add_entry(const cw_import *im, cw_buf *out);

/* The same without the first line: an item of the list. */
void cw_import_add_item(const cw_import *im, cw_buf *out);
/* `import --from-clients`: copy MCP servers out of the files of MCP clients. Nothing is started.
 * im->output is a directory; NULL: the current one. Returns the exit code. */
int cw_import_from_clients(cw_import *im, bool is_sure);

#define CW_IMPORT_ARENA_MAX ((size_t)1 << 30)

/* Ask until something answers, and fill what was found. Returns -1, or reports and returns the exit
 * code. */
int cw_import_try(cw_import *im);

/* The word for `secret.as` of the detected service; empty: the default applies. */
cw_str cw_import_secret_word(const cw_import *im);

#endif
