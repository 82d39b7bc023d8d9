/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check.c - turns declarations into methods, and reports their problems. */
#include <stdlib.h>

#include "host/check_int.h"

/* A default is put into an array: args.c looks at what is in front of a value. */
static const cw_json *read_default(const cw_check_place *at, const char *text)
{
    if (!cw_check_json(at, "default_value", text))
        return NULL;
    const char *wrapped = cw_arena_printf(&at->h->arena, "[%s]", text);
    if (!wrapped)
        at->h->problems.code = CW_NOMEM;
    const cw_json *array = cw_check_json(at, "default_value", wrapped);
    return array ? cw_json_first(array) : NULL;
}

static void check_param(cw_check_place at, cw_hosted_param *p)
{
    const cw_plugin_param *decl = p->decl;
    at.part = cw_check_subject(at.h, "param", decl->name, ": ");
    cw_check_name(&at, "name", decl->name);
    cw_check_text(&at, "description", decl->description);
    p->schema = cw_check_object(&at, "schema", decl->schema);
    const cw_json *inside = cw_json_get(p->schema, CW_STR("default"));
    p->default_value = read_default(&at, decl->default_value);
    if (inside && p->default_value)
        cw_check_problem(&at, "default_value", "the schema has a default already");
    if (inside)
        p->default_value = inside;
}

static void check_params(const cw_check_place *at, cw_hosted_method *m)
{
    const cw_plugin_param *decls = m->decl->params;
    size_t n = 0;
    while (n < CW_PLUGIN_MAX_PARAMS + 1 && decls[n].name)
        n++;
    if (n > CW_PLUGIN_MAX_PARAMS)
        cw_check_problem(at, "params", "more than 32");
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
                cw_check_problem(at, cw_check_subject(at->h, "param", decls[i].name, ""),
                                 "declared twice");
    }
    m->params = params;
    m->n_params = n;
}

