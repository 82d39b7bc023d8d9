/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search_index.h - finds tools of a catalogue by words: BM25 over names, titles, texts and parameters.
 *
 *     tool ─► terms of its fields, each with a weight ─► postings of each term     (search_terms.h)
 *     query ─► words ─► terms, and related ones ─► scores ─► the best that the view shows
 *
 * Identifiers are split, and forms of a word meet (search_words.h, word_stem.h). Words and pairs of words
 * that the thesaurus relates to a term count a part (search_related.h); so do compounds, and words with
 * one wrong letter. The best of these counts for each word of the query. Verbs that the query may mean
 * decide between tools that match otherwise (search_intents.h). Tools whose name is the query come first,
 * then those whose name begins with it.
 *
 * Ownership: belongs to its snapshot, and borrows from it.
 * Threads:   immutable; find on any thread.
 * Limits:    those of search_words.h and search_intents.h.
 */
#ifndef CW_CATALOGUE_SEARCH_SEARCH_INDEX_H
#define CW_CATALOGUE_SEARCH_SEARCH_INDEX_H

#include "catalogue/view.h"

/* NULL without memory. */
cw_search_index *cw_search_index_new(const cw_snapshot *snapshot);
/* NULL is fine. */
void cw_search_index_free(cw_search_index *index);

/* Search the catalogue of the view. Up to `n` tools that it shows go to `ret`, the best first, their number to *ret_n; the number
 * of all that match goes to *ret_total. With only_callable, tools that the caller cannot call are
 * left out. CW_NOMEM. */
CW_MUST_USE cw_code cw_search_index_find(const cw_view *view, cw_str query, bool only_callable,
                                         const cw_entry **ret, size_t n, size_t *ret_n,
                                         size_t *ret_total);

#endif
