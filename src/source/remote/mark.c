/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mark.c - the mark and the requirements of a method: the operator's values replace those of the service.
 *
 * Hints of the service are shown to clients, and have no effect. Otherwise a service could have a
 * tool called by GET, repeated and merged, only by declaring it read-only.
 */
#include "json/write.h"
#include "source/openrpc/openrpc.h"
#include "source/remote/remote_int.h"
#include "source/remote/required_access.h"

static const char *const levels[] = {NULL, "none", "optional", "required"};

/* Members of `more` that are not in `first`, and none of `skipped`, which ends with NULL. */
static void add_members(cw_json_writer *w, const cw_json *more, const cw_json *first,
                        const char *const *skipped)
{
    for (const cw_json *k = more ? cw_json_first(more) : NULL; k; k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        size_t i = 0;
        while (skipped[i] && !cw_str_is(name, skipped[i]))
            i++;
        if (skipped[i] || cw_json_get(first, name))
            continue;
        cw_json_add_key(w, name);
        cw_json_add_value(w, cw_json_value(k));
    }
}

/* A value that is no list is kept, so that the reader of the mark rejects it. To drop it would
 * remove a protection. */
static void add_scopes(cw_json_writer *w, const cw_json *auth)
{
    const cw_json *scopes = cw_json_get(auth, CW_STR("scopes"));
    if (scopes && !cw_json_is(scopes, CW_JSON_ARRAY)) {
        cw_json_open_array(w);
        cw_json_add_value(w, scopes);
        cw_json_close(w);
        return;
    }
    for (const cw_json *s = scopes ? cw_json_first(scopes) : NULL; s; s = cw_json_next(s))
        cw_json_add_value(w, s);
}

/* Whether a level requires less than a login. If the operator requires scopes, such a level of the
 * service must not make them void. */
static bool is_lower(const cw_json *auth)
{
    const cw_json *level = cw_json_get(auth, CW_STR("level"));
    return cw_json_is(level, CW_JSON_STRING) &&
           (cw_str_is(cw_json_text(level), "none") || cw_str_is(cw_json_text(level), "optional"));
}

/* Add the scopes of both: an overlay without scopes does not remove those of the service. The
 * operator's values replace all others. Unknown members are kept, so that they are rejected. */
static void add_auth(cw_json_writer *w, const cw_config_overlay *o, const cw_json *own,
                     const cw_json *its)
{
    static const char *const merged[] = {"scopes", NULL};
    static const char *const merged_and_level[] = {"scopes", "level", NULL};
    bool has_level = levels[o->level] != NULL;
    bool drops_level = has_level || ((own || o->scopes.n) && is_lower(its));
    cw_json_add_key(w, CW_STR("auth"));
    cw_json_open_object(w);
    cw_json_add_key(w, CW_STR("scopes"));
    cw_json_open_array(w);
    add_scopes(w, own);
    for (size_t i = 0; i < o->scopes.n; i++)
        cw_json_add_string(w, o->scopes.items[i]);
    add_scopes(w, its);
    cw_json_close(w);
    if (has_level)
        cw_json_add_string_member(w, CW_STR("level"), cw_str_from(levels[o->level]));
    add_members(w, own, NULL, has_level ? merged_and_level : merged);
    add_members(w, its, own, drops_level ? merged_and_level : merged);
    cw_json_close(w);
}

static bool has_members(const cw_json *object)
{
    return cw_json_is(object, CW_JSON_OBJECT) && cw_json_count(object) > 0;
}

static bool is_wrong(const cw_json *auth)
{
    return auth && !cw_json_is(auth, CW_JSON_OBJECT);
}

/* Whether `auth` of the operator has no requirement, nor its entry: a mistake, as in a plugin. */
static bool lacks_requirements(const cw_config_overlay *o, const cw_json *auth)
{
    return auth && !cw_json_get(auth, CW_STR("scopes")) && !cw_json_get(auth, CW_STR("level")) &&
           !o->scopes.n && !levels[o->level];
}

static void add_annotations(cw_json_writer *w, const cw_config_overlay *o, const cw_json *own,
                            const cw_json *its)
{
    const cw_json *own_auth = cw_json_get(own, CW_STR("auth"));
    const cw_json *its_auth = cw_json_get(its, CW_STR("auth"));
    bool has_auth = own_auth || its_auth || o->scopes.n || levels[o->level];
    if (!has_members(own) && !has_members(its) && !has_auth && !o->read_only)
        return;
    cw_json_add_key(w, CW_STR("annotations"));
    cw_json_open_object(w);
    static const char *const apart[] = {"auth", NULL};
    static const char *const apart_and_read[] = {"auth", "readOnlyHint", NULL};
    add_members(w, own, NULL, apart);
    if (o->read_only && !cw_json_get(own, CW_STR("readOnlyHint")))
        cw_json_add_bool_member(w, CW_STR("readOnlyHint"), true);
    add_members(w, its, own, o->read_only ? apart_and_read : apart);
    bool is_own_wrong = is_wrong(own_auth) || lacks_requirements(o, own_auth);
    const cw_json *wrong = is_own_wrong ? own_auth : is_wrong(its_auth) ? its_auth : NULL;
    if (wrong) { /* the reader of the mark rejects it */
        cw_json_add_key(w, CW_STR("auth"));
        cw_json_add_value(w, wrong);
    } else if (has_auth) {
        add_auth(w, o, own_auth, its_auth);
    }
    cw_json_close(w);
}

