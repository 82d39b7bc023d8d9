/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pattern_int.h - the tree of a pattern, shared by the files of this folder only.
 *
 *     parse.c  ECMA-262 text to a tree: terms, groups, quantifiers, classes
 *     unicode_names.c  names of Unicode properties
 *     dfa.c    tree to a table of states: linear time, no library
 *     pcre.c   tree to PCRE2, for what the table cannot hold
 *     pattern.c        choose, test, free
 *
 * A tree lives in one arena until the pattern is compiled:
 *
 *     ^[a-z]+(-x)?    SEQ: BOL, REPEAT 1..inf: SET a-z, REPEAT 0..1: GROUP 1: SEQ: SET -, SET x
 */
#ifndef CW_SCHEMA_PATTERN_PATTERN_INT_H
#define CW_SCHEMA_PATTERN_PATTERN_INT_H

#include "base/arena.h"
#include "base/buf.h"
#include "schema/pattern/pattern.h"

#define CW_PATTERN_FOREVER UINT32_MAX
#define CW_CODE_POINT_MAX 0x10ffffu

typedef struct cw_range {
    uint32_t lo, hi;
} cw_range;

/* \p{…}: `name` as PCRE2 writes it, such as "Lu" or "sc:Greek". */
typedef struct cw_property {
    cw_str name;
    bool negated;
} cw_property;

typedef struct cw_set {
    cw_range *ranges;
    size_t n_ranges, cap_ranges;
    cw_property *properties;
    size_t n_properties, cap_properties;
    bool negated;
} cw_set;

typedef enum cw_node_kind {
    NODE_SET, /* one code point of `set` */
    NODE_SEQ,
    NODE_ALT,
    NODE_REPEAT,
    NODE_GROUP, /* capturing; `index` from 1 */
    NODE_LOOK,  /* look-ahead, or behind */
    NODE_BACKREF,
    NODE_BOL,
    NODE_EOL,
    NODE_BOUNDARY, /* \b, negated \B */
} cw_node_kind;

typedef struct cw_node {
    cw_node_kind kind;
    bool negated, behind, lazy;
    uint32_t min, max;
    uint32_t index;
    cw_str name; /* BACKREF by name, until it is resolved */
    cw_set *set;
    struct cw_node *child; /* first */
    struct cw_node *next;  /* sibling */
} cw_node;

typedef struct cw_pattern_reader {
    cw_str text;
    size_t at;
    cw_arena *arena;
    cw_err *err;
    bool strict; /* as the format "regex": no needless escapes */
    uint32_t n_groups;
    uint32_t max_backref;
    unsigned depth;
    cw_node *backrefs; /* by name, through `child` */
    struct cw_group_name *names;
} cw_pattern_reader;

/* parse.c */
CW_MUST_USE cw_code cw_pattern_parse(cw_pattern_reader *r, cw_node **ret);

/* unicode_names.c */
/* What PCRE2 calls the property \p{text}; .p is NULL when ECMA-262 has none of that name, and the
 * name is empty without memory. Values of Script are not looked up: PCRE2 knows them. */
cw_str cw_property_find(cw_str text, cw_arena *arena);

/* dfa.c */
typedef struct cw_dfa cw_dfa;
/* CW_DECLINED when the tree does not fit (look-around, back references, too many states). */
CW_MUST_USE cw_code cw_dfa_build(const cw_node *tree, cw_dfa **ret, cw_err *err);
bool cw_dfa_test(const cw_dfa *dfa, cw_str text);
size_t cw_dfa_size(const cw_dfa *dfa);

/* pcre.c */
typedef struct cw_pcre cw_pcre;
CW_MUST_USE cw_code cw_pcre_build(const cw_node *tree, cw_pcre **ret, cw_err *err);
void cw_pcre_free(cw_pcre *pcre);
/* With the machine code. */
size_t cw_pcre_size(const cw_pcre *pcre);
/* *steps as cw_pattern_test. */
cw_pattern_match cw_pcre_test(const cw_pcre *pcre, cw_str text, int64_t *steps);

#endif
