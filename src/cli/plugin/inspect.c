/* SPDX-License-Identifier: GPL-2.0-or-later */
/* inspect.c - what a plugin would publish, as its host tells it and our catalogue takes it.
 */
#include <stdio.h>
#include <sys/wait.h>

#include "catalogue/lint.h"
#include "cli/plugin/plugin.h"
#include "config/syntax/quote.h"
#include "net/process/child.h"
#include "server/permissions.h"
#include "server/plugin_host_path.h"
#include "source/openrpc/openrpc.h"
#include "source/plugin/plugin.h"
#include "source/registry/registry.h"

#define CHECK_MS 10000u
#define REPORT_MAX_BYTES (256u * 1024u * 1024u)

static void keep(cw_source *source)
{
    (void)source;
}

static void set_problem(cw_plugin_report *r, cw_str text)
{
    while (cw_str_ends(text, CW_STR("\n")) || cw_str_ends(text, CW_STR(" ")))
        text.n--;
    r->problems = cw_arena_dup_str(&r->arena, text);
}

/* "articles: it took too long to load" */
static void set_own_problem(cw_plugin_report *r, cw_str name, const char *text)
{
    const char *line = cw_arena_printf(&r->arena, "%.*s: %s", CW_STR_ARG(name), text);
    r->problems = line ? cw_str_from(line) : (cw_str){0};
}

/* The catalogue may refuse what the host takes: reserved names, two methods with one tool name. */
static cw_code build(cw_plugin_report *r, cw_str name, cw_err *err)
{
    static const cw_offer_ops ops = {.ref = keep, .unref = keep};
    cw_offer offer = {.name = name, .methods = r->methods, .n_methods = r->n_methods};
    cw_snapshot_opts opts = {.policy = r->policy};
    cw_code rc = cw_snapshot_build(&offer, 1, &ops, &opts, &r->snapshot, err);
    if (rc)
        return rc;
    size_t n;
    const cw_snapshot_problem *problems = cw_snapshot_problems(r->snapshot, &n);
    cw_buf text;
    cw_buf_init(&text, REPORT_MAX_BYTES);
    for (size_t i = 0; i < n; i++)
        cw_buf_printf(&text, "%.*s: %.*s\n", CW_STR_ARG(name), CW_STR_ARG(problems[i].text));
    set_problem(r, cw_buf_str(&text));
    cw_buf_done(&text);
    return CW_OK;
}

/* All mistakes that the host found, and those of the description that only we find. */
static cw_code set_mistakes(cw_plugin_report *r, cw_str name, cw_str found, const cw_json *doc,
                            cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf lines;
    cw_buf_init(&lines, REPORT_MAX_BYTES);
    cw_buf_add(&lines, found);
    cw_code rc = doc ? cw_plugin_declaration_errors(name, doc, &r->policy, &lines) : CW_OK;
    if (rc || lines.code)
        return cw_fail_nomem(err);
    set_problem(r, cw_buf_str(&lines));
    return CW_OK;
}

static cw_code read_json(cw_plugin_report *r, cw_str text, const cw_json **ret, cw_err *err)
{
    cw_str copy = cw_arena_dup_str(&r->arena, text);
    return copy.p ? cw_json_read(copy, NULL, &r->arena, ret, NULL, err)
                  : cw_arena_fail(&r->arena, err);
}

static cw_code read_description(cw_plugin_report *r, cw_str name, cw_str text, cw_err *err)
{
    cw_err mistake = {0};
    const cw_json *doc = NULL;
    cw_code rc = read_json(r, text, &doc, &mistake);
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    if (rc) {
        set_own_problem(r, name, mistake.msg);
        return CW_OK;
    }
    rc = set_mistakes(r, name, CW_STR(""), doc, err);
    if (rc || r->problems.n)
        return rc;
    cw_method *methods = NULL;
    const cw_openrpc_opts opts = {.trust_marks = true, .callable = true};
    rc = cw_openrpc_read(doc, &opts, &r->arena, &methods, &r->n_methods, err);
    if (rc)
        return rc;
    r->methods = methods;
    const cw_json *version = cw_json_pointer(doc, CW_STR("/info/version"));
    r->version = cw_json_is(version, CW_JSON_STRING) ? cw_json_text(version) : CW_STR("");
    return build(r, name, err);
}

/* The host has exited and has mistakes to tell. */
static cw_code read_mistakes(cw_plugin_report *r, cw_str name, const cw_plugin_host_child *child,
                             cw_err *err)
{
    const cw_json *doc = NULL;
    if (child->out.n && read_json(r, cw_buf_str(&child->out), &doc, NULL) != CW_OK)
        doc = NULL;
    return set_mistakes(r, name, cw_buf_str(&child->err), doc, err);
}

/* It crashed or exited: how, and the last lines it wrote. */
static cw_code set_crash(cw_plugin_report *r, cw_str name, const cw_plugin_host_child *child,
                         cw_err *err)
{
    char how[64];
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, REPORT_MAX_BYTES);
    cw_buf_printf(&text, "%.*s: %s while it was loaded: %s\n", CW_STR_ARG(name),
                  WIFSIGNALED(child->status) ? "crashed" : "ended",
                  cw_child_status_text(child->status, how, sizeof how));
    for (cw_str rest = cw_buf_str(&child->err); rest.p && rest.n;) {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        cw_buf_printf(&text, "%.*s: it wrote: %.*s\n", CW_STR_ARG(name), CW_STR_ARG(line));
    }
    if (text.code)
        return cw_fail_nomem(err);
    set_problem(r, cw_buf_str(&text));
    return CW_OK;
}

