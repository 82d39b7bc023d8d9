/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keyword.c - the tables, one for each length of name, so that a name is compared with a few. */
#include "schema/model/keyword.h"

#define D7 (1u << CW_SCHEMA_DRAFT_07)
#define D2020 (1u << CW_SCHEMA_2020_12)
#define BOTH (D7 | D2020)

#define ROW(name, id, drafts, vocab, shape)                                                        \
    {                                                                                              \
        CW_STR_INIT(name), KW_##id, drafts, VOCAB_##vocab, SHAPE_##shape                           \
    }

static const kw_row len2[] = {ROW("if", IF, BOTH, APPLICATOR, SCHEMA)};
static const kw_row len3[] = {
    ROW("$id", ID, BOTH, CORE, STRING),
    ROW("not", NOT, BOTH, APPLICATOR, SCHEMA),
};
static const kw_row len4[] = {
    ROW("type", TYPE, BOTH, VALIDATION, TYPE),   ROW("enum", ENUM, BOTH, VALIDATION, ARRAY),
    ROW("$ref", REF, BOTH, CORE, STRING),        ROW("then", THEN, BOTH, APPLICATOR, SCHEMA),
    ROW("else", ELSE, BOTH, APPLICATOR, SCHEMA),
};
static const kw_row len5[] = {
    ROW("items", ITEMS, D2020, APPLICATOR, SCHEMA),
    ROW("items", ITEMS, D7, APPLICATOR, SCHEMA_OR_SCHEMAS),
    ROW("const", CONST, BOTH, VALIDATION, ANY),
    ROW("$defs", DEFS, D2020, CORE, SCHEMA_MAP),
    ROW("allOf", ALL_OF, BOTH, APPLICATOR, SCHEMAS),
    ROW("anyOf", ANY_OF, BOTH, APPLICATOR, SCHEMAS),
    ROW("oneOf", ONE_OF, BOTH, APPLICATOR, SCHEMAS),
};
static const kw_row len6[] = {ROW("format", FORMAT, BOTH, FORMAT, STRING)};
static const kw_row len7[] = {
    ROW("default", DEFAULT, BOTH, META, ANY),
    ROW("minimum", MINIMUM, BOTH, VALIDATION, NUMBER),
    ROW("maximum", MAXIMUM, BOTH, VALIDATION, NUMBER),
    ROW("pattern", PATTERN, BOTH, VALIDATION, PATTERN),
    ROW("$schema", SCHEMA, BOTH, CORE, STRING),
    ROW("$anchor", ANCHOR, D2020, CORE, STRING),
};
static const kw_row len8[] = {
    ROW("required", REQUIRED, BOTH, VALIDATION, STRINGS),
    ROW("minItems", MIN_ITEMS, BOTH, VALIDATION, COUNT),
    ROW("maxItems", MAX_ITEMS, BOTH, VALIDATION, COUNT),
    ROW("contains", CONTAINS, BOTH, APPLICATOR, SCHEMA),
};
static const kw_row len9[] = {
    ROW("minLength", MIN_LENGTH, BOTH, VALIDATION, COUNT),
    ROW("maxLength", MAX_LENGTH, BOTH, VALIDATION, COUNT),
};
static const kw_row len10[] = {
    ROW("properties", PROPERTIES, BOTH, APPLICATOR, SCHEMA_MAP),
    ROW("multipleOf", MULTIPLE_OF, BOTH, VALIDATION, POSITIVE),
};
static const kw_row len11[] = {
    ROW("uniqueItems", UNIQUE_ITEMS, BOTH, VALIDATION, BOOL),
    ROW("prefixItems", PREFIX_ITEMS, D2020, APPLICATOR, SCHEMAS),
    ROW("minContains", MIN_CONTAINS, D2020, VALIDATION, COUNT),
    ROW("maxContains", MAX_CONTAINS, D2020, VALIDATION, COUNT),
    ROW("definitions", DEFS, BOTH, CORE, SCHEMA_MAP),
    ROW("$dynamicRef", DYNAMIC_REF, D2020, CORE, STRING),
};
static const kw_row len12[] = {
    /* 2020-12 has split it in two, but its meta-schema still describes it. */
    ROW("dependencies", DEPENDENCIES, BOTH, APPLICATOR, DEPENDENCIES),
};
static const kw_row len13[] = {
    ROW("propertyNames", PROPERTY_NAMES, BOTH, APPLICATOR, SCHEMA),
    ROW("minProperties", MIN_PROPERTIES, BOTH, VALIDATION, COUNT),
    ROW("maxProperties", MAX_PROPERTIES, BOTH, VALIDATION, COUNT),
    ROW("contentSchema", CONTENT_SCHEMA, D2020, CONTENT, SCHEMA),
};
static const kw_row len14[] = {
    ROW("$dynamicAnchor", DYNAMIC_ANCHOR, D2020, CORE, STRING),
};
static const kw_row len15[] = {
    ROW("additionalItems", ADDITIONAL_ITEMS, D7, APPLICATOR, SCHEMA),
};
static const kw_row len16[] = {
    ROW("exclusiveMinimum", EXCLUSIVE_MINIMUM, BOTH, VALIDATION, NUMBER),
    ROW("exclusiveMaximum", EXCLUSIVE_MAXIMUM, BOTH, VALIDATION, NUMBER),
    ROW("dependentSchemas", DEPENDENT_SCHEMAS, D2020, APPLICATOR, SCHEMA_MAP),
    ROW("unevaluatedItems", UNEVALUATED_ITEMS, D2020, UNEVALUATED, SCHEMA),
};
static const kw_row len17[] = {
    ROW("patternProperties", PATTERN_PROPERTIES, BOTH, APPLICATOR, PATTERN_MAP),
    ROW("dependentRequired", DEPENDENT_REQUIRED, D2020, VALIDATION, STRINGS_MAP),
};
static const kw_row len20[] = {
    ROW("additionalProperties", ADDITIONAL_PROPERTIES, BOTH, APPLICATOR, SCHEMA),
};
static const kw_row len21[] = {
    ROW("unevaluatedProperties", UNEVALUATED_PROPERTIES, D2020, UNEVALUATED, SCHEMA),
};

#define LENGTH(n) [n] = {len##n, CW_COUNT(len##n)}

static const struct {
    const kw_row *rows;
    size_t n;
} by_length[] = {
    LENGTH(2),  LENGTH(3),  LENGTH(4),  LENGTH(5),  LENGTH(6),  LENGTH(7),
    LENGTH(8),  LENGTH(9),  LENGTH(10), LENGTH(11), LENGTH(12), LENGTH(13),
    LENGTH(14), LENGTH(15), LENGTH(16), LENGTH(17), LENGTH(20), LENGTH(21),
};

const kw_row *cw_schema_keyword(cw_str name, cw_schema_draft draft, uint32_t vocab)
{
    if (name.n >= CW_COUNT(by_length))
        return NULL;
    for (size_t i = 0; i < by_length[name.n].n; i++) {
        const kw_row *row = &by_length[name.n].rows[i];
        if ((row->drafts & 1u << draft) && (row->vocab & vocab) &&
            memcmp(row->name.p, name.p, name.n) == 0)
            return row;
    }
    return NULL;
}
