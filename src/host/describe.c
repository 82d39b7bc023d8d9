/* SPDX-License-Identifier: GPL-2.0-or-later */
/* describe.c - the methods of a plugin as an OpenRPC document. */
#include "base/utf8.h"
#include "host/hosted.h"

static void add_text(cw_json_writer *w, cw_str name, const char *text)
{
    if (text && cw_utf8_is_valid(cw_str_from(text)))
        cw_json_add_string_member(w, name, cw_str_from(text));
}

static void add_names(cw_json_writer *w, cw_str member, const char *const *names)
{
    cw_json_add_key(w, member);
    cw_json_open_array(w);
    for (size_t i = 0; i < CW_PLUGIN_MAX_NAMES && names[i]; i++)
        cw_json_add_string(w, cw_str_from(names[i]));
    cw_json_close(w);
}

/* The members of an object, into one that is open. */
static void add_members(cw_json_writer *w, const cw_json *object)
{
    for (const cw_json *k = object ? cw_json_first(object) : NULL; k; k = cw_json_next_key(k)) {
        cw_json_add_key(w, cw_json_text(k));
        cw_json_add_value(w, cw_json_value(k));
    }
}

static void add_members_of(cw_json_writer *w, cw_str name, const cw_json *object)
{
    cw_json_add_key(w, name);
    cw_json_open_object(w);
    add_members(w, object);
    cw_json_close(w);
}

static void add_param(cw_json_writer *w, const cw_hosted_param *p)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), p->name);
    add_text(w, CW_STR("description"), p->decl->description);
    cw_json_add_bool_member(w, CW_STR("required"), p->decl->required);
    cw_json_add_key(w, CW_STR("schema"));
    cw_json_open_object(w);
    add_members(w, p->schema);
    if (p->decl->default_value && p->default_value && !cw_json_get(p->schema, CW_STR("default"))) {
        cw_json_add_key(w, CW_STR("default"));
        cw_json_add_value(w, p->default_value);
    }
    cw_json_close(w);
    cw_json_close(w);
}

static void add_auth(cw_json_writer *w, cw_hosted_auth a)
{
    if (!cw_hosted_has_auth(a))
        return;
    cw_json_add_key(w, CW_STR("auth"));
    cw_json_open_object(w);
    add_names(w, CW_STR("scopes"), a.scopes);
    add_text(w, CW_STR("level"), a.level);
    add_text(w, CW_STR("description"), a.description);
    cw_json_close(w);
}

static void add_mark(cw_json_writer *w, const cw_hosted_method *m)
{
    cw_hosted_auth auth = CW_HOSTED_AUTH(m->tool);
    add_text(w, CW_STR("title"), m->tool->title);
    if (m->annotations || cw_hosted_has_auth(auth)) {
        cw_json_add_key(w, CW_STR("annotations"));
        cw_json_open_object(w);
        add_members(w, m->annotations);
        add_auth(w, auth);
        cw_json_close(w);
    }
    add_text(w, CW_STR("visibility"), auth.visibility);
    add_text(w, CW_STR("task"), m->tool->task);
}

/* Only the server checks a view, so it is there without the members that are wrong here. */
static void add_tool(cw_json_writer *w, const cw_hosted_method *m)
{
    cw_json_add_key(w, CW_STR("x-mcp-tool"));
    cw_json_open_object(w);
    if (!m->is_tool_wrong)
        add_mark(w, m);
    if (m->ui)
        add_members_of(w, CW_STR("ui"), m->ui);
    else
        add_text(w, CW_STR("ui"), m->ui_uri);
    cw_json_close(w);
}

static void add_value(cw_json_writer *w, cw_str name, const cw_json *v)
{
    if (!v)
        return;
    cw_json_add_key(w, name);
    cw_json_add_value(w, v);
}

static void add_completes(cw_json_writer *w, const cw_hosted_method *m)
{
    if (!m->completes)
        return;
    cw_json_add_key(w, CW_STR("completes"));
    cw_json_open_array(w);
    for (size_t i = 0; i < m->n_params; i++)
        if (m->completes[i])
            cw_json_add_string(w, m->params[i].name);
    cw_json_close(w);
}

