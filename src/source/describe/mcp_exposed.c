/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_exposed.c - checks and writes prompts, resources and templates of an MCP server. */
#include "source/describe/mcp_exposed.h"

#include "base/limits.h"
#include "catalogue/exposed.h"

#define ARGUMENTS_MAX 64u

/* Keys of _meta that belong to one hop. The latter are those of another Causeway. */
#define HOP "io.modelcontextprotocol/"
#define OWN "causeway/"

static const struct {
    const char *prefix, *member, *address;
} kinds[] = {
    {"prompt:", "x-mcp-prompt", "name"},
    {"resource:", "x-mcp-resource", "uri"},
    {"template:", "x-mcp-resource-template", "uriTemplate"},
};

/* ---- types of members ---- */

static bool is_text(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_STRING);
}

static bool is_absent_or_text(const cw_json *object, const char *name)
{
    const cw_json *v = cw_json_get(object, cw_str_from(name));
    return !v || is_text(v);
}

static bool is_size(const cw_json *v)
{
    double size;
    return cw_json_is_integer(v) && cw_json_to_double(v, &size) && size >= 0;
}

static bool is_object(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_OBJECT);
}

static bool are_texts(const cw_json *v)
{
    if (!cw_json_is(v, CW_JSON_ARRAY))
        return false;
    for (const cw_json *i = cw_json_first(v); i; i = cw_json_next(i)) {
        if (!is_text(i))
            return false;
    }
    return true;
}

static bool is_audience(const cw_json *v)
{
    for (const cw_json *i = are_texts(v) ? cw_json_first(v) : NULL; i; i = cw_json_next(i)) {
        if (!cw_str_is(cw_json_text(i), "user") && !cw_str_is(cw_json_text(i), "assistant"))
            return false;
    }
    return are_texts(v);
}

/* {"audience":["user"],"priority":0.5,"lastModified":"2025-01-12T15:00:58Z"} */
static bool are_annotations(const cw_json *v)
{
    const cw_json *audience = cw_json_get(v, CW_STR("audience"));
    const cw_json *priority = cw_json_get(v, CW_STR("priority"));
    double number = 0;
    return is_object(v) && (!audience || is_audience(audience)) &&
           (!priority || (cw_json_is(priority, CW_JSON_NUMBER) &&
                          cw_json_to_double(priority, &number) && number >= 0 && number <= 1)) &&
           is_absent_or_text(v, "lastModified");
}

/* [{"src":"https://…","mimeType":"image/png","sizes":["48x48"],"theme":"light"}] */
static bool are_icons(const cw_json *v)
{
    if (!cw_json_is(v, CW_JSON_ARRAY))
        return false;
    for (const cw_json *i = cw_json_first(v); i; i = cw_json_next(i)) {
        const cw_json *sizes = cw_json_get(i, CW_STR("sizes"));
        const cw_json *theme = cw_json_get(i, CW_STR("theme"));
        bool is_theme = !theme || (is_text(theme) && (cw_str_is(cw_json_text(theme), "light") ||
                                                      cw_str_is(cw_json_text(theme), "dark")));
        if (!is_object(i) || !is_text(cw_json_get(i, CW_STR("src"))) || !is_theme ||
            !is_absent_or_text(i, "mimeType") || (sizes && !are_texts(sizes)))
            return false;
    }
    return true;
}

static const struct {
    const char *name;
    bool (*is_right)(const cw_json *v);
} types[] = {
    {"name", is_text},     {"title", is_text},   {"description", is_text},
    {"uri", is_text},      {"size", is_size},    {"uriTemplate", is_text},
    {"mimeType", is_text}, {"icons", are_icons}, {"annotations", are_annotations},
};

static bool is_right(cw_str name, const cw_json *v)
{
    for (size_t i = 0; i < CW_COUNT(types); i++) {
        if (cw_str_is(name, types[i].name))
            return types[i].is_right(v);
    }
    return true;
}

/* ---- _meta ---- */

static bool is_foreign(cw_str key)
{
    return !cw_str_starts(key, CW_STR(HOP)) && !cw_str_starts(key, CW_STR(OWN));
}

static bool has_foreign(const cw_json *meta)
{
    for (const cw_json *k = is_object(meta) ? cw_json_first(meta) : NULL; k;
         k = cw_json_next_key(k)) {
        if (is_foreign(cw_json_text(k)))
            return true;
    }
    return false;
}

static void add_meta(cw_json_writer *w, const cw_json *meta)
{
    if (!has_foreign(meta))
        return;
    cw_json_add_key(w, CW_STR("_meta"));
    cw_json_open_object(w);
    for (const cw_json *k = cw_json_first(meta); k; k = cw_json_next_key(k)) {
        if (!is_foreign(cw_json_text(k)))
            continue;
        cw_json_add_key(w, cw_json_text(k));
        cw_json_add_value(w, cw_json_value(k));
    }
    cw_json_close(w);
}

bool cw_describe_exposed_more(const cw_json *tool, cw_buf *out)
{
    const cw_json *icons = cw_json_get(tool, CW_STR("icons"));
    const cw_json *meta = cw_json_get(tool, CW_STR("_meta"));
    bool has_icons = icons && are_icons(icons) && cw_json_count(icons);
    if (!has_icons && !has_foreign(meta))
        return false;
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    if (has_icons) {
        cw_json_add_key(&w, CW_STR("icons"));
        cw_json_add_value(&w, icons);
    }
    add_meta(&w, meta);
    cw_json_close(&w);
    return true;
}

/* ---- arguments of prompts ---- */

