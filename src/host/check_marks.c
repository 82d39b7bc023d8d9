/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check_marks.c - assigns resources, prompts and completions to their methods. */
#include <stdlib.h>

#include "base/sort.h"
#include "host/check_int.h"
#include "host/uri.h"

static const struct {
    const char *macro;
    const char *noun;
    size_t size;
} kinds[] = {
    [CW_MARK_RESOURCE] = {"CW_RESOURCE", "resource", sizeof(cw_plugin_resource)},
    [CW_MARK_TEMPLATE] = {"CW_RESOURCE_TEMPLATE", "resource template", sizeof(cw_plugin_resource)},
    [CW_MARK_PROMPT] = {"CW_PROMPT", "prompt", sizeof(cw_plugin_prompt)},
    [CW_MARK_COMPLETE] = {"CW_COMPLETE", "completion", sizeof(cw_plugin_complete)},
};

static bool is_text(const cw_json *v)
{
    return !v || cw_json_is(v, CW_JSON_STRING);
}

static bool is_absent(const cw_json *v)
{
    return !v;
}

static bool is_audience(const cw_json *v)
{
    if (!v)
        return true;
    if (!cw_json_is(v, CW_JSON_ARRAY))
        return false;
    for (const cw_json *e = cw_json_first(v); e; e = cw_json_next(e))
        if (!cw_json_is(e, CW_JSON_STRING) ||
            (!cw_str_is(cw_json_text(e), "user") && !cw_str_is(cw_json_text(e), "assistant")))
            return false;
    return true;
}

static bool is_priority(const cw_json *v)
{
    double number;
    return !v || (cw_json_to_double(v, &number) && number >= 0 && number <= 1);
}

/* A list of pictures, each with its address. */
static void check_icons(const cw_check_place *at, const char *text, cw_hosted_method *m)
{
    const cw_json *list = cw_check_json(at, "icons", text);
    if (!list)
        return;
    bool is_right = cw_json_is(list, CW_JSON_ARRAY);
    for (const cw_json *v = is_right ? cw_json_first(list) : NULL; v; v = cw_json_next(v))
        is_right &= cw_json_is(cw_json_get(v, CW_STR("src")), CW_JSON_STRING);
    if (!is_right)
        cw_check_problem(at, "icons", "must be an array of objects with a \"src\"");
    m->icons = list;
}

/* Whether the schema of a parameter lets a string through, as far as its type tells. */
static bool takes_strings(const cw_hosted_param *p)
{
    const cw_json *type = cw_json_get(p->schema, CW_STR("type"));
    if (cw_json_is(type, CW_JSON_STRING))
        return cw_str_is(cw_json_text(type), "string");
    for (const cw_json *v = cw_json_is(type, CW_JSON_ARRAY) ? cw_json_first(type) : NULL; v;
         v = cw_json_next(v))
        if (cw_json_is(v, CW_JSON_STRING) && cw_str_is(cw_json_text(v), "string"))
            return true;
    return !cw_json_is(type, CW_JSON_ARRAY);
}

static const cw_hosted_param *find_param(const cw_hosted_method *m, cw_str name)
{
    for (size_t i = 0; i < m->n_params; i++)
        if (cw_str_eq(m->params[i].name, name))
            return &m->params[i];
    return NULL;
}

static void check_strings(const cw_check_place *at, const cw_hosted_param *p)
{
    if (!takes_strings(p))
        cw_check_problem(at, cw_check_subject(at->h, "param", p->decl->name, ""),
                         "must take strings");
}

/* Each variable is a parameter. */
static void check_variables(const cw_check_place *at, const cw_hosted_method *m, cw_str text)
{
    cw_template_part part;
    while (text.n && cw_template_next(&text, &part)) {
        const cw_hosted_param *p = find_param(m, part.name);
        if (!part.name.p)
            break;
        if (p) {
            check_strings(at, p);
            continue;
        }
        const char *name = cw_arena_dup(&at->h->arena, part.name.p, part.name.n);
        cw_check_problem(at, "uri_template",
                         cw_check_subject(at->h, "variable", name, " is no param of the method"));
    }
}

