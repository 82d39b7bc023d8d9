/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check.c - declarations to methods, and everything that is wrong with them. */
#include <stdlib.h>

#include "base/utf8.h"
#include "host/hosted.h"

/* Where a problem is: "articles: method 'a.b': ". */
typedef struct place {
    cw_hosted *h;
    const char *plugin;
    const char *subject; /* "method 'a.b'", "" for the plugin itself */
    const char *part;    /* "param 'x': " or "" */
} place;

static void problem(const place *at, const char *member, const char *text)
{
    cw_buf *out = &at->h->problems;
    cw_buf_printf(out, "%s: ", at->plugin);
    if (at->subject[0])
        cw_buf_printf(out, "%s: ", at->subject);
    cw_buf_printf(out, "%s%s: %s\n", at->part, member, text);
}

/* A name as a problem shows it: control characters and bytes that are not UTF-8 as '?', cut. */
static const char *shown(cw_hosted *h, const char *text)
{
    cw_str s = cw_str_from(text);
    s.n = cw_utf8_cut(s, 100);
    char *copy = cw_arena_dup(&h->arena, s.p, s.n);
    if (!copy) {
        h->problems.code = CW_NOMEM;
        return "?";
    }
    for (size_t i = 0; i < s.n;) {
        unsigned len = cw_utf8_len(copy + i, s.n - i);
        if (len == 0 || (unsigned char)copy[i] < 0x20 || copy[i] == 0x7f)
            copy[i] = '?';
        i += len ? len : 1;
    }
    return copy;
}

static const char *name_subject(cw_hosted *h, const char *kind, const char *name, const char *end)
{
    const char *text = cw_arena_printf(&h->arena, "%s '%s'%s", kind, shown(h, name), end);
    if (text)
        return text;
    h->problems.code = CW_NOMEM;
    return kind;
}

static void check_text(const place *at, const char *member, const char *text)
{
    if (text && !cw_utf8_is_valid(cw_str_from(text)))
        problem(at, member, "not UTF-8");
}

/* A name that must be there. */
static void check_name(const place *at, const char *member, const char *text)
{
    if (!text || !text[0])
        problem(at, member, "must not be empty");
    else
        check_text(at, member, text);
}

static const cw_json *read_json(const place *at, const char *member, const char *text)
{
    const cw_json *root;
    cw_err err;
    if (!text)
        return NULL;
    cw_code rc = cw_json_read(cw_str_from(text), NULL, &at->h->arena, &root, NULL, &err);
    if (!rc)
        return root;
    if (rc == CW_NOMEM)
        at->h->problems.code = CW_NOMEM;
    else
        problem(at, member, err.msg);
    return NULL;
}

static const cw_json *read_object(const place *at, const char *member, const char *text)
{
    const cw_json *root = read_json(at, member, text);
    if (!root || cw_json_is(root, CW_JSON_OBJECT))
        return root;
    problem(at, member, "must be an object");
    return NULL;
}

/* A default is put into an array: args.c looks at what is in front of a value. */
static const cw_json *read_default(const place *at, const char *text)
{
    if (!read_json(at, "default_value", text))
        return NULL;
    const char *wrapped = cw_arena_printf(&at->h->arena, "[%s]", text);
    if (!wrapped)
        at->h->problems.code = CW_NOMEM;
    const cw_json *array = read_json(at, "default_value", wrapped);
    return array ? cw_json_first(array) : NULL;
}

static void check_param(place at, cw_hosted_param *p)
{
    const cw_plugin_param *decl = p->decl;
    at.part = name_subject(at.h, "param", decl->name, ": ");
    check_name(&at, "name", decl->name);
    check_text(&at, "description", decl->description);
    p->schema = read_object(&at, "schema", decl->schema);
    const cw_json *inside = cw_json_get(p->schema, CW_STR("default"));
    p->initial = read_default(&at, decl->default_value);
    if (inside && p->initial)
        problem(&at, "default_value", "the schema has a default already");
    if (inside)
        p->initial = inside;
}

static void check_params(const place *at, cw_hosted_method *m)
{
    const cw_plugin_param *decls = m->decl->params;
    size_t n = 0;
    while (n < CW_PLUGIN_MAX_PARAMS + 1 && decls[n].name)
        n++;
    if (n > CW_PLUGIN_MAX_PARAMS)
        problem(at, "params", "more than 32");
    cw_hosted_param *params = cw_arena_calloc(&at->h->arena, n, sizeof(*params));
    if (!params) {
        at->h->problems.code = CW_NOMEM;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        params[i] = (cw_hosted_param){.decl = &decls[i], .name = cw_str_from(decls[i].name)};
        check_param(*at, &params[i]);
        for (size_t k = 0; k < i; k++)
            if (cw_str_eq(params[k].name, params[i].name))
                problem(at, name_subject(at->h, "param", decls[i].name, ""), "declared twice");
    }
    m->params = params;
    m->n_params = n;
}