static cw_code write_mark(const cw_config_overlay *o, const cw_json *own, const cw_json *its,
                          cw_buf *out, cw_err *err)
{
    cw_json_writer w;
    const cw_json *named = its ? cw_json_get(its, CW_STR("title")) : NULL;
    cw_str title = cw_json_is(named, CW_JSON_STRING) ? cw_json_text(named) : CW_STR("");
    const cw_json *annotations = its ? cw_json_get(its, CW_STR("annotations")) : NULL;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    if (o->title.n)
        cw_json_add_string_member(&w, CW_STR("title"), o->title);
    else if (title.n)
        cw_json_add_string_member(&w, CW_STR("title"), title);
    add_annotations(&w, o, own, cw_json_is(annotations, CW_JSON_OBJECT) ? annotations : NULL);
    if (o->hidden_unless_met)
        cw_json_add_string_member(&w, CW_STR("visibility"), CW_STR("hide"));
    if (o->task)
        cw_json_add_string_member(&w, CW_STR("task"), cw_task_mark_name((cw_task_mark)o->task));
    cw_json_close(&w);
    return cw_json_writer_end(&w, err);
}

static bool says(const cw_json *own, cw_str hint)
{
    return own && cw_json_is(cw_json_get(own, hint), CW_JSON_TRUE);
}

/* Set the properties that calls rely on. Only the operator's values count. */
static cw_code trust(cw_remote *r, const cw_config_overlay *o, const cw_json *own, cw_method *m,
                     cw_err *err)
{
    cw_mark *mark = cw_arena_alloc(&r->arena, sizeof *mark);
    if (!mark)
        return cw_arena_fail(&r->arena, err);
    *mark = *m->mark;
    bool has_hint = own && cw_json_get(own, CW_STR("readOnlyHint"));
    mark->is_read_only = has_hint ? says(own, CW_STR("readOnlyHint")) : o->read_only;
    mark->is_idempotent = says(own, CW_STR("idempotentHint"));
    m->mark = mark;
    return CW_OK;
}

static cw_code make(cw_remote *r, const cw_config_overlay *o, const cw_json *its, cw_arena *scratch,
                    cw_method *m, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, 4 * CW_CONFIG_MAX_BYTES);
    const cw_json *own = NULL, *mark = NULL;
    cw_arena_reset(scratch);
    cw_code rc = CW_OK;
    if (o->annotations.n)
        rc = cw_json_read(o->annotations, NULL, scratch, &own, NULL, err);
    if (!rc && own && !cw_json_is(own, CW_JSON_OBJECT))
        rc = cw_fail(err, CW_PARAMS, "expected an object, got %s", cw_json_type_name(own));
    if (!rc)
        rc = write_mark(o, own, its, &text, err);
    if (!rc)
        rc = cw_json_read(cw_buf_str(&text), NULL, scratch, &mark, NULL, err);
    if (rc)
        return cw_wrap(err, rc, "annotations");
    rc = cw_openrpc_mark(mark, "overlay", &r->arena, &m->mark, &m->needs, err);
    return rc ? rc : trust(r, o, own, m, err);
}

/* The requirements of the service are invalid. Without them every caller could use the method, so it
 * is withheld, unless the operator's values are wrong too. `visibility: hide` may refer to the
 * service's scopes, and is not checked. */
static cw_code withhold(cw_remote *r, const cw_config_overlay *o, cw_arena *scratch, cw_method *m,
                        cw_err *err)
{
    cw_err without;
    cw_config_overlay shown = *o;
    shown.hidden_unless_met = false;
    m->needs = (cw_requirements){0};
    cw_code rc = make(r, &shown, NULL, scratch, m, &without);
    if (rc)
        return cw_fail(err, rc, "%s", without.msg);
    return cw_fail(err, CW_INVALID, "it is withheld, since marks of the service are wrong: %s",
                   err->msg);
}

cw_code cw_remote_make_mark(cw_remote *r, const cw_config_overlay *o, const cw_json *described,
                            cw_arena *scratch, cw_buf *warnings, cw_method *m, cw_err *err)
{
    const cw_json *its = described ? cw_json_get(described, CW_STR("x-mcp-tool")) : NULL;
    if (cw_required_access_hidden_in(its)) {
        cw_fail(err, CW_PARAMS, "x-mcp-tool: expected objects");
        return withhold(r, o, scratch, m, err);
    }
    if (!cw_json_is(its, CW_JSON_OBJECT))
        return make(r, o, NULL, scratch, m, err);
    cw_code rc = make(r, o, its, scratch, m, err);
    if (rc != CW_PARAMS)
        return rc;
    if (cw_json_get(cw_json_get(its, CW_STR("annotations")), CW_STR("auth")))
        return withhold(r, o, scratch, m, err);
    cw_err without;
    m->needs = (cw_requirements){0};
    rc = make(r, o, NULL, scratch, m, &without);
    if (rc)
        return cw_fail(err, rc, "%s", without.msg); /* the operator's own mistake */
    cw_buf_add_line(warnings, "method '%.*s': marks of the service are left out: %s",
                    CW_STR_ARG(m->id), err->msg);
    return CW_OK;
}
