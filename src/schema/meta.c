/* SPDX-License-Identifier: GPL-2.0-or-later */
/* meta.c - the standard meta-schemas.
 *
 * Twice: as the standard's own documents (comments left out), for references that
 * lead to them, and as one flat schema for each draft, which says the same about a
 * schema's shape in one pass over it. The flat ones leave out what the compiler
 * checks itself (that patterns can be compiled) and what the drafts only recommend.
 */
#include "schema/schema_int.h"

typedef struct standard {
    cw_str uri;
    cw_str text;
} standard;

static const standard documents[] = {
    {
        CW_STR_INIT("http://json-schema.org/draft-07/schema"),
        CW_STR_INIT(
            "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"$id\":\"http://"
            "json-schema.org/draft-07/schema#\","
            "\"title\":\"Core schema "
            "meta-schema\",\"definitions\":{\"schemaArray\":{\"type\":\"array\","
            "\"minItems\":1,\"items\":{\"$ref\":\"#\"}},\"nonNegativeInteger\":{\"type\":"
            "\"integer\","
            "\"minimum\":0},\"nonNegativeIntegerDefault0\":{\"allOf\":[{\"$ref\":\"#/definitions/"
            "nonNegativeInteger\"}"
            ",{\"default\":0}]},\"simpleTypes\":{\"enum\":[\"array\",\"boolean\",\"integer\","
            "\"null\","
            "\"number\",\"object\",\"string\"]},\"stringArray\":{\"type\":\"array\",\"items\":{"
            "\"type\":"
            "\"string\"},\"uniqueItems\":true,\"default\":[]}},\"type\":[\"object\",\"boolean\"],"
            "\"properties\":"
            "{\"$id\":{\"type\":\"string\",\"format\":\"uri-reference\"},\"$schema\":{\"type\":"
            "\"string\","
            "\"format\":\"uri\"},\"$ref\":{\"type\":\"string\",\"format\":\"uri-reference\"},\"$"
            "comment\":"
            "{\"type\":\"string\"},\"title\":{\"type\":\"string\"},\"description\":{\"type\":"
            "\"string\"}"
            ",\"default\":true,\"readOnly\":{\"type\":\"boolean\",\"default\":false},\"writeOnly\":"
            "{\"type\":"
            "\"boolean\",\"default\":false},\"examples\":{\"type\":\"array\",\"items\":true},"
            "\"multipleOf\":"
            "{\"type\":\"number\",\"exclusiveMinimum\":0},\"maximum\":{\"type\":\"number\"},"
            "\"exclusiveMaximum\":"
            "{\"type\":\"number\"},\"minimum\":{\"type\":\"number\"},\"exclusiveMinimum\":{"
            "\"type\":\"number\"}"
            ",\"maxLength\":{\"$ref\":\"#/definitions/"
            "nonNegativeInteger\"},\"minLength\":{\"$ref\":\"#/definitions/"
            "nonNegativeIntegerDefault0\"}"
            ",\"pattern\":{\"type\":\"string\",\"format\":\"regex\"},\"additionalItems\":{\"$ref\":"
            "\"#\"}"
            ",\"items\":{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#/definitions/"
            "schemaArray\"}],\"default\":"
            "true},\"maxItems\":{\"$ref\":\"#/definitions/"
            "nonNegativeInteger\"},\"minItems\":{\"$ref\":"
            "\"#/definitions/"
            "nonNegativeIntegerDefault0\"},\"uniqueItems\":{\"type\":\"boolean\",\"default\":"
            "false},\"contains\":{\"$ref\":\"#\"},\"maxProperties\":{\"$ref\":\"#/definitions/"
            "nonNegativeInteger\"}"
            ",\"minProperties\":{\"$ref\":\"#/definitions/"
            "nonNegativeIntegerDefault0\"},\"required\":"
            "{\"$ref\":\"#/definitions/"
            "stringArray\"},\"additionalProperties\":{\"$ref\":\"#\"},\"definitions\":"
            "{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#\"},\"default\":{}},"
            "\"properties\":"
            "{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#\"},\"default\":{}},"
            "\"patternProperties\":"
            "{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#\"},\"propertyNames\":{"
            "\"format\":"
            "\"regex\"},\"default\":{}},\"dependencies\":{\"type\":\"object\","
            "\"additionalProperties\":"
            "{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#/definitions/"
            "stringArray\"}]}},\"propertyNames\":"
            "{\"$ref\":\"#\"},\"const\":true,\"enum\":{\"type\":\"array\",\"items\":true,"
            "\"minItems\":"
            "1,\"uniqueItems\":true},\"type\":{\"anyOf\":[{\"$ref\":\"#/definitions/"
            "simpleTypes\"},{\"type\":"
            "\"array\",\"items\":{\"$ref\":\"#/definitions/"
            "simpleTypes\"},\"minItems\":1,\"uniqueItems\":"
            "true}]},\"format\":{\"type\":\"string\"},\"contentMediaType\":{\"type\":\"string\"},"
            "\"contentEncoding\":"
            "{\"type\":\"string\"},\"if\":{\"$ref\":\"#\"},\"then\":{\"$ref\":\"#\"},\"else\":{\"$"
            "ref\":"
            "\"#\"},\"allOf\":{\"$ref\":\"#/definitions/schemaArray\"},\"anyOf\":{\"$ref\":\"#/"
            "definitions/schemaArray\"}"
            ",\"oneOf\":{\"$ref\":\"#/definitions/"
            "schemaArray\"},\"not\":{\"$ref\":\"#\"}},\"default\":"
            "true}"),
    },
    {
        CW_STR_INIT("https://json-schema.org/draft/2020-12/schema"),
        CW_STR_INIT("{\"$schema\":\"https://json-schema.org/draft/2020-12/"
                    "schema\",\"$id\":\"https://json-schema.org/draft/2020-12/schema\","
                    "\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab/"
                    "core\":true,\"https://json-schema.org/draft/2020-12/vocab/applicator\":"
                    "true,\"https://json-schema.org/draft/2020-12/vocab/"
                    "unevaluated\":true,\"https://json-schema.org/draft/2020-12/vocab/validation\":"
                    "true,\"https://json-schema.org/draft/2020-12/vocab/meta-data\":true,\"https://"
                    "json-schema.org/draft/2020-12/vocab/format-annotation\":"
                    "true,\"https://json-schema.org/draft/2020-12/vocab/"
                    "content\":true},\"$dynamicAnchor\":\"meta\","
                    "\"title\":\"Core and Validation specifications "
                    "meta-schema\",\"allOf\":[{\"$ref\":\"meta/core\"}"
                    ",{\"$ref\":\"meta/applicator\"},{\"$ref\":\"meta/"
                    "unevaluated\"},{\"$ref\":\"meta/validation\"}"
                    ",{\"$ref\":\"meta/meta-data\"},{\"$ref\":\"meta/"
                    "format-annotation\"},{\"$ref\":\"meta/content\"}"
                    "],\"type\":[\"object\",\"boolean\"],\"properties\":{\"definitions\":{\"type\":"
                    "\"object\","
                    "\"additionalProperties\":{\"$dynamicRef\":\"#meta\"},\"deprecated\":true,"
                    "\"default\":{}}"
                    ",\"dependencies\":{\"type\":\"object\",\"additionalProperties\":{\"anyOf\":[{"
                    "\"$dynamicRef\":"
                    "\"#meta\"},{\"$ref\":\"meta/validation#/$defs/"
                    "stringArray\"}]},\"deprecated\":true,\"default\":"
                    "{}},\"$recursiveAnchor\":{\"$ref\":\"meta/core#/$defs/"
                    "anchorString\",\"deprecated\":true}"
                    ",\"$recursiveRef\":{\"$ref\":\"meta/core#/$defs/"
                    "uriReferenceString\",\"deprecated\":true}"
                    "}}"),
    },
    {
        CW_STR_INIT("https://json-schema.org/draft/2020-12/meta/core"),
        CW_STR_INIT("{\"$schema\":\"https://json-schema.org/draft/2020-12/"
                    "schema\",\"$id\":\"https://json-schema.org/draft/2020-12/meta/core\","
                    "\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab/"
                    "core\":true},\"$dynamicAnchor\":"
                    "\"meta\",\"title\":\"Core vocabulary "
                    "meta-schema\",\"type\":[\"object\",\"boolean\"],\"properties\":"
                    "{\"$id\":{\"$ref\":\"#/$defs/"
                    "uriReferenceString\",\"pattern\":\"^[^#]*#?$\"},\"$schema\":"
                    "{\"$ref\":\"#/$defs/uriString\"},\"$ref\":{\"$ref\":\"#/$defs/"
                    "uriReferenceString\"},\"$anchor\":"
                    "{\"$ref\":\"#/$defs/anchorString\"},\"$dynamicRef\":{\"$ref\":\"#/$defs/"
                    "uriReferenceString\"}"
                    ",\"$dynamicAnchor\":{\"$ref\":\"#/$defs/"
                    "anchorString\"},\"$vocabulary\":{\"type\":\"object\","
                    "\"propertyNames\":{\"$ref\":\"#/$defs/"
                    "uriString\"},\"additionalProperties\":{\"type\":\"boolean\"}"
                    "},\"$comment\":{\"type\":\"string\"},\"$defs\":{\"type\":\"object\","
                    "\"additionalProperties\":"
                    "{\"$dynamicRef\":\"#meta\"}}},\"$defs\":{\"anchorString\":{\"type\":"
                    "\"string\",\"pattern\":"
                    "\"^[A-Za-z_][-A-Za-z0-9._]*$\"},\"uriString\":{\"type\":\"string\",\"format\":"
                    "\"uri\"},\"uriReferenceString\":"
                    "{\"type\":\"string\",\"format\":\"uri-reference\"}}}"),
    },
    {
        CW_STR_INIT("https://json-schema.org/draft/2020-12/meta/applicator"),
        CW_STR_INIT("{\"$schema\":\"https://json-schema.org/draft/2020-12/"
                    "schema\",\"$id\":\"https://json-schema.org/draft/2020-12/meta/applicator\","
                    "\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab/"
                    "applicator\":true},\"$dynamicAnchor\":"
                    "\"meta\",\"title\":\"Applicator vocabulary "
                    "meta-schema\",\"type\":[\"object\",\"boolean\"]"
                    ",\"properties\":{\"prefixItems\":{\"$ref\":\"#/$defs/"
                    "schemaArray\"},\"items\":{\"$dynamicRef\":"
                    "\"#meta\"},\"contains\":{\"$dynamicRef\":\"#meta\"},\"additionalProperties\":{"
                    "\"$dynamicRef\":"
                    "\"#meta\"},\"properties\":{\"type\":\"object\",\"additionalProperties\":{\"$"
                    "dynamicRef\":"
                    "\"#meta\"},\"default\":{}},\"patternProperties\":{\"type\":\"object\","
                    "\"additionalProperties\":"
                    "{\"$dynamicRef\":\"#meta\"},\"propertyNames\":{\"format\":\"regex\"},"
                    "\"default\":{}},\"dependentSchemas\":"
                    "{\"type\":\"object\",\"additionalProperties\":{\"$dynamicRef\":\"#meta\"},"
                    "\"default\":{}"
                    "},\"propertyNames\":{\"$dynamicRef\":\"#meta\"},\"if\":{\"$dynamicRef\":\"#"
                    "meta\"},\"then\":"
                    "{\"$dynamicRef\":\"#meta\"},\"else\":{\"$dynamicRef\":\"#meta\"},\"allOf\":{"
                    "\"$ref\":\"#/$defs/schemaArray\"}"
                    ",\"anyOf\":{\"$ref\":\"#/$defs/schemaArray\"},\"oneOf\":{\"$ref\":\"#/$defs/"
                    "schemaArray\"}"
                    ",\"not\":{\"$dynamicRef\":\"#meta\"}},\"$defs\":{\"schemaArray\":{\"type\":"
                    "\"array\",\"minItems\":"
                    "1,\"items\":{\"$dynamicRef\":\"#meta\"}}}}"),
    },
    {
        CW_STR_INIT("https://json-schema.org/draft/2020-12/meta/unevaluated"),
        CW_STR_INIT("{\"$schema\":\"https://json-schema.org/draft/2020-12/"
                    "schema\",\"$id\":\"https://json-schema.org/draft/2020-12/meta/unevaluated\","
                    "\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab/"
                    "unevaluated\":true},\"$dynamicAnchor\":"
                    "\"meta\",\"title\":\"Unevaluated applicator vocabulary "
                    "meta-schema\",\"type\":[\"object\","
                    "\"boolean\"],\"properties\":{\"unevaluatedItems\":{\"$dynamicRef\":\"#meta\"},"
                    "\"unevaluatedProperties\":"
                    "{\"$dynamicRef\":\"#meta\"}}}"),
    },
    {
        CW_STR_INIT("https://json-schema.org/draft/2020-12/meta/validation"),
        CW_STR_INIT("{\"$schema\":\"https://json-schema.org/draft/2020-12/"
                    "schema\",\"$id\":\"https://json-schema.org/draft/2020-12/meta/validation\","
                    "\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab/"
                    "validation\":true},\"$dynamicAnchor\":"
                    "\"meta\",\"title\":\"Validation vocabulary "
                    "meta-schema\",\"type\":[\"object\",\"boolean\"]"
                    ",\"properties\":{\"type\":{\"anyOf\":[{\"$ref\":\"#/$defs/"
                    "simpleTypes\"},{\"type\":\"array\","
                    "\"items\":{\"$ref\":\"#/$defs/"
                    "simpleTypes\"},\"minItems\":1,\"uniqueItems\":true}]},\"const\":"
                    "true,\"enum\":{\"type\":\"array\",\"items\":true},\"multipleOf\":{\"type\":"
                    "\"number\",\"exclusiveMinimum\":"
                    "0},\"maximum\":{\"type\":\"number\"},\"exclusiveMaximum\":{\"type\":"
                    "\"number\"},\"minimum\":"
                    "{\"type\":\"number\"},\"exclusiveMinimum\":{\"type\":\"number\"},"
                    "\"maxLength\":{\"$ref\":"
                    "\"#/$defs/nonNegativeInteger\"},\"minLength\":{\"$ref\":\"#/$defs/"
                    "nonNegativeIntegerDefault0\"}"
                    ",\"pattern\":{\"type\":\"string\",\"format\":\"regex\"},\"maxItems\":{\"$"
                    "ref\":\"#/$defs/nonNegativeInteger\"}"
                    ",\"minItems\":{\"$ref\":\"#/$defs/"
                    "nonNegativeIntegerDefault0\"},\"uniqueItems\":{\"type\":"
                    "\"boolean\",\"default\":false},\"maxContains\":{\"$ref\":\"#/$defs/"
                    "nonNegativeInteger\"}"
                    ",\"minContains\":{\"$ref\":\"#/$defs/"
                    "nonNegativeInteger\",\"default\":1},\"maxProperties\":"
                    "{\"$ref\":\"#/$defs/nonNegativeInteger\"},\"minProperties\":{\"$ref\":\"#/"
                    "$defs/nonNegativeIntegerDefault0\"}"
                    ",\"required\":{\"$ref\":\"#/$defs/"
                    "stringArray\"},\"dependentRequired\":{\"type\":\"object\","
                    "\"additionalProperties\":{\"$ref\":\"#/$defs/"
                    "stringArray\"}}},\"$defs\":{\"nonNegativeInteger\":"
                    "{\"type\":\"integer\",\"minimum\":0},\"nonNegativeIntegerDefault0\":{\"$ref\":"
                    "\"#/$defs/nonNegativeInteger\","
                    "\"default\":0},\"simpleTypes\":{\"enum\":[\"array\",\"boolean\",\"integer\","
                    "\"null\",\"number\","
                    "\"object\",\"string\"]},\"stringArray\":{\"type\":\"array\",\"items\":{"
                    "\"type\":\"string\"}"
                    ",\"uniqueItems\":true,\"default\":[]}}}"),
    },
    {
        CW_STR_INIT("https://json-schema.org/draft/2020-12/meta/meta-data"),
        CW_STR_INIT("{\"$schema\":\"https://json-schema.org/draft/2020-12/"
                    "schema\",\"$id\":\"https://json-schema.org/draft/2020-12/meta/meta-data\","
                    "\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab/"
                    "meta-data\":true},\"$dynamicAnchor\":"
                    "\"meta\",\"title\":\"Meta-data vocabulary "
                    "meta-schema\",\"type\":[\"object\",\"boolean\"]"
                    ",\"properties\":{\"title\":{\"type\":\"string\"},\"description\":{\"type\":"
                    "\"string\"},\"default\":"
                    "true,\"deprecated\":{\"type\":\"boolean\",\"default\":false},\"readOnly\":{"
                    "\"type\":\"boolean\","
                    "\"default\":false},\"writeOnly\":{\"type\":\"boolean\",\"default\":false},"
                    "\"examples\":{"
                    "\"type\":\"array\",\"items\":true}}}"),
    },
    {
        CW_STR_INIT("https://json-schema.org/draft/2020-12/meta/format-annotation"),
        CW_STR_INIT(
            "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://"
            "json-schema.org/draft/2020-12/meta/format-annotation\","
            "\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab/"
            "format-annotation\":true}"
            ",\"$dynamicAnchor\":\"meta\",\"title\":\"Format vocabulary meta-schema for annotation "
            "results\","
            "\"type\":[\"object\",\"boolean\"],\"properties\":{\"format\":{\"type\":\"string\"}}}"),
    },
    {
        CW_STR_INIT("https://json-schema.org/draft/2020-12/meta/format-assertion"),
        CW_STR_INIT(
            "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://"
            "json-schema.org/draft/2020-12/meta/format-assertion\","
            "\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab/"
            "format-assertion\":true},"
            "\"$dynamicAnchor\":\"meta\",\"title\":\"Format vocabulary meta-schema for assertion "
            "results\","
            "\"type\":[\"object\",\"boolean\"],\"properties\":{\"format\":{\"type\":\"string\"}}}"),
    },
    {
        CW_STR_INIT("https://json-schema.org/draft/2020-12/meta/content"),
        CW_STR_INIT("{\"$schema\":\"https://json-schema.org/draft/2020-12/"
                    "schema\",\"$id\":\"https://json-schema.org/draft/2020-12/meta/content\","
                    "\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab/"
                    "content\":true},\"$dynamicAnchor\":"
                    "\"meta\",\"title\":\"Content vocabulary "
                    "meta-schema\",\"type\":[\"object\",\"boolean\"],"
                    "\"properties\":{\"contentEncoding\":{\"type\":\"string\"},"
                    "\"contentMediaType\":{\"type\":"
                    "\"string\"},\"contentSchema\":{\"$dynamicRef\":\"#meta\"}}}"),
    },
};

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

bool cw_schema_standard_document(cw_str uri, cw_str *ret_text)
{
    for (size_t i = 0; i < CW_COUNT(documents); i++) {
        if (cw_str_eq(documents[i].uri, uri)) {
            *ret_text = documents[i].text;
            return true;
        }
    }
    return false;
}

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