/* A list of at most CW_PLUGIN_MAX_NAMES names. */
static void check_names(const place *at, const char *member, const char *const *names)
{
    size_t n = 0;
    for (; n < CW_PLUGIN_MAX_NAMES + 1 && names[n]; n++)
        check_name(at, member, names[n]);
    if (n > CW_PLUGIN_MAX_NAMES)
        problem(at, member, "more than 16");
}

static void check_id(const place *at, const char *id)
{
    check_name(at, "id", id);
    if (id && strncmp(id, "rpc.", 4) == 0)
        problem(at, "id", "names that begin with 'rpc.' are reserved by JSON-RPC");
    if (id && strncmp(id, "$/", 2) == 0)
        problem(at, "id", "names that begin with '$/' are reserved");
}

/* Whether the keys are "0", "1", … in order: a list that was written as a map. */
static bool is_list_shaped(const cw_json *object)
{
    size_t i = 0;
    for (const cw_json *k = cw_json_first(object); k; k = cw_json_next_key(k), i++) {
        uint64_t number;
        cw_str key = cw_json_text(k);
        bool is_plain = key.n == 1 || (key.n > 1 && key.p[0] != '0');
        if (!is_plain || !cw_str_to_u64(key, &number) || number != i)
            return false;
    }
    return true;
}

static void check_level(const place *at, const char *member, cw_str level)
{
    if (!cw_str_is(level, "none") && !cw_str_is(level, "optional") && !cw_str_is(level, "required"))
        problem(at, member, "must be \"none\", \"optional\" or \"required\"");
}

static bool is_string_array(const cw_json *v)
{
    if (!cw_json_is(v, CW_JSON_ARRAY))
        return false;
    for (const cw_json *e = cw_json_first(v); e; e = cw_json_next(e))
        if (!cw_json_is(e, CW_JSON_STRING))
            return false;
    return true;
}

/* The "auth" that an author wrote into the annotations. */
static void check_auth(const place *at, const cw_json *auth)
{
    if (!cw_json_is(auth, CW_JSON_OBJECT)) {
        problem(at, "annotations.auth", "must be an object");
        return;
    }
    const cw_json *scopes = cw_json_get(auth, CW_STR("scopes"));
    if (!is_string_array(scopes))
        problem(at, "annotations.auth.scopes", "must be an array of strings");
    const cw_json *level = cw_json_get(auth, CW_STR("level"));
    if (level)
        check_level(at, "annotations.auth.level",
                    cw_json_is(level, CW_JSON_STRING) ? cw_json_text(level) : CW_STR(""));
    const cw_json *text = cw_json_get(auth, CW_STR("description"));
    if (text && !cw_json_is(text, CW_JSON_STRING))
        problem(at, "annotations.auth.description", "must be a string");
}

static void check_annotations(const place *at, cw_hosted_method *m)
{
    const cw_plugin_tool *tool = m->tool;
    const cw_json *map = read_object(at, "annotations", tool->annotations);
    if (!map)
        return;
    if (cw_json_count(map) == 0)
        problem(at, "annotations", "must not be empty; leave them out");
    else if (is_list_shaped(map))
        problem(at, "annotations", "must be a map, not a list: the keys are 0, 1, …");
    m->annotations = map;
    const cw_json *auth = cw_json_get(map, CW_STR("auth"));
    if (!auth)
        return;
    if (tool->scopes[0] || tool->auth_level || tool->auth_description)
        problem(at, "annotations.auth", "scopes and auth_level say the same; use one of them");
    else
        check_auth(at, auth);
}

static void check_tool(const place *at, cw_hosted_method *m)
{
    static const char *const reserved[] = {"list", "describe", "invoke"};
    for (size_t i = 0; i < CW_COUNT(reserved); i++)
        if (cw_str_is(m->id, reserved[i]))
            problem(at, "id", "this name is reserved: a tool cannot have it");
    check_text(at, "title", m->tool->title);
    check_annotations(at, m);
    check_names(at, "scopes", m->tool->scopes);
    check_text(at, "auth_description", m->tool->auth_description);
    if (m->tool->auth_level)
        check_level(at, "auth_level", cw_str_from(m->tool->auth_level));
}

