/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ui.c - reads, checks and writes the views of tools. */
#include "catalogue/ui.h"

#include <strings.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "catalogue/exposed.h"
#include "json/write.h"

#define FLAT "ui/resourceUri"

/* ---- reading ---- */

static bool is_one_of(cw_str text, const char *const *words)
{
    for (size_t i = 0; words[i]; i++) {
        if (cw_str_is(text, words[i]))
            return true;
    }
    return false;
}

/* A scheme and a host, perhaps with a wildcard label and a port: no path, no lone '*'. */
static bool is_origin(cw_str text)
{
    static const char *const schemes[] = {"https", "http", "wss", "ws", NULL};
    cw_str rest;
    cw_str scheme = cw_str_cut(text, ':', &rest);
    if (!rest.p || !is_one_of(scheme, schemes) || !cw_str_starts(rest, CW_STR("//")))
        return false;
    rest = cw_str_make(rest.p + 2, rest.n - 2);
    if (cw_str_starts(rest, CW_STR("*.")))
        rest = cw_str_make(rest.p + 2, rest.n - 2);
    for (size_t i = 0; i < rest.n; i++) {
        char c = rest.p[i];
        bool is_name = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_name && !strchr("-.:[]", c))
            return false;
    }
    return rest.n > 0;
}

static cw_code check_csp(const cw_json *csp, cw_err *err)
{
    static const char *const lists[] = {"connectDomains", "resourceDomains", "frameDomains",
                                        "baseUriDomains", NULL};
    if (!cw_json_is(csp, CW_JSON_OBJECT))
        return cw_fail(err, CW_PARAMS, "csp must be an object");
    for (const cw_json *k = cw_json_first(csp); k; k = cw_json_next_key(k)) {
        const cw_json *list = cw_json_value(k);
        if (!is_one_of(cw_json_text(k), lists))
            return cw_fail(err, CW_PARAMS, "csp: unknown member '%.*s'",
                           CW_STR_ARG(cw_json_text(k)));
        if (!cw_json_is(list, CW_JSON_ARRAY) || cw_json_count(list) > CW_UI_MAX_ORIGINS)
            return cw_fail(err, CW_PARAMS, "csp.%.*s must be a list of at most %u origins",
                           CW_STR_ARG(cw_json_text(k)), CW_UI_MAX_ORIGINS);
        for (const cw_json *x = cw_json_first(list); x; x = cw_json_next(x)) {
            if (!cw_json_is(x, CW_JSON_STRING) || !is_origin(cw_json_text(x)))
                return cw_fail(err, CW_PARAMS,
                               "csp.%.*s: expected origins such as \"https://api.example.org\"",
                               CW_STR_ARG(cw_json_text(k)));
        }
    }
    return CW_OK;
}

static cw_code check_permissions(const cw_json *permissions, cw_err *err)
{
    static const char *const known[] = {"camera", "microphone", "geolocation", "clipboardWrite",
                                        NULL};
    if (!cw_json_is(permissions, CW_JSON_OBJECT))
        return cw_fail(err, CW_PARAMS, "permissions must be an object");
    for (const cw_json *k = cw_json_first(permissions); k; k = cw_json_next_key(k)) {
        if (!is_one_of(cw_json_text(k), known) || !cw_json_is(cw_json_value(k), CW_JSON_OBJECT))
            return cw_fail(err, CW_PARAMS,
                           "permissions: expected camera, microphone, geolocation or "
                           "clipboardWrite, each with {}");
    }
    return CW_OK;
}

static cw_code check_visibility(const cw_json *list, cw_err *err)
{
    static const char *const known[] = {"model", "app", NULL};
    bool is_right = cw_json_is(list, CW_JSON_ARRAY) && cw_json_first(list);
    for (const cw_json *x = is_right ? cw_json_first(list) : NULL; x; x = cw_json_next(x))
        is_right = is_right && cw_json_is(x, CW_JSON_STRING) && is_one_of(cw_json_text(x), known);
    return is_right ? CW_OK
                    : cw_fail(err, CW_PARAMS, "visibility must be a list of \"model\" and \"app\"");
}

