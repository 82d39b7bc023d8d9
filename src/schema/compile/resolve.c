/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resolve.c - every $ref and $dynamicRef to the sub it leads to.
 *
 * A reference may bring in a registered document, or lead to a place that was not
 * known as a schema; both add subs behind the one being resolved, so a single
 * pass that goes on until there are no more resolves everything.
 */
#include "schema/model/model.h"
#include "schema/model/uri.h"

/* Follow a JSON Pointer from a resource's root. The resource of what is met last on the way is the
 * base of the target. */
static cw_code follow_pointer(builder *b, const cw_json *at, uint32_t start, cw_str pointer,
                              uint32_t *ret)
{
    cw_schema *s = b->s;
    uint32_t base = s->subs[start].resource;
    uint32_t doc = s->resources[base].doc;
    const cw_json *v = s->subs[start].value;
    for (size_t i = 0; v && i < pointer.n;) {
        size_t next = i + 1;
        while (next < pointer.n && pointer.p[next] != '/')
            next++;
        v = cw_json_pointer_index_find(&b->index, v, cw_str_make(pointer.p + i, next - i));
        bool schema = v && (cw_json_is(v, CW_JSON_OBJECT) || cw_json_is(v, CW_JSON_TRUE) ||
                            cw_json_is(v, CW_JSON_FALSE));
        uint32_t known = schema ? s->docs[doc].links[v - s->docs[doc].root] : 0;
        if (known)
            base = s->subs[known].resource;
        i = next;
    }
    if (!v)
        return cw_schema_fail_at(b, at, CW_PARAMS, "'%.*s' leads nowhere",
                                 CW_STR_ARG(cw_json_text(at)));
    return cw_schema_scan(b, doc, v, base, /* depth= */ 1, ret);
}

/* A resource by its address, from the documents at hand or the registered ones. */
static cw_code find_resource(builder *b, const cw_json *at, cw_str uri, uint32_t *ret)
{
    void *known = cw_map_find(&b->ids, uri);
    if (known) {
        *ret = (uint32_t)((uintptr_t)known / 2);
        return CW_OK;
    }
    cw_str text;
    if (!cw_schema_find_document(b, uri, &text))
        return cw_schema_fail_at(b, at, CW_PARAMS,
                                 "'%.*s' is outside this document, and nothing is fetched",
                                 CW_STR_ARG(uri));
    uint32_t doc = 0;
    cw_code rc = cw_schema_add_document(b, uri, text, /* copy= */ true, &doc);
    if (rc)
        return rc;
    *ret = b->s->docs[doc].links[0];
    return CW_OK;
}

/* `target` gets the sub; *ret_dynamic whether the reference named a dynamic anchor. */
static cw_code find_target(builder *b, uint32_t from, const cw_json *at, uint32_t *ret,
                           bool *ret_dynamic)
{
    cw_schema *s = b->s;
    cw_str fragment;
    cw_str part = cw_schema_uri_cut(cw_json_text(at), &fragment);
    uint32_t base = s->subs[from].resource;
    uint32_t start = s->resources[base].root;
    cw_str uri = s->resources[base].uri;
    if (part.n > 0) {
        uri = cw_schema_uri_resolve(&s->arena, uri, part);
        if (!uri.p)
            return cw_arena_fail(&s->arena, b->err);
        cw_code rc = find_resource(b, at, uri, &start);
        if (rc)
            return rc;
        /* Its own identifier, under which its anchors are known. */
        uri = s->resources[s->subs[start].resource].uri;
    }
    if (fragment.n == 0) {
        *ret = start;
        return CW_OK;
    }
    fragment = cw_schema_uri_decode(&s->arena, fragment);
    if (!fragment.p)
        return cw_arena_fail(&s->arena, b->err);
    if (fragment.p[0] == '/')
        return follow_pointer(b, at, start, fragment, ret);
    char *key = cw_arena_printf(&s->arena, "%.*s#%.*s", CW_STR_ARG(uri), CW_STR_ARG(fragment));
    if (!key)
        return cw_arena_fail(&s->arena, b->err);
    uintptr_t known = (uintptr_t)cw_map_find(&b->ids, cw_str_from(key));
    if (!known)
        return cw_schema_fail_at(b, at, CW_PARAMS, "there is no anchor '%.*s'",
                                 CW_STR_ARG(fragment));
    *ret = (uint32_t)(known / 2);
    *ret_dynamic = known & 1;
    return CW_OK;
}

const dynamic *cw_schema_dynamic_at(const cw_schema *s, uint32_t sub_index)
{
    for (uint32_t i = 0; i < s->n_dynamics; i++) {
        if (s->dynamics[i].sub == sub_index)
            return &s->dynamics[i];
    }
    return NULL;
}

uint32_t cw_schema_static_dynamic(const cw_schema *s, uint32_t target)
{
    const dynamic *first = cw_schema_dynamic_at(s, target);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_dynamics; i++) {
        const dynamic *d = &s->dynamics[i];
        if (!cw_str_eq(d->name, first->name))
            continue;
        /* The root is around everything, so its anchor is always the outermost. */
        if (d->resource == s->subs[s->root].resource)
            return d->sub;
        n++;
    }
    return n == 1 ? target : 0;
}

static cw_code resolve_sub(builder *b, uint32_t index)
{
    cw_schema *s = b->s;
    for (uint32_t i = 0; i < s->subs[index].count; i++) {
        keyword *k = &s->keywords[s->subs[index].first + i];
        if (k->id != KW_REF && k->id != KW_DYNAMIC_REF)
            continue;
        const cw_json *value = k->key + 1;
        uint32_t target = 0;
        bool is_dynamic = false;
        cw_code rc = find_target(b, index, value, &target, &is_dynamic);
        if (rc)
            return rc;
        /* Finding it may have moved the tables. */
        k = &s->keywords[s->subs[index].first + i];
        if (k->id == KW_DYNAMIC_REF && !is_dynamic)
            k->id = KW_REF;
        const document *doc = &s->docs[s->resources[s->subs[index].resource].doc];
        doc->links[value - doc->root] = target;
    }
    return CW_OK;
}

/* A sub that is nothing but a reference. */
static uint32_t only_reference(const cw_schema *s, uint32_t index)
{
    const sub *at = &s->subs[index];
    if (at->count != 1 || s->keywords[at->first].id != KW_REF)
        return 0;
    return cw_schema_link(s, at, s->keywords[at->first].key + 1);
}

/* Follow references that are nothing but references. A second walk at half the speed is met again
 * where they go round in a circle. */
static cw_code check_chain(builder *b, uint32_t index)
{
    const cw_schema *s = b->s;
    uint32_t at = index;
    uint32_t behind = index;
    for (uint32_t n = 0; (at = only_reference(s, at)) != 0; n++) {
        const cw_json *key = s->keywords[s->subs[index].first].key;
        if (at == behind)
            return cw_schema_fail_at(b, key, CW_PARAMS, "the reference leads back to itself");
        if (n >= b->opts.max_refs)
            return cw_schema_fail_at(b, key, CW_LIMIT, "more than %u references in a row",
                                     b->opts.max_refs);
        if (n % 2)
            behind = only_reference(s, behind);
    }
    return CW_OK;
}

cw_code cw_schema_resolve(builder *b)
{
    for (uint32_t i = 1; i < b->s->n_subs; i++) {
        cw_code rc = resolve_sub(b, i);
        if (rc)
            return rc;
    }
    for (uint32_t i = 1; i < b->s->n_subs; i++) {
        cw_code rc = check_chain(b, i);
        if (rc)
            return rc;
    }
    return CW_OK;
}
