/* SPDX-License-Identifier: GPL-2.0-or-later */
/* model.h - what the files of src/schema share among themselves.
 *
 * A compiled schema is
 *
 *     documents   its own copies, one tape each, with a parallel array of links:
 *                 a subschema's entry links to its sub, a reference's to the sub it
 *                 leads to, a pattern's to the compiled pattern
 *     resources   parts of documents with an identifier and a dialect of their own
 *     subs        subschemas, each a slice of the keyword table
 *     code        the program (program.h): the only part that validation touches
 *
 * Sub 0 and pattern 0 do not exist, so that a link of 0 is none.
 */
#ifndef CW_SCHEMA_MODEL_MODEL_H
#define CW_SCHEMA_MODEL_MODEL_H

#include <stdatomic.h>

#include "base/map.h"
#include "json/index.h"
#include "schema/format/format.h"
#include "schema/model/keyword.h"
#include "schema/pattern/pattern.h"

typedef struct document {
    const cw_json *root;
    uint32_t *links;
    uint32_t count; /* entries of the tape */
    cw_str text;
    cw_str uri; /* where it came from */
} document;

typedef struct resource {
    cw_str uri; /* absolute unless the document has no base */
    uint32_t doc;
    uint32_t root; /* sub */
    uint8_t vocab;
    uint8_t draft; /* cw_schema_draft */
    bool assert_format;
} resource;

typedef struct keyword {
    const cw_json *key;
    kw_id id;
} keyword;

typedef struct sub {
    const cw_json *value; /* an object or a boolean */
    uint32_t first;       /* keyword */
    uint32_t count;
    uint32_t resource;
    uint32_t node;  /* in the program, once it is mentioned there */
    uint32_t leaf;  /* the same for its list, when that is a leaf */
    uint32_t types; /* of a target that leads here, once known: TARGET_ bits */
} sub;

/* A subschema with a $dynamicAnchor. */
typedef struct dynamic {
    cw_str name;
    uint32_t resource;
    uint32_t sub;
} dynamic;

struct cw_schema {
    _Atomic uint32_t refs;
    uint32_t root; /* sub */

    /* The program. */
    cw_buf code;
    uint32_t entry; /* node */
    bool full;      /* needs the evaluator that tracks members and dynamic scope */
    const cw_json **consts;
    uint32_t n_consts, cap_consts;
    const cw_schema_format **formats;
    uint32_t n_formats, cap_formats;
    cw_pattern **patterns; /* [0] is NULL */
    uint32_t n_patterns, cap_patterns;
    int64_t max_steps;
    uint32_t max_recursion;

    /* The resolved documents. */
    cw_arena arena;
    document *docs;
    uint32_t n_docs, cap_docs;
    resource *resources;
    uint32_t n_resources, cap_resources;
    keyword *keywords;
    uint32_t n_keywords, cap_keywords;
    sub *subs;
    uint32_t n_subs, cap_subs;
    dynamic *dynamics;
    uint32_t n_dynamics, cap_dynamics;
};

/* While it is being made. */
typedef struct builder {
    cw_schema *s;
    cw_schema_opts opts;         /* with defaults filled in */
    cw_json_pointer_index index; /* of what pointers lead through */
    cw_map ids;                  /* "uri" and "uri#anchor" to sub * 2 + dynamic */
    uint32_t *work;              /* subs whose node is not filled yet */
    uint32_t n_work, cap_work;
    cw_buf list;        /* operations of the list being made */
    cw_buf leaf;        /* the same while a leaf is made in between */
    uint32_t merged[8]; /* subs whose tables are part of the one being made */
    uint32_t n_merged;
    uint32_t looked; /* slots of tables that names were compared with */
    size_t patterns; /* bytes of compiled patterns */
    bool mixed;      /* more than one dialect in one document */
    bool custom;     /* a registered meta-schema */
    uint32_t meta_depth;
    cw_err *err;
} builder;

/* Room for one more; false without memory. */
bool cw_schema_grow(void **items, uint32_t n, uint32_t *cap, size_t size);
#define GROW(owner, items)                                                                         \
    cw_schema_grow((void **)&(owner)->items, (owner)->n_##items, &(owner)->cap_##items,            \
                   sizeof(owner)->items[0])

