/* SPDX-License-Identifier: GPL-2.0-or-later */
/* openrpc.c - methods with their parts and marks. input.c reads the schema of all arguments, and
 * refs.c follows references.
 *
 * A method is read into the scratch arena, then its values are copied: its texts
 * lie behind one another in pieces of the caller's arena, and lists of needs that
 * equal those of the previous method are not copied again.
 */
#include <stdlib.h>

#include "access/scopes.h"
#include "base/map.h"
#include "base/sort.h"
#include "catalogue/exposed.h"
#include "catalogue/ui.h"
#include "json/write.h"
#include "source/openrpc/openrpc.h"
#include "source/openrpc/openrpc_int.h"

#define PIECE 8192u
/* A schema is copied to every place that refers to it, so a small document could become a large
 * one. */
#define REFERRED_BASE ((size_t)16 << 20)
#define REFERRED_TIMES 4u               /* the document's own size */
#define BUNDLED_MAX ((size_t)256 << 20) /* one copy, read */

/* ---- values ---- */

/* Append a value without white space between its tokens. */
static void write_value(const cw_json *v, cw_buf *out)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_add_value(&w, v);
}

cw_code cw_openrpc_wrong(cw_err *err, const char *expected, const cw_json *got)
{
    return cw_fail(err, CW_PARAMS, "expected %s, got %s", expected, cw_json_type_name(got));
}

/* A member that is a string; *ret stays as it is when the member is missing or null. */
static cw_code read_text(const cw_json *object, cw_str member, cw_str *ret, cw_err *err)
{
    const cw_json *v = cw_json_get(object, member);
    if (!v || cw_json_is(v, CW_JSON_NULL))
        return CW_OK;
    if (!cw_json_is(v, CW_JSON_STRING))
        return cw_wrap(err, cw_openrpc_wrong(err, "a string", v), "%.*s", CW_STR_ARG(member));
    *ret = cw_json_text(v);
    return CW_OK;
}

/* ---- marks: they make a method a tool, with requirements for its callers ----
 *
 * A plugin is foreign code: everything that it declares about itself is checked. A permission must be
 * printable, and a scope must be one by RFC 6749, so that neither can do harm in a log line or in a
 * challenge.
 */

static bool is_permission(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7F)
            return false;
    }
    return text.n > 0;
}

/* An array of strings, each of them valid. */
static cw_code read_list(const cw_json *list, bool (*is_valid)(cw_str), const char *expected,
                         cw_arena *arena, cw_str **ret, size_t *ret_n, cw_err *err)
{
    if (!cw_json_is(list, CW_JSON_ARRAY))
        return cw_openrpc_wrong(err, "an array", list);
    cw_str *items = cw_arena_calloc(arena, cw_json_count(list), sizeof *items);
    if (!items)
        return cw_arena_fail(arena, err);
    size_t n = 0;
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v)) {
        if (!cw_json_is(v, CW_JSON_STRING))
            return cw_wrap(err, cw_openrpc_wrong(err, "a string", v), "[%zu]", n);
        if (!is_valid(cw_json_text(v)))
            return cw_fail(err, CW_PARAMS, "[%zu]: expected %s", n, expected);
        items[n] = cw_arena_dup_str(arena, cw_json_text(v));
        if (!items[n++].p)
            return cw_arena_fail(arena, err);
    }
    *ret = items;
    *ret_n = n;
    return CW_OK;
}

/* Drop repeated items, and keep the order of the others, which is the order in a challenge. A
 * sorted copy is searched, because a list of a plugin may be long. */
static cw_code drop_doubles(cw_str *items, size_t *n, cw_arena *arena, cw_err *err)
{
    cw_str *sorted = cw_arena_calloc(arena, *n, sizeof *sorted);
    bool *is_there = cw_arena_calloc(arena, *n, sizeof *is_there);
    if (!sorted || !is_there)
        return cw_arena_fail(arena, err);
    for (size_t i = 0; i < *n; i++)
        sorted[i] = items[i];
    size_t n_sorted = cw_requirements_sort(sorted, *n);
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        const cw_str *at = bsearch(&items[i], sorted, n_sorted, sizeof *sorted, cw_sort_texts);
        if (!at || is_there[at - sorted])
            continue;
        is_there[at - sorted] = true;
        items[kept++] = items[i];
    }
    *n = kept;
    return CW_OK;
}

/* Unknown members are rejected: a misspelt one would silently protect nothing. */
static cw_code check_members(const cw_json *object, const char *const *known, cw_err *err)
{
    if (!cw_json_is(object, CW_JSON_OBJECT))
        return cw_openrpc_wrong(err, "an object", object);
    for (const cw_json *k = cw_json_first(object); k; k = cw_json_next_key(k)) {
        size_t i = 0;
        while (known[i] && !cw_str_is(cw_json_text(k), known[i]))
            i++;
        if (!known[i])
            return cw_fail(err, CW_PARAMS, "unknown member '%.*s'", CW_STR_ARG(cw_json_text(k)));
    }
    return CW_OK;
}

