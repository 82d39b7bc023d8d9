/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tools.c - methods about the catalogue: every tool with its requirements. */
#include "admin/access.h"
#include "catalogue/portable_name.h"
#include "catalogue/tool_json.h"
#include "source/source.h"

#define PAGE 1000u                           /* tools of one list */
#define LIST_BYTES (CW_ADMIN_RESULT_MAX / 2) /* further tools are left for another call */

static cw_code fail_snapshot(cw_err *err)
{
    return cw_fail(err, CW_NOTFOUND, "no catalogue has been published yet");
}

static void write_texts(cw_json_writer *w, const char *name, const cw_str *items, size_t n)
{
    cw_json_add_key(w, cw_str_from(name));
    cw_json_open_array(w);
    for (size_t i = 0; i < n; i++)
        cw_json_add_string(w, items[i]);
    cw_json_close(w);
}

static void write_requirements(cw_json_writer *w, const cw_requirements *needs)
{
    write_texts(w, "permissions", needs->permissions, needs->n_permissions);
    write_texts(w, "scopes", needs->scopes, needs->n_scopes);
    cw_json_add_string_member(w, CW_STR("level"), cw_auth_level_name(needs->level));
    cw_json_add_string_member(w, CW_STR("visibility"),
                              needs->hidden_unless_met ? CW_STR("hide") : CW_STR("challenge"));
}

static void write_mark(cw_json_writer *w, const cw_mark *mark)
{
    cw_json_add_key(w, CW_STR("mark"));
    if (!mark) {
        cw_json_add_null(w);
        return;
    }
    cw_json_open_object(w);
    if (mark->title.n)
        cw_json_add_string_member(w, CW_STR("title"), mark->title);
    if (mark->annotations.n) {
        cw_json_add_key(w, CW_STR("annotations"));
        cw_json_add_span(w, mark->annotations);
    }
    cw_json_close(w);
}

/* The members of a tool, or of a method that is none: its names are empty. */
static void write_entry(cw_json_writer *w, const cw_entry *entry)
{
    const cw_method *m = entry->method;
    char room[CW_PORTABLE_NAME_MAX];
    cw_json_add_string_member(w, CW_STR("name"), entry->tool_name);
    cw_json_add_string_member(w, CW_STR("portableName"),
                              entry->tool_name.n ? cw_portable_name(entry->tool_name, room)
                                                 : CW_STR(""));
    cw_json_add_string_member(w, CW_STR("source"), m->source->name);
    cw_json_add_string_member(w, CW_STR("method"), m->id);
    cw_json_add_string_member(w, CW_STR("description"), m->usage);
    write_requirements(w, &m->needs);
    write_mark(w, m->mark);
}

/* ---- list ---- */

static bool is_wanted(const cw_entry *entry, cw_str source, cw_str after)
{
    return (!source.n || cw_str_eq(entry->method->source->name, source)) &&
           (!after.n || cw_str_cmp(entry->tool_name, after) > 0);
}

static cw_code list(cw_admin_call *c, cw_err *err)
{
    size_t n, n_written = 0;
    bool has_more = false;
    cw_str source = cw_admin_text(c, "source"), after = cw_admin_text(c, "after");
    if (!c->snapshot)
        return fail_snapshot(err);
    const cw_entry *const *tools = cw_snapshot_tools(c->snapshot, &n);
    cw_json_add_key(c->out, CW_STR("tools"));
    cw_json_open_array(c->out);
    for (size_t i = 0; i < n && !has_more; i++) {
        if (!is_wanted(tools[i], source, after))
            continue;
        has_more = n_written == PAGE || (n_written && c->out->out->n > LIST_BYTES);
        if (has_more)
            break;
        cw_json_open_object(c->out);
        write_entry(c->out, tools[i]);
        cw_json_close(c->out);
        n_written++;
    }
    cw_json_close(c->out);
    cw_json_add_bool_member(c->out, CW_STR("more"), has_more);
    return CW_OK;
}

/* ---- describe ---- */

static void write_schema(cw_json_writer *w, const char *name, cw_str schema)
{
    if (!schema.n)
        return;
    cw_json_add_key(w, cw_str_from(name));
    cw_json_add_span(w, schema);
}