static const cw_plugin_tool *find_tool(const place *at, const cw_plugin_entry *entry,
                                       const cw_plugin_method *decl)
{
    const cw_plugin_tool *found = NULL;
    for (const cw_plugin_tool *t = entry->tools; t; t = t->next) {
        if (t->run != decl->run || strcmp(t->function, decl->function) != 0)
            continue;
        if (found)
            problem(at, "CW_TOOL", "marked twice");
        found = t;
    }
    return found;
}

static void check_method(place at, const cw_plugin_entry *entry, cw_hosted_method *m)
{
    const cw_plugin_method *decl = m->decl;
    at.subject = decl->id ? name_subject(at.h, "method", decl->id, "")
                          : name_subject(at.h, "method of function", decl->function, "");
    check_id(&at, decl->id);
    if (!decl->run)
        problem(&at, "function", "missing");
    check_text(&at, "usage", decl->usage);
    m->output = read_object(&at, "output", decl->output);
    check_names(&at, "permissions", decl->permissions);
    check_params(&at, m);
    m->tool = find_tool(&at, entry, decl);
    if (m->tool)
        check_tool(&at, m);
}

/* Marks that belong to no method. */
static void check_marks(place at, const cw_plugin_entry *entry)
{
    for (const cw_plugin_tool *t = entry->tools; t; t = t->next) {
        const cw_plugin_method *m = entry->methods;
        while (m && (m->run != t->run || strcmp(m->function, t->function) != 0))
            m = m->next;
        at.subject = name_subject(at.h, "tool", t->function, "");
        if (!m)
            problem(&at, "CW_TOOL", "there is no CW_METHOD of this function");
    }
}

static int compare_methods(const void *a, const void *b)
{
    const cw_hosted_method *x = *(const cw_hosted_method *const *)a;
    const cw_hosted_method *y = *(const cw_hosted_method *const *)b;
    return cw_str_cmp(x->id, y->id);
}

static void check_duplicates(place at)
{
    const cw_hosted *h = at.h;
    for (size_t i = 1; i < h->n; i++) {
        const cw_hosted_method *m = h->by_id[i];
        bool is_first = i < 2 || !cw_str_eq(m->id, h->by_id[i - 2]->id);
        if (m->id.n == 0 || !is_first || !cw_str_eq(m->id, h->by_id[i - 1]->id))
            continue;
        at.subject = name_subject(at.h, "method", m->decl->id, "");
        problem(&at, "id", "declared twice");
    }
}

/* Room for the methods, unsorted. */
static cw_code list_methods(cw_hosted *h, const cw_plugin_entry *entry)
{
    size_t n = 0;
    for (const cw_plugin_method *m = entry->methods; m; m = m->next)
        n++;
    cw_hosted_method *methods = cw_arena_calloc(&h->arena, n, sizeof(*methods));
    const cw_hosted_method **by_id = cw_arena_calloc(&h->arena, n, sizeof(*by_id));
    if (!methods || !by_id)
        return cw_arena_code(&h->arena);
    size_t i = 0;
    for (const cw_plugin_method *m = entry->methods; m; m = m->next, i++) {
        methods[i] = (cw_hosted_method){.decl = m, .id = cw_str_from(m->id)};
        by_id[i] = &methods[i];
    }
    h->methods = methods;
    h->by_id = by_id;
    h->n = n;
    return CW_OK;
}

cw_code cw_hosted_check(cw_hosted *h, const cw_plugin_entry *entry, const char *name)
{
    h->name = entry->name ? entry->name : "";
    h->version = entry->version ? entry->version : "";
    place at = {.h = h, .plugin = name ? name : shown(h, h->name), .subject = "", .part = ""};
    cw_code rc = list_methods(h, entry);
    if (rc)
        return rc;
    check_name(&at, "name", entry->name);
    check_name(&at, "version", entry->version);
    if (h->n == 0)
        problem(&at, "methods", "there is no CW_METHOD");
    for (size_t i = 0; i < h->n; i++)
        check_method(at, entry, &h->methods[i]);
    qsort(h->by_id, h->n, sizeof(h->by_id[0]), compare_methods);
    check_duplicates(at);
    check_marks(at, entry);
    if (h->problems.code)
        return h->problems.code;
    return h->problems.n > 0 ? CW_PARAMS : CW_OK;
}

const cw_hosted_method *cw_hosted_find(const cw_hosted *h, cw_str id)
{
    size_t low = 0;
    size_t high = h->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = cw_str_cmp(id, h->by_id[mid]->id);
        if (order == 0)
            return h->by_id[mid];
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}
