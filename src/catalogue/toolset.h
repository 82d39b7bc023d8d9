/* SPDX-License-Identifier: GPL-2.0-or-later */
/* toolset.h - a named part of a catalogue, with an address of its own.
 *
 * A toolset is a bit for each entry of a snapshot. A view in a toolset (view.h) sees what its caller
 * may see and the toolset has: it narrows a view, and never widens one.
 *
 *     rule     sources, tools, tags, exclude, read_only      of the configuration
 *     toolset  rule x entries of one snapshot -> bits        twice: as it is, and read-only
 *
 * What matches `sources`, `tools` or `tags` belongs to a toolset, and everything where none of them
 * is set; nothing that matches `exclude` does. Patterns are compared with the name of the tool and
 * the id of the method. In a read-only toolset tools are marked as read-only; resources and prompts
 * are read anyway.
 *
 * Ownership: a toolset lives in the arena of its snapshot.
 * Threads:   immutable.
 */
#ifndef CW_CATALOGUE_TOOLSET_H
#define CW_CATALOGUE_TOOLSET_H

#include "base/arena.h"
#include "catalogue/method.h"

typedef struct cw_toolset_names {
    const cw_str *items;
    size_t n;
} cw_toolset_names;

typedef struct cw_toolset_rule {
    cw_str name, title, instructions; /* the last two may be empty */
    cw_toolset_names sources;         /* names */
    cw_toolset_names tools, exclude;  /* patterns: '*' any text, '?' any character */
    cw_toolset_names tags;
    bool read_only;
    bool omits_output_schemas, has_short_descriptions, has_signatures; /* in its lists */
    bool is_search; /* clients search it: the snapshot has an index (search/search_index.h) */
} cw_toolset_rule;

typedef struct cw_toolset {
    cw_str name, title, instructions;
    bool is_read_only_address; /* the second one of its rule, at /readonly */
    bool is_read_only;         /* no tool in it changes anything */
    bool omits_output_schemas, has_short_descriptions, has_signatures, is_search;
    size_t n_entries;       /* of the snapshot */
    unsigned char *members; /* a bit for each of them */
} cw_toolset;

/* Whether the entry at this index belongs to it. */
static inline bool cw_toolset_has(const cw_toolset *t, size_t index)
{
    return t->members[index / 8] & (1u << index % 8);
}

/* Whether a method belongs to the toolset of a rule; `source` is the name of its source, and
 * `tool_name` is empty unless it is a tool. */
bool cw_toolset_matches(const cw_toolset_rule *rule, cw_str source, cw_str tool_name,
                        const cw_method *method, bool is_read_only);

/* A toolset of `n` entries, none of which belongs to it yet; its texts are copied. CW_NOMEM. */
CW_MUST_USE cw_code cw_toolset_init(cw_toolset *t, const cw_toolset_rule *rule, bool is_read_only,
                                    size_t n, cw_arena *arena);
void cw_toolset_add(cw_toolset *t, size_t index);

/* Whether lists of the same tools have the same form in both. */
bool cw_toolset_same_form(const cw_toolset *a, const cw_toolset *b);
/* Whether clients see the same at both addresses, and find the same there, if the entries are the
 * same. */
bool cw_toolset_same(const cw_toolset *a, const cw_toolset *b);

#endif
