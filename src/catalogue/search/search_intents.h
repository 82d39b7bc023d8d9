/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search_intents.h - the verbs that the words of a query stand for.
 *
 *     cw_search_intents_read(&intents, words, n, parts);   "put the old invoice away": parts of "archive", ...
 *
 * An intent is a few words in this order, with others between them: "put ... away". Those with "^" come
 * first in the query or after a comma. "somebody" stands for the name of a person. "*s" is a thing in
 * the plural. A "+" before the verbs: most people want them. A "?": they change nothing, and a query that
 * is a question prefers them.
 *
 * Ownership: the arena outlives it, and so do the terms.
 * Threads:   immutable after cw_search_intents_add: any thread then.
 * Limits:    CW_SEARCH_MAX_VERBS verbs, with CW_SEARCH_MAX_SYNONYMS terms each.
 */
#ifndef CW_CATALOGUE_SEARCH_SEARCH_INTENTS_H
#define CW_CATALOGUE_SEARCH_SEARCH_INTENTS_H

#include "catalogue/search/search_terms.h"

#define CW_SEARCH_MAX_WORDS 64u /* of a query */
#define CW_SEARCH_MAX_VERBS 96u
#define CW_SEARCH_MAX_SYNONYMS 12u

/* A verb, and others of the same meaning, as tools have them. */
typedef struct cw_search_verb {
    const cw_search_term *terms[CW_SEARCH_MAX_SYNONYMS];
    unsigned n;
    bool is_common, is_reading, is_for_plurals;
} cw_search_verb;

typedef struct cw_search_intents {
    cw_map map; /* first stem -> list of intents */
    cw_arena *arena;
    cw_search_verb verbs[CW_SEARCH_MAX_VERBS];
    unsigned n_verbs;
    cw_str person; /* the stem that stands for a name */
} cw_search_intents;

/* A query. */
typedef struct cw_search_query {
    cw_search_splitter words[CW_SEARCH_MAX_WORDS];
    bool is_person[CW_SEARCH_MAX_WORDS]; /* a name, or a word in the place of one */
    size_t n;
    bool is_plural;                     /* it names things in the plural */
    bool has_verb[CW_SEARCH_MAX_VERBS]; /* a tool that is shown has it; others are not meant */
} cw_search_query;

void cw_search_intents_init(cw_search_intents *w, cw_arena *arena);
void cw_search_intents_done(cw_search_intents *w);
/* Once. False: out of memory. */
CW_MUST_USE bool cw_search_intents_add(cw_search_intents *w, const cw_search_terms *terms);
/* Whether a tool that is shown has the verb. */
bool cw_search_verb_is_shown(const cw_search_verb *verb, const cw_search_shown *shown);
/* Set how much each verb is meant: 0, not at all. */
void cw_search_intents_read(const cw_search_intents *w, const cw_search_query *query,
                            float ret_parts[CW_SEARCH_MAX_VERBS]);
/* Whether the i-th word comes first, in the query or after a comma, and stands for a verb alone. */
bool cw_search_is_intent(const cw_search_intents *w, const cw_search_query *query, size_t i);

#endif