/* Without a level of its own a block with scopes is "required", one without is "none". */
static cw_code read_level(const cw_json *auth, cw_requirements *needs, cw_err *err)
{
    const cw_json *level = cw_json_get(auth, CW_STR("level"));
    if (!level) {
        needs->level = needs->n_scopes ? CW_AUTH_REQUIRED : CW_AUTH_NONE;
        return CW_OK;
    }
    if (!cw_json_is(level, CW_JSON_STRING) ||
        !cw_auth_level_parse(cw_json_text(level), &needs->level))
        return cw_fail(err, CW_PARAMS, "level: expected \"none\", \"optional\" or \"required\"");
    return CW_OK;
}

static cw_code read_scopes(const cw_json *scopes, cw_arena *arena, cw_requirements *needs,
                           cw_err *err)
{
    cw_str *items = NULL;
    size_t n = 0;
    cw_code rc = read_list(scopes, cw_scope_is_token,
                           "a scope (printable ASCII without spaces, '\"' and '\\')", arena, &items,
                           &n, err);
    if (!rc)
        rc = drop_doubles(items, &n, arena, err);
    if (rc)
        return rc;
    needs->scopes = items;
    needs->n_scopes = n;
    return CW_OK;
}

static cw_code read_auth(const cw_json *auth, cw_arena *arena, cw_requirements *needs, cw_err *err)
{
    static const char *const known[] = {"scopes", "level", "description", NULL};
    cw_code rc = check_members(auth, known, err);
    if (rc)
        return rc;
    const cw_json *scopes = cw_json_get(auth, CW_STR("scopes"));
    if (!scopes && !cw_json_get(auth, CW_STR("level")))
        return cw_fail(err, CW_PARAMS, "scopes or level is needed");
    rc = scopes ? read_scopes(scopes, arena, needs, err) : CW_OK;
    if (rc)
        return cw_wrap(err, rc, "scopes");
    const cw_json *description = cw_json_get(auth, CW_STR("description"));
    if (description && !cw_json_is(description, CW_JSON_STRING))
        return cw_wrap(err, cw_openrpc_wrong(err, "a string", description), "description");
    return read_level(auth, needs, err);
}

/* Whether an object is {"0":…,"1":…}, which is a list in PHP, where these rules come from. */
static bool is_list_shaped(const cw_json *object)
{
    uint64_t i = 0;
    for (const cw_json *k = cw_json_first(object); k; k = cw_json_next_key(k), i++) {
        uint64_t index;
        cw_str name = cw_json_text(k);
        bool has_zeros = name.n > 1 && name.p[0] == '0';
        if (has_zeros || !cw_str_to_u64(name, &index) || index != i)
            return false;
    }
    return true;
}

static bool is_empty(const cw_json *annotations)
{
    return cw_json_is(annotations, CW_JSON_OBJECT) && cw_json_count(annotations) == 0;
}

static cw_code read_annotations(const cw_json *annotations, cw_arena *arena, cw_requirements *needs,
                                cw_err *err)
{
    if (!cw_json_is(annotations, CW_JSON_OBJECT))
        return cw_openrpc_wrong(err, "an object", annotations);
    if (is_list_shaped(annotations))
        return cw_fail(err, CW_PARAMS, "expected an object with names, got a list");
    const cw_json *auth = cw_json_get(annotations, CW_STR("auth"));
    cw_code rc = auth ? read_auth(auth, arena, needs, err) : CW_OK;
    return rc ? cw_wrap(err, rc, "auth") : CW_OK;
}

/* A tool without requirements cannot be hidden from any caller. Such a mark is most likely a mistake
 * that would show a tool which should be hidden. */
static cw_code read_visibility(const cw_json *mark, cw_requirements *needs, cw_err *err)
{
    const cw_json *v = cw_json_get(mark, CW_STR("visibility"));
    if (!v)
        return CW_OK;
    if (!cw_json_is(v, CW_JSON_STRING) ||
        !cw_visibility_parse(cw_json_text(v), &needs->hidden_unless_met))
        return cw_fail(err, CW_PARAMS, "visibility: expected \"challenge\" or \"hide\"");
    if (needs->hidden_unless_met && needs->level != CW_AUTH_REQUIRED)
        return cw_fail(err, CW_PARAMS,
                       "visibility: \"hide\" needs scopes or the level \"required\"");
    return CW_OK;
}

static cw_code read_permissions(const cw_json *list, cw_arena *arena, cw_requirements *needs,
                                cw_err *err)
{
    cw_str *items = NULL;
    size_t n = 0;
    cw_code rc =
        read_list(list, is_permission, "a text without control characters", arena, &items, &n, err);
    if (rc)
        return cw_wrap(err, rc, "permissions");
    needs->permissions = items;
    needs->n_permissions = cw_requirements_sort(items, n);
    return CW_OK;
}

/* Read {"permissions": […], "auth": {…}, "visibility": …} into *needs. */
static cw_code read_access(const cw_json *access, cw_arena *arena, cw_requirements *needs,
                           cw_err *err)
{
    static const char *const known[] = {"permissions", "auth", "visibility", NULL};
    cw_code rc = check_members(access, known, err);
    const cw_json *list = rc ? NULL : cw_json_get(access, CW_STR("permissions"));
    const cw_json *auth = rc ? NULL : cw_json_get(access, CW_STR("auth"));
    if (!rc && list)
        rc = read_permissions(list, arena, needs, err);
    if (!rc && auth)
        rc = cw_wrap(err, read_auth(auth, arena, needs, err), "auth");
    return rc ? rc : read_visibility(access, needs, err);
}

