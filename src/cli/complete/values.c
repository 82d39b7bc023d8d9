/* SPDX-License-Identifier: GPL-2.0-or-later */
/* values.c - the table of kinds of values, and the arguments of a command. */
#include "cli/complete/values.h"

#include "audit/filter.h"
#include "base/attr.h"
#include "source/upstream/preset.h"

static const char *outcomes(void)
{
    return cw_audit_outcomes;
}

static const char *kinds(void)
{
    return cw_audit_kinds;
}

static const cw_complete_value values[] = {
    {.name = "ACCOUNT", .kind = CW_COMPLETE_ACCOUNTS},
    {.name = "ARGUMENT", .kind = CW_COMPLETE_FILES},
    {.name = "CALLER", .kind = CW_COMPLETE_ACCOUNTS},
    {.name = "CLIENT", .kind = CW_COMPLETE_CLIENTS},
    {.name = "CLIENT-ID", .kind = CW_COMPLETE_OAUTH_CLIENTS},
    {.name = "CODE", .kind = CW_COMPLETE_NOTHING},
    {.name = "COMMAND", .kind = CW_COMPLETE_COMMANDS},
    {.name = "COMPONENT=LEVEL", .kind = CW_COMPLETE_NOTHING},
    {.name = "DATABASE", .kind = CW_COMPLETE_FILES},
    {.name = "DIRECTORY", .kind = CW_COMPLETE_DIRECTORIES},
    {.name = "DRAFT", .kind = CW_COMPLETE_WORDS, .words = "7, 2020-12"},
    {.name = "DURATION", .kind = CW_COMPLETE_NOTHING},
    {.name = "ETAG", .kind = CW_COMPLETE_NOTHING},
    {.name = "FILE", .kind = CW_COMPLETE_FILES},
    {.name = "FILE.so", .kind = CW_COMPLETE_FILES, .words = ".so"},
    {.name = "FORM", .kind = CW_COMPLETE_WORDS, .words = "portable, exact"},
    {.name = "FORMAT", .kind = CW_COMPLETE_WORDS, .words = "flag, basic, detailed"},
    {.name = "GRANT-ID", .kind = CW_COMPLETE_GRANTS},
    {.name = "HOST:PORT", .kind = CW_COMPLETE_NOTHING},
    {.name = "HOW",
     .kind = CW_COMPLETE_WORDS,
     .words = "bearer, basic, header:, first_param, param:"},
    {.name = "INSTANCE", .kind = CW_COMPLETE_FILES},
    {.name = "KIND", .kind = CW_COMPLETE_WORDS, .list = kinds},
    {.name = "LEVEL", .kind = CW_COMPLETE_WORDS, .words = "error, warn, info, debug, off"},
    {.name = "METHOD", .kind = CW_COMPLETE_METHODS},
    {.name = "N", .kind = CW_COMPLETE_NOTHING},
    {.name = "NAME", .kind = CW_COMPLETE_NOTHING},
    {.name = "NAME=VALUE", .kind = CW_COMPLETE_NOTHING},
    {.name = "OUTCOME", .kind = CW_COMPLETE_WORDS, .list = outcomes},
    {.name = "PERMISSION", .kind = CW_COMPLETE_PERMISSIONS},
    {.name = "PLUGIN", .kind = CW_COMPLETE_PLUGINS},
    {.name = "PRESET", .kind = CW_COMPLETE_WORDS, .list = cw_preset_names},
    {.name = "PROGRAM", .kind = CW_COMPLETE_FILES},
    {.name = "ROLE", .kind = CW_COMPLETE_ROLES},
    {.name = "SCHEMA", .kind = CW_COMPLETE_FILES},
    {.name = "SCOPE", .kind = CW_COMPLETE_SCOPES},
    {.name = "SECONDS", .kind = CW_COMPLETE_NOTHING},
    {.name = "SESSION-ID", .kind = CW_COMPLETE_SESSIONS},
    {.name = "SOURCE", .kind = CW_COMPLETE_SOURCES},
    {.name = "TAG", .kind = CW_COMPLETE_WORDS, .words = "jsonrpc_mcp:discovery, user.permissions"},
    {.name = "TASK-ID", .kind = CW_COMPLETE_TASKS},
    {.name = "TEXT", .kind = CW_COMPLETE_NOTHING},
    {.name = "TIME", .kind = CW_COMPLETE_NOTHING},
    {.name = "TOKEN-ID", .kind = CW_COMPLETE_TOKENS},
    {.name = "TOOL", .kind = CW_COMPLETE_TOOLS},
    {.name = "TOOLSET", .kind = CW_COMPLETE_TOOLSETS},
    {.name = "URL", .kind = CW_COMPLETE_NOTHING},
    {.name = "VARIABLE", .kind = CW_COMPLETE_VARIABLES},
    {.name = "WHEN", .kind = CW_COMPLETE_WORDS, .words = "auto, always, never"},
};

const cw_complete_value *cw_complete_find_value(cw_str name)
{
    for (size_t i = 0; i < CW_COUNT(values); i++)
        if (cw_str_is(name, values[i].name))
            return &values[i];
    return NULL;
}

/* ---- arguments ---- */

/* "[SOURCE...]" is SOURCE, repeated. */
static cw_str read_argument(cw_str text, bool *ret_repeated)
{
    if (cw_str_starts(text, CW_STR("[")))
        text = cw_str_make(text.p + 1, text.n - 1);
    if (cw_str_ends(text, CW_STR("]")))
        text.n--;
    *ret_repeated = cw_str_ends(text, CW_STR("..."));
    if (*ret_repeated)
        text.n -= 3;
    return text;
}

/* The alternatives of one argument: "URL|FILE|--exec". */
static void each_alternative(cw_str text, cw_complete_value_fn fn, void *ctx)
{
    while (text.p) {
        const cw_complete_value *value = cw_complete_find_value(cw_str_cut(text, '|', &text));
        if (value)
            fn(value, ctx);
    }
}

void cw_complete_each_argument(const char *args, size_t index, cw_complete_value_fn fn, void *ctx)
{
    cw_str rest = cw_str_from(args);
    bool is_behind_repeated = false;
    for (size_t i = 0; rest.p; i++) {
        bool is_repeated;
        cw_str argument = read_argument(cw_str_cut(rest, ' ', &rest), &is_repeated);
        /* "CLIENT | --all": an option instead of the argument. */
        if (cw_str_is(argument, "|"))
            return;
        if (i == index || (i < index && is_repeated) || is_behind_repeated)
            each_alternative(argument, fn, ctx);
        is_behind_repeated = is_behind_repeated || (is_repeated && i <= index);
    }
}