/* The resources that evaluation has entered. */
typedef struct scope {
    const struct scope *up;
    uint32_t resource;
} scope;

/* path.c: the JSON Pointer of an entry (a value, or a key for its member) of a tape. */
void cw_schema_add_pointer(cw_buf *out, const cw_json *root, const cw_json *at);
/* The document whose tape holds the entry. */
const document *cw_schema_document_of(const cw_schema *s, const cw_json *at);
/* "pointer: message", and a code to return. */
CW_PRINTF(4, 5)
cw_code cw_schema_fail_at(builder *b, const cw_json *at, cw_code code, const char *fmt, ...);

/* A registered or standard document's text; false when there is none. */
bool cw_schema_find_document(const builder *b, cw_str uri, cw_str *ret_text);
/* schema/compile/standard.c */
bool cw_schema_standard_document(cw_str uri, cw_str *ret_text);
/* meta.c */
/* The meta-schema of a draft, compiled once, as one flat schema. Not to be unreferenced. */
CW_MUST_USE cw_code cw_schema_meta(cw_schema_draft draft, const cw_schema **ret, cw_err *err);

/* schema/compile/scan.c */
CW_MUST_USE cw_code cw_schema_add_document(builder *b, cw_str uri, cw_str text, bool copy,
                                           uint32_t *ret_doc);
CW_MUST_USE cw_code cw_schema_scan(builder *b, uint32_t doc, const cw_json *value,
                                   uint32_t resource_index, uint32_t depth, uint32_t *ret_sub);
/* schema/compile/resolve.c: all references of all subs. */
CW_MUST_USE cw_code cw_schema_resolve(builder *b);
/* schema/compile/emit.c: the program. */
CW_MUST_USE cw_code cw_schema_emit(builder *b);

CW_INLINE uint32_t cw_schema_link(const cw_schema *s, const sub *owner, const cw_json *at)
{
    const document *doc = &s->docs[s->resources[owner->resource].doc];
    return doc->links[at - doc->root];
}

/* The sub in which a $dynamicRef that leads to the dynamic anchor `first` ends when nothing but the
 * root is around it, if that is sure; else 0. */
uint32_t cw_schema_static_dynamic(const cw_schema *s, uint32_t target);
/* The dynamic anchor on a sub, or NULL. */
const dynamic *cw_schema_dynamic_at(const cw_schema *s, uint32_t sub_index);

/* number.c */
/* Whether v is a multiple of `by` > 0. `steps` is reduced by the work. */
bool cw_schema_is_multiple(const cw_json *v, const cw_json *by, int64_t *steps);
#define CW_SCHEMA_MAX_DIVISOR 400u /* digits of multipleOf */

/* text.c: code points; type names. */
size_t cw_schema_code_points(cw_str text);
/* Bits by cw_json_type; TYPE_INTEGER besides. */
#define TYPE_BIT(type) (1u << (type))
#define TYPE_INTEGER 128u
#define TYPE_ANY 127u
uint32_t cw_schema_type_bit(cw_str name); /* 0: unknown */
/* The bits of the value of `type`. */
uint32_t cw_schema_type_bits(const cw_json *type);

CW_INLINE bool cw_schema_has_type(uint32_t types, const cw_json *v)
{
    uint32_t type = v->meta & 7u;
    if (CW_LIKELY(types >> type & 1u))
        return true;
    if (!(types & TYPE_INTEGER) || type != CW_JSON_NUMBER)
        return false;
    return !(v->meta & (CW_JSON_FRACTION | CW_JSON_EXPONENT)) || cw_json_is_integer(v);
}

/* scratch.c */
void *cw_schema_scratch_push(cw_schema_scratch *scratch, size_t bytes);
void cw_schema_scratch_pop(cw_schema_scratch *scratch);
/* unique.c: what it costs at most to find out whether two values are equal. */
uint64_t cw_schema_equal_steps(const cw_json *a, const cw_json *b);
/* 1 all different, 0 not, -1 no memory. `steps` is reduced by the work; below 0 nothing was
 * compared. */
int cw_schema_all_unique(const cw_json *array, cw_schema_scratch *scratch, int64_t *steps,
                         const cw_json **ret_first, const cw_json **ret_second);

#endif
