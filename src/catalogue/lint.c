/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lint.c - warnings about tools that clients would misread. */
#include "catalogue/lint.h"

#include "access/scopes.h"
#include "catalogue/schema_bundle.h"
#include "catalogue/tool/mcp_tool.h"
#include "catalogue/tool/param_headers.h"
#include "schema/rewrite/draft_diff.h"

typedef struct review {
    const cw_lint_opts *opts;
    cw_lint_fn fn;
    void *ctx;
    cw_lint_finding finding; /* of the schema that is looked at */
    cw_arena trees;          /* of one method */
    bool is_over;
} review;

static void report(review *r, const cw_lint_finding *finding)
{
    r->is_over = !r->fn(finding, r->ctx);
}

/* ---- scopes ---- */

static bool is_known(const cw_lint_opts *opts, cw_str scope)
{
    for (size_t i = 0; i < opts->n_scopes; i++) {
        if (cw_str_eq(opts->scopes[i], scope))
            return true;
    }
    return cw_scope_find(scope) != NULL;
}

static void lint_scopes(review *r, const cw_method *m)
{
    for (size_t i = 0; i < m->needs.n_scopes && !r->is_over; i++) {
        cw_lint_finding finding = {
            .method = m->id, .scope = m->needs.scopes[i], .text = "is not a known scope"};
        if (!is_known(r->opts, finding.scope))
            report(r, &finding);
    }
}

/* ---- annotations and permissions ---- */

#define NEAR_MAX 3u

/* The nearest of the list, or an empty text. */
static cw_str nearest(cw_str name, const cw_str *list, size_t n)
{
    unsigned best = NEAR_MAX + 1;
    cw_str found = CW_STR("");
    for (size_t i = 0; i < n; i++) {
        unsigned distance = cw_str_distance_within(name, list[i], NEAR_MAX);
        if (distance < best && distance < name.n) {
            best = distance;
            found = list[i];
        }
    }
    return found;
}

static bool is_in(cw_str name, const cw_str *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (cw_str_eq(list[i], name))
            return true;
    }
    return false;
}

/* Those of MCP, and ours. The first is a text, the hints are true or false. */
static const cw_str annotations[] = {
    CW_STR_INIT("title"),           CW_STR_INIT("auth"),           CW_STR_INIT("readOnlyHint"),
    CW_STR_INIT("destructiveHint"), CW_STR_INIT("idempotentHint"), CW_STR_INIT("openWorldHint"),
};

static const char *wrong_type(cw_str name, const cw_json *v)
{
    bool is_bool = cw_json_is(v, CW_JSON_TRUE) || cw_json_is(v, CW_JSON_FALSE);
    if (cw_str_ends(name, CW_STR("Hint")) && !is_bool)
        return "must be true or false";
    if (cw_str_is(name, "title") && !cw_json_is(v, CW_JSON_STRING))
        return "must be a string";
    return NULL;
}

static cw_code lint_annotations(review *r, const cw_method *m)
{
    const cw_json *all;
    if (r->is_over || !r->opts->annotations || !m->mark || !m->mark->annotations.n)
        return CW_OK;
    cw_arena_reset(&r->trees);
    cw_code rc = cw_json_read(m->mark->annotations, NULL, &r->trees, &all, NULL, NULL);
    if (rc)
        return rc == CW_NOMEM ? rc : CW_OK;
    for (const cw_json *k = cw_json_first(all); k && !r->is_over; k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        cw_lint_finding finding = {.method = m->id, .annotation = name};
        if (is_in(name, annotations, CW_COUNT(annotations))) {
            finding.text = wrong_type(name, cw_json_value(k));
        } else if (!cw_tool_is_hint(name)) {
            finding.text = "is not known";
            finding.suggestion = nearest(name, annotations, CW_COUNT(annotations));
            finding.is_minor = finding.suggestion.n == 0;
        }
        if (finding.text)
            report(r, &finding);
    }
    return CW_OK;
}

/* Review a resource or template. Other servers correct their own. */
static void lint_exposed(review *r, const cw_method *m)
{
    static const cw_str known[] = {CW_STR_INIT("audience"), CW_STR_INIT("priority"),
                                   CW_STR_INIT("lastModified")};
    const cw_json *all = r->opts->annotations && m->exposed && !m->exposed->is_relayed
                             ? cw_json_get(m->exposed->json, CW_STR("annotations"))
                             : NULL;
    for (const cw_json *k = all ? cw_json_first(all) : NULL; k && !r->is_over;
         k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        if (is_in(name, known, CW_COUNT(known)))
            continue;
        cw_lint_finding finding = {.method = m->id,
                                   .annotation = name,
                                   .text = "is not known",
                                   .suggestion = nearest(name, known, CW_COUNT(known))};
        finding.is_minor = finding.suggestion.n == 0;
        report(r, &finding);
    }
}

