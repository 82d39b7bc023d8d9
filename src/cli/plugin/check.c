/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin check: prints the methods that a plugin would publish, and its problems. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalogue/tool/tool_json.h"
#include "cli/lib/table.h"
#include "cli/plugin/plugin.h"
#include "config/syntax/quote.h"
#include "server/files/plugin_host_path.h"

#define OUTPUT_MAX_BYTES (64u * 1024u * 1024u)
#define LABEL_WIDTH 13

/* ---- for people: everything that a plugin says is quoted for the terminal ---- */

static void add_label(cw_buf *out, const char *label)
{
    cw_buf_printf(out, "  %-*s", LABEL_WIDTH, label);
}

static void add_line(cw_buf *out, const char *label, cw_str text)
{
    add_label(out, label);
    cw_quote_shown(out, text);
    cw_buf_add_char(out, '\n');
}

static void add_optional_line(cw_buf *out, const char *label, cw_str text)
{
    if (text.n)
        add_line(out, label, text);
}

static void add_names(cw_buf *out, const cw_str *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cw_buf_add(out, i ? CW_STR(", ") : CW_STR(""));
        cw_quote_shown(out, names[i]);
    }
}

static void add_needs(cw_buf *out, const cw_requirements *needs)
{
    static const char *const levels[] = {"none", "optional", "required"};
    add_label(out, "permissions");
    add_names(out, needs->permissions, needs->n_permissions);
    cw_buf_printf(out, "%s\n",
                  needs->n_permissions ? ""
                                       : cw_plugin_any_caller(needs->level == CW_AUTH_REQUIRED));
    add_label(out, "auth");
    cw_buf_printf(out, "%s%s", levels[needs->level], needs->n_scopes ? ", scopes " : "");
    add_names(out, needs->scopes, needs->n_scopes);
    cw_buf_add_char(out, '\n');
    if (needs->hidden_unless_met)
        add_line(out, "visibility", CW_STR("hide"));
}

/* "integer", or the whole schema where it names no type. */
static void add_type(cw_buf *out, const cw_param *p)
{
    cw_arena scratch;
    cw_arena_init(&scratch, OUTPUT_MAX_BYTES);
    cw_json_opts deep = {.max_depth = CW_JSON_DEPTH_CEILING};
    const cw_json *schema, *type = NULL;
    if (p->schema.n && cw_json_read(p->schema, &deep, &scratch, &schema, NULL, NULL) == CW_OK)
        type = cw_json_get(schema, CW_STR("type"));
    if (cw_json_is(type, CW_JSON_STRING))
        cw_quote_shown(out, cw_json_text(type));
    else
        cw_quote_shown(out, p->schema.n ? p->schema : CW_STR("anything"));
    cw_arena_done(&scratch);
}

static void add_param(cw_buf *out, const cw_param *p)
{
    cw_quote_shown(out, p->name);
    cw_buf_add(out, CW_STR(": "));
    add_type(out, p);
    cw_buf_printf(out, "%s", p->is_required ? ", required" : "");
    if (p->default_value) {
        cw_buf_add(out, CW_STR(", default "));
        cw_quote_shown(out, cw_json_span(p->default_value));
    }
    if (p->description.n) {
        cw_buf_add(out, CW_STR(" - "));
        cw_quote_shown(out, p->description);
    }
    cw_buf_add_char(out, '\n');
}

/* A line for each member of an object but one. */
static void add_members(cw_buf *out, const cw_json *object, const char *but)
{
    for (const cw_json *k = cw_json_first(object); k; k = cw_json_next_key(k)) {
        const cw_json *v = cw_json_value(k);
        if (cw_str_is(cw_json_text(k), but))
            continue;
        add_label(out, "");
        cw_quote_shown(out, cw_json_text(k));
        cw_buf_add(out, CW_STR(": "));
        cw_quote_shown(out, cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : cw_json_span(v));
        cw_buf_add_char(out, '\n');
    }
}