static void check_id(const cw_check_place *at, const char *id)
{
    cw_check_name(at, "id", id);
    if (id && strncmp(id, "rpc.", 4) == 0)
        cw_check_problem(at, "id", "names that begin with 'rpc.' are reserved by JSON-RPC");
    if (id && strncmp(id, "$/", 2) == 0)
        cw_check_problem(at, "id", "names that begin with '$/' are reserved");
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

static bool is_string_array(const cw_json *v)
{
    if (!cw_json_is(v, CW_JSON_ARRAY))
        return false;
    for (const cw_json *e = cw_json_first(v); e; e = cw_json_next(e))
        if (!cw_json_is(e, CW_JSON_STRING))
            return false;
    return true;
}

#define AUTH_PART "annotations.auth: "

static void check_auth_scopes(cw_check_place at, const cw_json *scopes)
{
    at.part = AUTH_PART;
    for (const cw_json *v = scopes ? cw_json_first(scopes) : NULL; v; v = cw_json_next(v))
        cw_check_scope(&at, cw_json_text(v));
}

/* A misspelt member would silently protect nothing. */
static void check_auth_members(cw_check_place at, const cw_json *auth)
{
    static const char *const known[] = {"scopes", "level", "description"};
    at.part = AUTH_PART;
    for (const cw_json *k = cw_json_first(auth); k; k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        size_t i = 0;
        while (i < CW_COUNT(known) && !cw_str_is(name, known[i]))
            i++;
        if (i < CW_COUNT(known))
            continue;
        const char *copy = cw_arena_dup(&at.h->arena, name.p, name.n);
        cw_check_problem(&at, cw_check_subject(at.h, "member", copy ? copy : "?", ""),
                         "is not known");
    }
}

/* The "auth" that an author wrote into the annotations. */
static void check_auth(const cw_check_place *at, const cw_json *auth)
{
    if (!cw_json_is(auth, CW_JSON_OBJECT)) {
        cw_check_problem(at, "annotations.auth", "must be an object");
        return;
    }
    const cw_json *scopes = cw_json_get(auth, CW_STR("scopes"));
    const cw_json *level = cw_json_get(auth, CW_STR("level"));
    if (!scopes && !level)
        cw_check_problem(at, "annotations.auth", "scopes or level is needed");
    if (scopes && !is_string_array(scopes))
        cw_check_problem(at, "annotations.auth.scopes", "must be an array of strings");
    else
        check_auth_scopes(*at, scopes);
    if (level)
        cw_check_level(at, "annotations.auth.level",
                       cw_json_is(level, CW_JSON_STRING) ? cw_json_text(level) : CW_STR(""));
    const cw_json *text = cw_json_get(auth, CW_STR("description"));
    if (text && !cw_json_is(text, CW_JSON_STRING))
        cw_check_problem(at, "annotations.auth.description", "must be a string");
    check_auth_members(*at, auth);
}

static void check_annotations(const cw_check_place *at, cw_hosted_method *m)
{
    const cw_plugin_tool *tool = m->tool;
    const cw_json *map = cw_check_object(at, "annotations", tool->annotations);
    if (!map || cw_json_count(map) == 0)
        return;
    if (is_list_shaped(map))
        cw_check_problem(at, "annotations", "must be a map, not a list: the keys are 0, 1, …");
    m->annotations = map;
    const cw_json *auth = cw_json_get(map, CW_STR("auth"));
    if (!auth)
        return;
    if (tool->scopes[0] || tool->auth_level || tool->auth_description)
        cw_check_problem(at, "annotations.auth",
                         "scopes and auth_level mean the same; use one of them");
    else
        check_auth(at, auth);
}

static void check_task(const cw_check_place *at, const char *task)
{
    static const char *const marks[] = {"never", "auto", "always", "required"};
    bool is_known = !task;
    for (size_t i = 0; task && i < CW_COUNT(marks); i++)
        is_known |= strcmp(task, marks[i]) == 0;
    if (!is_known)
        cw_check_problem(at, "task", "must be \"never\", \"auto\", \"always\" or \"required\"");
}

/* A URI, or an object: the server checks the members. */
static void check_ui(const cw_check_place *at, cw_hosted_method *m)
{
    const char *ui = m->tool->ui;
    if (!ui)
        return;
    if (ui[0] == '{')
        m->ui = cw_check_object(at, "ui", ui);
    else if (strncmp(ui, "ui://", 5) == 0)
        m->ui_uri = ui;
    else
        cw_check_problem(at, "ui", "must be a URI ui://… or a JSON object");
}

/* If auth is wrong, its author may mean a login. */
static bool requires_login(const cw_hosted_method *m)
{
    const cw_plugin_tool *tool = m->tool;
    const cw_json *auth = cw_json_get(m->annotations, CW_STR("auth"));
    if (!auth)
        return cw_check_requires_login(tool->auth_level ? cw_str_from(tool->auth_level)
                                                        : (cw_str){0},
                                       tool->scopes[0] != NULL);
    const cw_json *level = cw_json_get(auth, CW_STR("level"));
    const cw_json *scopes = cw_json_get(auth, CW_STR("scopes"));
    if (level && !cw_json_is(level, CW_JSON_STRING))
        return true;
    return !cw_json_is(auth, CW_JSON_OBJECT) ||
           cw_check_requires_login(level ? cw_json_text(level) : (cw_str){0},
                                   cw_json_is(scopes, CW_JSON_ARRAY) && cw_json_count(scopes) > 0);
}

static void check_tool(const cw_check_place *at, cw_hosted_method *m)
{
    static const char *const reserved[] = {"list", "describe", "invoke"};
    for (size_t i = 0; i < CW_COUNT(reserved); i++)
        if (cw_str_is(m->id, reserved[i]))
            cw_check_problem(at, "id", "this name is reserved: a tool cannot have it");
    cw_check_text(at, "title", m->tool->title);
    check_annotations(at, m);
    cw_check_scopes(at, m->tool->scopes);
    cw_check_text(at, "auth_description", m->tool->auth_description);
    if (m->tool->auth_level)
        cw_check_level(at, "auth_level", cw_str_from(m->tool->auth_level));
    cw_check_visibility(at, m->tool->visibility, requires_login(m));
    check_task(at, m->tool->task);
    check_ui(at, m);
}

/* Methods or tools by their functions: a plugin may have thousands of both. */
typedef struct function {
    const char *name;
    cw_plugin_function run;
    const void *decl;
} function;

typedef struct functions {
    function *sorted;
    size_t n;
} functions;

static int compare_functions(const void *a, const void *b)
{
    const function *x = a;
    const function *y = b;
    int order = strcmp(x->name, y->name);
    if (order || x->run == y->run)
        return order;
    return (uintptr_t)x->run < (uintptr_t)y->run ? -1 : 1;
}

static void sort_functions(functions *f)
{
    if (f->n)
        qsort(f->sorted, f->n, sizeof *f->sorted, compare_functions);
}

/* The first of those with this function, or NULL. */
static const function *find_function(const functions *f, const char *name, cw_plugin_function run)
{
    const function key = {.name = name, .run = run};
    const function *at =
        f->n ? bsearch(&key, f->sorted, f->n, sizeof key, compare_functions) : NULL;
    while (at && at > f->sorted && compare_functions(at - 1, &key) == 0)
        at--;
    return at;
}

static cw_code list_tools(cw_arena *arena, const cw_plugin_entry *entry, functions *ret)
{
    size_t n = 0;
    for (const cw_plugin_tool *t = entry->tools; t; t = t->next)
        n++;
    ret->sorted = cw_arena_calloc(arena, n, sizeof *ret->sorted);
    if (!ret->sorted)
        return cw_arena_code(arena);
    for (const cw_plugin_tool *t = entry->tools; t; t = t->next)
        ret->sorted[ret->n++] = (function){t->function, t->run, t};
    sort_functions(ret);
    return CW_OK;
}

static const cw_plugin_tool *find_tool(const cw_check_place *at, const functions *tools,
                                       const cw_plugin_method *decl)
{
    const function *found = find_function(tools, decl->function, decl->run);
    const function *end = tools->sorted + tools->n;
    for (const function *t = found; t && t + 1 < end && compare_functions(t, t + 1) == 0; t++)
        cw_check_problem(at, "CW_TOOL", "marked twice");
    return found ? found->decl : NULL;
}

/* The schema of all arguments must not repeat keywords that follow from the params. */
static void check_input(const cw_check_place *at, cw_hosted_method *m)
{
    static const char *const taken[] = {"type", "properties", "required"};
    const cw_json *input = cw_check_object(at, "input", m->decl->input);
    bool is_right = true;
    for (size_t i = 0; i < CW_COUNT(taken); i++) {
        if (!cw_json_get(input, cw_str_from(taken[i])))
            continue;
        cw_check_problem(at, "input", "type, properties and required follow from the params");
        is_right = false;
    }
    m->input = is_right ? input : NULL;
}

static void check_method(cw_check_place at, const functions *tools, cw_hosted_method *m)
{
    const cw_plugin_method *decl = m->decl;
    at.subject = decl->id ? cw_check_subject(at.h, "method", decl->id, "")
                          : cw_check_subject(at.h, "method of function", decl->function, "");
    check_id(&at, decl->id);
    if (!decl->run)
        cw_check_problem(&at, "function", "missing");
    cw_check_text(&at, "usage", decl->usage);
    m->output = cw_check_object(&at, "output", decl->output);
    check_input(&at, m);
    size_t before = at.h->problems.n;
    cw_check_permissions(&at, decl->permissions);
    m->are_permissions_wrong = at.h->problems.n > before;
    check_params(&at, m);
    m->tool = find_tool(&at, tools, decl);
    before = at.h->problems.n;
    if (m->tool)
        check_tool(&at, m);
    m->is_tool_wrong = at.h->problems.n > before;
}

/* Marks that belong to no method. */
static cw_code check_tools(cw_check_place at, const cw_plugin_entry *entry)
{
    functions methods = {cw_arena_calloc(&at.h->arena, at.h->n, sizeof *methods.sorted), at.h->n};
    if (!methods.sorted)
        return cw_arena_code(&at.h->arena);
    for (size_t i = 0; i < at.h->n; i++) {
        const cw_plugin_method *decl = at.h->methods[i].decl;
        methods.sorted[i] = (function){decl->function, decl->run, decl};
    }
    sort_functions(&methods);
    for (const cw_plugin_tool *t = entry->tools; t; t = t->next) {
        if (find_function(&methods, t->function, t->run))
            continue;
        at.subject = cw_check_subject(at.h, "tool", t->function, "");
        cw_check_problem(&at, "CW_TOOL", "there is no CW_METHOD of this function");
    }
    return CW_OK;
}

static int compare_methods(const void *a, const void *b)
{
    const cw_hosted_method *x = *(const cw_hosted_method *const *)a;
    const cw_hosted_method *y = *(const cw_hosted_method *const *)b;
    return cw_str_cmp(x->id, y->id);
}

static void check_duplicates(cw_check_place at)
{
    const cw_hosted *h = at.h;
    for (size_t i = 1; i < h->n; i++) {
        const cw_hosted_method *m = h->by_id[i];
        bool is_first = i < 2 || !cw_str_eq(m->id, h->by_id[i - 2]->id);
        if (m->id.n == 0 || !is_first || !cw_str_eq(m->id, h->by_id[i - 1]->id))
            continue;
        at.subject = cw_check_subject(at.h, "method", m->decl->id, "");
        cw_check_problem(&at, "id", "declared twice");
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
    cw_check_place at = {
        .h = h, .plugin = name ? name : cw_check_shown(h, h->name), .subject = "", .part = ""};
    functions tools = {0};
    cw_code rc = list_methods(h, entry);
    if (!rc)
        rc = list_tools(&h->arena, entry, &tools);
    if (rc)
        return rc;
    cw_check_name(&at, "name", entry->name);
    cw_check_name(&at, "version", entry->version);
    if (h->n == 0)
        cw_check_problem(&at, "methods", "there is no CW_METHOD");
    for (size_t i = 0; i < h->n; i++) {
        size_t before = h->problems.n;
        check_method(at, &tools, &h->methods[i]);
        h->methods[i].has_problems = h->problems.n > before;
    }
    qsort(h->by_id, h->n, sizeof(h->by_id[0]), compare_methods);
    check_duplicates(at);
    rc = check_tools(at, entry);
    cw_check_marks(at, entry);
    if (rc || h->problems.code)
        return rc ? rc : h->problems.code;
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
