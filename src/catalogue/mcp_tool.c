/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_tool.c - writes tools in the form of MCP. */
#include "catalogue/mcp_tool.h"

#include "catalogue/param_headers.h"
#include "catalogue/schema_bundle.h"
#include "json/write.h"
#include "schema/rewrite/rewrite.h"

#define META_ANNOTATIONS "causeway/annotations"
#define META_NAME "causeway/name"

/* The hints of the protocol, and the other names under which they are found. */
static const struct {
    cw_str name, hint;
} hints[] = {
    {CW_STR_INIT("readOnlyHint"), CW_STR_INIT("readOnlyHint")},
    {CW_STR_INIT("readOnly"), CW_STR_INIT("readOnlyHint")},
    {CW_STR_INIT("read_only"), CW_STR_INIT("readOnlyHint")},
    {CW_STR_INIT("readonly"), CW_STR_INIT("readOnlyHint")},
    {CW_STR_INIT("destructiveHint"), CW_STR_INIT("destructiveHint")},
    {CW_STR_INIT("destructive"), CW_STR_INIT("destructiveHint")},
    {CW_STR_INIT("idempotentHint"), CW_STR_INIT("idempotentHint")},
    {CW_STR_INIT("idempotent"), CW_STR_INIT("idempotentHint")},
    {CW_STR_INIT("openWorldHint"), CW_STR_INIT("openWorldHint")},
    {CW_STR_INIT("openWorld"), CW_STR_INIT("openWorldHint")},
    {CW_STR_INIT("open_world"), CW_STR_INIT("openWorldHint")},
};

typedef struct shaper {
    const cw_tool_mcp_opts *shape;
    const cw_entry *tool;
    cw_buf *out;
    cw_str name; /* the one that is shown */
    char room[CW_PORTABLE_NAME_MAX];
    cw_buf plain;   /* as tool_json.h writes it */
    cw_buf schema;  /* one that is changed */
    cw_buf inlined; /* likewise */
    cw_buf rest;    /* of the annotations: members */
    cw_arena trees;
} shaper;

static void shaper_done(shaper *s)
{
    cw_buf_done(&s->plain);
    cw_buf_done(&s->schema);
    cw_buf_done(&s->inlined);
    cw_buf_done(&s->rest);
    cw_arena_done(&s->trees);
}

static void fail(shaper *s, cw_code rc)
{
    if (rc && !s->out->code)
        s->out->code = rc;
}

static void add_member(cw_buf *out, size_t first, cw_str name, cw_str value)
{
    if (out->n > first)
        cw_buf_add_char(out, ',');
    cw_json_escape(out, name);
    cw_buf_add_char(out, ':');
    cw_buf_add(out, value);
}

/* ---- annotations ---- */

static bool is_boolean(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_TRUE) || cw_json_is(v, CW_JSON_FALSE);
}

/* The protocol's name of a hint; .p is NULL: none. */
static cw_str hint_of(const cw_json *annotations, const cw_json *key)
{
    cw_str name = cw_json_text(key);
    const cw_json *v = cw_json_value(key);
    if (cw_str_is(name, "title") && cw_json_is(v, CW_JSON_STRING))
        return name;
    for (size_t i = 0; i < CW_COUNT(hints) && is_boolean(v); i++) {
        if (!cw_str_eq(hints[i].name, name))
            continue;
        /* The protocol's own name wins. */
        bool is_said =
            !cw_str_eq(name, hints[i].hint) && cw_json_get(annotations, hints[i].hint) != NULL;
        return is_said ? (cw_str){NULL, 0} : hints[i].hint;
    }
    return (cw_str){NULL, 0};
}

/* Whether one before `key` gave this hint already. */
static bool is_given(const cw_json *annotations, const cw_json *key, cw_str hint)
{
    for (const cw_json *k = cw_json_first(annotations); k != key; k = cw_json_next_key(k)) {
        if (cw_str_eq(hint_of(annotations, k), hint))
            return true;
    }
    return false;
}

static void add_annotations(shaper *s, const cw_json *annotations)
{
    size_t begin = s->out->n;
    cw_buf_add(s->out, CW_STR(",\"annotations\":{"));
    size_t first = s->out->n;
    for (const cw_json *k = cw_json_first(annotations); k; k = cw_json_next_key(k)) {
        cw_str hint = hint_of(annotations, k);
        cw_str value = cw_json_span(cw_json_value(k));
        if (hint.p && !is_given(annotations, k, hint))
            add_member(s->out, first, hint, value);
        else
            add_member(&s->rest, 0, cw_json_text(k), value);
    }
    if (s->out->n == first)
        s->out->n = begin; /* nothing in them */
    else
        cw_buf_add_char(s->out, '}');
    fail(s, s->rest.code);
}

/* ---- schemas ---- */

/* The schema without references, or as it is. */
static cw_str inline_refs(shaper *s, cw_str schema)
{
    cw_schema_opts opts = {.draft = s->shape->draft, .skip_meta = true, .annotate_formats = true};
    cw_schema *compiled;
    cw_code rc = cw_schema_compile_text(schema, &opts, &compiled, NULL);
    if (!rc) {
        cw_buf_clear(&s->inlined);
        rc = cw_schema_write_inlined(compiled, &s->inlined, NULL);
        cw_schema_unref(compiled);
    }
    if (rc == CW_NOMEM)
        fail(s, rc);
    return rc ? schema : cw_buf_str(&s->inlined);
}

