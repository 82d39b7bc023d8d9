/* SPDX-License-Identifier: GPL-2.0-or-later */
/* describe.c - the methods of a plugin as an OpenRPC document. */
#include "host/hosted.h"

static void add_text(cw_json_writer *w, cw_str name, const char *text)
{
    if (text)
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

static void add_param(cw_json_writer *w, const cw_hosted_param *p)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), p->name);
    add_text(w, CW_STR("description"), p->decl->description);
    cw_json_add_bool_member(w, CW_STR("required"), p->decl->required);
    cw_json_add_key(w, CW_STR("schema"));
    cw_json_open_object(w);
    add_members(w, p->schema);
    if (p->decl->default_value) {
        cw_json_add_key(w, CW_STR("default"));
        cw_json_add_value(w, p->initial);
    }
    cw_json_close(w);
    cw_json_close(w);
}

static void add_auth(cw_json_writer *w, const cw_plugin_tool *tool)
{
    cw_json_add_key(w, CW_STR("auth"));
    cw_json_open_object(w);
    add_names(w, CW_STR("scopes"), tool->scopes);
    add_text(w, CW_STR("level"), tool->auth_level);
    add_text(w, CW_STR("description"), tool->auth_description);
    cw_json_close(w);
}

static void add_tool(cw_json_writer *w, const cw_hosted_method *m)
{
    const cw_plugin_tool *tool = m->tool;
    bool has_auth = tool->scopes[0] || tool->auth_level || tool->auth_description;
    cw_json_add_key(w, CW_STR("x-mcp-tool"));
    cw_json_open_object(w);
    add_text(w, CW_STR("title"), tool->title);
    if (m->annotations || has_auth) {
        cw_json_add_key(w, CW_STR("annotations"));
        cw_json_open_object(w);
        add_members(w, m->annotations);
        if (has_auth)
            add_auth(w, tool);
        cw_json_close(w);
    }
    cw_json_close(w);
}

static void add_method(cw_json_writer *w, const cw_hosted_method *m)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), m->id);
    add_text(w, CW_STR("summary"), m->decl->usage);
    cw_json_add_key(w, CW_STR("params"));
    cw_json_open_array(w);
    for (size_t i = 0; i < m->n_params; i++)
        add_param(w, &m->params[i]);
    cw_json_close(w);
    if (m->output) {
        cw_json_add_key(w, CW_STR("result"));
        cw_json_open_object(w);
        cw_json_add_string_member(w, CW_STR("name"), CW_STR("result"));
        cw_json_add_key(w, CW_STR("schema"));
        cw_json_add_value(w, m->output);
        cw_json_close(w);
    }
    cw_json_add_key(w, CW_STR("x-access"));
    cw_json_open_object(w);
    add_names(w, CW_STR("permissions"), m->decl->permissions);
    cw_json_close(w);
    if (m->tool)
        add_tool(w, m);
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
    cw_json_add_string_member(&w, CW_STR("title"), cw_str_from(h->name));
    cw_json_add_string_member(&w, CW_STR("version"), cw_str_from(h->version));
    cw_json_close(&w);
    cw_json_add_key(&w, CW_STR("methods"));
    cw_json_open_array(&w);
    for (size_t i = 0; i < h->n; i++)
        add_method(&w, &h->methods[i]);
    cw_json_close(&w);
    cw_json_close(&w);
    return cw_json_writer_end(&w, NULL);
}
