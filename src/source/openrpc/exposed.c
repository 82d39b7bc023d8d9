/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exposed.c - what makes a method a resource, a template of resources or a prompt. */
#include "catalogue/exposed.h"
#include "source/openrpc/openrpc_int.h"

/* A kind of thing: its member of the method, and the member in that which names it. */
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

static cw_code read(const kind *k, const cw_json *v, cw_arena *arena, cw_method *method,
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

cw_code cw_openrpc_exposed(const cw_json *object, cw_arena *arena, cw_method *method, cw_err *err)
{
    for (size_t i = 0; i < CW_COUNT(kinds); i++) {
        const cw_json *v = cw_json_get(object, cw_str_from(kinds[i].member));
        if (!v)
            continue;
        if (method->exposed)
            return cw_fail(err, CW_PARAMS, "%s: it is something else already", kinds[i].member);
        cw_code rc = read(&kinds[i], v, arena, method, err);
        if (rc)
            return cw_wrap(err, rc, "%s", kinds[i].member);
    }
    return CW_OK;
}
