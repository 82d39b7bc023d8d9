/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tools.c - methods about the catalogue: every tool with its requirements. */
#include "admin/access.h"
#include "base/utf8.h"
#include "catalogue/tool/mcp_tool.h"
#include "catalogue/tool/portable_name.h"
#include "catalogue/tool/tool_json.h"
#include "config/syntax/quote.h"
#include "source/source.h"

#define PAGE 1000u                           /* tools of one list */
#define LIST_BYTES (CW_ADMIN_RESULT_MAX / 2) /* further tools are left for another call */
#define NEAR 3u                              /* edits, for "did you mean" */
#define PERMISSIONS_MAX 200u                 /* of those to choose from */

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

/* ---- the caller ---- */

/* The rights of the anonymous role are no secret; those of others are a question about access. */
static cw_code check_right(const cw_admin_call *c, cw_err *err)
{
    bool is_public = cw_str_is(cw_admin_text(c, "role"), CW_ROLE_ANONYMOUS) &&
                     !cw_admin_text(c, "account").n && !cw_admin_number(c, "token", 0);
    if (is_public || c->sees_access)
        return CW_OK;
    return cw_fail(err, CW_PARAMS, "a caller can be named with the permission '%s'",
                   CW_PERMISSION_ADMINISTER_ACCESS);
}

/* The catalogue as the named caller sees it; *ret is NULL if none is named. */
static cw_code open_view(const cw_admin_call *c, cw_view **ret, cw_err *err)
{
    cw_caller *caller = NULL;
    if (!c->snapshot)
        return fail_snapshot(err);
    if (!cw_admin_names_caller(c))
        return CW_OK;
    cw_code rc = check_right(c, err);
    if (!rc)
        rc = cw_admin_named_caller(c, &caller, err);
    if (!rc)
        rc = cw_view_new(c->snapshot, caller, ret, err);
    cw_caller_unref(caller);
    return rc;
}

static bool may_list(const cw_view *view)
{
    return !view || cw_view_discover_verdict(view) == CW_VERDICT_ALLOW;
}

static void write_caller(cw_json_writer *w, const cw_view *view)
{
    const cw_caller *caller = cw_view_caller(view);
    cw_json_add_key(w, CW_STR("caller"));
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), cw_caller_name(caller));
    cw_json_add_bool_member(w, CW_STR("anonymous"), cw_caller_is_anonymous(caller));
    cw_json_add_bool_member(w, CW_STR("discover"), may_list(view));
    cw_json_close(w);
}

/* The outcome of a call by this caller. */
static void write_verdict(cw_json_writer *w, const cw_view *view, const cw_entry *entry)
{
    cw_verdict call = cw_view_call_verdict(view);
    if (call == CW_VERDICT_ALLOW)
        call = cw_view_verdict(view, entry);
    cw_json_add_string_member(w, CW_STR("call"), cw_admin_verdict_name(call));
}

static cw_str nearest(const cw_view *view, cw_str name)
{
    cw_str best = CW_STR("");
    unsigned least = NEAR + 1;
    size_t n;
    const cw_entry *const *tools = cw_snapshot_tools(cw_view_snapshot(view), &n);
    for (size_t i = 0; i < n; i++) {
        unsigned d = cw_str_distance_within(tools[i]->tool_name, name, NEAR);
        if (d < least && cw_view_verdict(view, tools[i]) != CW_VERDICT_HIDDEN) {
            least = d;
            best = tools[i]->tool_name;
        }
    }
    return best;
}

cw_code cw_admin_find_visible(const cw_view *view, cw_str name, const cw_entry **ret, cw_err *err)
{
    char shown[CW_EXCERPT_SIZE], near[CW_EXCERPT_SIZE];
    const cw_entry *entry = cw_view_find_tool(view, name);
    if (!entry)
        entry = cw_view_find_method(view, name);
    if (!entry)
        entry = cw_view_find_portable(view, name);
    if (entry) {
        *ret = entry;
        return CW_OK;
    }
    /* A caller without discovery permission gets no suggestions. */
    cw_str other = may_list(view) ? nearest(view, name) : CW_STR("");
    cw_str who = cw_caller_name(cw_view_caller(view));
    cw_excerpt(name, shown);
    if (other.n)
        return cw_fail(err, CW_NOTFOUND, "there is no tool %s for %.*s; did you mean %s?", shown,
                       CW_STR_ARG(who), cw_excerpt(other, near));
    return cw_fail(err, CW_NOTFOUND, "there is no tool %s for %.*s; see \"causeway list\"", shown,
                   CW_STR_ARG(who));
}

