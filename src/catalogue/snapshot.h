/* SPDX-License-Identifier: GPL-2.0-or-later */
/* snapshot.h - the catalogue: all methods and tools at one moment, immutable.
 *
 * Built by the main thread from what the sources offer, published as a whole,
 * freed with its last reference. Entries are sorted by method id; tools by name;
 * both are found in O(1). Methods with equal needs share an access class. Every
 * schema is valid, and checks arguments and results through the contract of its
 * source (method_schemas.h).
 *
 *     entries   sorted by id  ->  method, class, tool name
 *     classes   needs         ->  asked once per caller (view.h)
 *
 * Ownership: holds a reference to every source whose methods it lists.
 * Threads:   built on one thread, then read by all; references are counted atomically.
 * Limits:    CW_SNAPSHOT_MAX_METHODS.
 */
#ifndef CW_CATALOGUE_SNAPSHOT_H
#define CW_CATALOGUE_SNAPSHOT_H

#include "catalogue/method_schemas.h"
#include "catalogue/toolset.h"
#include "metrics/names.h"

#define CW_SNAPSHOT_MAX_METHODS 100000u
#define CW_SNAPSHOT_MAX_PARTIAL 16u /* of one offer */
#define CW_TOOL_NAME_MAX 128u

typedef struct cw_snapshot cw_snapshot;
typedef struct cw_portable_names cw_portable_names; /* catalogue/tool/portable_name.h */
typedef struct cw_search_index cw_search_index;     /* catalogue/search/search_index.h */
typedef struct cw_skills cw_skills;                 /* skills.h */
struct cw_skill;
struct cw_schema_portable; /* schema/rewrite/portable.h */

typedef struct cw_entry {
    const cw_method *method;
    uint32_t class_index;
    cw_str tool_name;    /* empty: no tool */
    uint64_t tool_hash;  /* of the tool as it is written (catalogue/tool/tool_json.h) */
    cw_str exposed_json; /* the resource, template or prompt as clients see it; empty: none */
    bool returns_text;   /* its declared result is a string */
    bool wraps_output;   /* clients that want outputSchema to be of type object get it wrapped as
                           {"result": …} */
    bool is_mirrored;    /* clients repeat some of its arguments in headers (param_headers.h) */
    /* inputSchema as clients with portable schemas see it. NULL: as it is, or they were not wanted. */
    const struct cw_schema_portable *portable;
    bool hides_ui;                /* its view is not offered by its source: clients do not see it */
    bool has_renames;             /* it shows some properties under other names */
    cw_method_schemas *schemas;   /* of the source; lives as long as the snapshot */
    cw_metrics_cached_slot *slot; /* of its name in the metrics */
} cw_entry;

/* The methods of one source. */
typedef struct cw_offer {
    cw_str name; /* of the source, for messages */
    const cw_method *methods;
    size_t n_methods;
    cw_source *source; /* one reference is taken with ref */
} cw_offer;

/* A skill, and the methods of its source. */
typedef struct cw_snapshot_skill {
    const struct cw_skill *skill;
    const cw_method *methods;
    size_t n_methods;
} cw_snapshot_skill;

/* How many of some methods clients see, in each list. */
typedef struct cw_snapshot_counts {
    uint32_t tools;
    uint32_t exposed[CW_EXPOSED_KINDS];
} cw_snapshot_counts;

/* How a snapshot keeps the sources of its methods alive. */
typedef struct cw_offer_ops {
    void (*ref)(cw_source *source);
    void (*unref)(cw_source *source);
} cw_offer_ops;

/* A source that was left out, or a method of one, and why; the text lives in the snapshot. */
typedef struct cw_snapshot_problem {
    size_t offer;    /* index */
    cw_str text;     /* "method 'x': also offered by 'articles'" */
    bool is_partial; /* the others of it are there */
} cw_snapshot_problem;

