/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search_terms.h - the words of tools, and how much each of them says about which tool.
 *
 *     cw_search_terms terms;
 *     cw_search_terms_init(&terms, &arena);
 *     if (cw_search_terms_add(&terms, tools, n)) ... cw_search_terms_find(&terms, stem) ...
 *     cw_search_terms_done(&terms);
 *
 * A term is one of: a stem, of any field; two stems that follow each other in a name, with a blank between
 * them; CW_SEARCH_FORM and a word of a name as it is; CW_SEARCH_VERB and a stem that stands where verbs do.
 *
 * Ownership: the arena outlives the terms. Tools are borrowed while they are added.
 * Threads:   immutable after cw_search_terms_add: any thread then.
 * Limits:    those of search_words.h.
 */
#ifndef CW_CATALOGUE_SEARCH_SEARCH_TERMS_H
#define CW_CATALOGUE_SEARCH_SEARCH_TERMS_H

#include "base/map.h"
#include "catalogue/search/search_words.h"
#include "catalogue/snapshot.h"

#define CW_SEARCH_FORM '='
#define CW_SEARCH_VERB '@'

typedef struct cw_search_posting {
    uint32_t tool; /* index among the tools */
    float score;   /* of the term for it: BM25 over its fields */
} cw_search_posting;

typedef struct cw_search_term {
    cw_search_posting *postings;
    uint32_t n, cap;
} cw_search_term;

typedef struct cw_search_terms {
    cw_map map; /* key -> cw_search_term */
    cw_arena *arena;
} cw_search_terms;

void cw_search_terms_init(cw_search_terms *t, cw_arena *arena);
void cw_search_terms_done(cw_search_terms *t);
/* Once. `verbs` has stems. False: out of memory. */
CW_MUST_USE bool cw_search_terms_add(cw_search_terms *t, const cw_map *verbs,
                                     const cw_entry *const *tools, size_t n);
/* NULL: no tool has it. */
const cw_search_term *cw_search_terms_find(const cw_search_terms *t, cw_str key);

/* Whether a key is a stem alone. */
bool cw_search_is_word(cw_str key);

/* The value of a key in a map, made of zeros if it has none. NULL: out of memory. */
void *cw_search_find_or_add(cw_map *map, cw_arena *arena, cw_str key, size_t size);

#endif
