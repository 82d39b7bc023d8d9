/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list.c - reads and describes lists and mappings of any item type. */
#include "config/keys/list.h"

static cw_code too_many(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                        size_t n)
{
    return cw_check_problem(c, place, v, "expected at most %u entries, got %zu", (unsigned)key->max,
                            n);
}

cw_code cw_key_list_read(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                         size_t item_size, cw_key_list_item_fn read_item, cw_key_list *ret)
{
    bool is_list = cw_json_is(v, CW_JSON_ARRAY);
    size_t n = is_list ? cw_json_count(v) : 1;
    if (n < key->min)
        return cw_check_problem(c, place, v, "expected at least one entry, got an empty list");
    if (n > key->max)
        return too_many(c, key, place, v, n);
    char *items = cw_arena_calloc(c->arena, n, item_size);
    if (!items)
        return cw_arena_fail(c->arena, c->err);
    cw_code rc = is_list ? CW_OK : read_item(c, key, place, v, items);
    cw_place inner = {.up = place};
    for (const cw_json *i = is_list ? cw_json_first(v) : NULL; i && !rc; i = cw_json_next(i)) {
        rc = read_item(c, key, &inner, i, items + inner.index * item_size);
        inner.index++;
    }
    *ret = (cw_key_list){items, n};
    return rc;
}

static cw_code read_named(cw_checker *c, const cw_key *key, const cw_place *place,
                          const cw_json *name, cw_key_list_item_fn read_item, void *item)
{
    cw_place inner = {.up = place, .name = cw_json_text(name)};
    if (!key->is_valid(inner.name))
        return cw_check_problem(c, &inner, name, "expected %s", key->expected);
    cw_code rc = read_item(c, key, &inner, cw_json_value(name), item);
    return rc ? rc : cw_check_copy(c, inner.name, item);
}

cw_code cw_key_list_read_map(cw_checker *c, const cw_key *key, const cw_place *place,
                             const cw_json *v, size_t item_size, cw_key_list_item_fn read_item,
                             cw_key_list *ret)
{
    if (cw_json_is(v, CW_JSON_NULL))
        return CW_OK;
    if (!cw_json_is(v, CW_JSON_OBJECT))
        return cw_check_expected(c, place, v, key->type->name, NULL);
    size_t n = cw_json_count(v);
    if (n > key->max)
        return too_many(c, key, place, v, n);
    char *items = cw_arena_calloc(c->arena, n, item_size);
    if (!items)
        return cw_arena_fail(c->arena, c->err);
    cw_code rc = CW_OK;
    char *item = items;
    for (const cw_json *i = cw_json_first(v); i && !rc; i = cw_json_next_key(i)) {
        rc = read_named(c, key, place, i, read_item, item);
        item += item_size;
    }
    *ret = (cw_key_list){items, n};
    return rc;
}

static void describe_part(cw_json_writer *w, const char *name, const cw_key *key,
                          void (*fn)(cw_json_writer *w, const cw_key *key))
{
    cw_json_add_key(w, cw_str_from(name));
    cw_json_open_object(w);
    fn(w, key);
    cw_json_close(w);
}

static void describe_name(cw_json_writer *w, const cw_key *key)
{
    cw_json_add_string_member(w, CW_STR("pattern"), cw_str_from(key->pattern));
}

void cw_key_list_describe_map(cw_json_writer *w, const cw_key *key,
                              void (*fn)(cw_json_writer *w, const cw_key *key))
{
    describe_part(w, "propertyNames", key, describe_name);
    describe_part(w, "additionalProperties", key, fn);
    cw_json_add_key(w, CW_STR("maxProperties"));
    cw_json_add_u64(w, key->max);
}

void cw_key_list_describe_array(cw_json_writer *w, const cw_key *key,
                                void (*fn)(cw_json_writer *w, const cw_key *key))
{
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("array"));
    describe_part(w, "items", key, fn);
    cw_json_add_key(w, CW_STR("minItems"));
    cw_json_add_u64(w, key->min);
    cw_json_add_key(w, CW_STR("maxItems"));
    cw_json_add_u64(w, key->max);
}