static bool is_true(const cw_json *object, cw_str name)
{
    return cw_json_is(cw_json_get(object, name), CW_JSON_TRUE);
}

static cw_code keep_annotations(const cw_json *annotations, cw_arena *arena, cw_mark *mark,
                                cw_err *err)
{
    mark->is_read_only = is_true(annotations, CW_STR("readOnlyHint"));
    mark->is_idempotent = is_true(annotations, CW_STR("idempotentHint"));
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    write_value(annotations, &text);
    if (text.code)
        return cw_fail_nomem(err);
    mark->annotations = cw_arena_dup_str(arena, cw_buf_str(&text));
    return mark->annotations.p ? CW_OK : cw_arena_fail(arena, err);
}

static cw_code read_task(const cw_json *v, cw_mark *mark, cw_err *err)
{
    const cw_json *task = cw_json_get(v, CW_STR("task"));
    if (!task)
        return CW_OK;
    for (unsigned i = CW_TASK_MARK_NEVER; i <= CW_TASK_MARK_REQUIRED; i++) {
        mark->task = (cw_task_mark)i;
        if (cw_json_is(task, CW_JSON_STRING) &&
            cw_str_eq(cw_json_text(task), cw_task_mark_name(mark->task)))
            return CW_OK;
    }
    return cw_fail(err, CW_PARAMS,
                   "task: expected \"never\", \"auto\", \"always\" or \"required\"");
}

static cw_code read_mark(const cw_json *v, cw_arena *arena, cw_mark *mark, cw_requirements *needs,
                         cw_err *err)
{
    static const char *const known[] = {"title", "annotations", "visibility", "task", "ui", NULL};
    cw_code rc = check_members(v, known, err);
    if (!rc)
        rc = read_text(v, CW_STR("title"), &mark->title, err);
    if (!rc)
        rc = read_task(v, mark, err);
    if (!rc)
        rc = cw_ui_read_mark(cw_json_get(v, CW_STR("ui")), arena, mark, err);
    if (rc)
        return rc;
    mark->title = cw_arena_dup_str(arena, mark->title);
    if (!mark->title.p)
        return cw_arena_fail(arena, err);
    const cw_json *annotations = cw_json_get(v, CW_STR("annotations"));
    if (!annotations || cw_json_is(annotations, CW_JSON_NULL) || is_empty(annotations))
        return read_visibility(v, needs, err);
    rc = read_annotations(annotations, arena, needs, err);
    if (!rc)
        rc = keep_annotations(annotations, arena, mark, err);
    return rc ? cw_wrap(err, rc, "annotations") : read_visibility(v, needs, err);
}

cw_code cw_openrpc_mark(const cw_json *mark, const char *where, cw_arena *arena,
                        const cw_mark **ret_mark, cw_requirements *needs, cw_err *err)
{
    cw_mark *out = cw_arena_calloc(arena, 1, sizeof *out);
    if (!out)
        return cw_arena_fail(arena, err);
    cw_code rc = read_mark(mark, arena, out, needs, err);
    if (rc)
        return cw_wrap(err, rc, "%s", where);
    *ret_mark = out;
    return CW_OK;
}

/* ---- resources, templates and prompts ---- */

/* A kind: its member of the method, and the member of that object which has the address. */
typedef struct kind {
    const char *member;
    const char *address;
    cw_exposed_kind kind;
    const char *known[10]; /* strings, but for those below */
} kind;

static const kind kinds[] = {
    {"x-mcp-resource",
     "uri",
     CW_EXPOSED_RESOURCE,
     {"uri", "name", "title", "description", "mimeType", "size", "annotations", "icons"}},
    {"x-mcp-resource-template",
     "uriTemplate",
     CW_EXPOSED_TEMPLATE,
     {"uriTemplate", "name", "title", "description", "mimeType", "annotations", "completes",
      "icons"}},
    {"x-mcp-prompt",
     "name",
     CW_EXPOSED_PROMPT,
     {"name", "title", "description", "icons", "completes"}},
};

static bool is_known(const kind *k, cw_str name)
{
    for (size_t i = 0; i < CW_COUNT(k->known) && k->known[i]; i++) {
        if (cw_str_is(name, k->known[i]))
            return true;
    }
    return false;
}

/* The expected type of a member that is not a string. */
static const char *expected_of(cw_str name, const cw_json *v)
{
    if (cw_str_is(name, "size"))
        return cw_json_is_integer(v) ? NULL : "an integer";
    if (cw_str_is(name, "annotations"))
        return cw_json_is(v, CW_JSON_OBJECT) ? NULL : "an object";
    if (cw_str_is(name, "completes") || cw_str_is(name, "icons"))
        return cw_json_is(v, CW_JSON_ARRAY) ? NULL : "an array";
    return cw_json_is(v, CW_JSON_STRING) ? NULL : "a string";
}

