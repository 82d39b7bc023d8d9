/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search_index.h - finds tools of a catalogue by words: BM25 over names, titles, texts and parameters.
 *
 *     tool ─► words: names weigh 3, titles 2, all else 1 ─► postings of each word
 *     query ─► words ─► scores ─► the best that the view shows
 *
 * Identifiers are split ("getUserInfo", "user.get_info": get user info), letters are lower case, and
 * common endings are cut off ("lists", "listing": list). Verbs that people use for one another count as
 * one ("remove", "delete"), and words such as "the" in a query are skipped. Nouns of nearly the same
 * meaning count a part (related_words.h), and so do words with one wrong letter. Tools whose name is the query come first, then
 * those whose name begins with it.
 *
 * Ownership: belongs to its snapshot, and borrows from it.
 * Threads:   immutable; find on any thread.
 * Limits:    CW_SEARCH_MAX_WORDS words of a query; the words of the first CW_SEARCH_MAX_TEXT bytes of
 *            each text.
 */
#ifndef CW_CATALOGUE_SEARCH_INDEX_H
#define CW_CATALOGUE_SEARCH_INDEX_H

#include "catalogue/view.h"

#define CW_SEARCH_MAX_WORDS 64u
#define CW_SEARCH_MAX_TEXT 4096u
#define CW_SEARCH_WORD 32u /* bytes of a word; the rest of a longer one is dropped */

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