/* ---- list ---- */

typedef struct selection {
    const cw_view *view; /* NULL: every tool */
    cw_str source, words, needs, after;
    size_t limit;
    bool has_cost; /* wanted */
} selection;

static bool has_word(const cw_entry *entry, cw_str word)
{
    const cw_method *m = entry->method;
    for (size_t i = 0; i < m->needs.n_permissions; i++) {
        if (cw_str_icontains(m->needs.permissions[i], word))
            return true;
    }
    return cw_str_icontains(entry->tool_name, word) || cw_str_icontains(m->source->name, word) ||
           (m->mark && cw_str_icontains(m->mark->title, word)) || cw_str_icontains(m->usage, word);
}

/* Whether each word is somewhere in its name, texts, source or permissions. */
static bool has_words(const cw_entry *entry, cw_str words)
{
    for (cw_str rest = words; rest.p;) {
        if (!has_word(entry, cw_str_cut(rest, ' ', &rest)))
            return false;
    }
    return true;
}

static bool has_text(const cw_str *items, size_t n, cw_str text)
{
    for (size_t i = 0; i < n; i++) {
        if (cw_str_eq(items[i], text))
            return true;
    }
    return false;
}

static bool is_wanted(const selection *s, const cw_entry *entry)
{
    const cw_requirements *needs = &entry->method->needs;
    return (!s->source.n || cw_str_eq(entry->method->source->name, s->source)) &&
           (!s->needs.n || has_text(needs->permissions, needs->n_permissions, s->needs)) &&
           (!s->view || cw_view_verdict(s->view, entry) != CW_VERDICT_HIDDEN) &&
           (!s->words.n || has_words(entry, s->words));
}

/* ---- what a list costs ---- */

static size_t size_of(const cw_entry *entry, const cw_tool_mcp_opts *opts)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_ADMIN_RESULT_MAX);
    cw_tool_write_mcp(&text, entry, opts);
    return text.n + 1; /* with a comma */
}

static void write_number(cw_json_writer *w, const char *name, size_t n)
{
    cw_json_add_key(w, cw_str_from(name));
    cw_json_add_i64(w, (int64_t)n);
}

/* The toolsets that have it, each in its own form. */
static void write_toolsets(const cw_admin_call *c, const cw_entry *entry, cw_tool_mcp_opts opts)
{
    size_t n;
    size_t index = (size_t)(entry - cw_snapshot_entries(c->snapshot, &n));
    cw_json_add_key(c->out, CW_STR("toolsets"));
    cw_json_open_array(c->out);
    for (size_t i = 0; i < c->config->toolsets.n; i++) {
        const cw_toolset *t =
            cw_snapshot_find_toolset(c->snapshot, c->config->toolsets.items[i].name, false);
        if (!t || !cw_toolset_has(t, index))
            continue;
        opts.omits_output_schemas = t->omits_output_schemas;
        opts.has_short_descriptions = t->has_short_descriptions;
        opts.has_signatures = t->has_signatures;
        cw_json_open_object(c->out);
        cw_json_add_string_member(c->out, CW_STR("name"), t->name);
        if (t->is_search)
            cw_json_add_bool_member(c->out, CW_STR("search"), true);
        write_number(c->out, "bytes", t->is_search ? 0 : size_of(entry, &opts));
        cw_json_close(c->out);
    }
    cw_json_close(c->out);
}

/* Its size in a list for MCP clients, and the parts of it that are often large. */
static void write_cost(const cw_admin_call *c, const cw_entry *entry)
{
    const cw_config *config = c->config;
    char room[CW_PORTABLE_NAME_MAX];
    bool is_portable = config->mcp.tool_names == CW_CONFIG_FORM_PORTABLE;
    cw_tool_mcp_opts opts = {.form = CW_TOOL_ANY_OUTPUT,
                             .has_portable_names = is_portable,
                             .has_portable_schemas = config->mcp.schemas == CW_CONFIG_FORM_PORTABLE,
                             .has_structured_text = config->mcp.structured_text,
                             .draft = config->schema.default_draft};
    cw_tool_mcp_opts lean = opts;
    lean.omits_output_schemas = true;
    size_t bytes = size_of(entry, &opts);
    cw_json_add_key(c->out, CW_STR("cost"));
    cw_json_open_object(c->out);
    cw_json_add_string_member(c->out, CW_STR("name"),
                              is_portable ? cw_portable_name(entry->tool_name, room)
                                          : entry->tool_name);
    write_number(c->out, "bytes", bytes);
    write_number(c->out, "output", bytes - size_of(entry, &lean));
    write_number(c->out, "description", cw_utf8_count(entry->method->usage));
    write_toolsets(c, entry, opts);
    cw_json_close(c->out);
}