static cw_code check(const kind *k, const cw_json *v, cw_err *err)
{
    if (!cw_json_is(v, CW_JSON_OBJECT))
        return cw_openrpc_wrong(err, "an object", v);
    for (const cw_json *key = cw_json_first(v); key; key = cw_json_next_key(key)) {
        cw_str name = cw_json_text(key);
        if (!is_known(k, name))
            return cw_fail(err, CW_PARAMS, "unknown member '%.*s'", CW_STR_ARG(name));
        const char *expected = expected_of(name, cw_json_value(key));
        if (expected)
            return cw_wrap(err, cw_openrpc_wrong(err, expected, cw_json_value(key)), "%.*s",
                           CW_STR_ARG(name));
    }
    const cw_json *address = cw_json_get(v, cw_str_from(k->address));
    if (!address || cw_json_text(address).n == 0)
        return cw_fail(err, CW_PARAMS, "%s: missing", k->address);
    return CW_OK;
}

static cw_code read_kind(const kind *k, const cw_json *v, cw_arena *arena, cw_method *method,
                         cw_err *err)
{
    cw_code rc = check(k, v, err);
    if (rc)
        return rc;
    cw_exposed *exposed = cw_arena_calloc(arena, 1, sizeof *exposed);
    if (!exposed)
        return cw_arena_fail(arena, err);
    exposed->kind = k->kind;
    exposed->address = cw_json_text(cw_json_get(v, cw_str_from(k->address)));
    exposed->json = v;
    exposed->completes = cw_json_get(v, CW_STR("completes"));
    method->exposed = exposed;
    return k->kind == CW_EXPOSED_TEMPLATE
               ? cw_wrap(err, cw_exposed_check(method, err), "uriTemplate")
               : CW_OK;
}

/* Read the entry of an MCP server, which its describer has checked. */
static cw_code read_relayed(const kind *k, const cw_json *v, cw_arena *arena, cw_method *method,
                            cw_err *err)
{
    cw_str names[CW_EXPOSED_MAX_VARIABLES];
    size_t n;
    const cw_json *address = cw_json_get(v, cw_str_from(k->address));
    cw_exposed *exposed = cw_arena_calloc(arena, 1, sizeof *exposed);
    if (!exposed)
        return cw_arena_fail(arena, err);
    if (!cw_json_is(address, CW_JSON_STRING) || cw_json_text(address).n == 0)
        return cw_fail(err, CW_PARAMS, "%s: missing", k->address);
    *exposed = (cw_exposed){
        .kind = k->kind, .address = cw_json_text(address), .json = v, .is_relayed = true};
    method->exposed = exposed;
    return k->kind == CW_EXPOSED_TEMPLATE
               ? cw_wrap(err, cw_exposed_variables(exposed->address, names, &n, err), "uriTemplate")
               : CW_OK;
}

/* Read the member that makes a method a resource, a template or a prompt, if it has one. */
static cw_code read_exposed(const cw_json *object, bool is_relayed, cw_arena *arena,
                            cw_method *method, cw_err *err)
{
    for (size_t i = 0; i < CW_COUNT(kinds); i++) {
        const cw_json *v = cw_json_get(object, cw_str_from(kinds[i].member));
        if (!v)
            continue;
        if (method->exposed)
            return cw_fail(err, CW_PARAMS, "%s: it is something else already", kinds[i].member);
        cw_code rc = is_relayed ? read_relayed(&kinds[i], v, arena, method, err)
                                : read_kind(&kinds[i], v, arena, method, err);
        if (rc)
            return cw_wrap(err, rc, "%s", kinds[i].member);
    }
    return CW_OK;
}

/* ---- methods and their parts ---- */

/* The state of reading one document. */
typedef struct reader {
    const cw_json *doc;
    cw_json_pointer_index index; /* of it */
    const cw_openrpc_opts *opts;
    cw_arena *arena;
    cw_arena scratch;     /* of one method */
    cw_arena bundled;     /* of one schema */
    size_t left;          /* bytes that references may still add to the document */
    bool is_shared;       /* the param or result that is read is a reference */
    cw_buf text;          /* of one value */
    cw_map seen;          /* method names */
    cw_requirements last; /* of the previous method */
    cw_str method;        /* id of the method that is read */
    bool has_problems;
    char *room; /* of the piece that texts go to */
    size_t n_room;
} reader;

/* Whether a fault in one part is passed over. A part with a ceiling of its own may also be too large. */
static bool is_tolerated(const reader *r, cw_code rc, bool has_ceiling)
{
    return r->opts->warnings &&
           (rc == CW_PARAMS || (has_ceiling && (rc == CW_LIMIT || rc == CW_PARSE)));
}

/* Add a warning, and clear the fault. `err` names the fault without its method. */
static void leave_out(const reader *r, const char *what, cw_err *err)
{
    cw_buf *lines = r->opts->warnings;
    if (r->method.n)
        cw_wrap(err, err->code, "method '%.*s'", CW_STR_ARG(r->method));
    cw_wrap(err, err->code, "a %s that cannot be used is left out", what);
    cw_buf_add_line(lines, "%s", err->msg);
    *err = (cw_err){0};
}

/* With `problems` a mistake becomes a line there, and reading continues. `err` names the mistake
 * without its method. */
