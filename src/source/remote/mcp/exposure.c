/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exposure.c - ids and texts of resources, templates and prompts of MCP servers. */
#include "source/remote/mcp/exposure.h"

#include "base/buf.h"
#include "catalogue/exposed.h"
#include "json/write.h"

_Static_assert((int)CW_CONFIG_RESOURCES == (int)CW_EXPOSED_RESOURCE, "the order of the lists");
_Static_assert((int)CW_CONFIG_TEMPLATES == (int)CW_EXPOSED_TEMPLATE, "the order of the lists");
_Static_assert((int)CW_CONFIG_PROMPTS == (int)CW_EXPOSED_PROMPT, "the order of the lists");

static const struct {
    const char *name, *word, *prefix;
} lists[CW_EXPOSURE_LISTS] = {
    {"methods", "method", ""},
    {"resources", "resource", "resource:"},
    {"templates", "template", "template:"},
    {"prompts", "prompt", "prompt:"},
};

size_t cw_exposure_list(const cw_method *found)
{
    return found->exposed ? 1 + (size_t)found->exposed->kind : 0;
}

const char *cw_exposure_list_name(size_t list)
{
    return lists[list].name;
}

const char *cw_exposure_word(size_t list)
{
    return lists[list].word;
}

cw_str cw_exposure_name(const cw_method *found)
{
    return found->exposed ? found->exposed->address : found->id;
}

cw_str cw_exposure_id(size_t list, cw_str name, cw_arena *arena)
{
    if (list == 0)
        return name;
    char *id = cw_arena_printf(arena, "%s%.*s", lists[list].prefix, CW_STR_ARG(name));
    return id ? cw_str_from(id) : (cw_str){NULL, 0};
}

/* {"uriTemplate":…,"name":…} */
static cw_code write_unlisted(cw_str template, cw_arena *arena, const cw_json **ret, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_json_writer w;
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("uriTemplate"), template);
    cw_json_add_string_member(&w, CW_STR("name"), template);
    cw_json_close(&w);
    cw_str copy = text.code ? (cw_str){NULL, 0} : cw_arena_dup_str(arena, cw_buf_str(&text));
    return copy.p ? cw_json_read(copy, NULL, arena, ret, NULL, err) : cw_arena_fail(arena, err);
}

cw_code cw_exposure_unlisted(cw_str template, cw_source *source, cw_arena *arena, cw_method *ret,
                             cw_err *err)
{
    static const cw_str schema = CW_STR_INIT("{\"type\":\"string\"}");
    cw_str names[CW_EXPOSED_MAX_VARIABLES];
    size_t n = 0;
    cw_code rc = cw_exposed_variables(template, names, &n, err);
    cw_exposed *exposed = cw_arena_calloc(arena, 1, sizeof *exposed);
    cw_param *params = cw_arena_calloc(arena, n, sizeof *params);
    if (rc)
        return rc;
    if (!exposed || !params)
        return cw_arena_fail(arena, err);
    exposed->kind = CW_EXPOSED_TEMPLATE;
    exposed->is_relayed = true;
    exposed->address = cw_arena_dup_str(arena, template);
    for (size_t i = 0; i < n; i++)
        params[i] = (cw_param){.name = cw_arena_dup_str(arena, names[i]), .schema = schema};
    *ret = (cw_method){.params = params, .n_params = n, .exposed = exposed, .source = source};
    ret->id = cw_exposure_id(1 + CW_CONFIG_TEMPLATES, template, arena);
    if (arena->failed)
        return cw_arena_fail(arena, err);
    return write_unlisted(template, arena, &exposed->json, err);
}

/* ---- ids and texts for clients ---- */

static void add_or_replace(cw_json_writer *w, const char *name, cw_str own, const cw_json *its)
{
    if (own.n) {
        cw_json_add_string_member(w, cw_str_from(name), own);
    } else if (its) {
        cw_json_add_key(w, cw_str_from(name));
        cw_json_add_value(w, its);
    }
}

static void write_entry(cw_json_writer *w, const cw_config_overlay *o, const cw_exposed *exposed)
{
    const cw_json *its = exposed->json;
    cw_str name = exposed->kind == CW_EXPOSED_PROMPT ? exposed->address : CW_STR("");
    cw_json_open_object(w);
    add_or_replace(w, "name", name, cw_json_get(its, CW_STR("name")));
    add_or_replace(w, "title", o->title, cw_json_get(its, CW_STR("title")));
    add_or_replace(w, "description", o->description, cw_json_get(its, CW_STR("description")));
    for (const cw_json *k = cw_json_first(its); k; k = cw_json_next_key(k)) {
        cw_str key = cw_json_text(k);
        if (cw_str_is(key, "name") || cw_str_is(key, "title") || cw_str_is(key, "description"))
            continue;
        cw_json_add_key(w, key);
        cw_json_add_value(w, cw_json_value(k));
    }
    cw_json_close(w);
}

static cw_code rewrite(const cw_config_overlay *o, cw_arena *arena, cw_exposed *exposed,
                       cw_err *err)
{
    const cw_json_opts opts = {.max_depth = CW_JSON_DEPTH_CEILING};
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_json_writer w;
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    write_entry(&w, o, exposed);
    cw_code rc = cw_json_writer_end(&w, err);
    if (rc)
        return rc;
    cw_str copy = cw_arena_dup_str(arena, cw_buf_str(&text));
    return copy.p ? cw_json_read(copy, &opts, arena, &exposed->json, NULL, err)
                  : cw_arena_fail(arena, err);
}

cw_code cw_exposure_apply(const cw_config_overlay *o, cw_str prefix, cw_arena *arena, cw_method *m,
                          cw_err *err)
{
    bool is_prompt = m->exposed->kind == CW_EXPOSED_PROMPT;
    bool is_renamed = is_prompt && (o->name.n || prefix.n);
    cw_exposed *exposed = cw_arena_alloc(arena, sizeof *exposed);
    if (!exposed)
        return cw_arena_fail(arena, err);
    *exposed = *m->exposed;
    m->exposed = exposed;
    if (is_renamed) {
        char *name = o->name.n ? cw_arena_dup(arena, o->name.p, o->name.n)
                               : cw_arena_printf(arena, "%.*s%.*s", CW_STR_ARG(prefix),
                                                 CW_STR_ARG(exposed->address));
        if (!name)
            return cw_arena_fail(arena, err);
        exposed->address = cw_str_from(name);
        m->id = cw_exposure_id(cw_exposure_list(m), exposed->address, arena);
        if (!m->id.p)
            return cw_arena_fail(arena, err);
    }
    return is_renamed || o->title.n || o->description.n ? rewrite(o, arena, exposed, err) : CW_OK;
}