static bool is_argument(const cw_json *v)
{
    const cw_json *name = cw_json_get(v, CW_STR("name"));
    const cw_json *required = cw_json_get(v, CW_STR("required"));
    bool is_flag =
        !required || cw_json_is(required, CW_JSON_TRUE) || cw_json_is(required, CW_JSON_FALSE);
    return is_object(v) && is_text(name) && cw_json_text(name).n && is_flag &&
           is_absent_or_text(v, "title") && is_absent_or_text(v, "description");
}

/* Whether an earlier argument of the list has its name. */
static bool is_double(const cw_json *list, const cw_json *argument)
{
    cw_str name = cw_describe_text(argument, "name");
    for (const cw_json *v = cw_json_first(list); v && v != argument; v = cw_json_next(v)) {
        if (is_argument(v) && cw_str_eq(cw_describe_text(v, "name"), name))
            return true;
    }
    return false;
}

/* The arguments that can be used, after `before` or from the first on (NULL). */
static const cw_json *next_argument(const cw_json *list, const cw_json *before)
{
    bool is_list = cw_json_is(list, CW_JSON_ARRAY) && cw_json_count(list) <= ARGUMENTS_MAX;
    const cw_json *v = !is_list ? NULL : before ? cw_json_next(before) : cw_json_first(list);
    while (v && (!is_argument(v) || is_double(list, v)))
        v = cw_json_next(v);
    return v;
}

static void add_arguments(cw_json_writer *w, const cw_json *list)
{
    if (!next_argument(list, NULL))
        return;
    cw_json_add_key(w, CW_STR("arguments"));
    cw_json_open_array(w);
    for (const cw_json *v = next_argument(list, NULL); v; v = next_argument(list, v))
        cw_json_add_value(w, v);
    cw_json_close(w);
}

/* ---- entries ---- */

/* Whether a text has no control characters, which do harm in logs and on terminals. */
static bool is_clean(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f)
            return false;
    }
    return true;
}

cw_str cw_describe_exposed_id(cw_describe_exposed_kind kind, const cw_json *entry, cw_arena *arena,
                              cw_err *err)
{
    cw_str address = cw_describe_text(entry, kinds[kind].address);
    cw_str names[CW_EXPOSED_MAX_VARIABLES];
    size_t n;
    if (address.n == 0)
        cw_fail(err, CW_PARAMS, "its %s is missing", kinds[kind].address);
    else if (address.n > CW_RESOURCE_MAX_URI)
        cw_fail(err, CW_PARAMS, "its %s is longer than %u bytes", kinds[kind].address,
                (unsigned)CW_RESOURCE_MAX_URI);
    else if (!is_clean(address))
        cw_fail(err, CW_PARAMS, "its %s has control characters", kinds[kind].address);
    else if (kind == CW_DESCRIBE_EXPOSED_TEMPLATE && cw_exposed_variables(address, names, &n, err))
        return address;
    if (err->code)
        return address;
    char *id = cw_arena_printf(arena, "%s%.*s", kinds[kind].prefix, CW_STR_ARG(address));
    if (!id)
        cw_arena_fail(arena, err);
    return id ? cw_str_from(id) : address;
}

static void write_params(cw_openrpc_writer *doc, cw_describe_exposed_kind kind,
                         const cw_json *entry)
{
    const cw_json *list = cw_json_get(entry, CW_STR("arguments"));
    cw_openrpc_writer_param_opts p = {.schema = CW_STR("{\"type\":\"string\"}")};
    if (kind == CW_DESCRIBE_EXPOSED_TEMPLATE) {
        cw_str names[CW_EXPOSED_MAX_VARIABLES];
        size_t n = 0;
        if (cw_exposed_variables(cw_describe_text(entry, "uriTemplate"), names, &n, NULL))
            return;
        for (size_t i = 0; i < n; i++) {
            p.name = names[i];
            cw_openrpc_writer_param(doc, &p);
        }
        return;
    }
    if (kind != CW_DESCRIBE_EXPOSED_PROMPT)
        return;
    for (const cw_json *v = next_argument(list, NULL); v; v = next_argument(list, v)) {
        p.name = cw_describe_text(v, "name");
        p.description = cw_describe_text(v, "description");
        p.required = cw_json_is(cw_json_get(v, CW_STR("required")), CW_JSON_TRUE);
        cw_openrpc_writer_param(doc, &p);
    }
}

void cw_describe_exposed_write(cw_openrpc_writer *doc, cw_describe_exposed_kind kind,
                               const cw_json *entry, cw_str id, const char *view, cw_buf *room)
{
    cw_json_writer w;
    cw_openrpc_writer_method(doc, id, cw_describe_text(entry, "description"));
    write_params(doc, kind, entry);
    cw_buf_clear(room);
    cw_json_writer_init(&w, room, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    if (kind != CW_DESCRIBE_EXPOSED_PROMPT && !is_text(cw_json_get(entry, CW_STR("name"))))
        cw_json_add_string_member(&w, CW_STR("name"), cw_describe_text(entry, kinds[kind].address));
    for (const cw_json *k = cw_json_first(entry); k; k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        if (cw_str_is(name, "_meta") || cw_str_is(name, "arguments") ||
            !is_right(name, cw_json_value(k)))
            continue;
        cw_json_add_key(&w, name);
        cw_json_add_value(&w, cw_json_value(k));
    }
    if (kind == CW_DESCRIBE_EXPOSED_PROMPT)
        add_arguments(&w, cw_json_get(entry, CW_STR("arguments")));
    add_meta(&w, cw_json_get(entry, CW_STR("_meta")));
    cw_json_close(&w);
    if (room->code)
        doc->text.code = room->code;
    else
        cw_openrpc_writer_member(doc, kinds[kind].member, cw_buf_str(room));
    if (view)
        cw_json_add_string_member(&doc->w, CW_STR("x-mcp-view"), cw_str_from(view));
    cw_openrpc_writer_close_method(doc);
}
