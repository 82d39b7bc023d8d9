/* SPDX-License-Identifier: GPL-2.0-or-later */
/* facts.c - the keywords of a subschema, reduced to those that can change a verdict. */
#include "schema/model/program.h"

/* Types that both allow. A number that is only an integer on one side is one afterwards. */
static uint32_t both_types(uint32_t a, uint32_t b)
{
    uint32_t number = TYPE_BIT(CW_JSON_NUMBER);
    uint32_t common = a & b & ~TYPE_INTEGER;
    bool whole = (a & (number | TYPE_INTEGER)) && (b & (number | TYPE_INTEGER));
    return whole && !(common & number) ? common | TYPE_INTEGER : common;
}

static uint32_t value_types(const cw_json *v)
{
    return TYPE_BIT(cw_json_type_of(v));
}

static uint32_t list_types(const cw_json *list)
{
    uint32_t types = 0;
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v))
        types |= value_types(v);
    return types;
}

/* unevaluated keywords that the siblings answer statically are the additional ones. */
static void simplify_unevaluated(facts *f)
{
    uint64_t inplace =
        f->has & (INPLACE_KEYWORDS | KW_BIT(KW_DEPENDENT_SCHEMAS) | KW_BIT(KW_DEPENDENCIES));
    if (inplace)
        return;
    uint64_t members = KW_BIT(KW_UNEVALUATED_PROPERTIES);
    if (f->has & members) {
        if (!(f->has & KW_BIT(KW_ADDITIONAL_PROPERTIES))) {
            f->key[KW_ADDITIONAL_PROPERTIES] = f->key[KW_UNEVALUATED_PROPERTIES];
            f->has |= KW_BIT(KW_ADDITIONAL_PROPERTIES);
        }
        f->has &= ~members;
    }
    uint64_t items = KW_BIT(KW_UNEVALUATED_ITEMS);
    if ((f->has & items) && !(f->has & KW_BIT(KW_CONTAINS))) {
        if (!(f->has & KW_BIT(KW_ITEMS))) {
            f->key[KW_ITEMS] = f->key[KW_UNEVALUATED_ITEMS];
            f->has |= KW_BIT(KW_ITEMS);
        }
        f->has &= ~items;
    }
}

static bool asserts_format(const cw_schema *s, const sub *at, const cw_json *key)
{
    return s->resources[at->resource].assert_format && cw_format_find(cw_json_text(key + 1));
}

/* Drop what cannot change the verdict. */
static void drop_idle(const cw_schema *s, const sub *at, facts *f)
{
    if (!(f->has & KW_BIT(KW_IF)))
        f->has &= ~(KW_BIT(KW_THEN) | KW_BIT(KW_ELSE));
    if (!(f->has & KW_BIT(KW_CONTAINS)))
        f->has &= ~(KW_BIT(KW_MIN_CONTAINS) | KW_BIT(KW_MAX_CONTAINS));
    if ((f->has & KW_BIT(KW_FORMAT)) && !asserts_format(s, at, f->key[KW_FORMAT]))
        f->has &= ~KW_BIT(KW_FORMAT);
    if ((f->has & KW_BIT(KW_UNIQUE_ITEMS)) &&
        !cw_json_is(f->key[KW_UNIQUE_ITEMS] + 1, CW_JSON_TRUE))
        f->has &= ~KW_BIT(KW_UNIQUE_ITEMS);
    if (!(f->types & (TYPE_BIT(CW_JSON_NUMBER) | TYPE_INTEGER)))
        f->has &= ~NUMBER_KEYWORDS;
    if (!(f->types & TYPE_BIT(CW_JSON_STRING)))
        f->has &= ~STRING_KEYWORDS;
    if (!(f->types & TYPE_BIT(CW_JSON_ARRAY)))
        f->has &= ~ARRAY_KEYWORDS;
    if (!(f->types & TYPE_BIT(CW_JSON_OBJECT)))
        f->has &= ~OBJECT_KEYWORDS;
}

void cw_schema_gather(const cw_schema *s, const sub *at, facts *f)
{
    f->has = 0;
    f->types = cw_json_is(at->value, CW_JSON_FALSE) ? 0 : TYPE_ANY;
    for (uint32_t i = 0; i < at->count; i++) {
        const keyword *k = &s->keywords[at->first + i];
        f->key[k->id] = k->key;
        f->has |= KW_BIT(k->id);
    }
    if (f->has & KW_BIT(KW_TYPE))
        f->types = both_types(f->types, cw_schema_type_bits(f->key[KW_TYPE] + 1));
    if (f->has & KW_BIT(KW_CONST))
        f->types = both_types(f->types, value_types(f->key[KW_CONST] + 1));
    if (f->has & KW_BIT(KW_ENUM))
        f->types = both_types(f->types, list_types(f->key[KW_ENUM] + 1));
    simplify_unevaluated(f);
    drop_idle(s, at, f);
}

bool cw_schema_only_types(const facts *f)
{
    if (f->has & ~(KW_BIT(KW_TYPE) | KW_BIT(KW_CONST) | KW_BIT(KW_ENUM)))
        return false;
    uint32_t single = TYPE_BIT(CW_JSON_NULL) | TYPE_BIT(CW_JSON_FALSE) | TYPE_BIT(CW_JSON_TRUE);
    return !(f->has & (KW_BIT(KW_CONST) | KW_BIT(KW_ENUM))) || !(f->types & ~single);
}

cw_json_type cw_schema_leaf_type(const facts *f)
{
    uint64_t leaves =
        NUMBER_KEYWORDS | STRING_KEYWORDS | KW_BIT(KW_TYPE) | KW_BIT(KW_CONST) | KW_BIT(KW_ENUM);
    if (f->has & ~leaves)
        return CW_JSON_END;
    if (f->types == TYPE_INTEGER || f->types == TYPE_BIT(CW_JSON_NUMBER))
        return CW_JSON_NUMBER;
    return f->types == TYPE_BIT(CW_JSON_STRING) ? CW_JSON_STRING : CW_JSON_END;
}
