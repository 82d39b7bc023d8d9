/* SPDX-License-Identifier: GPL-2.0-or-later */
/* value.c - access to the values of a document. */
#include "json/json_int.h"

const char *cw_json_type_name(const cw_json *v)
{
    switch (cw_json_type_of(v)) {
    case CW_JSON_NULL:
        return "null";
    case CW_JSON_FALSE:
    case CW_JSON_TRUE:
        return "boolean";
    case CW_JSON_NUMBER:
        return "number";
    case CW_JSON_STRING:
        return "string";
    case CW_JSON_ARRAY:
        return "array";
    case CW_JSON_OBJECT:
        return "object";
    case CW_JSON_END:
        break;
    }
    return "end";
}

cw_str cw_json_span(const cw_json *v)
{
    uint32_t type = v->meta & 7u;
    if (type == CW_JSON_ARRAY || type == CW_JSON_OBJECT)
        return cw_str_make(v->p, (size_t)(v[v->n].p + 1 - v->p));
    if (type != CW_JSON_STRING)
        return cw_str_make(v->p, v->n);
    if (!(v->meta & CW_JSON_DECODED))
        return cw_str_make(v->p - 1, (size_t)v->n + 2);
    return decoded_source(v->p);
}

const cw_json *cw_json_get_hashed(const cw_json *obj, cw_str name, uint32_t hash)
{
    if (!cw_json_is(obj, CW_JSON_OBJECT))
        return NULL;
    const cw_json *found = NULL;
    for (const cw_json *k = cw_json_first(obj); k; k = cw_json_next_key(k)) {
        if (!cw_json_key_is(k, name, hash))
            continue;
        found = cw_json_value(k);
        if (!(obj->meta & CW_JSON_UNCHECKED))
            break;
    }
    return found;
}

static size_t index_of(const cw_json *key, const cw_str *names, size_t n)
{
    size_t i = 0;
    while (i < n && !(key->n == names[i].n && cw_str_eq(cw_str_make(key->p, key->n), names[i])))
        i++;
    return i;
}

void cw_json_get_all(const cw_json *obj, const cw_str *names, size_t n, const cw_json **ret)
{
    for (size_t i = 0; i < n; i++)
        ret[i] = NULL;
    if (!cw_json_is(obj, CW_JSON_OBJECT))
        return;
    for (const cw_json *k = cw_json_first(obj); k; k = cw_json_next_key(k)) {
        size_t i = index_of(k, names, n);
        if (i < n)
            ret[i] = cw_json_value(k);
    }
}

const cw_json *cw_json_at(const cw_json *array, size_t index)
{
    if (!cw_json_is(array, CW_JSON_ARRAY) || index >= cw_json_count(array))
        return NULL;
    /* No child takes more than one entry: the distance to END says so. */
    if (array->n == cw_json_count(array) + 1)
        return array + 1 + index;
    const cw_json *v = array + 1;
    while (index-- > 0)
        v = cw_json_after(v);
    return v;
}