/* A reader gives the variables of a template and nothing else. */
static void check_needs(const cw_check_place *at, const cw_hosted_method *m, cw_str text)
{
    for (size_t i = 0; i < m->n_params; i++) {
        const cw_hosted_param *p = &m->params[i];
        if (p->decl->required && !p->default_value && !cw_template_has(text, p->name))
            cw_check_problem(at, cw_check_subject(at->h, "param", p->decl->name, ""),
                             "is required, but a reader cannot give it");
    }
}

static void check_address(const cw_check_place *at, const cw_hosted_method *m)
{
    const cw_plugin_resource *r = m->resource;
    bool is_template = cw_hosted_is_template(m);
    const char *address = is_template ? r->uri_template : r->uri;
    const char *member = is_template ? "uri_template" : "uri";
    cw_str text = cw_str_from(address);
    if (is_template ? r->uri != NULL : r->uri_template != NULL)
        cw_check_problem(at, is_template ? "uri" : "uri_template",
                         is_template ? "is for CW_RESOURCE" : "is for CW_RESOURCE_TEMPLATE");
    const char *bad = is_template ? cw_template_problem(text) : cw_uri_problem(text);
    if (!address || !address[0])
        bad = "must not be empty";
    if (bad) {
        cw_check_problem(at, member, bad);
        return;
    }
    if (is_template)
        check_variables(at, m, text);
    check_needs(at, m, is_template ? text : CW_STR(""));
}

static void check_optional_name(const cw_check_place *at, const char *name)
{
    if (name)
        cw_check_name(at, "name", name);
}

/* A method has one answer to who may use it, whichever way it is called. */
static void check_auth(const cw_check_place *at, const cw_hosted_method *m, cw_hosted_auth auth)
{
    bool has_tool = m->tool && (cw_hosted_has_auth(CW_HOSTED_AUTH(m->tool)) ||
                                m->tool->visibility || cw_json_get(m->annotations, CW_STR("auth")));
    cw_str level = auth.level ? cw_str_from(auth.level) : (cw_str){0};
    cw_check_scopes(at, auth.scopes);
    cw_check_text(at, "auth_description", auth.description);
    if (auth.level)
        cw_check_level(at, "auth_level", level);
    cw_check_visibility(at, auth.visibility,
                        has_tool || cw_check_requires_login(level, auth.scopes[0] != NULL));
    if (has_tool && (cw_hosted_has_auth(auth) || auth.visibility))
        cw_check_problem(at, "scopes", "CW_TOOL already sets who may use the method");
}

static void check_resource(const cw_check_place *at, cw_hosted_method *m)
{
    const cw_plugin_resource *r = m->resource;
    check_address(at, m);
    check_optional_name(at, r->name);
    cw_check_text(at, "title", r->title);
    cw_check_text(at, "description", r->description);
    if (r->mime_type && !strchr(r->mime_type, '/'))
        cw_check_problem(at, "mime_type", "must be of the form \"text/plain\"");
    cw_check_text(at, "mime_type", r->mime_type);
    if (r->size > INT64_MAX)
        cw_check_problem(at, "size", "too large");
    else if (r->size > 0 && cw_hosted_is_template(m))
        cw_check_problem(at, "size", "is for CW_RESOURCE");
    m->mark_annotations = cw_check_object(at, "annotations", r->annotations);
    size_t at_member = 0;
    const char *bad = NULL;
    while (m->mark_annotations &&
           (bad = cw_annotations_problem(m->mark_annotations, &at_member)) != NULL)
        cw_check_problem(at, "annotations", bad);
    if (m->mark_annotations && cw_json_count(m->mark_annotations) == 0)
        m->mark_annotations = NULL;
    check_icons(at, r->icons, m);
    check_auth(at, m, CW_HOSTED_AUTH(r));
}