/* "/a/b/articles.so" and "articles.so.disabled" are "articles". */
static cw_str name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    cw_str name = cw_str_from(slash ? slash + 1 : path);
    static const cw_str suffixes[] = {CW_STR_INIT(CW_PLUGIN_OFF_SUFFIX),
                                      CW_STR_INIT(CW_PLUGIN_SUFFIX)};
    for (size_t i = 0; i < CW_COUNT(suffixes); i++) {
        if (cw_str_ends(name, suffixes[i]) && name.n > suffixes[i].n)
            return cw_str_make(name.p, name.n - suffixes[i].n);
    }
    return name;
}

static cw_code judge(cw_plugin_report *r, cw_str name, const cw_plugin_host_child *child,
                     cw_err *err)
{
    int exit_status = WIFEXITED(child->status) ? WEXITSTATUS(child->status) : -1;
    if (child->is_late)
        set_own_problem(r, name, "it took too long to load");
    else if (child->out.code || child->err.code)
        set_own_problem(r, name, "it writes without end while it is loaded");
    else if (exit_status == 0 && child->out.n)
        return read_description(r, name, cw_buf_str(&child->out), err);
    else if (exit_status == 1 && child->err.n)
        return read_mistakes(r, name, child, err);
    else
        return set_crash(r, name, child, err);
    return CW_OK;
}

static bool on_finding(const cw_lint_finding *finding, void *ctx)
{
    cw_buf *text = ctx;
    cw_lint_write(finding, text);
    cw_buf_add_char(text, '\n');
    return !text->code;
}

static cw_code add_warnings(cw_plugin_report *r, const cw_config *config, cw_err *err)
{
    cw_lint_opts opts = cw_sources_lint_opts(config);
    cw_name_list roles = {0};
    bool has_roles = false;
    opts.annotations = true;
    cw_arena_init(&roles.arena, REPORT_MAX_BYTES);
    if (cw_role_permissions_of_roles(config, &roles, &has_roles) == CW_OK && has_roles) {
        opts.permissions = roles.items;
        opts.n_permissions = roles.n;
    }
    cw_buf text;
    cw_buf_init(&text, REPORT_MAX_BYTES);
    cw_code rc = cw_lint(r->methods, r->n_methods, &opts, on_finding, &text);
    r->warnings = cw_arena_dup_str(&r->arena, cw_buf_str(&text));
    if (text.code || !r->warnings.p)
        rc = CW_NOMEM;
    cw_buf_done(&text);
    cw_arena_done(&roles.arena);
    return rc ? cw_fail_nomem(err) : CW_OK;
}

cw_code cw_plugin_inspect(const cw_config *config, const char *host, const char *path,
                          cw_plugin_report *ret, cw_err *err)
{
    *ret = (cw_plugin_report){
        .problems = CW_STR_INIT(""), .warnings = CW_STR_INIT(""), .version = CW_STR_INIT("")};
    ret->policy = cw_sources_policy(config);
    cw_arena_init(&ret->arena, REPORT_MAX_BYTES);
    cw_str name = name_of(path);
    const char *option = cw_arena_printf(&ret->arena, "--name=%.*s", CW_STR_ARG(name));
    if (!option)
        return cw_arena_fail(&ret->arena, err);
    /* "--": a file's name may begin with a dash. */
    const char *const argv[] = {host, "--check", "--partial", option, "--", path, NULL};
    cw_plugin_host_child child;
    cw_code rc = cw_plugin_host_run(argv, CHECK_MS, &child, err);
    if (!rc)
        rc = judge(ret, name, &child, err);
    if (!rc)
        rc = add_warnings(ret, config, err);
    cw_plugin_host_child_done(&child);
    if (!rc && !ret->problems.p)
        rc = cw_fail_nomem(err);
    return rc;
}

void cw_plugin_report_done(cw_plugin_report *report)
{
    cw_snapshot_unref(report->snapshot);
    report->snapshot = NULL;
    cw_arena_done(&report->arena);
}

void cw_plugin_print_problems(cw_str problems)
{
    cw_buf text;
    cw_buf_init(&text, REPORT_MAX_BYTES);
    for (cw_str rest = problems; rest.p && rest.n;) {
        cw_quote_shown(&text, cw_str_cut(rest, '\n', &rest));
        cw_buf_add_char(&text, '\n');
    }
    cw_str all = cw_buf_str(&text);
    fwrite(all.p, 1, all.n, stderr);
    cw_buf_done(&text);
}

void cw_plugin_write_problems(cw_json_writer *w, cw_str name, cw_str problems)
{
    cw_json_add_key(w, name);
    cw_json_open_array(w);
    for (cw_str rest = problems; rest.p && rest.n;) {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        if (line.n)
            cw_json_add_string(w, line);
    }
    cw_json_close(w);
}

void cw_plugin_report_count(const cw_plugin_report *report, size_t *ret_methods, size_t *ret_tools)
{
    *ret_methods = *ret_tools = 0;
    if (!report->snapshot)
        return;
    cw_snapshot_entries(report->snapshot, ret_methods);
    cw_snapshot_tools(report->snapshot, ret_tools);
}

const char *cw_plugin_any_caller(const cw_requirements *needs)
{
    return cw_requirements_are_empty(needs) ? "none: any caller"
                                            : "none: any caller that its auth admits";
}