static void lint_permissions(review *r, const cw_method *m)
{
    const cw_lint_opts *o = r->opts;
    for (size_t i = 0; o->permissions && i < m->needs.n_permissions && !r->is_over; i++) {
        cw_str name = m->needs.permissions[i];
        /* First: thousands of methods and permissions are quick to compare, but not to measure. */
        if (is_in(name, o->permissions, o->n_permissions))
            continue;
        cw_lint_finding finding = {.method = m->id,
                                   .permission = name,
                                   .text = "is a permission that no role has",
                                   .suggestion = nearest(name, o->permissions, o->n_permissions)};
        report(r, &finding);
    }
}

/* ---- schemas ---- */

static bool on_difference(const cw_schema_difference *d, void *ctx)
{
    review *r = ctx;
    cw_lint_finding finding = r->finding;
    finding.pointer = d->pointer;
    finding.keyword = d->keyword;
    finding.text = d->text;
    report(r, &finding);
    return !r->is_over;
}

/* Whether it can be draft-07: the schema, a part of it, or one without $schema. */
static bool may_be_old(const review *r, cw_str text)
{
    return r->opts->policy.draft == CW_SCHEMA_DRAFT_07 ||
           memmem(text.p, text.n, "/draft-0", 8) != NULL;
}

static cw_code read_schema(review *r, cw_str text, const cw_json **ret)
{
    const cw_json_opts deep = {.max_depth = CW_JSON_DEPTH_CEILING};
    return cw_json_read(text, &deep, &r->trees, ret, NULL, NULL);
}

/* `published`: the dialect that the tool names for it. */
static cw_code lint_schema(review *r, cw_str text, cw_schema_draft published)
{
    cw_schema *s;
    const cw_json *schema;
    bool is_mixed = published != CW_SCHEMA_2020_12;
    if (r->is_over || !text.n || !(may_be_old(r, text) || is_mixed))
        return CW_OK;
    cw_code rc = read_schema(r, text, &schema);
    if (rc || !cw_schema_may_differ(schema))
        return rc;
    const cw_schema_opts opts = {.draft = r->opts->policy.draft, .annotate_formats = true};
    rc = cw_schema_compile(schema, &opts, &s, NULL);
    if (rc)
        return rc == CW_NOMEM ? rc : CW_OK;
    if (is_mixed && cw_schema_draft_of(s) == CW_SCHEMA_2020_12)
        on_difference(&(cw_schema_difference){.pointer = CW_STR_INIT(""),
                                              .keyword = CW_STR_INIT("$schema"),
                                              .text = "2020-12 here, but the tool's inputSchema "
                                                      "says draft-07, for another parameter"},
                      r);
    if (!r->is_over)
        rc = cw_schema_differences(s, on_difference, r);
    cw_schema_unref(s);
    return rc;
}

/* The $schema of inputSchema: the first one of a parameter (catalogue/tool/tool_json.h). */
static cw_code find_published(review *r, const cw_method *m, cw_schema_draft *ret)
{
    const cw_json *dialect = NULL;
    cw_code rc = CW_OK;
    for (size_t i = 0; i < m->n_params && !dialect && !rc; i++) {
        cw_str text = m->params[i].schema;
        const cw_json *schema = NULL;
        /* The few that can have one, however it is spelt. */
        if (cw_bundle_may_be_in(text))
            rc = read_schema(r, text, &schema);
        dialect = cw_json_get(schema, CW_STR("$schema"));
    }
    cw_str text = cw_json_is(dialect, CW_JSON_STRING) ? cw_json_text(dialect) : CW_STR("");
    *ret = memmem(text.p, text.n, "/draft-0", 8) ? CW_SCHEMA_DRAFT_07 : CW_SCHEMA_2020_12;
    return rc;
}

static cw_code lint_schemas(review *r, const cw_method *m)
{
    cw_schema_draft published;
    cw_arena_reset(&r->trees);
    r->finding = (cw_lint_finding){.method = m->id};
    cw_code rc = find_published(r, m, &published);
    if (!rc)
        rc = lint_schema(r, m->output, CW_SCHEMA_2020_12);
    for (size_t i = 0; i < m->n_params && !rc; i++) {
        r->finding.param = m->params[i].name;
        rc = lint_schema(r, m->params[i].schema, published);
    }
    return rc;
}