static cw_code collect(reader *r, cw_code rc, cw_err *err)
{
    if (!rc || rc == CW_NOMEM || !r->opts->problems)
        return rc;
    if (r->method.n)
        cw_wrap(err, rc, "method '%.*s'", CW_STR_ARG(r->method));
    size_t from = r->opts->problems->n;
    cw_buf_add(r->opts->problems, cw_str_from(err->msg));
    cw_buf_escape_controls(r->opts->problems, from);
    cw_buf_add_char(r->opts->problems, '\n');
    *err = (cw_err){0};
    r->has_problems = true;
    return CW_OK;
}

/* Replace a text by a copy in the caller's arena. */
static cw_code keep(reader *r, cw_str *text, cw_err *err)
{
    size_t n = text->n + 1;
    if (n > r->n_room) {
        size_t piece = n > PIECE / 4 ? n : PIECE;
        char *room = cw_arena_alloc(r->arena, piece);
        if (!room)
            return cw_arena_fail(r->arena, err);
        r->room = room;
        r->n_room = piece;
    }
    if (text->n)
        memcpy(r->room, text->p, text->n);
    r->room[text->n] = 0;
    *text = cw_str_make(r->room, text->n);
    r->room += n;
    r->n_room -= n;
    return CW_OK;
}

static cw_code keep_json(reader *r, const cw_json *v, cw_str *ret, cw_err *err)
{
    cw_buf_clear(&r->text);
    write_value(v, &r->text);
    if (r->text.code)
        return cw_fail_nomem(err);
    cw_str text = cw_buf_str(&r->text);
    cw_code rc = keep(r, &text, err);
    if (!rc)
        *ret = text;
    return rc;
}

static cw_code keep_value(reader *r, const cw_json *v, const cw_json **ret, cw_err *err)
{
    cw_json_opts opts = {.max_depth = CW_JSON_DEPTH_CEILING};
    cw_str text = {0};
    cw_code rc = keep_json(r, v, &text, err);
    return rc ? rc : cw_json_read(text, &opts, r->arena, ret, NULL, err);
}

/* Copy permissions or scopes, or use the list of the previous method if it is equal. */
static cw_code keep_names(reader *r, const cw_str **list, size_t n, const cw_str *last,
                          size_t n_last, cw_err *err)
{
    size_t i = 0;
    while (n == n_last && i < n && cw_str_eq((*list)[i], last[i]))
        i++;
    if (i == n && n == n_last) {
        *list = last;
        return CW_OK;
    }
    cw_str *copy = cw_arena_alloc(r->arena, n * sizeof *copy);
    if (!copy)
        return cw_arena_fail(r->arena, err);
    cw_code rc = CW_OK;
    for (i = 0; i < n && !rc; i++) {
        copy[i] = (*list)[i];
        rc = keep(r, &copy[i], err);
    }
    *list = copy;
    return rc;
}

static cw_code keep_needs(reader *r, cw_requirements *needs, cw_err *err)
{
    const cw_requirements *last = &r->last;
    cw_code rc = keep_names(r, &needs->permissions, needs->n_permissions, last->permissions,
                            last->n_permissions, err);
    if (!rc)
        rc = keep_names(r, &needs->scopes, needs->n_scopes, last->scopes, last->n_scopes, err);
    r->last = *needs;
    return rc;
}

static cw_code keep_mark(reader *r, const cw_mark **mark, cw_err *err)
{
    cw_mark *copy = cw_arena_alloc(r->arena, sizeof *copy);
    if (!copy)
        return cw_arena_fail(r->arena, err);
    *copy = **mark;
    *mark = copy;
    cw_code rc = keep(r, &copy->title, err);
    if (!rc)
        rc = keep(r, &copy->annotations, err);
    return rc || !copy->ui ? rc : cw_ui_copy(copy, r->arena, err);
}

static cw_code keep_shown(reader *r, const cw_exposed **exposed, cw_err *err)
{
    cw_exposed *copy = cw_arena_alloc(r->arena, sizeof *copy);
    if (!copy)
        return cw_arena_fail(r->arena, err);
    *copy = **exposed;
    *exposed = copy;
    cw_code rc = keep(r, &copy->address, err);
    if (!rc)
        rc = keep_value(r, copy->json, &copy->json, err);
    if (!rc)
        copy->completes = cw_json_get(copy->json, CW_STR("completes"));
    return rc;
}

/* The members that are read from trusted documents only. */
static cw_code keep_trusted(reader *r, cw_method *method, cw_err *err)
{
    cw_code rc = method->mark ? keep_mark(r, &method->mark, err) : CW_OK;
    if (!rc && method->exposed)
        rc = keep_shown(r, &method->exposed, err);
    return rc ? rc : keep_needs(r, &method->needs, err);
}

/* The name of a method or parameter. */
static cw_code read_name(const cw_json *object, cw_str *ret, cw_err *err)
{
    if (!cw_json_is(object, CW_JSON_OBJECT))
        return cw_openrpc_wrong(err, "an object", object);
    cw_code rc = read_text(object, CW_STR("name"), ret, err);
    if (!rc && ret->n == 0)
        return cw_fail(err, CW_PARAMS, "name: missing or empty");
    return rc;
}

/* `description`, or else `summary`: models choose tools by this text, so the longer one is used. */
static cw_code read_description(const cw_json *object, cw_str *ret, cw_err *err)
{
    cw_str summary = {0};
    cw_code rc = read_text(object, CW_STR("summary"), &summary, err);
    if (!rc)
        rc = read_text(object, CW_STR("description"), ret, err);
    if (!rc && ret->n == 0)
        *ret = summary;
    return rc;
}

