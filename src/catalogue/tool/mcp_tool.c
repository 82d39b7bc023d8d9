/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_tool.c - writes tools in the form of MCP. */
#include "catalogue/tool/mcp_tool.h"

#include "catalogue/tool/param_headers.h"
#include "catalogue/tool/short_text.h"
#include "catalogue/tool/signature.h"
#include "catalogue/ui.h"
#include "json/write.h"

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

bool cw_tool_is_hint(cw_str annotation)
{
    for (size_t i = 0; i < CW_COUNT(hints); i++) {
        if (cw_str_eq(hints[i].name, annotation))
            return true;
    }
    return false;
}

typedef struct shaper {
    const cw_tool_mcp_opts *shape;
    const cw_entry *tool;
    cw_buf *out;
    cw_str name; /* the one that is shown */
    char room[CW_PORTABLE_NAME_MAX];
    cw_buf plain;  /* as tool_json.h writes it */
    cw_buf schema; /* one that is changed */
    cw_buf rest;   /* of the annotations: members */
    cw_arena trees;
    const cw_schema_portable *portable; /* NULL: the schema is shown as it is */
} shaper;

static void shaper_done(shaper *s)
{
    cw_buf_done(&s->plain);
    cw_buf_done(&s->schema);
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

static void add_schema(shaper *s, const cw_json *schema)
{
    cw_str text = cw_json_span(schema);
    if (!s->tool->is_mirrored && cw_param_headers_may_be_in(text)) {
        cw_buf_clear(&s->schema);
        cw_param_headers_write_without(&s->schema, schema);
        fail(s, s->schema.code);
        text = cw_buf_str(&s->schema);
    }
    cw_buf_add(s->out, text);
}

cw_code cw_tool_make_portable(const cw_entry *entry, cw_str tool, cw_schema_draft draft,
                              cw_arena *trees, cw_arena *arena, const cw_schema_portable **ret)
{
    CW_CLEANUP(cw_buf_done) cw_buf without;
    const cw_json_opts deep = {.max_bytes = CW_BUF_MAX, .max_depth = CW_JSON_DEPTH_CEILING};
    const cw_json *v;
    cw_buf_init(&without, CW_BUF_MAX);
    *ret = NULL;
    cw_code rc = cw_json_read(tool, &deep, trees, &v, NULL, NULL);
    if (rc)
        return rc;
    v = cw_json_get(v, CW_STR("inputSchema"));
    if (!entry->is_mirrored && cw_param_headers_may_be_in(cw_json_span(v))) {
        cw_param_headers_write_without(&without, v);
        rc = without.code;
        if (!rc)
            rc = cw_json_read(cw_buf_str(&without), &deep, trees, &v, NULL, NULL);
    }
    if (rc || cw_schema_is_portable(v, draft))
        return rc;
    cw_schema_portable *made = cw_arena_calloc(arena, 1, sizeof *made);
    *ret = made;
    return made ? cw_schema_make_portable(v, draft, arena, made) : CW_NOMEM;
}

cw_code cw_tool_copy_portable(const cw_schema_portable *from, cw_arena *arena,
                              const cw_schema_portable **ret)
{
    cw_schema_portable *to = cw_arena_calloc(arena, 1, sizeof *to);
    cw_schema_rename *renames = cw_arena_calloc(arena, from->n_renames + 1, sizeof *renames);
    if (!to || !renames)
        return CW_NOMEM;
    to->text = cw_arena_dup_str(arena, from->text);
    to->note = cw_arena_dup_str(arena, from->note);
    to->renames = renames;
    to->n_renames = from->n_renames;
    bool is_whole = to->text.p && to->note.p;
    for (size_t i = 0; i < from->n_renames && is_whole; i++) {
        renames[i].own = cw_arena_dup_str(arena, from->renames[i].own);
        renames[i].shown = cw_arena_dup_str(arena, from->renames[i].shown);
        is_whole = renames[i].own.p && renames[i].shown.p;
    }
    *ret = to;
    return is_whole ? CW_OK : CW_NOMEM;
}

bool cw_tool_same_portable(const cw_schema_portable *a, const cw_schema_portable *b)
{
    return a == b || (a && b && cw_str_eq(a->text, b->text) && cw_str_eq(a->note, b->note));
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

/* Clients find the headers that repeat arguments in the whole schema. */
static bool has_signature(const shaper *s)
{
    return s->shape->has_signatures && !s->tool->is_mirrored;
}

/* The input schema as the client sees it; NULL without memory. */
static const cw_json *shown_input(shaper *s, const cw_json *v)
{
    const cw_json_opts deep = {.max_bytes = CW_BUF_MAX, .max_depth = CW_JSON_DEPTH_CEILING};
    if (s->portable)
        fail(s, cw_json_read(s->portable->text, &deep, &s->trees, &v, NULL, NULL));
    return s->out->code ? NULL : v;
}

/* A description that repeats the name tells nothing beside a signature. */
static bool is_name(const shaper *s, cw_str text)
{
    return cw_str_eq(text, s->tool->method->id) || cw_str_eq(text, s->tool->tool_name);
}

static void separate(cw_buf *text)
{
    if (text->n)
        cw_buf_add_char(text, ' ');
}

/* Rules that the schema does not show are part of the description, and so is a signature. */
static void add_description(shaper *s, const cw_json *v, const cw_json *input)
{
    bool has_note = s->portable && s->portable->note.n;
    if (!has_note && !s->shape->has_short_descriptions && !has_signature(s)) {
        cw_buf_add(s->out, cw_json_span(v));
        return;
    }
    cw_buf_clear(&s->schema);
    cw_str text = cw_json_text(v);
    if (has_signature(s) && is_name(s, text))
        text = CW_STR("");
    if (s->shape->has_short_descriptions)
        cw_short_text_add(&s->schema, text);
    else
        cw_buf_add(&s->schema, text);
    if (has_note) {
        separate(&s->schema);
        cw_buf_add(&s->schema, s->portable->note);
    }
    const cw_json *shown = has_signature(s) ? shown_input(s, input) : NULL;
    if (shown) {
        separate(&s->schema);
        cw_signature_add(&s->schema, shown);
    }
    cw_json_escape(s->out, cw_buf_str(&s->schema));
    fail(s, s->schema.code);
}

static void add_input(shaper *s, const cw_json *v)
{
    if (has_signature(s)) {
        cw_buf_add(s->out, CW_STR("{\"type\":\"object\"}"));
        return;
    }
    if (s->portable && !s->shape->has_short_descriptions) {
        cw_buf_add(s->out, s->portable->text);
        return;
    }
    if (!s->shape->has_short_descriptions) {
        add_schema(s, v);
        return;
    }
    const cw_json *shown = shown_input(s, v);
    if (!shown)
        return;
    cw_buf_clear(&s->schema);
    cw_short_text_add_schema(&s->schema, shown);
    fail(s, s->schema.code);
    cw_buf_add(s->out, cw_buf_str(&s->schema));
}

static void add_field(shaper *s, const cw_json *tool, const cw_json *key)
{
    cw_str name = cw_json_text(key);
    const cw_json *v = cw_json_value(key);
    if (cw_str_is(name, "annotations")) {
        add_annotations(s, v);
        return;
    }
    if (cw_str_is(name, "_meta"))
        return;
    if (cw_str_is(name, "outputSchema") && (is_text(s) || s->shape->omits_output_schemas))
        return;
    size_t begin = s->out->n;
    cw_buf_add_char(s->out, cw_str_is(name, "name") ? '{' : ',');
    cw_buf_add(s->out, cw_json_span(key));
    cw_buf_add_char(s->out, ':');
    if (cw_str_is(name, "name")) {
        cw_json_escape(s->out, s->name);
    } else if (cw_str_is(name, "description")) {
        add_description(s, v, cw_json_get(tool, CW_STR("inputSchema")));
        /* Neither a text nor arguments: nothing to read. */
        if (has_signature(s) && cw_str_is(cw_buf_str(&s->schema), "()"))
            s->out->n = begin;
    } else if (cw_str_is(name, "inputSchema")) {
        add_input(s, v);
    } else if (cw_str_is(name, "outputSchema")) {
        add_schema(s, v);
    } else {
        cw_buf_add(s->out, cw_json_span(v));
    }
}

/* People read the title: without one, it is the tool's own name. */
static void add_title(shaper *s, const cw_json *tool)
{
    if (!is_renamed(s) || cw_json_get(tool, CW_STR("title")))
        return;
    cw_buf_add(s->out, CW_STR(",\"title\":"));
    cw_json_escape(s->out, s->tool->tool_name);
}

/* `meta` is the tool's own, or NULL. */
static void add_meta(shaper *s, const cw_json *meta)
{
    size_t begin = s->out->n;
    cw_buf_add(s->out, CW_STR(",\"_meta\":{"));
    size_t first = s->out->n;
    if (is_renamed(s)) {
        cw_buf_add(s->out, CW_STR("\"" META_NAME "\":"));
        cw_json_escape(s->out, s->tool->tool_name);
    }
    if (s->rest.n) {
        cw_buf_add(s->out, s->out->n > first ? CW_STR(",\"" META_ANNOTATIONS "\":{")
                                             : CW_STR("\"" META_ANNOTATIONS "\":{"));
        cw_buf_add(s->out, cw_buf_str(&s->rest));
        cw_buf_add_char(s->out, '}');
    }
    if (s->tool->hides_ui)
        cw_ui_add_meta_without(s->out, first, meta);
    else
        for (const cw_json *k = meta ? cw_json_first(meta) : NULL; k; k = cw_json_next_key(k))
            add_member(s->out, first, cw_json_text(k), cw_json_span(cw_json_value(k)));
    if (s->out->n == first)
        s->out->n = begin; /* nothing in it */
    else
        cw_buf_add_char(s->out, '}');
}

static void write_shaped(shaper *s)
{
    const cw_json_opts deep = {.max_bytes = CW_BUF_MAX, .max_depth = CW_JSON_DEPTH_CEILING};
    const cw_json *tool;
    cw_code rc = cw_json_read(cw_buf_str(&s->plain), &deep, &s->trees, &tool, NULL, NULL);
    if (rc) {
        fail(s, rc);
        return;
    }
    /* `name` comes first (tool_json.h). */
    for (const cw_json *k = cw_json_first(tool); k; k = cw_json_next_key(k))
        add_field(s, tool, k);
    add_title(s, tool);
    /* Never "required": clients without tasks could not call it. */
    if (s->shape->has_task_support && s->tool->method->mark->task != CW_TASK_MARK_NEVER)
        cw_buf_add(s->out, CW_STR(",\"execution\":{\"taskSupport\":\"optional\"}"));
    add_meta(s, cw_json_get(tool, CW_STR("_meta")));
    cw_buf_add_char(s->out, '}');
}

/* Whether its calls may be tasks, for a client that reads it here. */
static bool has_task_support(const shaper *s)
{
    return s->shape->has_task_support && s->tool->method->mark->task != CW_TASK_MARK_NEVER;
}

/* Whether the MCP form differs from the written one. */
static bool is_plain(const shaper *s)
{
    cw_str text = cw_buf_str(&s->plain);
    bool has_mirrors = !s->tool->is_mirrored && cw_param_headers_may_be_in(text);
    return !s->tool->method->mark->annotations.n && !has_mirrors && !has_task_support(s) &&
           !is_renamed(s) && !is_text(s) && !s->portable && !s->tool->hides_ui &&
           !s->shape->omits_output_schemas && !s->shape->has_short_descriptions &&
           !s->shape->has_signatures;
}

void cw_tool_write_mcp(cw_buf *out, const cw_entry *tool, const cw_tool_mcp_opts *shape)
{
    CW_CLEANUP(shaper_done) shaper s = {.shape = shape, .tool = tool, .out = out};
    cw_buf_init(&s.plain, CW_BUF_MAX);
    cw_buf_init(&s.schema, CW_BUF_MAX);
    cw_buf_init(&s.rest, CW_BUF_MAX);
    cw_arena_init(&s.trees, CW_ARENA_MAX);
    s.name =
        shape->has_portable_names ? cw_portable_name(tool->tool_name, s.room) : tool->tool_name;
    cw_translate_tool(&s.plain, tool, shape->form, shape->language);
    fail(&s, s.plain.code);
    if (s.plain.code)
        return;
    if (shape->has_portable_schemas)
        s.portable = tool->portable;
    /* The descriptions of parameters are part of the schema. */
    if (s.portable && shape->language)
        fail(&s, cw_tool_make_portable(tool, cw_buf_str(&s.plain), shape->draft, &s.trees, &s.trees,
                                       &s.portable));
    if (is_plain(&s))
        cw_buf_add(out, cw_buf_str(&s.plain));
    else
        write_shaped(&s);
}