/* A resource, template or prompt: its address, and a line for everything else that is said of it.
 */
static void add_shown(cw_buf *out, const cw_exposed *exposed)
{
    static const char *const labels[] = {"resource", "template", "prompt"};
    static const char *const addresses[] = {"uri", "uriTemplate", "name"};
    add_line(out, labels[exposed->kind], exposed->address);
    add_members(out, exposed->json, addresses[exposed->kind]);
}

/* JSON that the catalogue keeps as text; NULL: there is none. */
static const cw_json *read_kept(cw_str text, cw_arena *arena)
{
    const cw_json *v = NULL;
    return text.n && cw_json_read(text, NULL, arena, &v, NULL, NULL) == CW_OK ? v : NULL;
}

/* A view, as it was declared. */
static void write_view(cw_json_writer *w, const cw_ui *ui)
{
    CW_CLEANUP(cw_arena_done) cw_arena scratch;
    cw_arena_init(&scratch, OUTPUT_MAX_BYTES);
    const cw_json *visibility = read_kept(ui->visibility, &scratch);
    const cw_json *meta = read_kept(ui->meta, &scratch);
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("resourceUri"), ui->uri);
    if (visibility) {
        cw_json_add_key(w, CW_STR("visibility"));
        cw_json_add_value(w, visibility);
    }
    for (const cw_json *k = meta ? cw_json_first(meta) : NULL; k; k = cw_json_next_key(k)) {
        cw_json_add_key(w, cw_json_text(k));
        cw_json_add_value(w, cw_json_value(k));
    }
    cw_json_close(w);
}

static void add_view(cw_buf *out, const cw_ui *ui)
{
    cw_json_writer w;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    CW_CLEANUP(cw_arena_done) cw_arena scratch;
    cw_buf_init(&text, OUTPUT_MAX_BYTES);
    cw_arena_init(&scratch, OUTPUT_MAX_BYTES);
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    write_view(&w, ui);
    add_line(out, "view", ui->uri);
    const cw_json *view = read_kept(cw_buf_str(&text), &scratch);
    if (view)
        add_members(out, view, "resourceUri");
}

static void add_mark(cw_buf *out, const cw_mark *mark)
{
    add_optional_line(out, "title", mark->title);
    add_optional_line(out, "annotations", mark->annotations);
    add_optional_line(out, "task", cw_task_mark_name(mark->task));
    if (mark->ui)
        add_view(out, mark->ui);
}

static void add_heading(cw_buf *out, cw_str text, const char *more)
{
    cw_buf_printf(out, "\n%s", cw_cli_escape(STDOUT_FILENO, CW_CLI_BOLD));
    cw_quote_shown(out, text);
    cw_buf_printf(out, "%s%s\n", more, cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN));
}

static void add_method(cw_buf *out, const cw_entry *e)
{
    const cw_method *m = e->method;
    add_heading(out, m->id, "");
    add_optional_line(out, "usage", m->usage);
    add_line(out, "tool", e->tool_name.n ? e->tool_name : CW_STR("no"));
    if (m->mark)
        add_mark(out, m->mark);
    if (m->exposed)
        add_shown(out, m->exposed);
    add_needs(out, &m->needs);
    for (size_t i = 0; i < m->n_params; i++) {
        add_label(out, i ? "" : "params");
        add_param(out, &m->params[i]);
    }
    if (m->n_params == 0)
        add_line(out, "params", CW_STR("none"));
    add_optional_line(out, "input", m->input);
    add_optional_line(out, "output", m->output);
}

static size_t count_skills(const cw_plugin_report *r)
{
    return r->skills ? r->skills->n : 0;
}

