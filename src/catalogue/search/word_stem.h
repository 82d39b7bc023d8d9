/* SPDX-License-Identifier: GPL-2.0-or-later */
/* word_stem.h - the stem of an English word, so that its forms meet in a search.
 *
 *     "deleting", "deletion", "deleted", "delete"   delet
 *     "bought", "buys"                              bui
 *
 * The algorithm is that of M. F. Porter (1980), after a table of irregular forms. A stem need not be a
 * word. Words with other characters than a to z stay as they are.
 *
 * Threads: any.
 */
#ifndef CW_CATALOGUE_SEARCH_WORD_STEM_H
#define CW_CATALOGUE_SEARCH_WORD_STEM_H

#include <stddef.h>

/* Replace a word in lower case by its stem, which is never longer. `room` bytes are writable. Returns
 * the bytes of the stem. */
size_t cw_word_stem(char *word, size_t n, size_t room);

#endif