static cw_code read_flag(const cw_json *object, cw_str member, bool *ret, cw_err *err)
{
    const cw_json *v = cw_json_get(object, member);
    if (!v)
        return CW_OK;
    if (!cw_json_is(v, CW_JSON_TRUE) && !cw_json_is(v, CW_JSON_FALSE))
        return cw_wrap(err, cw_openrpc_wrong(err, "true or false", v), "%.*s", CW_STR_ARG(member));
    *ret = cw_json_is(v, CW_JSON_TRUE);
    return CW_OK;
}

/* Subtract a schema that is copied from another place of the document. */
static cw_code take_copy(reader *r, const cw_json *schema, cw_err *err)
{
    size_t n = cw_json_span(schema).n;
    if (n > r->left)
        return cw_fail(err, CW_LIMIT, "what schemas refer to is too much for one document");
    r->left -= n;
    return CW_OK;
}

/* The schema of a parameter or result, with everything that it refers to inside it. */
static cw_code find_schema(reader *r, const cw_json *object, bool may_be_boolean,
                           const cw_json **ret, cw_err *err)
{
    const cw_json *own = cw_json_get(object, CW_STR("schema")), *schema = own;
    if (!schema)
        return CW_OK;
    cw_code rc = cw_openrpc_follow(r->doc, &r->index, &schema, err);
    if (!rc && (schema != own || r->is_shared))
        rc = take_copy(r, schema, err);
    if (rc)
        return cw_wrap(err, rc, "schema");
    bool is_boolean = cw_json_is(schema, CW_JSON_TRUE) || cw_json_is(schema, CW_JSON_FALSE);
    if (!cw_json_is(schema, CW_JSON_OBJECT) && !(is_boolean && may_be_boolean))
        return cw_wrap(err, cw_openrpc_wrong(err, "an object", schema), "schema");
    cw_arena_reset(&r->bundled); /* the previous schema is kept as text by now */
    rc = cw_openrpc_bundle(r->doc, &r->index, &schema, &r->bundled, &r->left, err);
    if (rc)
        return cw_wrap(err, rc, "schema");
    *ret = schema;
    return CW_OK;
}

/* The schema of a param, or (NULL) of the result; *ret stays NULL if it is left out. */
static cw_code read_schema(reader *r, const cw_json *object, const cw_param *param,
                           const cw_json **ret, cw_err *err)
{
    cw_code rc = find_schema(r, object, /* may_be_boolean= */ param != NULL, ret, err);
    if (!is_tolerated(r, rc, /* has_ceiling= */ true))
        return rc;
    if (param)
        cw_wrap(err, rc, "param '%.*s'", CW_STR_ARG(param->name));
    else
        cw_wrap(err, rc, "result");
    leave_out(r, "schema", err);
    return CW_OK;
}

/* Whether it is the param of a method whose params are not described
 * (source/describe/describe.h). */
static bool stands_for_all(const cw_param *param, const cw_json *schema)
{
    return cw_str_is(param->name, "params") &&
           cw_json_is(cw_json_get(schema, CW_STR("x-spread")), CW_JSON_TRUE);
}

static cw_code read_param_parts(reader *r, const cw_json *v, cw_method *method, cw_param *param,
                                cw_err *err)
{
    const cw_json *schema = NULL;
    cw_code rc = read_description(v, &param->description, err);
    if (r->is_shared && param->description.n > r->left)
        param->description = CW_STR("");
    r->left -= r->is_shared ? param->description.n : 0;
    if (!rc)
        rc = read_flag(v, CW_STR("required"), &param->is_required, err);
    if (!rc)
        rc = read_schema(r, v, param, &schema, err);
    if (!rc && schema)
        rc = keep_json(r, schema, &param->schema, err);
    method->takes_any_params = method->n_params == 0 && stands_for_all(param, schema);
    const cw_json *default_value = cw_json_get(schema, CW_STR("default"));
    if (!rc && default_value)
        rc = keep_value(r, default_value, &param->default_value, err);
    if (!rc)
        rc = keep(r, &param->description, err);
    return rc ? rc : keep(r, &param->name, err);
}

static cw_code read_param(reader *r, const cw_json *v, cw_method *method, cw_err *err)
{
    cw_param param = {0};
    const cw_json *entry = v;
    cw_code rc = cw_openrpc_follow(r->doc, &r->index, &v, err);
    r->is_shared = v != entry;
    if (!rc)
        rc = read_name(v, &param.name, err);
    if (rc)
        return cw_wrap(err, rc, "params[%zu]", method->n_params);
    for (size_t i = 0; i < method->n_params && !rc; i++) {
        if (cw_str_eq(method->params[i].name, param.name))
            rc = cw_fail(err, CW_PARAMS, "declared twice");
    }
    if (!rc)
        rc = read_param_parts(r, v, method, &param, err);
    if (rc)
        return cw_wrap(err, rc, "param '%.*s'", CW_STR_ARG(param.name));
    /* The cast removes const: the list is filled here, and only read later. */
    ((cw_param *)(uintptr_t)method->params)[method->n_params++] = param;
    return CW_OK;
}

