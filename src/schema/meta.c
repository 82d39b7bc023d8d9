/* SPDX-License-Identifier: GPL-2.0-or-later */
/* meta.c - one flat schema for each draft, which checks the shape of a schema in one pass.
 *
 * It agrees with the standard's own documents (schema/compile/standard.c), but leaves out what the
 * compiler checks itself (that patterns can be compiled) and what the drafts only recommend.
 */
#include "schema/model/model.h"

static const cw_str flat[] = {
    [CW_SCHEMA_2020_12] = CW_STR_INIT(
        "{\"type\":[\"object\",\"boolean\"],\"properties\":{\"$id\":{\"type\":\"string\","
        "\"pattern\":"
        "\"^[^#]*#?$\"},\"$schema\":{\"type\":\"string\"},\"$ref\":{\"type\":\"string\"},\"$"
        "anchor\":"
        "{\"$ref\":\"#/$defs/anchor\"},\"$dynamicRef\":{\"type\":\"string\"},\"$dynamicAnchor\":{"
        "\"$ref\":\"#/$defs/"
        "anchor\"},\"$vocabulary\":{\"type\":\"object\",\"additionalProperties\":"
        "{\"type\":\"boolean\"}},\"$comment\":{\"type\":\"string\"},\"$defs\":{\"$ref\":\"#/$defs/"
        "map\"}"
        ",\"definitions\":{\"$ref\":\"#/$defs/map\"},\"dependencies\":{\"$ref\":\"#/$defs/"
        "dependencies\"}"
        ",\"prefixItems\":{\"$ref\":\"#/$defs/schemas\"},\"items\":{\"$ref\":\"#\"},\"contains\":"
        "{\"$ref\":\"#\"},\"additionalProperties\":{\"$ref\":\"#\"},\"properties\":{\"$ref\":\"#/"
        "$defs/map\"}"
        ",\"patternProperties\":{\"$ref\":\"#/$defs/map\"},\"dependentSchemas\":{\"$ref\":\"#/"
        "$defs/map\"}"
        ",\"propertyNames\":{\"$ref\":\"#\"},\"if\":{\"$ref\":\"#\"},\"then\":{\"$ref\":\"#\"},"
        "\"else\":"
        "{\"$ref\":\"#\"},\"allOf\":{\"$ref\":\"#/$defs/schemas\"},\"anyOf\":{\"$ref\":\"#/$defs/"
        "schemas\"}"
        ",\"oneOf\":{\"$ref\":\"#/$defs/schemas\"},\"not\":{\"$ref\":\"#\"},\"unevaluatedItems\":"
        "{\"$ref\":\"#\"},\"unevaluatedProperties\":{\"$ref\":\"#\"},\"type\":{\"$ref\":\"#/$defs/"
        "type\"}"
        ",\"enum\":{\"type\":\"array\"},\"multipleOf\":{\"type\":\"number\",\"exclusiveMinimum\":"
        "0},\"maximum\":{\"type\":\"number\"},\"exclusiveMaximum\":{\"type\":\"number\"},"
        "\"minimum\":"
        "{\"type\":\"number\"},\"exclusiveMinimum\":{\"type\":\"number\"},\"maxLength\":{\"$ref\":"
        "\"#/$defs/count\"},\"minLength\":{\"$ref\":\"#/$defs/"
        "count\"},\"pattern\":{\"type\":\"string\"}"
        ",\"maxItems\":{\"$ref\":\"#/$defs/count\"},\"minItems\":{\"$ref\":\"#/$defs/"
        "count\"},\"uniqueItems\":"
        "{\"type\":\"boolean\"},\"maxContains\":{\"$ref\":\"#/$defs/"
        "count\"},\"minContains\":{\"$ref\":"
        "\"#/$defs/count\"},\"maxProperties\":{\"$ref\":\"#/$defs/"
        "count\"},\"minProperties\":{\"$ref\":"
        "\"#/$defs/count\"},\"required\":{\"$ref\":\"#/$defs/"
        "strings\"},\"dependentRequired\":{\"type\":"
        "\"object\",\"additionalProperties\":{\"$ref\":\"#/$defs/strings\"}},\"title\":{\"type\":"
        "\"string\"},\"description\":{\"type\":\"string\"},\"deprecated\":{\"type\":\"boolean\"},"
        "\"readOnly\":{\"type\":\"boolean\"},\"writeOnly\":{\"type\":\"boolean\"},\"examples\":{"
        "\"type\":"
        "\"array\"},\"format\":{\"type\":\"string\"},\"contentEncoding\":{\"type\":\"string\"},"
        "\"contentMediaType\":"
        "{\"type\":\"string\"},\"contentSchema\":{\"$ref\":\"#\"}},\"$defs\":{\"count\":{\"type\":"
        "\"integer\",\"minimum\":0},\"map\":{\"type\":\"object\",\"additionalProperties\":{\"$"
        "ref\":"
        "\"#\"}},\"schemas\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"$ref\":\"#\"}},"
        "\"strings\":"
        "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true},"
        "\"dependencies\":"
        "{\"type\":\"object\",\"additionalProperties\":{\"type\":[\"object\",\"boolean\",\"array\"]"
        ",\"if\":{\"type\":\"array\"},\"then\":{\"$ref\":\"#/$defs/strings\"},\"else\":{\"$ref\":"
        "\"#\"}}},\"type\":{\"anyOf\":[{\"$ref\":\"#/$defs/name\"},{\"type\":\"array\",\"items\":"
        "{\"$ref\":\"#/$defs/"
        "name\"},\"minItems\":1,\"uniqueItems\":true}]},\"name\":{\"enum\":[\"string\","
        "\"object\",\"array\",\"integer\",\"number\",\"boolean\",\"null\"]},\"anchor\":{\"type\":"
        "\"string\",\"pattern\":\"^[A-Za-z_][-A-Za-z0-9._]*$\"}}}"),
    [CW_SCHEMA_DRAFT_07] = CW_STR_INIT(
        "{\"type\":[\"object\",\"boolean\"],\"properties\":{\"$id\":{\"type\":\"string\"},\"$"
        "schema\":"
        "{\"type\":\"string\"},\"$ref\":{\"type\":\"string\"},\"$comment\":{\"type\":\"string\"},"
        "\"title\":{\"type\":\"string\"},\"description\":{\"type\":\"string\"},\"readOnly\":{"
        "\"type\":"
        "\"boolean\"},\"writeOnly\":{\"type\":\"boolean\"},\"examples\":{\"type\":\"array\"},"
        "\"multipleOf\":"
        "{\"type\":\"number\",\"exclusiveMinimum\":0},\"maximum\":{\"type\":\"number\"},"
        "\"exclusiveMaximum\":"
        "{\"type\":\"number\"},\"minimum\":{\"type\":\"number\"},\"exclusiveMinimum\":{\"type\":"
        "\"number\"}"
        ",\"maxLength\":{\"$ref\":\"#/$defs/count\"},\"minLength\":{\"$ref\":\"#/$defs/"
        "count\"},\"pattern\":"
        "{\"type\":\"string\"},\"additionalItems\":{\"$ref\":\"#\"},\"items\":{\"type\":["
        "\"object\","
        "\"boolean\",\"array\"],\"if\":{\"type\":\"array\"},\"then\":{\"$ref\":\"#/$defs/schemas\"}"
        ",\"else\":{\"$ref\":\"#\"}},\"maxItems\":{\"$ref\":\"#/$defs/"
        "count\"},\"minItems\":{\"$ref\":"
        "\"#/$defs/count\"},\"uniqueItems\":{\"type\":\"boolean\"},\"contains\":{\"$ref\":\"#\"},"
        "\"maxProperties\":{\"$ref\":\"#/$defs/count\"},\"minProperties\":{\"$ref\":\"#/$defs/"
        "count\"}"
        ",\"required\":{\"$ref\":\"#/$defs/"
        "strings\"},\"additionalProperties\":{\"$ref\":\"#\"},\"definitions\":"
        "{\"$ref\":\"#/$defs/map\"},\"properties\":{\"$ref\":\"#/$defs/"
        "map\"},\"patternProperties\":"
        "{\"$ref\":\"#/$defs/map\"},\"dependencies\":{\"$ref\":\"#/$defs/"
        "dependencies\"},\"propertyNames\":"
        "{\"$ref\":\"#\"},\"enum\":{\"type\":\"array\"},\"type\":{\"$ref\":\"#/$defs/"
        "type\"},\"format\":"
        "{\"type\":\"string\"},\"contentMediaType\":{\"type\":\"string\"},\"contentEncoding\":{"
        "\"type\":"
        "\"string\"},\"if\":{\"$ref\":\"#\"},\"then\":{\"$ref\":\"#\"},\"else\":{\"$ref\":\"#\"},"
        "\"allOf\":{\"$ref\":\"#/$defs/schemas\"},\"anyOf\":{\"$ref\":\"#/$defs/"
        "schemas\"},\"oneOf\":"
        "{\"$ref\":\"#/$defs/schemas\"},\"not\":{\"$ref\":\"#\"}},\"$defs\":{\"count\":{\"type\":"
        "\"integer\",\"minimum\":0},\"map\":{\"type\":\"object\",\"additionalProperties\":{\"$"
        "ref\":"
        "\"#\"}},\"schemas\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"$ref\":\"#\"}},"
        "\"strings\":"
        "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true},"
        "\"dependencies\":"
        "{\"type\":\"object\",\"additionalProperties\":{\"type\":[\"object\",\"boolean\",\"array\"]"
        ",\"if\":{\"type\":\"array\"},\"then\":{\"$ref\":\"#/$defs/strings\"},\"else\":{\"$ref\":"
        "\"#\"}}},\"type\":{\"anyOf\":[{\"$ref\":\"#/$defs/name\"},{\"type\":\"array\",\"items\":"
        "{\"$ref\":\"#/$defs/"
        "name\"},\"minItems\":1,\"uniqueItems\":true}]},\"name\":{\"enum\":[\"string\","
        "\"object\",\"array\",\"integer\",\"number\",\"boolean\",\"null\"]}}}"),
};

cw_code cw_schema_meta(cw_schema_draft draft, const cw_schema **ret, cw_err *err)
{
    static _Atomic(cw_schema *) made[CW_COUNT(flat)];
    cw_schema *s = atomic_load_explicit(&made[draft], memory_order_acquire);
    if (!s) {
        /* Threads that come at the same time each make one; all but the first give theirs up. */
        const cw_schema_opts opts = {.skip_meta = true};
        cw_code rc = cw_schema_compile_text(flat[draft], &opts, &s, err);
        if (rc)
            return rc;
        cw_schema *other = NULL;
        if (!atomic_compare_exchange_strong(&made[draft], &other, s)) {
            cw_schema_unref(s);
            s = other;
        }
    }
    *ret = s;
    return CW_OK;
}
