/* SPDX-License-Identifier: GPL-2.0-or-later */
/* related_words.h - everyday English words that people use for the same things.
 *
 * A small thesaurus for the search of tools: each line has nouns of one meaning, or of meanings so near
 * that a search for one should find the other. Verbs that stand for one another are in search_index.c.
 *
 * Ownership: static.
 * Threads:   any.
 */
#ifndef CW_CATALOGUE_RELATED_WORDS_H
#define CW_CATALOGUE_RELATED_WORDS_H

/* Lines of words with blanks between them, and NULL at the end. A word may be in several lines. */
extern const char *const cw_related_words[];

#endif
