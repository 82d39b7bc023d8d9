/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program.h - the compiled form: 32-bit words in one block, offsets (in words) instead of pointers.
 *
 *     node      a subschema: a mask of types, and for each type the list of operations
 *               that a value of it must pass (0: none), so that `minLength` costs an
 *               object nothing
 *     op        a word that says which, followed by its operands; a list ends with OP_END
 *     target    what an operation evaluates: a node or, where a schema says nothing but
 *               types, just their mask
 *     slot      a name in an open-addressed table, found by the hash that keys carry
 *
 * Lists hold only what their type can fail: bounds in the numbers' list, tables in
 * the objects' list; references and logic (allOf, if, ...) end every list.
 */
#ifndef CW_SCHEMA_MODEL_PROGRAM_H
#define CW_SCHEMA_MODEL_PROGRAM_H

#include "schema/model/model.h"

typedef struct node {
    uint32_t types; /* TYPE_ bits */
    uint32_t ops[7];
    uint32_t resource;
    uint32_t tracks; /* TYPE_ bits: notes what is evaluated, for an unevaluated keyword */
} node;

/* Either a node, or types and behind them a leaf list: one that evaluates no other schema. */
typedef struct target {
    uint32_t types; /* TYPE_ bits, or TARGET_NODE */
    uint32_t to;    /* node; leaf list, or 0 where the types say it all */
} target;
#define TARGET_NODE 0x100u
#define TARGET_KNOWN 0x200u /* only in sub.types */

typedef enum op_code {
    OP_END,
    /* Leaves. */
    OP_LENGTH,
    OP_PATTERN,
    OP_FORMAT,
    OP_SAME,
    OP_STRINGS,
    OP_CONSTS,
    OP_SIGN,
    OP_RANGE,
    OP_BOUND,
    OP_MULTIPLE,
    /* Those that evaluate other schemas or need memory. */
    OP_COUNT,
    OP_UNIQUE,
    OP_ITEMS,
    OP_PREFIX,
    OP_CONTAINS,
    OP_OBJECT,
    OP_NEEDS,
    OP_WHEN,
    OP_NAMES,
    OP_CALL,
    OP_DYNAMIC,
    OP_ANY,
    OP_ONE,
    OP_NOT,
    OP_IF,
    OP_REST, /* items or members without a mark */
    OP_LEAVES,
} op_code;

/* In front of the leaves of a list that goes on behind them; they have an OP_END of their own. */
typedef struct op_leaves {
    uint32_t op, words; /* to what follows them */
} op_leaves;

/* Counts of items and members. */
typedef struct op_count {
    uint32_t op, min, max;
} op_count;

/* minLength and maxLength; from `enough` bytes on there are `min` characters, whatever they are. */
typedef struct op_length {
    uint32_t op, min, max, enough;
} op_length;

/* Equal to one string. */
typedef struct op_same {
    uint32_t op, at, n;
} op_same;

/* In front of an OP_RANGE that only keeps numbers from `least` (0 or 1) on: what is plainly so
 * needs no arithmetic and goes on behind it. */
typedef struct op_sign {
    uint32_t op, least;
} op_sign;

/* A pattern, a format, a divisor. */
typedef struct op_index {
    uint32_t op, index;
} op_index;

/* Equal to one of `n` constants. */
typedef struct op_consts {
    uint32_t op, first, n;
} op_consts;

/* One of the strings in a table. */
typedef struct op_strings {
    uint32_t op, slots, shift, mask;
    uint32_t lookup; /* steps */
} op_strings;

/* Bounds that are whole numbers of 64 bits, for the floor and the ceiling of the value:
 *     minimum: floor >= bounds[0]    exclusiveMinimum: ceiling >= bounds[1]
 *     maximum: ceiling <= bounds[2]  exclusiveMaximum: floor <= bounds[3]
 * `consts` are the same numbers (or 0) for values that need a closer look. */
typedef struct op_range {
    uint32_t op;
    uint32_t consts[4];
    int32_t bounds[8]; /* pairs: low, high */
} op_range;

/* Any other bound: kw_id and constant. */
typedef struct op_bound {
    uint32_t op, keyword, index;
} op_bound;

typedef struct op_items {
    uint32_t op, from;
    target each;
} op_items;

typedef struct op_contains {
    uint32_t op, min, max;
    target each;
} op_contains;

/* OP_PREFIX, OP_ANY, OP_ONE: `n` targets follow. */
typedef struct op_list {
    uint32_t op, n;
} op_list;

typedef struct op_call {
    uint32_t op;
    target to;
} op_call;

typedef struct op_if {
    uint32_t op;
    target test, yes, no;
} op_if;

/* `n` pairs of resource and node follow. */
typedef struct op_dynamic {
    uint32_t op, node, n;
} op_dynamic;