static void check_prompt(const cw_check_place *at, cw_hosted_method *m)
{
    const cw_plugin_prompt *p = m->prompt;
    check_optional_name(at, p->name);
    cw_check_text(at, "title", p->title);
    for (size_t i = 0; i < m->n_params; i++)
        check_strings(at, &m->params[i]);
    check_icons(at, p->icons, m);
    check_auth(at, m, CW_HOSTED_AUTH(p));
}

static void check_complete(const cw_check_place *at, cw_hosted_method *m,
                           const cw_plugin_complete *c)
{
    cw_str name = cw_str_from(c->argument);
    const cw_hosted_param *p = find_param(m, name);
    if (!m->prompt && !cw_hosted_is_template(m)) {
        cw_check_problem(at, "CW_COMPLETE", "the method is neither a prompt nor a template");
        return;
    }
    if (!p || (!m->prompt && !cw_template_has(cw_str_from(m->resource->uri_template), name))) {
        cw_check_problem(at, cw_check_subject(at->h, "argument", c->argument, ""),
                         m->prompt ? "is no param of the method"
                                   : "is no variable of the template");
        return;
    }
    if (!c->complete)
        cw_check_problem(at, cw_check_subject(at->h, "argument", c->argument, ""),
                         "the function is missing");
    if (!m->completes)
        m->completes = cw_arena_calloc(&at->h->arena, m->n_params, sizeof(*m->completes));
    if (!m->completes) {
        at->h->problems.code = CW_NOMEM;
        return;
    }
    cw_plugin_function *place = &m->completes[p - m->params];
    if (*place)
        cw_check_problem(at, cw_check_subject(at->h, "argument", c->argument, ""),
                         "completed twice");
    *place = c->complete;
}

static cw_hosted_method *find_method(const cw_hosted *h, const cw_plugin_mark *mark)
{
    for (size_t i = 0; i < h->n; i++) {
        const cw_plugin_method *decl = h->methods[i].decl;
        if (decl->run == mark->run && strcmp(decl->function, mark->function) == 0)
            return &h->methods[i];
    }
    return NULL;
}

static void check_mark_of(cw_check_place at, const cw_plugin_mark *mark, cw_hosted_method *m)
{
    at.subject = cw_check_subject(at.h, "method", m->decl->id, "");
    if (mark->kind == CW_MARK_COMPLETE) {
        at.part = "completion: ";
        /* The mark is the first member of each. */
        check_complete(&at, m, (const cw_plugin_complete *)(const void *)mark);
        return;
    }
    if (m->resource || m->prompt) {
        cw_check_problem(&at, kinds[mark->kind].macro,
                         "a method is one resource, one template or one prompt");
        return;
    }
    at.part = mark->kind == CW_MARK_PROMPT ? "prompt: " : "resource: ";
    if (mark->kind == CW_MARK_PROMPT) {
        m->prompt = (const cw_plugin_prompt *)(const void *)mark;
        check_prompt(&at, m);
        return;
    }
    m->resource = (const cw_plugin_resource *)(const void *)mark;
    check_resource(&at, m);
}

/* One mark; completions want those of all other kinds to be known. */
static void check_mark(cw_check_place at, const cw_plugin_mark *mark)
{
    size_t before = at.h->problems.n;
    at.subject = cw_check_subject(at.h, kinds[mark->kind].noun, mark->function, "");
    cw_hosted_method *m = find_method(at.h, mark);
    if (!m) {
        cw_check_problem(&at, kinds[mark->kind].macro, "there is no CW_METHOD of this function");
        return;
    }
    check_mark_of(at, mark, m);
    m->has_problems = m->has_problems || at.h->problems.n > before;
}

/* Whether this host knows the mark and can read all of it. */
static bool is_known(cw_check_place at, const cw_plugin_mark *mark)
{
    bool has_kind = mark->kind > 0 && mark->kind < CW_COUNT(kinds);
    if (has_kind && mark->size >= kinds[mark->kind].size)
        return true;
    at.subject = cw_check_subject(at.h, "function", mark->function, "");
    cw_check_problem(&at, "mark",
                     has_kind ? "built with a header of another version; build it anew"
                              : "of a kind that this version of Causeway does not know");
    return false;
}

