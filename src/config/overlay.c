/* SPDX-License-Identifier: GPL-2.0-or-later */
/* overlay.c - reads the file of methods that an entry of `sources` names. */
#include "config/overlay.h"

#include <stdlib.h>

#include "base/file.h"
#include "config/keys/keys.h"
#include "config/rules.h"

#define ARENA_MAX_BYTES (16u * CW_CONFIG_MAX_BYTES)

struct cw_config_overlay_file {
    cw_config_overlay_lists lists;
    cw_arena arena;
};

static const cw_key file_root = {.type = &cw_type_section, .children = cw_overlay_file_keys};
static const cw_key remote_root = {.type = &cw_type_section, .children = cw_sources_keys};

static cw_code fill(cw_checker *c, cw_str text, cw_arena *arena, cw_config_overlay_lists *ret)
{
    const cw_place root = {0};
    cw_yaml doc;
    size_t before = c->problems->total;
    cw_code rc = cw_check_read(c, text, arena, &doc);
    if (rc)
        return rc;
    c->doc = &doc;
    rc = cw_type_section.read(c, &file_root, &root, doc.root, ret);
    /* Rules are for values that are all right by themselves. */
    if (!rc && c->problems->total == before)
        rc = cw_rules_check_methods(c, &ret->methods, ret->exposed, &root, doc.root);
    return rc;
}

static cw_code read_text(cw_str text, const char *path, cw_config_overlay_file *file,
                         cw_config_problems *problems, cw_err *err)
{
    cw_arena arena;
    cw_arena_init(&arena, CW_CHECK_DOCUMENT_BYTES);
    size_t before = problems->total;
    cw_checker c = {.file = path, .arena = &file->arena, .problems = problems, .err = err};
    cw_code rc = fill(&c, cw_str_make(text.n ? text.p : "", text.n), &arena, &file->lists);
    if (rc == CW_CONFIG || (!rc && problems->total > before))
        rc = cw_check_fail(problems, err);
    cw_arena_done(&arena);
    return rc;
}

static cw_code load(const char *path, cw_config_overlay_file **ret, cw_config_problems *problems,
                    cw_err *err)
{
    cw_config_overlay_file *file = calloc(1, sizeof *file);
    if (!file)
        return cw_fail_nomem(err);
    cw_arena_init(&file->arena, ARENA_MAX_BYTES);
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_CONFIG_MAX_BYTES + 1);
    cw_code rc = cw_file_read(path, CW_FILE_ANY, &text, err);
    /* A file that is too large is a mistake like any other: the byte too many shows it. */
    if (!rc || rc == CW_LIMIT)
        rc = read_text(cw_buf_str(&text), path, file, problems, err);
    if (rc) {
        cw_config_overlay_free(file);
        return rc;
    }
    *ret = file;
    return CW_OK;
}

cw_code cw_config_overlay_read(const char *path, cw_config_overlay_file **ret,
                               cw_config_problems *problems, cw_err *err)
{
    cw_config_problems own;
    if (problems)
        return load(path, ret, problems, err);
    cw_config_problems_init(&own);
    cw_code rc = load(path, ret, &own, err);
    cw_config_problems_done(&own);
    return rc;
}

cw_config_overlay_lists cw_config_overlay_lists_of(const cw_config_overlay_file *file)
{
    return file ? file->lists : (cw_config_overlay_lists){0};
}

void cw_config_overlay_free(cw_config_overlay_file *file)
{
    if (!file)
        return;
    cw_arena_done(&file->arena);
    free(file);
}

static cw_code write_value(const cw_key *key, const void *field, cw_buf *out)
{
    cw_json_writer w;
    cw_buf_init(out, ARENA_MAX_BYTES);
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    key->type->write(&w, key, field);
    return cw_json_writer_end(&w, NULL);
}

/* Through the table, so that no key can be forgotten. Without memory to know they differ: to do
 * something again is always right. */
static bool is_equal(const cw_key *key, const void *a, const void *b)
{
    CW_CLEANUP(cw_buf_done) cw_buf one;
    CW_CLEANUP(cw_buf_done) cw_buf other;
    cw_code rc = write_value(key, a, &one);
    cw_code rc_other = write_value(key, b, &other);
    return !rc && !rc_other && cw_str_eq(cw_buf_str(&one), cw_buf_str(&other));
}

bool cw_config_remote_equal(const cw_config_remote *a, const cw_config_remote *b)
{
    return is_equal(&remote_root, a, b);
}

bool cw_config_events_equal(const cw_config_events *a, const cw_config_events *b)
{
    static const cw_key events = {.type = &cw_type_mapped,
                                  .children = cw_plugin_event_keys,
                                  .item_size = sizeof(cw_config_event),
                                  .item_defaults = &cw_config_default_event};
    return is_equal(&events, a, b);
}