static void add_resource(cw_json_writer *w, const cw_hosted_method *m)
{
    const cw_plugin_resource *r = m->resource;
    bool is_template = cw_hosted_is_template(m);
    cw_json_add_key(w, is_template ? CW_STR("x-mcp-resource-template") : CW_STR("x-mcp-resource"));
    cw_json_open_object(w);
    add_text(w, CW_STR("uri"), r->uri);
    add_text(w, CW_STR("uriTemplate"), r->uri_template);
    cw_json_add_string_member(w, CW_STR("name"), r->name ? cw_str_from(r->name) : m->id);
    add_text(w, CW_STR("title"), r->title);
    add_text(w, CW_STR("description"), r->description ? r->description : m->decl->usage);
    add_text(w, CW_STR("mimeType"), r->mime_type);
    if (r->size > 0)
        cw_json_add_i64_member(w, CW_STR("size"), (int64_t)r->size);
    add_value(w, CW_STR("icons"), m->icons);
    add_value(w, CW_STR("annotations"), m->mark_annotations);
    add_completes(w, m);
    cw_json_close(w);
}

static void add_prompt(cw_json_writer *w, const cw_hosted_method *m)
{
    const cw_plugin_prompt *p = m->prompt;
    cw_json_add_key(w, CW_STR("x-mcp-prompt"));
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), p->name ? cw_str_from(p->name) : m->id);
    add_text(w, CW_STR("title"), p->title);
    add_value(w, CW_STR("icons"), m->icons);
    add_completes(w, m);
    cw_json_close(w);
}

/* The description of a tool is in its mark. */
static void add_access(cw_json_writer *w, const cw_hosted_method *m)
{
    cw_json_add_key(w, CW_STR("x-access"));
    cw_json_open_object(w);
    if (!m->are_permissions_wrong)
        add_names(w, CW_STR("permissions"), m->decl->permissions);
    if ((m->resource || m->prompt) && !m->has_problems) {
        cw_hosted_auth auth = m->resource ? CW_HOSTED_AUTH(m->resource) : CW_HOSTED_AUTH(m->prompt);
        add_auth(w, auth);
        add_text(w, CW_STR("visibility"), auth.visibility);
    }
    cw_json_close(w);
}

/* A name that the reader of the document accepts, once. */
static bool is_first_param(const cw_hosted_method *m, size_t i)
{
    cw_str name = m->params[i].name;
    for (size_t k = 0; k < i; k++)
        if (cw_str_eq(m->params[k].name, name))
            return false;
    return name.n > 0 && cw_utf8_is_valid(name);
}

static void add_schemas(cw_json_writer *w, const cw_hosted_method *m)
{
    cw_json_add_key(w, CW_STR("params"));
    cw_json_open_array(w);
    for (size_t i = 0; i < m->n_params; i++)
        if (is_first_param(m, i))
            add_param(w, &m->params[i]);
    cw_json_close(w);
    add_value(w, CW_STR("x-input"), m->input);
    if (m->output) {
        cw_json_add_key(w, CW_STR("result"));
        cw_json_open_object(w);
        cw_json_add_string_member(w, CW_STR("name"), CW_STR("result"));
        cw_json_add_key(w, CW_STR("schema"));
        cw_json_add_value(w, m->output);
        cw_json_close(w);
    }
}

static void add_marks(cw_json_writer *w, const cw_hosted_method *m)
{
    add_access(w, m);
    if (m->tool)
        add_tool(w, m);
    if (m->resource && !m->has_problems)
        add_resource(w, m);
    if (m->prompt && !m->has_problems)
        add_prompt(w, m);
}

static void add_method(cw_json_writer *w, const cw_hosted_method *m)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), m->id);
    add_text(w, CW_STR("summary"), m->decl->usage);
    add_schemas(w, m);
    add_marks(w, m);
    cw_json_close(w);
}

cw_code cw_hosted_describe(const cw_hosted *h, cw_json_style style, cw_buf *out)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, style);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("openrpc"), CW_STR("1.2.6"));
    cw_json_add_key(&w, CW_STR("info"));
    cw_json_open_object(&w);
    add_text(&w, CW_STR("title"), h->name);
    add_text(&w, CW_STR("version"), h->version);
    cw_json_close(&w);
    cw_json_add_key(&w, CW_STR("methods"));
    cw_json_open_array(&w);
    for (size_t i = 0; i < h->n; i++) {
        const cw_hosted_method *m = &h->methods[i];
        /* Two methods with the same id: describe one. */
        bool has_name = m->id.n > 0 && cw_utf8_is_valid(m->id) && cw_hosted_find(h, m->id) == m;
        if (has_name || !h->problems.n)
            add_method(&w, m);
    }
    cw_json_close(&w);
    cw_json_close(&w);
    return cw_json_writer_end(&w, NULL);
}
