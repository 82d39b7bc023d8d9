/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config.c - loads a configuration: text, document, values, rules. */
#include "config/config.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/file.h"
#include "config/keys/keys.h"
#include "config/rules.h"
#include "config/syntax/check.h"
#include "config/syntax/quote.h"

#define ARENA_MAX_BYTES (16u * CW_CONFIG_MAX_BYTES)

/* A configuration as it is allocated: the struct that everyone sees comes first. */
typedef struct loaded {
    cw_config config;
    atomic_uint refs;
    cw_arena arena;
} loaded;

static loaded *new_loaded(void)
{
    loaded *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->config = cw_config_defaults;
    atomic_init(&l->refs, 1);
    cw_arena_init(&l->arena, ARENA_MAX_BYTES);
    return l;
}

/* A checker whose messages name an option of the command line, not a line of the file. */
static cw_checker command_line_checker(const cw_checker *c)
{
    cw_checker given = *c;
    given.file = NULL;
    given.doc = NULL;
    return given;
}

/* The addresses of the command line in place of those of the file. */
static cw_code override_listen(cw_checker *c, const cw_config_source *source, cw_config *config)
{
    cw_config_listener *items = cw_arena_calloc(c->arena, source->n_listen, sizeof *items);
    if (!items)
        return cw_arena_fail(c->arena, c->err);
    cw_checker given = command_line_checker(c);
    const cw_place root = {0};
    const cw_place place = {.up = &root, .name = CW_STR("--listen")};
    for (size_t i = 0; i < source->n_listen; i++) {
        cw_str text = cw_str_from(source->listen[i]);
        const cw_json v = {text.p, (uint32_t)text.n, CW_JSON_STRING};
        const cw_key key = {.type = &cw_type_address};
        cw_code rc = cw_type_address.read(&given, &key, &place, &v, &items[i].address);
        if (rc)
            return rc;
    }
    config->listen = (cw_config_listeners){items, source->n_listen};
    return CW_OK;
}

/* The word of the command line in place of that of the file. */
static cw_code override_tool_names(cw_checker *c, const char *word, cw_config *config)
{
    cw_checker given = command_line_checker(c);
    const cw_place root = {0};
    const cw_place place = {.up = &root, .name = CW_STR("--tool-names")};
    cw_str text = cw_str_from(word);
    const cw_json v = {text.p, (uint32_t)text.n, CW_JSON_STRING};
    const cw_key key = {
        .type = &cw_type_enum, .choices = cw_config_forms, .size = sizeof config->mcp.tool_names};
    return cw_type_enum.read(&given, &key, &place, &v, &config->mcp.tool_names);
}

static cw_code fill(cw_checker *c, const cw_config_source *source, cw_config *config)
{
    const cw_place root = {0};
    cw_code rc = CW_OK;
    if (c->doc)
        rc = cw_type_section.read(c, &cw_config_root, &root, c->doc->root, config);
    if (!rc && source && source->n_listen)
        rc = override_listen(c, source, config);
    if (!rc && source && source->tool_names)
        rc = override_tool_names(c, source->tool_names, config);
    /* Rules are for values that are all right by themselves. */
    if (!rc && !c->problems->total)
        rc = cw_rules_check(c, config);
    return rc;
}

/* `text.p` NULL: no file. */
static cw_code build(cw_str text, const char *name, const cw_config_source *source,
                     cw_config **ret_config, cw_config_problems *problems, cw_err *err)
{
    loaded *l = new_loaded();
    if (!l)
        return cw_fail_nomem(err);
    cw_arena arena;
    cw_arena_init(&arena, CW_CHECK_DOCUMENT_BYTES);
    cw_checker c = {.file = name,
                    .root = &cw_config_root,
                    .arena = &l->arena,
                    .problems = problems,
                    .err = err};
    cw_yaml doc;
    cw_code rc = CW_OK;
    if (text.p) {
        rc = cw_check_read(&c, text, &arena, &doc);
        c.doc = &doc;
    }
    if (!rc)
        rc = fill(&c, source, &l->config);
    if (rc == CW_CONFIG || (!rc && problems->total))
        rc = cw_check_fail(problems, err);
    cw_arena_done(&arena);
    if (rc) {
        cw_config_unref(&l->config);
        return rc;
    }
    *ret_config = &l->config;
    return CW_OK;
}

cw_code cw_config_read(cw_str text, const char *name, cw_config **ret_config,
                       cw_config_problems *problems, cw_err *err)
{
    return build(cw_str_make(text.n ? text.p : "", text.n), name, NULL, ret_config, problems, err);
}

/* The whole path: programs may have another working directory. */
static cw_code keep_path(cw_config *config, const char *path, cw_err *err)
{
    loaded *l = CW_CONTAINER(config, loaded, config);
    char *whole = realpath(path, NULL);
    config->path = cw_arena_dup_str(&l->arena, cw_str_from(whole ? whole : path));
    free(whole);
    if (config->path.p)
        return CW_OK;
    cw_code rc = cw_arena_fail(&l->arena, err);
    cw_config_unref(config);
    return rc;
}

static bool is_blank(cw_str text)
{
    size_t n = 0;
    while (n < text.n && text.p[n] && strchr(" \t\r\n", text.p[n]))
        n++;
    return n == text.n;
}

cw_code cw_config_load(const cw_config_source *source, cw_config **ret_config,
                       cw_config_problems *problems, cw_err *err)
{
    if (!source->path)
        return build(source->text, NULL, source, ret_config, problems, err);
    cw_buf text;
    cw_buf_init(&text, CW_CONFIG_MAX_BYTES + 1);
    cw_code rc = cw_file_read(source->path, CW_FILE_ANY, &text, err);
    /* A file that is too large is a problem like any other: the byte too many shows it. */
    if (!rc || rc == CW_LIMIT)
        rc = build(cw_buf_str(&text), source->path, source, ret_config, problems, err);
    if (!rc)
        (*ret_config)->is_blank = is_blank(cw_buf_str(&text));
    cw_buf_done(&text);
    return rc ? rc : keep_path(*ret_config, source->path, err);
}

cw_config *cw_config_ref(cw_config *config)
{
    loaded *l = CW_CONTAINER(config, loaded, config);
    atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
    return config;
}

void cw_config_unref(cw_config *config)
{
    if (!config)
        return;
    loaded *l = CW_CONTAINER(config, loaded, config);
    /* The thread that drops the last reference must see all writes of the others. */
    if (atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) != 1)
        return;
    cw_arena_done(&l->arena);
    free(l);
}
