/* SPDX-License-Identifier: GPL-2.0-or-later */
/* values.h - the kinds of values that options and arguments take, by their word in the help.
 *
 *     --color WHEN     one of a few words
 *     --config FILE    a file: the shell completes it
 *     --as ACCOUNT     a name that a running server, a database or a configuration has
 *
 * A word that the help uses must have a row here; a test walks all commands.
 *
 * Threads: constant.
 */
#ifndef CW_CLI_COMPLETE_VALUES_H
#define CW_CLI_COMPLETE_VALUES_H

#include "base/str.h"

typedef enum cw_complete_kind {
    CW_COMPLETE_NOTHING, /* free text */
    CW_COMPLETE_WORDS,
    CW_COMPLETE_FILES,
    CW_COMPLETE_DIRECTORIES,
    CW_COMPLETE_VARIABLES, /* of the environment */
    CW_COMPLETE_COMMANDS,  /* of this program */
    CW_COMPLETE_CLIENTS,   /* that `install` can configure */
    /* Names of a server: see names.h. */
    CW_COMPLETE_ACCOUNTS,
    CW_COMPLETE_ROLES,
    CW_COMPLETE_PERMISSIONS,
    CW_COMPLETE_SCOPES,
    CW_COMPLETE_SOURCES,
    CW_COMPLETE_TOOLSETS,
    CW_COMPLETE_PLUGINS,
    CW_COMPLETE_TOOLS,
    CW_COMPLETE_METHODS,
    CW_COMPLETE_TOKENS,
    CW_COMPLETE_SESSIONS,
    CW_COMPLETE_TASKS,
    CW_COMPLETE_OAUTH_CLIENTS,
    CW_COMPLETE_GRANTS,
} cw_complete_kind;

typedef struct cw_complete_value {
    const char *name; /* "ACCOUNT" */
    cw_complete_kind kind;
    /* Words: "auto, always, never". Files: the suffix of their names, or NULL. */
    const char *words;
    const char *(*list)(void); /* words that another table has; or NULL */
} cw_complete_value;

/* NULL: no row has this name. */
const cw_complete_value *cw_complete_find_value(cw_str name);

/* The arguments of a command as its help shows them, "[SOURCE...] [METHOD...]": call `fn` with each
 * kind that the argument at `index` may have. */
typedef void (*cw_complete_value_fn)(const cw_complete_value *value, void *ctx);
void cw_complete_each_argument(const char *args, size_t index, cw_complete_value_fn fn, void *ctx);

#endif