/* The permissions that tools need, for a reader that chooses one of them. */
static void write_permissions(cw_admin_call *c)
{
    cw_str found[PERMISSIONS_MAX];
    size_t n_found = 0, n;
    const cw_entry *const *tools = cw_snapshot_tools(c->snapshot, &n);
    for (size_t i = 0; i < n; i++) {
        const cw_requirements *needs = &tools[i]->method->needs;
        for (size_t k = 0; k < needs->n_permissions && n_found < CW_COUNT(found); k++) {
            if (!has_text(found, n_found, needs->permissions[k]))
                found[n_found++] = needs->permissions[k];
        }
    }
    write_texts(c->out, "permissions", found, n_found);
}

static void write_list(cw_admin_call *c, const selection *s)
{
    size_t n, n_written = 0, total = 0;
    bool has_more = false;
    const cw_entry *const *tools = cw_snapshot_tools(c->snapshot, &n);
    cw_json_add_key(c->out, CW_STR("tools"));
    cw_json_open_array(c->out);
    for (size_t i = 0; i < n && may_list(s->view); i++) {
        if (!is_wanted(s, tools[i]))
            continue;
        total++;
        if (has_more || (s->after.n && cw_str_cmp(tools[i]->tool_name, s->after) <= 0))
            continue;
        has_more = n_written == s->limit || (n_written && c->out->out->n > LIST_BYTES);
        if (has_more)
            continue;
        cw_json_open_object(c->out);
        write_entry(c->out, tools[i]);
        if (s->view)
            write_verdict(c->out, s->view, tools[i]);
        if (s->has_cost)
            write_cost(c, tools[i]);
        cw_json_close(c->out);
        n_written++;
    }
    cw_json_close(c->out);
    cw_json_add_bool_member(c->out, CW_STR("more"), has_more);
    write_number(c->out, "total", total);
}