static cw_code check_uri(cw_str uri, cw_err *err)
{
    bool is_right = uri.n > sizeof CW_UI_SCHEME - 1 && uri.n <= CW_RESOURCE_MAX_URI &&
                    cw_str_starts(uri, CW_STR(CW_UI_SCHEME));
    for (size_t i = 0; i < uri.n; i++)
        is_right = is_right && uri.p[i] > ' ' && uri.p[i] < 0x7f;
    return is_right ? CW_OK : cw_fail(err, CW_PARAMS, "resourceUri must be a URI ui://…");
}

static cw_code check_member(const cw_json *key, cw_err *err)
{
    const cw_json *v = cw_json_value(key);
    cw_str name = cw_json_text(key);
    bool is_bool = cw_json_is(v, CW_JSON_TRUE) || cw_json_is(v, CW_JSON_FALSE);
    if (cw_str_is(name, "csp"))
        return check_csp(v, err);
    if (cw_str_is(name, "permissions"))
        return check_permissions(v, err);
    if (cw_str_is(name, "visibility"))
        return check_visibility(v, err);
    if (cw_str_is(name, "prefersBorder") || cw_str_is(name, "domain")) {
        bool is_right = cw_str_is(name, "domain") ? cw_json_is(v, CW_JSON_STRING) : is_bool;
        return is_right ? CW_OK
                        : cw_fail(err, CW_PARAMS, "%.*s has a wrong type", CW_STR_ARG(name));
    }
    if (!cw_str_is(name, "resourceUri"))
        return cw_fail(err, CW_PARAMS, "unknown member '%.*s'", CW_STR_ARG(name));
    return cw_json_is(v, CW_JSON_STRING) ? check_uri(cw_json_text(v), err)
                                         : cw_fail(err, CW_PARAMS, "resourceUri must be a text");
}

/* The members that describe the resource; those of the tool are left out. */
static cw_code keep_meta(const cw_json *v, cw_arena *arena, cw_ui *ret, cw_err *err)
{
    static const char *const of_tool[] = {"resourceUri", "visibility", NULL};
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_json_writer w;
    size_t n = 0;
    cw_buf_init(&out, CW_BUF_MAX);
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    for (const cw_json *k = cw_json_first(v); k; k = cw_json_next_key(k)) {
        if (is_one_of(cw_json_text(k), of_tool))
            continue;
        cw_json_add_key(&w, cw_json_text(k));
        cw_json_add_value(&w, cw_json_value(k));
        n++;
    }
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, err);
    if (rc)
        return rc;
    ret->meta = n ? cw_arena_dup_str(arena, cw_buf_str(&out)) : CW_STR("");
    return ret->meta.p ? CW_OK : cw_arena_fail(arena, err);
}

static cw_code keep_texts(const cw_json *v, cw_str uri, cw_arena *arena, cw_ui *ret, cw_err *err)
{
    const cw_json *own = cw_json_get(v, CW_STR("resourceUri"));
    const cw_json *visibility = cw_json_get(v, CW_STR("visibility"));
    if (own && uri.n)
        return cw_fail(err, CW_PARAMS, "resourceUri and a file exclude each other");
    if (own)
        uri = cw_json_text(own);
    if (!uri.n)
        return cw_fail(err, CW_PARAMS, "resourceUri is missing");
    ret->uri = cw_arena_dup_str(arena, uri);
    ret->visibility = visibility ? cw_arena_dup_str(arena, cw_json_span(visibility)) : CW_STR("");
    return ret->uri.p && ret->visibility.p ? CW_OK : cw_arena_fail(arena, err);
}

cw_code cw_ui_read(const cw_json *v, cw_str uri, cw_arena *arena, cw_ui *ret, cw_err *err)
{
    *ret = (cw_ui){.meta = CW_STR(""), .visibility = CW_STR("")};
    if (cw_json_is(v, CW_JSON_STRING)) {
        cw_code rc = check_uri(cw_json_text(v), err);
        if (rc)
            return rc;
        ret->uri = cw_arena_dup_str(arena, cw_json_text(v));
        return ret->uri.p ? CW_OK : cw_arena_fail(arena, err);
    }
    if (v && !cw_json_is(v, CW_JSON_OBJECT))
        return cw_fail(err, CW_PARAMS, "expected a URI or an object");
    for (const cw_json *k = v ? cw_json_first(v) : NULL; k; k = cw_json_next_key(k)) {
        cw_code rc = check_member(k, err);
        if (rc)
            return rc;
    }
    cw_code rc = keep_texts(v, uri, arena, ret, err);
    return rc || !v ? rc : keep_meta(v, arena, ret, err);
}

