/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_sources.c - the words of `sources` (presets, dialects, …), which the configuration takes
 * as texts: only those who speak to services know them.
 *
 * The first wrong word ends the reading of an entry. So that all are told at once, it is taken out
 * of a copy, and the copy is read again.
 */
#include "cli/lib/cli.h"
#include "config/syntax/quote.h"
#include "config/toolset_path.h"
#include "source/upstream/preset.h"

typedef struct place {
    const char *key;
    size_t offset; /* of its text in the entry */
} place;

#define PLACE(key, field)                                                                          \
    {                                                                                              \
        key, offsetof(cw_config_remote, field)                                                     \
    }

static const place places[] = {
    PLACE("preset", preset),
    PLACE("http_method", http_method),
    PLACE("framing", framing),
    PLACE("dialect", dialect),
    PLACE("params", params),
    PLACE("ids", ids),
    PLACE("empty_params", empty_params),
    PLACE("match_replies", match_replies),
    PLACE("speaks_first", greeting),
    PLACE("secret.as", secret.as),
    PLACE("discovery", describe),
};

/* Take the word out that a message begins with. False: it is about no word, or was out already. */
static bool take_out(cw_config_remote *entry, const char *message)
{
    for (size_t i = 0; i < CW_COUNT(places); i++) {
        size_t n = strlen(places[i].key);
        if (strncmp(message, places[i].key, n) != 0 || message[n] != ':')
            continue;
        cw_str *text = (cw_str *)(void *)((char *)entry + places[i].offset);
        bool was_there = text->n > 0;
        *text = CW_STR("");
        return was_there;
    }
    return false;
}

static cw_code add_problem(cw_config_problems *problems, const char *file, uint32_t line,
                           size_t index, const char *message)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_CONFIG_MAX_BYTES);
    if (file)
        cw_buf_printf(&text, "%s:%u: ", file, line);
    /* Some are about a key, others about the whole entry. */
    const char *gap = message + strcspn(message, ": ");
    cw_buf_printf(&text, "sources[%zu]%s", index, *gap == ':' ? "." : ": ");
    cw_quote_shown(&text, cw_str_from(message));
    problems->total++;
    if (problems->n == CW_CONFIG_MAX_PROBLEMS)
        return CW_OK;
    cw_str kept =
        text.code ? (cw_str){NULL, 0} : cw_arena_dup_str(&problems->arena, cw_buf_str(&text));
    if (!kept.p)
        return CW_NOMEM;
    problems->items[problems->n++] = (cw_config_problem){kept.p, line, 0};
    return CW_OK;
}

static cw_code check_source(const cw_config_remote *source, const char *file, size_t index,
                            cw_config_problems *problems)
{
    cw_config_remote left = *source; /* what is not known to be wrong */
    cw_code rc = CW_OK;
    bool is_more = true;
    while (is_more && !rc) {
        cw_config_remote filled = left;
        cw_preset_values words;
        cw_err err = {0};
        if (!cw_preset_apply(&filled, &words, &err))
            return CW_OK;
        rc = add_problem(problems, file, source->line, index, err.msg);
        is_more = take_out(&left, err.msg);
    }
    return rc;
}

cw_code cw_cli_check_sources(const char *file, const cw_config *config,
                             cw_config_problems *problems, cw_err *err)
{
    for (size_t i = 0; i < config->sources.n; i++) {
        if (check_source(&config->sources.items[i], file, i, problems))
            return cw_fail_nomem(err);
    }
    if (problems->total == 0)
        return CW_OK;
    return cw_fail(err, CW_CONFIG, "%s", problems->n ? problems->items[0].text : "");
}

int cw_cli_load_checked(const char *option, cw_config **ret)
{
    cw_config *config = NULL;
    cw_err err = {0};
    int code = cw_cli_load_config(option, &config);
    if (code >= 0)
        return code;
    cw_config_problems problems;
    cw_config_problems_init(&problems);
    cw_code rc = cw_cli_check_sources(cw_cli_config_path(option), config, &problems, &err);
    code = rc ? cw_cli_config_failure(rc, &problems, &err) : -1;
    cw_config_problems_done(&problems);
    if (rc)
        cw_config_unref(config);
    else
        *ret = config;
    return code;
}

int cw_cli_check_toolset(const cw_config *config, const char *toolset)
{
    cw_str name;
    bool is_read_only;
    if (!cw_config_toolset_path_split(cw_str_from(toolset), &name, &is_read_only))
        return cw_cli_usage("a toolset is NAME or NAME/readonly, not %s", toolset);
    if (config && cw_config_toolset_path_is_known(config, name))
        return -1;
    return cw_cli_failure("the configuration has no toolset '%.*s'", CW_STR_ARG(name));
}