static cw_code read_params(reader *r, const cw_json *object, cw_method *method, cw_err *err)
{
    const cw_json *list = cw_json_get(object, CW_STR("params"));
    if (!list)
        return CW_OK;
    if (!cw_json_is(list, CW_JSON_ARRAY))
        return cw_wrap(err, cw_openrpc_wrong(err, "an array", list), "params");
    size_t n = cw_json_count(list);
    if (n > CW_OPENRPC_MAX_PARAMS)
        return cw_fail(err, CW_LIMIT, "params: %zu of them, the limit is %u", n,
                       CW_OPENRPC_MAX_PARAMS);
    method->params = cw_arena_calloc(r->arena, n, sizeof *method->params);
    if (!method->params)
        return cw_arena_fail(r->arena, err);
    const cw_json *structure = cw_json_get(object, CW_STR("paramStructure"));
    bool is_named =
        cw_json_is(structure, CW_JSON_STRING) && cw_str_is(cw_json_text(structure), "by-name");
    bool lacks_one = false;
    cw_code rc = CW_OK;
    for (const cw_json *v = cw_json_first(list); v && !rc; v = cw_json_next(v)) {
        rc = collect(r, read_param(r, v, method, err), err);
        if (!rc && lacks_one && !is_named)
            return cw_fail(err, CW_PARAMS, "a param before '%.*s' cannot be used",
                           CW_STR_ARG(method->params[method->n_params - 1].name));
        if (!is_tolerated(r, rc, /* has_ceiling= */ false))
            continue;
        leave_out(r, "param", err);
        lacks_one = true;
        rc = CW_OK;
    }
    return rc;
}

static cw_code read_result(reader *r, const cw_json *object, cw_method *method, cw_err *err)
{
    const cw_json *schema = NULL;
    const cw_json *entry = cw_json_get(object, CW_STR("result")), *result = entry;
    if (!result)
        return CW_OK;
    cw_code rc = cw_openrpc_follow(r->doc, &r->index, &result, err);
    r->is_shared = result != entry;
    if (!rc && !cw_json_is(result, CW_JSON_OBJECT))
        rc = cw_openrpc_wrong(err, "an object", result);
    if (!rc)
        rc = read_schema(r, result, /* param= */ NULL, &schema, err);
    if (!rc && schema)
        rc = keep_json(r, schema, &method->output, err);
    if (!rc)
        return CW_OK;
    cw_wrap(err, rc, "result");
    if (!is_tolerated(r, rc, /* has_ceiling= */ false))
        return rc;
    leave_out(r, "result", err);
    return CW_OK;
}

static cw_code read_structure(const cw_json *object, cw_method *method, cw_err *err)
{
    cw_str text = {0};
    cw_code rc = read_text(object, CW_STR("paramStructure"), &text, err);
    if (rc || text.n == 0)
        return rc;
    method->by_position = cw_str_is(text, "by-position");
    if (!method->by_position && !cw_str_is(text, "by-name") && !cw_str_is(text, "either"))
        return cw_fail(err, CW_PARAMS,
                       "paramStructure: expected \"by-name\", \"by-position\" or \"either\"");
    return CW_OK;
}

static cw_code read_trusted(reader *r, const cw_json *object, cw_method *method, cw_err *err)
{
    if (r->opts->relays) {
        cw_code failed = read_exposed(object, /* is_relayed= */ true, &r->scratch, method, err);
        return failed || !method->exposed ? failed : keep_shown(r, &method->exposed, err);
    }
    if (!r->opts->trust_marks)
        return CW_OK;
    const cw_json *access = cw_json_get(object, CW_STR("x-access"));
    const cw_json *mark = cw_json_get(object, CW_STR("x-mcp-tool"));
    cw_code rc = CW_OK;
    if (access)
        rc = read_access(access, &r->scratch, &method->needs, err);
    if (rc)
        rc = collect(r, cw_wrap(err, rc, "x-access"), err);
    if (!rc && mark)
        rc = collect(
            r, cw_openrpc_mark(mark, "x-mcp-tool", &r->scratch, &method->mark, &method->needs, err),
            err);
    if (!rc)
        rc = collect(r, read_exposed(object, /* is_relayed= */ false, &r->scratch, method, err),
                     err);
    return rc ? rc : keep_trusted(r, method, err);
}

/* The names of its tags. They only group methods, so a tag that cannot be read is skipped. */
static cw_code read_tags(reader *r, const cw_json *object, cw_method *method, cw_err *err)
{
    const cw_json *list = cw_json_get(object, CW_STR("tags"));
    if (!cw_json_is(list, CW_JSON_ARRAY) || cw_json_count(list) > CW_OPENRPC_MAX_TAGS)
        return CW_OK;
    cw_str *tags = cw_arena_calloc(r->arena, cw_json_count(list) + 1, sizeof *tags);
    if (!tags)
        return cw_arena_fail(r->arena, err);
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v)) {
        const cw_json *tag = v;
        cw_err unused;
        if (cw_openrpc_follow(r->doc, &r->index, &tag, &unused))
            continue;
        const cw_json *name =
            cw_json_is(tag, CW_JSON_STRING) ? tag : cw_json_get(tag, CW_STR("name"));
        if (!cw_json_is(name, CW_JSON_STRING))
            continue;
        tags[method->n_tags] = cw_json_text(name);
        cw_code rc = keep(r, &tags[method->n_tags], err);
        if (rc)
            return rc;
        method->n_tags++;
    }
    method->tags = tags;
    return CW_OK;
}

