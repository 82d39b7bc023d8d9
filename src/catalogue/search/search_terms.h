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
 * Scores depend on how rare a term is, and on how long texts are. Both are measured among the tools that the
 * caller is shown (cw_search_shown), so that results reveal nothing about other tools.
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

#define CW_SEARCH_FIELDS 6u /* of a tool: name, title, … */

typedef struct cw_search_posting {
    uint32_t tool;                    /* index among the tools */
    uint8_t counts[CW_SEARCH_FIELDS]; /* how often the term is in each field; 255: or more */
    uint8_t weight;                   /* of a term that is no stem */
} cw_search_posting;

typedef struct cw_search_term {
    cw_search_posting *postings;
    uint32_t n, cap;
} cw_search_term;

/* The number of words in each field of a tool. */
typedef struct cw_search_lengths {
    uint32_t words[CW_SEARCH_FIELDS];
} cw_search_lengths;

typedef struct cw_search_terms {
    cw_map map; /* key -> cw_search_term */
    cw_search_lengths *lengths;
    size_t n_tools;
    cw_arena *arena;
} cw_search_terms;

/* The tools that a caller is shown, for one search. */
typedef struct cw_search_shown {
    const cw_search_terms *terms;
    const bool *tools; /* by index */
    size_t n;
    float averages[CW_SEARCH_FIELDS]; /* words in a field */
} cw_search_shown;

void cw_search_terms_init(cw_search_terms *t, cw_arena *arena);
void cw_search_terms_done(cw_search_terms *t);
/* Once. `verbs` has stems. False: out of memory. */
CW_MUST_USE bool cw_search_terms_add(cw_search_terms *t, const cw_map *verbs,
                                     const cw_entry *const *tools, size_t n);
/* NULL: no tool has it. */
const cw_search_term *cw_search_terms_find(const cw_search_terms *t, cw_str key);

/* Borrows `tools`, an element for each tool. */
cw_search_shown cw_search_shown_of(const cw_search_terms *t, const bool *tools);
/* Whether one of the tools that are shown has the term. */
bool cw_search_shown_has(const cw_search_shown *s, const cw_search_term *term);
/* How rare the term is among the tools that are shown; 0: none has it. */
float cw_search_shown_rarity(const cw_search_shown *s, const cw_search_term *term);
/* How much of the tool the term is: BM25 over its fields, without the rarity. */
float cw_search_shown_score(const cw_search_shown *s, const cw_search_posting *posting);

/* Whether a key is a stem alone. */
bool cw_search_is_word(cw_str key);

/* The value of a key in a map, made of zeros if it has none. NULL: out of memory. */
void *cw_search_find_or_add(cw_map *map, cw_arena *arena, cw_str key, size_t size);

#endif
