/* SPDX-License-Identifier: GPL-2.0-or-later */
/* merge.c - schemas that are put together with allOf or $ref, in one table.
 *
 *     {"properties":{"a":A},"allOf":[{"properties":{"b":B},"required":["b"]}, ...]}
 *
 * is evaluated like {"properties":{"a":A,"b":B},"required":["b"]}: one pass over the
 * members instead of two. This holds where a part says nothing but properties and
 * required names, where no two parts declare the same name, and where the whole has
 * no keyword that asks what its own properties are.
 */
#include "schema/model/program.h"

#define NAMES_MAX 64u /* in one part: names are searched for one by one here */

/* The whole and eight parts have at most 64 required names together: they are bits of one word. */
#define WHOLE_REQUIRED 8u
#define PART_REQUIRED 7u

static const cw_json *names_of(const facts *f, kw_id id)
{
    return f->has & KW_BIT(id) ? f->key[id] + 1 : NULL;
}

static uint32_t count(const cw_json *v)
{
    return v ? cw_json_count(v) : 0;
}

static bool shares_names(const cw_json *a, const cw_json *b)
{
    for (const cw_json *k = a && b ? cw_json_first(a) : NULL; k; k = cw_json_next_key(k)) {
        if (cw_json_get(b, cw_json_text(k)))
            return true;
    }
    return false;
}

/* Whether the part is a table and no more, for objects of the whole. */
static bool is_table(const cw_schema *s, const facts *whole, uint32_t resource_index, uint32_t part,
                     facts *ret)
{
    const sub *at = &s->subs[part];
    if (!cw_json_is(at->value, CW_JSON_OBJECT) || (s->n_dynamics && at->resource != resource_index))
        return false;
    cw_schema_gather(s, at, ret);
    uint64_t table = KW_BIT(KW_PROPERTIES) | KW_BIT(KW_REQUIRED);
    if ((ret->has & ~(table | KW_BIT(KW_TYPE))) || !(ret->has & table))
        return false;
    /* Where the part refuses other types, the whole must have done so. */
    uint32_t object = TYPE_BIT(CW_JSON_OBJECT);
    if ((ret->has & KW_BIT(KW_TYPE)) && (whole->types != object || !(ret->types & object)))
        return false;
    return count(names_of(ret, KW_PROPERTIES)) <= NAMES_MAX &&
           count(names_of(ret, KW_REQUIRED)) <= PART_REQUIRED;
}

static void try_part(builder *b, uint32_t index, const facts *f, const cw_json *value)
{
    const cw_schema *s = b->s;
    uint32_t direct = cw_schema_link(s, &s->subs[index], value);
    uint32_t part = cw_schema_skip_references(s, direct);
    CW_UNINIT facts own;
    if (b->n_merged == CW_COUNT(b->merged) || part == index ||
        !is_table(s, f, s->subs[index].resource, part, &own))
        return;
    const cw_json *mine = names_of(&own, KW_PROPERTIES);
    if (shares_names(mine, names_of(f, KW_PROPERTIES)))
        return;
    for (uint32_t i = 0; i < b->n_merged; i++) {
        CW_UNINIT facts other;
        cw_schema_gather(s, &s->subs[b->merged[i]], &other);
        if (b->merged[i] == part || shares_names(mine, names_of(&other, KW_PROPERTIES)))
            return;
    }
    b->merged[b->n_merged++] = part;
}

void cw_schema_choose_merged(builder *b, uint32_t index, const facts *f)
{
    uint64_t asks = KW_BIT(KW_ADDITIONAL_PROPERTIES) | KW_BIT(KW_PATTERN_PROPERTIES);
    if ((f->has & asks) || count(names_of(f, KW_PROPERTIES)) > NAMES_MAX ||
        count(names_of(f, KW_REQUIRED)) > WHOLE_REQUIRED)
        return;
    if (f->has & KW_BIT(KW_REF))
        try_part(b, index, f, f->key[KW_REF] + 1);
    const cw_json *c = f->has & KW_BIT(KW_ALL_OF) ? cw_json_first(f->key[KW_ALL_OF] + 1) : NULL;
    for (; c; c = cw_json_next(c))
        try_part(b, index, f, c);
}

bool cw_schema_is_merged(const builder *b, uint32_t sub_index)
{
    uint32_t part = cw_schema_skip_references(b->s, sub_index);
    for (uint32_t i = 0; i < b->n_merged; i++) {
        if (b->merged[i] == part)
            return true;
    }
    return false;
}