/* All zero: the defaults. */
typedef struct cw_snapshot_opts {
    cw_schema_policy policy;
    cw_snapshot *previous;     /* or NULL; its data of unchanged sources is reused */
    const bool *defers;        /* by offer: methods that others own are left out of it */
    cw_skills *const *skills;  /* by offer: NULL, or a set that is referenced; NULL: none has any */
    bool has_portable_schemas; /* some client gets portable schemas */
    const cw_toolset_rule *toolsets;
    size_t n_toolsets;
} cw_snapshot_opts;

/* Build from all offers, in order. An offer with a problem (an id or tool name of an earlier one,
 * or a schema that is invalid or cannot be published) is left out as a whole and named in the
 * snapshot's problems. An offer that defers loses only the methods whose id, tool name or address
 * belongs to an earlier offer: the order of the offers alone decides, not that of their arrival.
 * CW_SNAPSHOT_MAX_PARTIAL of them are named, the others counted. `opts` may be NULL. Fails with CW_NOMEM only. */
CW_MUST_USE cw_code cw_snapshot_build(const cw_offer *offers, size_t n, const cw_offer_ops *ops,
                                      const cw_snapshot_opts *opts, cw_snapshot **ret, cw_err *err);
cw_snapshot *cw_snapshot_ref(cw_snapshot *s);
/* NULL is fine. */
void cw_snapshot_unref(cw_snapshot *s);

const cw_snapshot_problem *cw_snapshot_problems(const cw_snapshot *s, size_t *ret_n);
/* Whether both offer the same to the same callers: methods, what lists show of them, their needs,
 * toolsets, and what was left out. */
bool cw_snapshot_same(const cw_snapshot *a, const cw_snapshot *b);
#define CW_SNAPSHOT_DIGEST 32u
/* A digest of the same, which is equal in all processes that offer it. */
void cw_snapshot_digest(const cw_snapshot *s, unsigned char out[CW_SNAPSHOT_DIGEST]);
/* Sorted by method id. */
const cw_entry *cw_snapshot_entries(const cw_snapshot *s, size_t *ret_n);
/* Pointers to the entries that are tools, sorted by tool name. */
const cw_entry *const *cw_snapshot_tools(const cw_snapshot *s, size_t *ret_n);
/* Those that are resources, templates or prompts, sorted by address. */
const cw_entry *const *cw_snapshot_exposed(const cw_snapshot *s, cw_exposed_kind kind,
                                           size_t *ret_n);
const cw_requirements *cw_snapshot_classes(const cw_snapshot *s, size_t *ret_n);
/* By exact name, or NULL. */
const cw_entry *cw_snapshot_find_method(const cw_snapshot *s, cw_str id);
const cw_entry *cw_snapshot_find_tool(const cw_snapshot *s, cw_str name);
const cw_entry *cw_snapshot_find_exposed(const cw_snapshot *s, cw_exposed_kind kind,
                                         cw_str address);

/* Count methods of a source without those that the snapshot has left out. `s` NULL: all of them. */
cw_snapshot_counts cw_snapshot_count(const cw_snapshot *s, const cw_method *methods, size_t n);

/* The toolset of this name, or (is_read_only) its read-only part; NULL: none. */
const cw_toolset *cw_snapshot_find_toolset(const cw_snapshot *s, cw_str name, bool is_read_only);

/* The index of its tools; NULL unless a toolset is searched. */
const cw_search_index *cw_snapshot_search_index(const cw_snapshot *s);

/* The skills of all sources, sorted by root. */
const cw_snapshot_skill *cw_snapshot_skills(const cw_snapshot *s, size_t *ret_n);

/* Tools with a view that is offered, sorted by its URI. */
const cw_entry *const *cw_snapshot_uis(const cw_snapshot *s, size_t *ret_n);

/* Other names for the tools, made when they are first wanted; NULL without memory. */
const cw_portable_names *cw_snapshot_portable_names(const cw_snapshot *s);

#endif
