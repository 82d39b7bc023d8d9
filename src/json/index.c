/* SPDX-License-Identifier: GPL-2.0-or-later */
/* index.c - finds a value of a container by position or by key in constant time. */
#include "json/index.h"

#include <stdlib.h>

#define SEARCHED 16u /* members that are not worth a table */
#define TABLES_MAX 1000000u

/* Values of a container: of an array by index, of an object by seeded hash of the key. */
typedef struct table {
    const cw_json *container;
    const cw_json **values;
    size_t mask;
} table;

void cw_json_pointer_index_init(cw_json_pointer_index *index)
{
    cw_map_init(&index->tables, TABLES_MAX);
    cw_arena_init(&index->arena, CW_ARENA_MAX);
}

void cw_json_pointer_index_done(cw_json_pointer_index *index)
{
    cw_map_done(&index->tables);
    cw_arena_done(&index->arena);
}

static void fill_array(table *t)
{
    size_t i = 0;
    for (const cw_json *v = cw_json_first(t->container); v; v = cw_json_next(v))
        t->values[i++] = v;
}

static size_t slot_of(const table *t, cw_str name)
{
    size_t i = cw_hash(name) & t->mask;
    while (t->values[i] && !cw_str_eq(cw_json_text(t->values[i] - 1), name))
        i = (i + 1) & t->mask;
    return i;
}

/* With duplicates the last one wins, as it does for cw_json_get. */
static void fill_object(table *t)
{
    for (const cw_json *k = cw_json_first(t->container); k; k = cw_json_next_key(k))
        t->values[slot_of(t, cw_json_text(k))] = cw_json_value(k);
}

static table *make_table(cw_json_pointer_index *index, const cw_json *container)
{
    bool object = cw_json_type_of(container) == CW_JSON_OBJECT;
    size_t n = cw_json_count(container);
    size_t cap = 2 * SEARCHED;
    while (object && cap < 2 * n)
        cap *= 2;
    table *t = cw_arena_alloc(&index->arena, sizeof *t);
    if (!t)
        return NULL;
    *t = (table){.container = container, .mask = cap - 1};
    t->values = cw_arena_calloc(&index->arena, object ? cap : n, sizeof t->values[0]);
    if (!t->values)
        return NULL;
    if (object)
        fill_object(t);
    else
        fill_array(t);
    cw_str key = cw_str_make((const char *)&t->container, sizeof t->container);
    return cw_map_put(&index->tables, key, t, NULL) ? NULL : t;
}

/* NULL: search instead. */
static table *table_of(cw_json_pointer_index *index, const cw_json *v)
{
    if (cw_json_count(v) <= SEARCHED)
        return NULL;
    table *t = cw_map_find(&index->tables, cw_str_make((const char *)&v, sizeof(const cw_json *)));
    return t ? t : make_table(index, v);
}

/* "~1" is '/', "~0" is '~'. *ret is the token itself where nothing is escaped. */
static bool unescape(cw_json_pointer_index *index, cw_str token, cw_str *ret)
{
    *ret = token;
    if (!token.n || !memchr(token.p, '~', token.n))
        return true;
    char *text = cw_arena_alloc(&index->arena, token.n);
    size_t n = 0;
    for (size_t i = 0; text && i < token.n; i++) {
        bool escaped = token.p[i] == '~';
        if (escaped && (++i == token.n || (token.p[i] != '0' && token.p[i] != '1')))
            return false;
        text[n++] = !escaped ? token.p[i] : token.p[i] == '0' ? '~' : '/';
    }
    *ret = cw_str_make(text, n);
    return text != NULL;
}

static const cw_json *element(const table *t, cw_str token)
{
    uint64_t i;
    if (!cw_str_to_u64(token, &i) || (token.n > 1 && token.p[0] == '0'))
        return NULL;
    return i < cw_json_count(t->container) ? t->values[i] : NULL;
}

/* One token with its '/'. */
static const cw_json *step(cw_json_pointer_index *index, const cw_json *v, cw_str part)
{
    const table *t = table_of(index, v);
    cw_str token = cw_str_make(part.p + 1, part.n - 1);
    cw_str name;
    if (!t)
        return cw_json_pointer(v, part);
    if (cw_json_is(v, CW_JSON_ARRAY))
        return element(t, token);
    return unescape(index, token, &name) ? t->values[slot_of(t, name)] : NULL;
}

const cw_json *cw_json_pointer_index_find(cw_json_pointer_index *index, const cw_json *v,
                                          cw_str pointer)
{
    if (pointer.n && pointer.p[0] != '/')
        return NULL;
    for (size_t i = 0; v && i < pointer.n;) {
        size_t next = i + 1;
        while (next < pointer.n && pointer.p[next] != '/')
            next++;
        v = step(index, v, cw_str_make(pointer.p + i, next - i));
        i = next;
    }
    return v;
}