typedef struct name {
    uint32_t at; /* word where its bytes start */
    uint32_t n;
    uint32_t hash;
} name;

/* When the object has `trigger`, it has the `n` names that follow. */
typedef struct op_needs {
    uint32_t op;
    name trigger;
    uint32_t n;
} op_needs;

typedef struct op_when {
    uint32_t op;
    name trigger;
    target to;
} op_when;

#define SLOT_USED 0x80000000u
#define SLOT_DECLARED 1u /* by `properties`; else it is only required */
#define SLOT_COUNTED 2u  /* required, where too many are for bits */

typedef struct slot {
    uint32_t hash; /* cw_json_key_hash | SLOT_USED; 0: empty */
    uint32_t n;
    uint32_t at;
    uint32_t flags;
    target to;
    uint32_t bit[2]; /* one bit of the mask of required names, or none */
} slot;

#define OBJECT_CLOSED 1u     /* no other member is allowed */
#define OBJECT_ADDITIONAL 2u /* other members go to `additional` */
#define OBJECT_MANY 4u       /* `required` counts names */
#define OBJECT_SIMPLE 8u     /* nothing but a table; members beside it are refused or ignored */

typedef struct op_object {
    uint32_t op, flags;
    uint32_t slots; /* 0: no names */
    uint32_t shift, mask;
    uint32_t lookup;      /* steps that a member costs */
    uint32_t required[2]; /* the bits, or how many */
    uint32_t required_const;
    uint32_t patterns; /* pairs of pattern index and target */
    uint32_t n_patterns;
    target additional;
} op_object;

typedef struct pattern_target {
    uint32_t pattern;
    target to;
} pattern_target;

#define WORDS(type) ((uint32_t)(sizeof(type) / sizeof(uint32_t)))

/* The keywords of a subschema, for the code generator. */
#define KW_BIT(id) (UINT64_C(1) << (id))
typedef struct facts {
    uint64_t has; /* KW_BITs that count */
    uint32_t types;
    const cw_json *key[KW_EVALUATED]; /* set where `has` is */
} facts;

#define NUMBER_KEYWORDS                                                                            \
    (KW_BIT(KW_MULTIPLE_OF) | KW_BIT(KW_MAXIMUM) | KW_BIT(KW_EXCLUSIVE_MAXIMUM) |                  \
     KW_BIT(KW_MINIMUM) | KW_BIT(KW_EXCLUSIVE_MINIMUM))
#define STRING_KEYWORDS                                                                            \
    (KW_BIT(KW_MAX_LENGTH) | KW_BIT(KW_MIN_LENGTH) | KW_BIT(KW_PATTERN) | KW_BIT(KW_FORMAT))
#define ARRAY_KEYWORDS                                                                             \
    (KW_BIT(KW_MAX_ITEMS) | KW_BIT(KW_MIN_ITEMS) | KW_BIT(KW_UNIQUE_ITEMS) | KW_BIT(KW_CONTAINS) | \
     KW_BIT(KW_PREFIX_ITEMS) | KW_BIT(KW_ITEMS) | KW_BIT(KW_ADDITIONAL_ITEMS) |                    \
     KW_BIT(KW_UNEVALUATED_ITEMS))
#define OBJECT_KEYWORDS                                                                            \
    (KW_BIT(KW_MAX_PROPERTIES) | KW_BIT(KW_MIN_PROPERTIES) | KW_BIT(KW_REQUIRED) |                 \
     KW_BIT(KW_DEPENDENT_REQUIRED) | KW_BIT(KW_DEPENDENT_SCHEMAS) | KW_BIT(KW_DEPENDENCIES) |      \
     KW_BIT(KW_PROPERTIES) | KW_BIT(KW_PATTERN_PROPERTIES) | KW_BIT(KW_ADDITIONAL_PROPERTIES) |    \
     KW_BIT(KW_PROPERTY_NAMES) | KW_BIT(KW_UNEVALUATED_PROPERTIES))
/* Evaluate other schemas on the same value and may say what they have looked at. */
#define INPLACE_KEYWORDS                                                                           \
    (KW_BIT(KW_REF) | KW_BIT(KW_DYNAMIC_REF) | KW_BIT(KW_ALL_OF) | KW_BIT(KW_ANY_OF) |             \
     KW_BIT(KW_ONE_OF) | KW_BIT(KW_IF))
#define GENERAL_KEYWORDS (INPLACE_KEYWORDS | KW_BIT(KW_NOT))

/* schema/compile/facts.c */
void cw_schema_gather(const cw_schema *s, const sub *at, facts *f);
/* Whether the mask says it all. null, true and false have one value each. */
bool cw_schema_only_types(const facts *f);
/* The one type that a schema without other schemas inside allows; else CW_JSON_END. */
cw_json_type cw_schema_leaf_type(const facts *f);

#endif