static void add_skills(cw_buf *out, const cw_plugin_report *r)
{
    size_t n = count_skills(r);
    if (n)
        add_heading(out, r->name, ".skills");
    for (size_t i = 0; i < n; i++) {
        const cw_skill *skill = &r->skills->items[i];
        add_label(out, "skill");
        cw_quote_shown(out, skill->name);
        cw_buf_add(out, CW_STR(" - "));
        cw_quote_shown(out, skill->description);
        cw_buf_add_char(out, '\n');
    }
}

static void add_warnings(cw_buf *out, cw_str warnings)
{
    if (warnings.n)
        cw_buf_add_char(out, '\n');
    for (cw_str rest = warnings; rest.p && rest.n;) {
        cw_buf_add(out, CW_STR("warning: "));
        cw_quote_shown(out, cw_str_cut(rest, '\n', &rest));
        cw_buf_add_char(out, '\n');
    }
}

static int print_text(const char *path, const cw_plugin_report *r)
{
    cw_buf out;
    cw_buf_init(&out, OUTPUT_MAX_BYTES);
    size_t n_methods, n_tools;
    cw_plugin_report_count(r, &n_methods, &n_tools);
    cw_buf_printf(&out, "%s: version ", path);
    cw_quote_shown(&out, r->version.n ? r->version : CW_STR("unknown"));
    cw_buf_printf(&out, ", %zu method%s, %zu tool%s", n_methods, n_methods == 1 ? "" : "s", n_tools,
                  n_tools == 1 ? "" : "s");
    if (count_skills(r))
        cw_buf_printf(&out, ", %zu skill%s", count_skills(r), count_skills(r) == 1 ? "" : "s");
    cw_buf_add_char(&out, '\n');
    const cw_entry *entries = cw_snapshot_entries(r->snapshot, &n_methods);
    for (size_t i = 0; i < n_methods; i++)
        add_method(&out, &entries[i]);
    add_skills(&out, r);
    add_warnings(&out, r->warnings);
    return cw_cli_print_buf(&out);
}

/* ---- for programs ---- */

static void write_names(cw_json_writer *w, cw_str key, const cw_str *names, size_t n)
{
    cw_json_add_key(w, key);
    cw_json_open_array(w);
    for (size_t i = 0; i < n; i++)
        cw_json_add_string(w, names[i]);
    cw_json_close(w);
}

static void write_text(cw_json_writer *w, cw_str key, cw_str json)
{
    if (!json.n)
        return;
    cw_json_add_key(w, key);
    cw_json_add_span(w, json);
}

static void write_method(cw_json_writer *w, const cw_entry *e)
{
    static const cw_str kinds[] = {CW_STR_INIT("resource"), CW_STR_INIT("template"),
                                   CW_STR_INIT("prompt")};
    const cw_method *m = e->method;
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("method"), m->id);
    write_names(w, CW_STR("permissions"), m->needs.permissions, m->needs.n_permissions);
    cw_json_add_bool_member(w, CW_STR("any_caller"), cw_requirements_are_empty(&m->needs));
    cw_json_add_string_member(w, CW_STR("visibility"),
                              m->needs.hidden_unless_met ? CW_STR("hide") : CW_STR("challenge"));
    cw_json_add_key(w, CW_STR("tool"));
    if (e->tool_name.n) {
        CW_CLEANUP(cw_buf_done) cw_buf tool;
        cw_buf_init(&tool, OUTPUT_MAX_BYTES);
        cw_tool_write(e, CW_TOOL_ANY_OUTPUT, &tool);
        if (tool.code && !w->out->code)
            w->out->code = tool.code;
        cw_json_add_span(w, cw_buf_str(&tool));
    } else {
        cw_json_add_null(w);
    }
    if (m->mark && m->mark->task)
        cw_json_add_string_member(w, CW_STR("task"), cw_task_mark_name(m->mark->task));
    if (m->mark && m->mark->ui) {
        cw_json_add_key(w, CW_STR("view"));
        write_view(w, m->mark->ui);
    }
    if (m->exposed)
        write_text(w, kinds[m->exposed->kind], e->exposed_json);
    write_text(w, CW_STR("output"), m->output);
    cw_json_close(w);
}