cw_code cw_ui_check_html(cw_str html, cw_err *err)
{
    static const char doctype[] = "<!doctype html";
    if (!cw_utf8_is_valid(html))
        return cw_fail(err, CW_PARAMS, "it is not UTF-8");
    html = cw_str_trim(html);
    if (html.n < sizeof doctype - 1 || strncasecmp(html.p, doctype, sizeof doctype - 1) != 0)
        return cw_fail(err, CW_PARAMS, "it does not begin with <!doctype html>");
    return CW_OK;
}

/* ---- writing ---- */

static void write_view(cw_json_writer *w, const cw_ui *ui)
{
    cw_json_add_key(w, CW_STR("ui"));
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("resourceUri"), ui->uri);
    if (ui->visibility.n) {
        cw_json_add_key(w, CW_STR("visibility"));
        cw_json_add_span(w, ui->visibility);
    }
    cw_json_close(w);
    cw_json_add_string_member(w, CW_STR(FLAT), ui->uri);
}

static void add_others(cw_json_writer *w, const cw_json *object, const char *const *skipped)
{
    for (const cw_json *k = object ? cw_json_first(object) : NULL; k; k = cw_json_next_key(k)) {
        if (is_one_of(cw_json_text(k), skipped))
            continue;
        cw_json_add_key(w, cw_json_text(k));
        cw_json_add_value(w, cw_json_value(k));
    }
}

cw_code cw_ui_write_more(const cw_ui *ui, cw_str more, cw_arena *arena, cw_str *ret, cw_err *err)
{
    static const char *const meta[] = {"_meta", NULL}, *const own[] = {"ui", FLAT, NULL};
    const cw_json *before = NULL;
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_json_writer w;
    const cw_json_opts deep = {.max_bytes = more.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    cw_buf_init(&out, CW_BUF_MAX);
    if (more.n && cw_json_read(more, &deep, arena, &before, NULL, NULL))
        return cw_arena_fail(arena, err);
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    add_others(&w, before, meta);
    cw_json_add_key(&w, CW_STR("_meta"));
    cw_json_open_object(&w);
    add_others(&w, cw_json_get(before, CW_STR("_meta")), own);
    write_view(&w, ui);
    cw_json_close(&w);
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, err);
    if (rc)
        return rc;
    *ret = cw_arena_dup_str(arena, cw_buf_str(&out));
    return ret->p ? CW_OK : cw_arena_fail(arena, err);
}

cw_code cw_ui_read_mark(const cw_json *v, cw_arena *arena, cw_mark *mark, cw_err *err)
{
    cw_ui *ui = v ? cw_arena_calloc(arena, 1, sizeof *ui) : NULL;
    if (!v)
        return CW_OK;
    if (!ui)
        return cw_arena_fail(arena, err);
    cw_code rc = cw_ui_read(v, CW_STR(""), arena, ui, err);
    if (rc)
        return rc == CW_PARAMS ? cw_wrap(err, rc, "ui") : rc;
    mark->ui = ui;
    return cw_ui_write_more(ui, mark->more, arena, &mark->more, err);
}

cw_code cw_ui_copy(cw_mark *mark, cw_arena *arena, cw_err *err)
{
    cw_ui *copy = cw_arena_alloc(arena, sizeof *copy);
    if (!copy)
        return cw_arena_fail(arena, err);
    const cw_ui *from = mark->ui;
    *copy = (cw_ui){.uri = cw_arena_dup_str(arena, from->uri),
                    .visibility = cw_arena_dup_str(arena, from->visibility),
                    .meta = cw_arena_dup_str(arena, from->meta),
                    .html = from->html.n ? cw_arena_dup_str(arena, from->html) : CW_STR("")};
    mark->ui = copy;
    mark->more = cw_arena_dup_str(arena, mark->more);
    bool is_whole =
        copy->uri.p && copy->visibility.p && copy->meta.p && copy->html.p && mark->more.p;
    return is_whole ? CW_OK : cw_arena_fail(arena, err);
}