/* The address or name that must not be used twice, of one kind of marks; .p NULL: not of it. */
static cw_str key_of(const cw_hosted_method *m, cw_mark_kind kind)
{
    if (kind == CW_MARK_PROMPT && m->prompt)
        return m->prompt->name ? cw_str_from(m->prompt->name) : m->id;
    if (m->resource && m->resource->mark.kind == kind)
        return cw_str_from(kind == CW_MARK_TEMPLATE ? m->resource->uri_template : m->resource->uri);
    return (cw_str){0};
}

static void check_twice(cw_check_place at, cw_mark_kind kind, cw_str *keys)
{
    size_t n = 0;
    for (size_t i = 0; i < at.h->n; i++) {
        cw_str key = key_of(&at.h->methods[i], kind);
        if (key.n > 0)
            keys[n++] = key;
    }
    qsort(keys, n, sizeof(keys[0]), cw_sort_texts);
    for (size_t i = 1; i < n; i++) {
        bool is_first = i < 2 || !cw_str_eq(keys[i], keys[i - 2]);
        if (!is_first || !cw_str_eq(keys[i], keys[i - 1]))
            continue;
        at.subject = cw_check_subject(at.h, kinds[kind].noun, keys[i].p, "");
        cw_check_problem(&at, kind == CW_MARK_PROMPT ? "name" : "uri", "declared twice");
    }
}

const char *cw_annotations_problem(const cw_json *annotations, size_t *next)
{
    static const struct {
        cw_str name;
        bool (*is_right)(const cw_json *v);
        const char *problem;
    } members[] = {
        {CW_STR_INIT("auth"), is_absent, "\"auth\" is no annotation of content"},
        {CW_STR_INIT("audience"), is_audience,
         "\"audience\" must be an array of \"user\" and \"assistant\""},
        {CW_STR_INIT("priority"), is_priority, "\"priority\" must be a number from 0 to 1"},
        {CW_STR_INIT("lastModified"), is_text, "\"lastModified\" must be a string"},
    };
    if (!cw_json_is(annotations, CW_JSON_OBJECT))
        return (*next)++ ? NULL : "must be an object";
    while (*next < CW_COUNT(members)) {
        size_t i = (*next)++;
        if (!members[i].is_right(cw_json_get(annotations, members[i].name)))
            return members[i].problem;
    }
    return NULL;
}

void cw_check_marks(cw_check_place at, const cw_plugin_entry *entry)
{
    size_t n = 0;
    for (const cw_plugin_mark *m = entry->marks; m; m = m->next)
        n++;
    if (n == 0)
        return;
    const cw_plugin_mark **marks = cw_arena_calloc(&at.h->arena, n, sizeof(const cw_plugin_mark *));
    cw_str *keys = cw_arena_calloc(&at.h->arena, at.h->n, sizeof(*keys));
    if (!marks || !keys) {
        at.h->problems.code = CW_NOMEM;
        return;
    }
    /* The list has the last one first; problems come in the order of the source. */
    size_t i = n;
    for (const cw_plugin_mark *m = entry->marks; m; m = m->next)
        marks[--i] = is_known(at, m) ? m : NULL;
    for (i = 0; i < n; i++)
        if (marks[i] && marks[i]->kind != CW_MARK_COMPLETE)
            check_mark(at, marks[i]);
    for (i = 0; i < n; i++)
        if (marks[i] && marks[i]->kind == CW_MARK_COMPLETE)
            check_mark(at, marks[i]);
    check_twice(at, CW_MARK_RESOURCE, keys);
    check_twice(at, CW_MARK_TEMPLATE, keys);
    check_twice(at, CW_MARK_PROMPT, keys);
}

const cw_hosted_method *cw_hosted_find_mark(const cw_hosted *h, cw_str name)
{
    for (size_t i = 0; name.n > 0 && i < h->n; i++) {
        const cw_hosted_method *m = &h->methods[i];
        if (cw_str_eq(key_of(m, CW_MARK_RESOURCE), name) ||
            cw_str_eq(key_of(m, CW_MARK_PROMPT), name))
            return m;
    }
    return NULL;
}
