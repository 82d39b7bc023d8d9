/* SPDX-License-Identifier: GPL-2.0-or-later */
/* required_access.c - requirements of a description, written and compared. */
#include "source/remote/required_access.h"

#include "json/write.h"
#include "source/openrpc/openrpc.h"

/* An empty list is an empty object of PHP. */
static bool hides_requirements(const cw_json *v)
{
    if (cw_json_is(v, CW_JSON_OBJECT))
        return cw_json_get(v, CW_STR("$ref"));
    if (cw_json_is(v, CW_JSON_ARRAY))
        return cw_json_count(v) > 0;
    return cw_json_is(v, CW_JSON_STRING) || cw_json_is(v, CW_JSON_NUMBER);
}

const cw_json *cw_required_access_hidden_in(const cw_json *mark)
{
    const cw_json *annotations = cw_json_get(mark, CW_STR("annotations"));
    return hides_requirements(mark) ? mark : hides_requirements(annotations) ? annotations : NULL;
}

/* Requirements that cannot be read are kept as an invalid "auth", so that a description without any
 * is noticed. */
static const cw_json *auth_of(const cw_json *method)
{
    const cw_json *mark = cw_json_get(method, CW_STR("x-mcp-tool"));
    const cw_json *hidden = cw_required_access_hidden_in(mark);
    return hidden ? hidden : cw_json_get(cw_json_get(mark, CW_STR("annotations")), CW_STR("auth"));
}

static void add(cw_json_writer *w, cw_str name, const cw_json *auth)
{
    cw_json_add_key(w, name);
    cw_json_open_object(w);
    cw_json_add_key(w, CW_STR("x-mcp-tool"));
    cw_json_open_object(w);
    cw_json_add_key(w, CW_STR("annotations"));
    cw_json_open_object(w);
    cw_json_add_key(w, CW_STR("auth"));
    cw_json_add_value(w, auth);
    cw_json_close(w);
    cw_json_close(w);
    cw_json_close(w);
}

bool cw_required_access_is_same(const cw_json *a, const cw_json *b)
{
    const cw_json *x = auth_of(a), *y = auth_of(b);
    return x && y ? cw_json_equal(x, y) : x == y;
}

/* Add the names of all methods of the document except the kept ones to `names`, and write those with
 * auth. */
static void add_methods(cw_json_writer *w, const cw_json *doc, const cw_map *kept, cw_map *names)
{
    const cw_json *methods = cw_json_get(doc, CW_STR("methods"));
    bool is_list = cw_json_is(methods, CW_JSON_ARRAY);
    CW_CLEANUP(cw_json_pointer_index_done) cw_json_pointer_index index;
    cw_json_pointer_index_init(&index);
    for (const cw_json *v = is_list ? cw_json_first(methods) : NULL; v; v = cw_json_next(v)) {
        const cw_json *m = v;
        if (cw_openrpc_follow(doc, &index, &m, NULL))
            continue;
        const cw_json *name = cw_json_get(m, CW_STR("name"));
        /* If two have the same name the first counts. */
        if (!cw_json_is(name, CW_JSON_STRING) || cw_map_find(names, cw_json_text(name)) ||
            cw_map_find(kept, cw_json_text(name)))
            continue;
        if (cw_map_put(names, cw_json_text(name), names, NULL)) {
            w->out->code = CW_NOMEM;
            return;
        }
        if (auth_of(m))
            add(w, cw_json_text(name), auth_of(m));
    }
}

size_t cw_required_access_write(const cw_json *doc, const cw_json *old, const cw_map *kept,
                                cw_buf *out)
{
    size_t bytes = 0, n_left_out = 0;
    cw_json_writer w;
    CW_CLEANUP(cw_map_done) cw_map names;
    cw_map_init(&names, SIZE_MAX);
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    add_methods(&w, doc, kept, &names);
    bool is_map = cw_json_is(old, CW_JSON_OBJECT);
    for (const cw_json *k = is_map ? cw_json_first(old) : NULL; k; k = cw_json_next_key(k)) {
        const cw_json *auth = auth_of(cw_json_value(k));
        if (!auth || cw_map_find(&names, cw_json_text(k)))
            continue;
        bool is_gone = !cw_map_find(kept, cw_json_text(k));
        bytes += is_gone ? cw_json_span(cw_json_value(k)).n + cw_json_text(k).n : 0;
        if (is_gone && bytes > CW_REQUIRED_ACCESS_MAX)
            n_left_out++;
        else
            add(&w, cw_json_text(k), auth);
    }
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, NULL);
    if (rc && !out->code)
        out->code = rc;
    return n_left_out;
}

/* Whether descriptions of this kind have the requirements of tools. */
static bool has_requirements(cw_str kind)
{
    return cw_str_is(kind, "openrpc") || cw_str_is(kind, "drupal-tools");
}

bool cw_required_access_is_weaker(cw_str old, cw_str now)
{
    bool is_richer = has_requirements(now) && !has_requirements(old);
    return !cw_str_eq(old, now) && !is_richer;
}

static bool has_scope(const cw_requirements *needs, cw_str scope)
{
    for (size_t i = 0; i < needs->n_scopes; i++) {
        if (cw_str_eq(needs->scopes[i], scope))
            return true;
    }
    return false;
}

/* The gate checks scopes only if the level is REQUIRED. */
bool cw_required_access_covers(const cw_requirements *now, const cw_requirements *old,
                               cw_str *ret_scope)
{
    *ret_scope = CW_STR("");
    if (old->level != CW_AUTH_REQUIRED)
        return true;
    if (now->level != CW_AUTH_REQUIRED)
        return false;
    for (size_t i = 0; i < old->n_scopes; i++) {
        if (has_scope(now, old->scopes[i]))
            continue;
        *ret_scope = old->scopes[i];
        return false;
    }
    return true;
}