static cw_str text_of(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
}

cw_str cw_ui_uri_of(const cw_json *more)
{
    const cw_json *meta = cw_json_get(more, CW_STR("_meta"));
    const cw_json *ui = cw_json_get(meta, CW_STR("ui"));
    cw_str nested = text_of(cw_json_get(ui, CW_STR("resourceUri")));
    return nested.n ? nested : text_of(cw_json_get(meta, CW_STR(FLAT)));
}

static void add_member(cw_buf *out, size_t first, cw_str name)
{
    if (out->n > first)
        cw_buf_add_char(out, ',');
    cw_json_escape(out, name);
    cw_buf_add_char(out, ':');
}

static void add_ui_without(cw_buf *out, const cw_json *ui)
{
    cw_buf_add_char(out, '{');
    size_t first = out->n;
    for (const cw_json *k = cw_json_is(ui, CW_JSON_OBJECT) ? cw_json_first(ui) : NULL; k;
         k = cw_json_next_key(k)) {
        if (cw_str_is(cw_json_text(k), "resourceUri"))
            continue;
        add_member(out, first, cw_json_text(k));
        cw_buf_add(out, cw_json_span(cw_json_value(k)));
    }
    cw_buf_add_char(out, '}');
}

void cw_ui_add_meta_without(cw_buf *out, size_t first, const cw_json *meta)
{
    for (const cw_json *k = meta ? cw_json_first(meta) : NULL; k; k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        if (cw_str_is(name, FLAT))
            continue;
        add_member(out, first, name);
        if (cw_str_is(name, "ui"))
            add_ui_without(out, cw_json_value(k));
        else
            cw_buf_add(out, cw_json_span(cw_json_value(k)));
    }
}

/* ---- in the catalogue ---- */

/* A template of an MCP server that covers the URI, of the same source. */
static bool has_template(const cw_snapshot *s, const cw_entry *entry)
{
    size_t n;
    const cw_entry *const *templates = cw_snapshot_exposed(s, CW_EXPOSED_TEMPLATE, &n);
    for (size_t i = 0; i < n; i++) {
        const cw_method *m = templates[i]->method;
        if (m->source == entry->method->source && m->exposed->is_relayed &&
            cw_exposed_covers(m->exposed->address, entry->method->mark->ui->uri))
            return true;
    }
    return false;
}

bool cw_ui_is_offered(const cw_snapshot *s, const cw_entry *entry)
{
    const cw_ui *ui = entry->method->mark->ui;
    if (ui->html.n || cw_str_is(ui->uri, CW_UI_BUILTIN))
        return true;
    const cw_entry *at = cw_snapshot_find_exposed(s, CW_EXPOSED_RESOURCE, ui->uri);
    if (!at)
        return has_template(s, entry);
    cw_str type = text_of(cw_json_get(at->method->exposed->json, CW_STR("mimeType")));
    return at->method->source == entry->method->source && cw_str_is(type, CW_UI_TYPE);
}

/* The place of the first one with this URI, or behind it. */
static size_t find_place(const cw_entry *const *all, size_t n, cw_str uri)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cw_str_cmp(all[middle]->method->mark->ui->uri, uri) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const cw_entry *cw_view_find_ui(const cw_view *v, cw_str uri)
{
    size_t n;
    const cw_entry *const *all = cw_snapshot_uis(cw_view_snapshot(v), &n);
    for (size_t i = find_place(all, n, uri); i < n; i++) {
        if (!cw_str_eq(all[i]->method->mark->ui->uri, uri))
            return NULL;
        if (cw_view_shows(v, all[i]) && cw_view_verdict(v, all[i]) == CW_VERDICT_ALLOW)
            return all[i];
    }
    return NULL;
}

bool cw_view_has_ui(const cw_view *v)
{
    size_t n;
    const cw_entry *const *all = cw_snapshot_uis(cw_view_snapshot(v), &n);
    for (size_t i = 0; i < n; i++) {
        if (cw_view_shows(v, all[i]))
            return true;
    }
    return false;
}