static void add_schema(shaper *s, const cw_json *schema)
{
    cw_str text = cw_json_span(schema);
    if (!s->tool->is_mirrored && cw_param_headers_may_be_in(text)) {
        cw_buf_clear(&s->schema);
        cw_param_headers_write_without(&s->schema, schema);
        fail(s, s->schema.code);
        text = cw_buf_str(&s->schema);
    }
    if (s->shape->has_portable_schemas && cw_bundle_may_be_in(text))
        text = inline_refs(s, text);
    cw_buf_add(s->out, text);
}

/* ---- the tool ---- */

/* The name that is shown is not the tool's own. */
static bool is_renamed(const shaper *s)
{
    return s->name.p != s->tool->tool_name.p;
}

/* Its results are plain text: no structured content is promised. */
static bool is_text(const shaper *s)
{
    return s->tool->returns_text && !s->shape->has_structured_text;
}

static void add_field(shaper *s, const cw_json *key)
{
    cw_str name = cw_json_text(key);
    const cw_json *v = cw_json_value(key);
    if (cw_str_is(name, "annotations")) {
        add_annotations(s, v);
        return;
    }
    if (cw_str_is(name, "outputSchema") && is_text(s))
        return;
    cw_buf_add_char(s->out, cw_str_is(name, "name") ? '{' : ',');
    cw_buf_add(s->out, cw_json_span(key));
    cw_buf_add_char(s->out, ':');
    if (cw_str_is(name, "name"))
        cw_json_escape(s->out, s->name);
    else if (cw_str_is(name, "inputSchema") || cw_str_is(name, "outputSchema"))
        add_schema(s, v);
    else
        cw_buf_add(s->out, cw_json_span(v));
}

/* People read the title: without one, it is the tool's own name. */
static void add_title(shaper *s, const cw_json *tool)
{
    if (!is_renamed(s) || cw_json_get(tool, CW_STR("title")))
        return;
    cw_buf_add(s->out, CW_STR(",\"title\":"));
    cw_json_escape(s->out, s->tool->tool_name);
}

static void add_meta(shaper *s)
{
    if (!s->rest.n && !is_renamed(s))
        return;
    cw_buf_add(s->out, CW_STR(",\"_meta\":{"));
    if (is_renamed(s)) {
        cw_buf_add(s->out, CW_STR("\"" META_NAME "\":"));
        cw_json_escape(s->out, s->tool->tool_name);
    }
    if (s->rest.n) {
        cw_buf_add(s->out, is_renamed(s) ? CW_STR(",\"" META_ANNOTATIONS "\":{")
                                         : CW_STR("\"" META_ANNOTATIONS "\":{"));
        cw_buf_add(s->out, cw_buf_str(&s->rest));
        cw_buf_add_char(s->out, '}');
    }
    cw_buf_add_char(s->out, '}');
}

static void write_shaped(shaper *s)
{
    const cw_json_opts deep = {.max_bytes = SIZE_MAX, .max_depth = CW_JSON_DEPTH_CEILING};
    const cw_json *tool;
    cw_code rc = cw_json_read(cw_buf_str(&s->plain), &deep, &s->trees, &tool, NULL, NULL);
    if (rc) {
        fail(s, rc);
        return;
    }
    /* `name` comes first (tool_json.h). */
    for (const cw_json *k = cw_json_first(tool); k; k = cw_json_next_key(k))
        add_field(s, k);
    add_title(s, tool);
    add_meta(s);
    cw_buf_add_char(s->out, '}');
}

/* Whether the MCP form differs from the written one. */
static bool is_plain(const shaper *s)
{
    cw_str text = cw_buf_str(&s->plain);
    bool has_mirrors = !s->tool->is_mirrored && cw_param_headers_may_be_in(text);
    return !s->tool->method->mark->annotations.n && !has_mirrors && !is_renamed(s) && !is_text(s) &&
           !(s->shape->has_portable_schemas && cw_bundle_may_be_in(text));
}

void cw_tool_write_mcp(cw_buf *out, const cw_entry *tool, const cw_tool_mcp_opts *shape)
{
    CW_CLEANUP(shaper_done) shaper s = {.shape = shape, .tool = tool, .out = out};
    cw_buf_init(&s.plain, SIZE_MAX / 2);
    cw_buf_init(&s.schema, SIZE_MAX / 2);
    cw_buf_init(&s.inlined, CW_TOOL_MAX_INLINED);
    cw_buf_init(&s.rest, SIZE_MAX / 2);
    cw_arena_init(&s.trees, SIZE_MAX);
    s.name =
        shape->has_portable_names ? cw_portable_name(tool->tool_name, s.room) : tool->tool_name;
    cw_translate_tool(&s.plain, tool, shape->form, shape->language);
    fail(&s, s.plain.code);
    if (s.plain.code)
        return;
    if (is_plain(&s))
        cw_buf_add(out, cw_buf_str(&s.plain));
    else
        write_shaped(&s);
}
