/* SPDX-License-Identifier: GPL-2.0-or-later */
/* types_pairs.c - mappings of names to texts: header fields, variables of the environment. */
#include "config/keys/keys.h"

static cw_code read_pair(cw_checker *c, const cw_key *key, const cw_place *place,
                         const cw_json *name, cw_config_pair *ret)
{
    cw_place inner = {.up = place, .name = cw_json_text(name)};
    if (!key->is_valid(inner.name))
        return cw_check_problem(c, &inner, name, "expected %s", key->expected);
    cw_code rc = cw_check_copy(c, inner.name, &ret->name);
    const cw_key *child = key->children;
    return rc ? rc : child->type->read(c, child, &inner, cw_json_value(name), &ret->value);
}

static cw_code read_pairs(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                          void *field)
{
    if (cw_json_is(v, CW_JSON_NULL))
        return CW_OK;
    if (!cw_json_is(v, CW_JSON_OBJECT))
        return cw_check_expected(c, place, v, key->type->name, NULL);
    size_t n = cw_json_count(v);
    if (n > key->max)
        return cw_check_problem(c, place, v, "expected at most %u entries, got %zu",
                                (unsigned)key->max, n);
    cw_config_pair *items = cw_arena_calloc(c->arena, n, sizeof *items);
    if (!items)
        return cw_arena_fail(c->arena, c->err);
    cw_code rc = CW_OK;
    size_t at = 0;
    for (const cw_json *i = cw_json_first(v); i && !rc; i = cw_json_next_key(i))
        rc = read_pair(c, key, place, i, &items[at++]);
    *(cw_config_pairs *)field = (cw_config_pairs){items, n};
    return rc;
}

static void write_pairs(cw_json_writer *w, const cw_key *key, const void *field)
{
    (void)key;
    const cw_config_pairs *pairs = field;
    cw_json_open_object(w);
    for (size_t i = 0; i < pairs->n; i++)
        cw_json_add_string_member(w, pairs->items[i].name, pairs->items[i].value);
    cw_json_close(w);
}

static void describe_pairs(cw_json_writer *w, const cw_key *key)
{
    cw_key_add_type(w, "object", /* or_null= */ true);
    cw_json_add_key(w, CW_STR("propertyNames"));
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("pattern"), cw_str_from(key->pattern));
    cw_json_close(w);
    cw_json_add_key(w, CW_STR("additionalProperties"));
    cw_json_open_object(w);
    key->children->type->describe(w, key->children);
    cw_json_close(w);
    cw_json_add_key(w, CW_STR("maxProperties"));
    cw_json_add_u64(w, key->max);
}

const cw_key_type cw_type_pairs = {"a mapping of names to texts", read_pairs, write_pairs,
                                   describe_pairs, NULL};