static void write_params(cw_json_writer *w, const cw_method *m)
{
    cw_json_add_key(w, CW_STR("params"));
    cw_json_open_array(w);
    for (size_t i = 0; i < m->n_params; i++) {
        cw_json_open_object(w);
        cw_json_add_string_member(w, CW_STR("name"), m->params[i].name);
        cw_json_add_string_member(w, CW_STR("description"), m->params[i].description);
        cw_json_add_bool_member(w, CW_STR("required"), m->params[i].is_required);
        write_schema(w, "schema", m->params[i].schema);
        cw_json_close(w);
    }
    cw_json_close(w);
}

/* The tool as MCP clients receive it. */
static cw_code write_tool(cw_json_writer *w, const cw_entry *entry, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_ADMIN_RESULT_MAX);
    cw_tool_write(entry, CW_TOOL_ANY_OUTPUT, &text);
    if (text.code)
        return cw_fail(err, text.code, "%s", cw_code_text(text.code));
    cw_json_add_key(w, CW_STR("tool"));
    cw_json_add_span(w, cw_buf_str(&text));
    return CW_OK;
}

static cw_code describe(cw_admin_call *c, cw_err *err)
{
    cw_str name = cw_admin_text(c, "name");
    const cw_entry *entry = cw_admin_find_entry(c->snapshot, name);
    if (!c->snapshot)
        return fail_snapshot(err);
    if (!entry)
        return cw_fail(err, CW_NOTFOUND, "no loaded source has a tool or method '%.*s'",
                       CW_STR_ARG(name));
    write_entry(c->out, entry);
    cw_json_add_bool_member(c->out, CW_STR("callable"),
                            entry->tool_name.n || entry->method->is_callable);
    write_params(c->out, entry->method);
    write_schema(c->out, "input", entry->method->input);
    write_schema(c->out, "output", entry->method->output);
    return entry->tool_name.n ? write_tool(c->out, entry, err) : CW_OK;
}

#define TEXT "{\"type\":\"string\"}"
#define TEXTS "{\"type\":\"array\",\"items\":" TEXT "}"
#define FLAG "{\"type\":\"boolean\"}"
#define ENTRY                                                                                      \
    "\"name\":" TEXT ",\"portableName\":" TEXT ",\"source\":" TEXT ",\"method\":" TEXT             \
    ",\"description\":" TEXT ",\"permissions\":" TEXTS ",\"scopes\":" TEXTS                        \
    ",\"level\":{\"enum\":[\"none\",\"optional\",\"required\"]},\"visibility\":{\"enum\":["        \
    "\"hide\",\"challenge\"]},\"mark\":{\"type\":[\"object\",\"null\"]}"

const cw_admin_method cw_admin_tools_methods[] = {
    {.name = "causeway.tools.list",
     .about = "List every tool with both names, its source and its requirements",
     .permission = CW_PERMISSION_VIEW_TRAFFIC,
     .params =
         "[{\"name\":\"source\",\"description\":\"Only tools of this source\",\"schema\":" TEXT
         "},{\"name\":\"after\",\"description\":\"Tools behind this name, when a result has "
         "more\",\"schema\":" TEXT "}]",
     .result =
         "{\"tools\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{" ENTRY
         "},\"required\":[\"name\",\"portableName\",\"source\",\"method\"]}},\"more\":" FLAG "}",
     .place = CW_ADMIN_MAIN,
     .run = list},
    {.name = "causeway.tools.describe",
     .about = "Return a tool or method with its requirements, mark and schemas",
     .permission = CW_PERMISSION_VIEW_TRAFFIC,
     .params = "[{\"name\":\"name\",\"required\":true,\"description\":\"Name of a tool, portable "
               "name, or method\",\"schema\":" TEXT "}]",
     .result = "{" ENTRY ",\"callable\":" FLAG ",\"params\":{\"type\":\"array\",\"items\":{"
               "\"type\":\"object\"}},\"input\":{\"type\":[\"object\",\"boolean\"]},"
               "\"output\":{\"type\":[\"object\",\"boolean\"]},\"tool\":{\"type\":\"object\"}}",
     .place = CW_ADMIN_MAIN,
     .run = describe},
    {.name = NULL},
};