/* ---- headers ---- */

static cw_code lint_param_headers(review *r, const cw_method *m)
{
    const cw_param_headers *mirrors;
    size_t n;
    cw_err why = {0};
    if (!m->mark || r->is_over)
        return CW_OK;
    cw_code rc = cw_param_headers_find(m, NULL, &r->trees, &mirrors, &n, &why);
    if (rc != CW_PARAMS)
        return rc == CW_NOMEM ? rc : CW_OK;
    cw_lint_finding finding = {.method = m->id,
                               .keyword = CW_STR_INIT(CW_PARAM_HEADERS_KEYWORD),
                               .is_input = true,
                               .text = why.msg};
    report(r, &finding);
    return CW_OK;
}

/* ---- portable schemas ---- */

static const char *portable_problem(const cw_schema_portable *made)
{
    switch (made ? made->shown : CW_SCHEMA_SHOWN) {
    case CW_SCHEMA_SHOWN:
        break;
    case CW_SCHEMA_SHOWN_WITH_REFS:
        return "the schema is too large without references: some models do not get the parts that "
               "they lead to";
    case CW_SCHEMA_SHOWN_NAMES:
        return "the schema is too large or too deep: models get the names of the params only";
    }
    return NULL;
}

/* Schemas that no rewriting makes fit for every model API. */
static cw_code lint_portable(review *r, const cw_method *m)
{
    CW_CLEANUP(cw_buf_done) cw_buf text = {0};
    cw_entry entry = {.method = m};
    const cw_schema_portable *made = NULL;
    if (!m->mark || r->is_over || !r->opts->portable)
        return CW_OK;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_arena_reset(&r->trees);
    cw_code rc = cw_tool_json(&entry, &r->trees, &text, NULL);
    if (!rc)
        rc = cw_tool_make_portable(&entry, cw_buf_str(&text), r->opts->policy.draft, &r->trees,
                                   &r->trees, &made);
    if (rc)
        return rc == CW_NOMEM ? rc : CW_OK;
    cw_lint_finding finding = {.method = m->id, .is_input = true, .text = portable_problem(made)};
    if (finding.text)
        report(r, &finding);
    return CW_OK;
}

cw_code cw_lint(const cw_method *methods, size_t n, const cw_lint_opts *opts, cw_lint_fn fn,
                void *ctx)
{
    review r = {.opts = opts, .fn = fn, .ctx = ctx};
    cw_code rc = CW_OK;
    cw_arena_init(&r.trees, CW_ARENA_MAX);
    for (size_t i = 0; i < n && !rc && !r.is_over; i++) {
        lint_scopes(&r, &methods[i]);
        lint_permissions(&r, &methods[i]);
        lint_exposed(&r, &methods[i]);
        rc = lint_annotations(&r, &methods[i]);
        if (!rc && !r.is_over)
            rc = lint_schemas(&r, &methods[i]);
        if (!rc)
            rc = lint_param_headers(&r, &methods[i]);
        if (!rc)
            rc = lint_portable(&r, &methods[i]);
    }
    cw_arena_done(&r.trees);
    return rc;
}

static void write_finding(const cw_lint_finding *finding, cw_buf *out)
{
    cw_buf_printf(out, "method '%.*s': ", CW_STR_ARG(finding->method));
    if (finding->scope.n) {
        cw_buf_printf(out, "scope '%.*s' %s", CW_STR_ARG(finding->scope), finding->text);
        return;
    }
    if (finding->annotation.n || finding->permission.n) {
        cw_str name = finding->annotation.n ? finding->annotation : finding->permission;
        cw_buf_printf(out, "%s '%.*s' %s", finding->annotation.n ? "annotation" : "permission",
                      CW_STR_ARG(name), finding->text);
        if (finding->suggestion.n)
            cw_buf_printf(out, "; did you mean '%.*s'?", CW_STR_ARG(finding->suggestion));
        return;
    }
    if (finding->is_input)
        cw_buf_add(out, CW_STR("params: "));
    else if (finding->param.n)
        cw_buf_printf(out, "param '%.*s': ", CW_STR_ARG(finding->param));
    else
        cw_buf_add(out, CW_STR("result: "));
    cw_buf_printf(out, "%.*s%s%s", CW_STR_ARG(finding->pointer), finding->pointer.n ? ": " : "",
                  finding->text);
}

void cw_lint_write(const cw_lint_finding *finding, cw_buf *out)
{
    size_t from = out->n;
    write_finding(finding, out);
    cw_buf_escape_controls(out, from);
}