static cw_code read_parts(reader *r, const cw_json *object, cw_method *method, cw_err *err)
{
    cw_code rc = collect(r, read_description(object, &method->usage, err), err);
    if (!rc)
        rc = keep(r, &method->usage, err);
    if (!rc)
        rc = collect(r, read_params(r, object, method, err), err);
    if (!rc)
        rc = collect(r, cw_openrpc_input(object, &r->scratch, r->arena, method, err), err);
    if (!rc)
        rc = collect(r, read_result(r, object, method, err), err);
    if (!rc)
        rc = collect(r, read_structure(object, method, err), err);
    if (!rc)
        rc = read_tags(r, object, method, err);
    if (!rc)
        rc = read_trusted(r, object, method, err);
    return rc;
}

static cw_code read_method(reader *r, const cw_json *v, size_t index, cw_method *method,
                           cw_err *err)
{
    method->source = r->opts->source;
    method->is_callable = r->opts->callable;
    r->method = CW_STR("");
    cw_arena_reset(&r->scratch);
    cw_code rc = cw_openrpc_follow(r->doc, &r->index, &v, err);
    if (!rc)
        rc = read_name(v, &method->id, err);
    if (!rc)
        rc = keep(r, &method->id, err);
    if (rc)
        return collect(r, cw_wrap(err, rc, "methods[%zu]", index), err);
    r->method = method->id;
    void *other = NULL;
    rc = cw_map_put(&r->seen, method->id, method, &other);
    if (rc)
        return cw_fail_nomem(err);
    if (other)
        rc = collect(r, cw_fail(err, CW_PARAMS, "declared twice"), err);
    else
        rc = read_parts(r, v, method, err);
    return rc ? cw_wrap(err, rc, "method '%.*s'", CW_STR_ARG(method->id)) : CW_OK;
}

static cw_code read_methods(reader *r, const cw_json *list, cw_method *methods, size_t *ret_n,
                            cw_err *err)
{
    size_t n = 0, i = 0;
    cw_err first = {0};
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v), i++) {
        cw_code rc = read_method(r, v, i, &methods[n], err);
        if (rc && !is_tolerated(r, rc, /* has_ceiling= */ false))
            return rc;
        if (!rc) {
            methods[n].index = (uint32_t)n;
            n++;
            continue;
        }
        methods[n] = (cw_method){0};
        if (!first.code)
            first = *err;
        r->method = CW_STR(""); /* it is named already */
        leave_out(r, "method", err);
    }
    if (n == 0 && first.code) {
        *err = first;
        return cw_wrap(err, CW_PARAMS, "none of its methods can be used");
    }
    *ret_n = n;
    return CW_OK;
}

cw_code cw_openrpc_read(const cw_json *doc, const cw_openrpc_opts *opts, cw_arena *arena,
                        cw_method **ret, size_t *ret_n, cw_err *err)
{
    cw_err unwanted;
    err = err ? err : &unwanted;
    if (!cw_json_is(doc, CW_JSON_OBJECT))
        return cw_wrap(err, cw_openrpc_wrong(err, "an object", doc), "OpenRPC document");
    const cw_json *list = cw_json_get(doc, CW_STR("methods"));
    if (!list)
        return cw_fail(err, CW_PARAMS, "OpenRPC document: methods: missing");
    if (!cw_json_is(list, CW_JSON_ARRAY))
        return cw_wrap(err, cw_openrpc_wrong(err, "an array", list), "OpenRPC document: methods");
    size_t n = cw_json_count(list);
    if (n > CW_OPENRPC_MAX_METHODS)
        return cw_fail(err, CW_LIMIT, "OpenRPC document: %zu methods, the limit is %u", n,
                       CW_OPENRPC_MAX_METHODS);
    cw_method *methods = cw_arena_calloc(arena, n, sizeof *methods);
    if (!methods)
        return cw_arena_fail(arena, err);
    reader r = {.doc = doc, .opts = opts, .arena = arena};
    cw_map_init(&r.seen, CW_OPENRPC_MAX_METHODS);
    cw_json_pointer_index_init(&r.index);
    r.left = REFERRED_BASE + REFERRED_TIMES * cw_json_span(doc).n;
    cw_arena_init(&r.scratch, CW_ARENA_MAX);
    cw_arena_init(&r.bundled, BUNDLED_MAX);
    cw_buf_init(&r.text, CW_BUF_MAX);
    cw_code rc = read_methods(&r, list, methods, &n, err);
    cw_buf_done(&r.text);
    cw_arena_done(&r.bundled);
    cw_arena_done(&r.scratch);
    cw_map_done(&r.seen);
    cw_json_pointer_index_done(&r.index);
    if (rc)
        return rc;
    *ret = methods;
    *ret_n = n;
    return r.has_problems ? cw_fail(err, CW_PARAMS, "the document has mistakes") : CW_OK;
}