static void write_skills(cw_json_writer *w, const cw_plugin_report *r)
{
    cw_json_add_key(w, CW_STR("skills"));
    cw_json_open_array(w);
    for (size_t i = 0; i < count_skills(r); i++) {
        const cw_skill *skill = &r->skills->items[i];
        cw_json_open_object(w);
        cw_json_add_string_member(w, CW_STR("name"), skill->name);
        cw_json_add_string_member(w, CW_STR("description"), skill->description);
        cw_json_add_string_member(w, CW_STR("uri"), skill->root);
        cw_json_close(w);
    }
    cw_json_close(w);
}

static int print_json(const char *path, const cw_plugin_report *r)
{
    cw_buf out;
    cw_buf_init(&out, OUTPUT_MAX_BYTES);
    cw_json_writer w;
    cw_json_writer_init(&w, &out, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("file"), cw_str_from(path));
    cw_json_add_bool_member(&w, CW_STR("ok"), r->problems.n == 0);
    cw_json_add_string_member(&w, CW_STR("version"), r->version);
    cw_plugin_write_problems(&w, CW_STR("problems"), r->problems);
    cw_plugin_write_problems(&w, CW_STR("warnings"), r->warnings);
    cw_json_add_key(&w, CW_STR("methods"));
    cw_json_open_array(&w);
    size_t n = 0;
    const cw_entry *entries = r->problems.n ? NULL : cw_snapshot_entries(r->snapshot, &n);
    for (size_t i = 0; i < n; i++)
        write_method(&w, &entries[i]);
    cw_json_close(&w);
    write_skills(&w, r);
    cw_json_close(&w);
    cw_cli_end_json(&w);
    return cw_cli_print_buf(&out);
}

/* ---- the command ---- */

static int report(const char *path, const cw_plugin_report *r, bool json)
{
    int code = CW_EXIT_OK;
    if (json)
        code = print_json(path, r);
    else if (r->problems.n == 0)
        code = print_text(path, r);
    if (r->problems.n == 0 || code)
        return code;
    if (!json)
        cw_plugin_print_problems(r->problems);
    return cw_cli_failure("%s would not be loaded", path);
}

int cw_cli_plugin_check(int argc, char **argv)
{
    const char *config_path = NULL;
    bool json = false;
    const cw_cli_option options[] = {
        CW_CLI_CONFIG_OPTION(&config_path), CW_CLI_JSON_OPTION(&json), {0}};
    const cw_cli_spec spec = {
        "plugin check", "FILE.so",
        "Load a plugin in a separate process and print what it publishes, or every error\n"
        "in its declarations. Only plugins.host and schema of the configuration are\n"
        "used.",
        options, 1};
    cw_cli_args args;
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n == 0)
        return cw_cli_usage("name the file of a plugin");
    const char *path = args.items[0];
    struct stat st;
    if (access(path, R_OK) != 0)
        return cw_cli_failure("%s: cannot be read: %s", path, strerror(errno));
    /* Loading from a pipe would wait for a writer. */
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return cw_cli_failure("%s: not a file", path);
    cw_config *config = NULL;
    code = cw_cli_load_config(config_path, &config);
    if (code >= 0)
        return code;
    cw_err err = {0};
    char *host = NULL;
    cw_plugin_report r = {0};
    cw_code rc = cw_plugin_host_find(config, /* is_needed= */ true, &host, &err);
    if (!rc)
        rc = cw_plugin_inspect(config, host, path, &r, &err);
    if (!rc)
        rc = cw_plugin_report_skills(&r, &err);
    code = rc ? cw_cli_failure("%s", err.msg) : report(path, &r, json);
    cw_plugin_report_done(&r);
    free(host);
    cw_config_unref(config);
    return code;
}
