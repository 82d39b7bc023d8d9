/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search_related.h - which terms of tools the thesaurus relates to a word of a query.
 *
 *     for (const cw_search_link *l = cw_search_related_find(&related, stem); l; l = l->next)
 *         ... l->terms[0 .. l->n - 1], l->part ...
 *
 * Words of the thesaurus without a related term of any tool are left out, so that a small catalogue
 * keeps little of it.
 *
 * Ownership: the arena outlives it, and so do the terms.
 * Threads:   immutable after cw_search_related_add: any thread then.
 */
#ifndef CW_CATALOGUE_SEARCH_SEARCH_RELATED_H
#define CW_CATALOGUE_SEARCH_SEARCH_RELATED_H

#include "catalogue/search/search_terms.h"

typedef struct cw_search_link {
    const struct cw_search_link *next;
    const cw_search_term *const *terms;
    uint16_t n;
    float part; /* of the score of the terms, 0 to 1 */
} cw_search_link;

typedef struct cw_search_related {
    cw_map map; /* stem, or two of them with a blank -> list of links */
    cw_arena *arena;
} cw_search_related;

void cw_search_related_init(cw_search_related *r, cw_arena *arena);
void cw_search_related_done(cw_search_related *r);
/* Once. False: out of memory. */
CW_MUST_USE bool cw_search_related_add(cw_search_related *r, const cw_search_terms *terms);
/* NULL: none. */
const cw_search_link *cw_search_related_find(const cw_search_related *r, cw_str key);

#endif
