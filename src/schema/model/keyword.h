/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keyword.h - the keywords of both drafts: which they are and what their values look like. */
#ifndef CW_SCHEMA_MODEL_KEYWORD_H
#define CW_SCHEMA_MODEL_KEYWORD_H

#include "schema/schema.h"

typedef enum kw_id {
    KW_REF,
    KW_DYNAMIC_REF,
    KW_ALL_OF,
    KW_ANY_OF,
    KW_ONE_OF,
    KW_NOT,
    KW_IF,
    KW_THEN,
    KW_ELSE,
    KW_TYPE,
    KW_CONST,
    KW_ENUM,
    KW_MULTIPLE_OF,
    KW_MAXIMUM,
    KW_EXCLUSIVE_MAXIMUM,
    KW_MINIMUM,
    KW_EXCLUSIVE_MINIMUM,
    KW_MAX_LENGTH,
    KW_MIN_LENGTH,
    KW_PATTERN,
    KW_FORMAT,
    KW_MAX_ITEMS,
    KW_MIN_ITEMS,
    KW_UNIQUE_ITEMS,
    KW_CONTAINS,
    KW_MAX_CONTAINS,
    KW_MIN_CONTAINS,
    KW_PREFIX_ITEMS,
    KW_ITEMS,
    KW_ADDITIONAL_ITEMS,
    KW_MAX_PROPERTIES,
    KW_MIN_PROPERTIES,
    KW_REQUIRED,
    KW_DEPENDENT_REQUIRED,
    KW_DEPENDENT_SCHEMAS,
    KW_DEPENDENCIES,
    KW_PROPERTIES,
    KW_PATTERN_PROPERTIES,
    KW_ADDITIONAL_PROPERTIES,
    KW_PROPERTY_NAMES,
    KW_UNEVALUATED_ITEMS,
    KW_UNEVALUATED_PROPERTIES,
    KW_EVALUATED, /* those above take part in evaluation */
    KW_SCHEMA = KW_EVALUATED,
    KW_ID,
    KW_ANCHOR,
    KW_DYNAMIC_ANCHOR,
    KW_DEFS,
    KW_CONTENT_SCHEMA,
    KW_DEFAULT,
} kw_id;

typedef enum kw_shape {
    SHAPE_ANY,
    SHAPE_BOOL,
    SHAPE_STRING,
    SHAPE_STRINGS, /* an array of different strings */
    SHAPE_NUMBER,
    SHAPE_POSITIVE,
    SHAPE_COUNT, /* a whole number from 0 */
    SHAPE_ARRAY,
    SHAPE_TYPE,
    SHAPE_PATTERN,
    SHAPE_STRINGS_MAP,
    SHAPE_SCHEMA,
    SHAPE_SCHEMAS, /* a non-empty array of schemas */
    SHAPE_SCHEMA_OR_SCHEMAS,
    SHAPE_SCHEMA_MAP,
    SHAPE_PATTERN_MAP,
    SHAPE_DEPENDENCIES, /* a map of schemas and arrays of strings */
} kw_shape;

/* Vocabularies of 2020-12; draft-07 has all of them but the last. */
#define VOCAB_CORE 1u
#define VOCAB_APPLICATOR 2u
#define VOCAB_UNEVALUATED 4u
#define VOCAB_VALIDATION 8u
#define VOCAB_META 16u
#define VOCAB_FORMAT 32u
#define VOCAB_CONTENT 64u
#define VOCAB_FORMAT_ASSERTION 128u
#define VOCAB_STANDARD 127u

typedef struct kw_row {
    cw_str name;
    uint8_t id;
    uint8_t drafts; /* a bit per cw_schema_draft */
    uint8_t vocab;
    uint8_t shape;
} kw_row;

/* The keyword that this key is under a draft and its vocabularies, or NULL. */
const kw_row *cw_schema_keyword(cw_str name, cw_schema_draft draft, uint32_t vocab);

#endif