static cw_code list(cw_admin_call *c, cw_err *err)
{
    cw_view *view = NULL;
    cw_code rc = open_view(c, &view, err);
    if (rc)
        return rc;
    selection s = {.view = view,
                   .source = cw_admin_text(c, "source"),
                   .words = cw_str_trim(cw_admin_text(c, "words")),
                   .needs = cw_admin_text(c, "needs"),
                   .after = cw_admin_text(c, "after"),
                   .limit = (size_t)cw_admin_number(c, "limit", PAGE),
                   .has_cost = cw_admin_flag(c, "cost")};
    if (view)
        write_caller(c->out, view);
    write_list(c, &s);
    if (!view && cw_admin_flag(c, "permissions"))
        write_permissions(c);
    cw_view_unref(view);
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

static cw_code write_description(cw_admin_call *c, const cw_entry *entry, cw_err *err)
{
    write_entry(c->out, entry);
    cw_json_add_bool_member(c->out, CW_STR("callable"),
                            entry->tool_name.n || entry->method->is_callable);
    write_params(c->out, entry->method);
    write_schema(c->out, "input", entry->method->input);
    write_schema(c->out, "output", entry->method->output);
    return entry->tool_name.n ? write_tool(c->out, entry, err) : CW_OK;
}

/* Nothing but the caller, if it may not list tools. */
static cw_code describe_to(cw_admin_call *c, const cw_view *view, cw_err *err)
{
    const cw_entry *entry = NULL;
    write_caller(c->out, view);
    if (!may_list(view))
        return CW_OK;
    cw_code rc = cw_admin_find_visible(view, cw_admin_text(c, "name"), &entry, err);
    if (rc)
        return rc;
    write_verdict(c->out, view, entry);
    return write_description(c, entry, err);
}

static cw_code describe(cw_admin_call *c, cw_err *err)
{
    cw_view *view = NULL;
    cw_str name = cw_admin_text(c, "name");
    cw_code rc = open_view(c, &view, err);
    if (rc)
        return rc;
    const cw_entry *entry = view ? NULL : cw_admin_find_entry(c->snapshot, name);
    if (view)
        rc = describe_to(c, view, err);
    else if (entry)
        rc = write_description(c, entry, err);
    else
        rc = cw_fail(err, CW_NOTFOUND, "no loaded source has a tool or method '%.*s'",
                     CW_STR_ARG(name));
    cw_view_unref(view);
    return rc;
}

#define TEXT "{\"type\":\"string\"}"
#define TEXTS "{\"type\":\"array\",\"items\":" TEXT "}"
#define FLAG "{\"type\":\"boolean\"}"
#define ENTRY                                                                                      \
    "\"name\":" TEXT ",\"portableName\":" TEXT ",\"source\":" TEXT ",\"method\":" TEXT             \
    ",\"description\":" TEXT ",\"permissions\":" TEXTS ",\"scopes\":" TEXTS                        \
    ",\"level\":{\"enum\":[\"none\",\"optional\",\"required\"]},\"visibility\":{\"enum\":["        \
    "\"hide\",\"challenge\"]},\"mark\":{\"type\":[\"object\",\"null\"]},\"call\":{\"enum\":["      \
    "\"allowed\",\"hidden\",\"login\",\"forbidden\",\"scopes\"]}"
#define CALLER                                                                                     \
    "\"caller\":{\"type\":\"object\",\"properties\":{\"name\":" TEXT ",\"anonymous\":" FLAG        \
    ",\"discover\":" FLAG "},\"required\":[\"name\",\"anonymous\",\"discover\"]}"
/* The params that name a caller. */
#define AS                                                                                         \
    "{\"name\":\"account\",\"description\":\"As this account, logged in with its password, sees "  \
    "it. Callers other than the role anonymous need the "                                          \
    "permission " CW_PERMISSION_ADMINISTER_ACCESS "\",\"schema\":" TEXT "},"                       \
    "{\"name\":\"role\",\"description\":\"As a caller with this role alone sees it\","             \
    "\"schema\":" TEXT "},{\"name\":\"token\",\"description\":\"As the owner of the token with "   \
    "this id sees it\",\"schema\":{\"type\":\"integer\",\"minimum\":1}}"

const cw_admin_method cw_admin_tools_methods[] = {
    {.name = "causeway.tools.list",
     .about = "List every tool with both names, its source and its requirements",
     .permission = CW_PERMISSION_VIEW_TRAFFIC,
     .params =
         "[{\"name\":\"source\",\"description\":\"Only tools of this source\",\"schema\":" TEXT
         "},{\"name\":\"words\",\"description\":\"Only tools that have each of these words in "
         "their name, title, description, source or permissions\",\"schema\":{\"type\":\"string\","
         "\"maxLength\":200}},{\"name\":\"needs\",\"description\":\"Only tools that need this "
         "permission\",\"schema\":" TEXT "},{\"name\":\"permissions\",\"description\":\"Add the "
         "permissions that tools need; a maximum of 200, and not for a named "
         "caller\",\"schema\":" FLAG
         "},{\"name\":\"after\",\"description\":\"Tools behind this name, when a "
         "result has more\",\"schema\":" TEXT
         "},{\"name\":\"limit\",\"description\":\"Maximum number of tools; 1000 by default\","
         "\"schema\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000}"
         "},{\"name\":\"cost\",\"description\":\"Add the size of each tool in lists of MCP "
         "clients, in bytes\",\"schema\":" FLAG "}," AS "]",
     .result =
         "{" CALLER
         ",\"tools\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{" ENTRY
         ",\"cost\":{\"type\":\"object\"}},\"required\":[\"name\",\"portableName\",\"source\","
         "\"method\"]}},\"more\":" FLAG ",\"total\":{\"type\":\"integer\"},\"permissions\":" TEXTS
         "}",
     .place = CW_ADMIN_STORE,
     .flags = CW_ADMIN_STORE_FOR_CALLER,
     .run = list},
    {.name = "causeway.tools.describe",
     .about = "Return a tool or method with its requirements, mark and schemas",
     .permission = CW_PERMISSION_VIEW_TRAFFIC,
     .params = "[{\"name\":\"name\",\"required\":true,\"description\":\"Name of a tool, portable "
               "name, or method\",\"schema\":" TEXT "}," AS "]",
     .result =
         "{" CALLER "," ENTRY ",\"callable\":" FLAG ",\"params\":{\"type\":\"array\",\"items\":{"
         "\"type\":\"object\"}},\"input\":{\"type\":[\"object\",\"boolean\"]},"
         "\"output\":{\"type\":[\"object\",\"boolean\"]},\"tool\":{\"type\":\"object\"}}",
     .place = CW_ADMIN_STORE,
     .flags = CW_ADMIN_STORE_FOR_CALLER,
     .run = describe},
    {.name = NULL},
};
