/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mark.c - what makes a method a tool, and what it asks of its callers.
 *
 * A plugin is foreign code: everything that it declares about itself is checked. A permission must be printable, a scope what RFC 6749 calls one, so that
 * neither can do harm in a log line or in a challenge.
 */
#include <stdlib.h>

#include "access/scopes.h"
#include "source/openrpc/openrpc_int.h"

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

static int compare(const void *a, const void *b)
{
    return cw_str_cmp(*(const cw_str *)a, *(const cw_str *)b);
}

/* Drop what stands twice and leave the rest in its order, in which a challenge names it. A
 * sorted copy is used: the list may be long, and it is foreign. */
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
        const cw_str *at = bsearch(&items[i], sorted, n_sorted, sizeof *sorted, compare);
        if (!at || is_there[at - sorted])
            continue;
        is_there[at - sorted] = true;
        items[kept++] = items[i];
    }
    *n = kept;
    return CW_OK;
}

/* A misspelt member would silently be no protection at all. */
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

/* {"0":…,"1":…}: a list for the system that these rules come from. */
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

cw_code cw_openrpc_access(const cw_json *access, cw_arena *arena, cw_requirements *needs,
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
    cw_buf_init(&text, SIZE_MAX / 2);
    cw_openrpc_write(annotations, &text);
    if (text.code)
        return cw_fail_nomem(err);
    mark->annotations = cw_arena_dup_str(arena, cw_buf_str(&text));
    return mark->annotations.p ? CW_OK : cw_arena_fail(arena, err);
}

static cw_code read_mark(const cw_json *v, cw_arena *arena, cw_mark *mark, cw_requirements *needs,
                         cw_err *err)
{
    static const char *const known[] = {"title", "annotations", "visibility", NULL};
    cw_code rc = check_members(v, known, err);
    if (!rc)
        rc = cw_openrpc_text(v, CW_STR("title"), &mark->title, err);
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
