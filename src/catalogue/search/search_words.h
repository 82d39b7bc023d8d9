/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search_words.h - the words of a text, for the search of tools.
 *
 *     cw_search_splitter s = cw_search_split(CW_STR("getUserInfo"));
 *     while (cw_search_next(&s))
 *         ... cw_search_word(&s), cw_search_stem(&s) ...            get, user, info
 *
 * Identifiers are split at changes of case, digits and all other characters.
 *
 * Ownership: the text is borrowed; word and stem are valid until the next call.
 * Threads:   any.
 * Limits:    the first CW_SEARCH_MAX_TEXT bytes of a text, CW_SEARCH_WORD bytes of a word.
 */
#ifndef CW_CATALOGUE_SEARCH_SEARCH_WORDS_H
#define CW_CATALOGUE_SEARCH_SEARCH_WORDS_H

#include "base/str.h"

#define CW_SEARCH_MAX_TEXT 4096u
#define CW_SEARCH_WORD 32u /* bytes of a word; the rest of a longer one is dropped */

typedef struct cw_search_splitter {
    cw_str text;
    size_t start, at; /* of the word, and behind it */
    char word[CW_SEARCH_WORD], stem[CW_SEARCH_WORD];
    size_t n_word, n_stem;
} cw_search_splitter;

cw_search_splitter cw_search_split(cw_str text);
/* False: there are no more. */
bool cw_search_next(cw_search_splitter *s);
CW_INLINE cw_str cw_search_word(const cw_search_splitter *s)
{
    return cw_str_make(s->word, s->n_word);
}
CW_INLINE cw_str cw_search_stem(const cw_search_splitter *s)
{
    return cw_str_make(s->stem, s->n_stem);
}

/* Room for a key that is made of words. Keys are valid as long as it. */
typedef struct cw_search_key {
    char text[2 * CW_SEARCH_WORD + 1];
} cw_search_key;
/* Two words with a blank between them. */
cw_str cw_search_pair(cw_str first, cw_str second, cw_search_key *room);
/* A word behind a mark, which no word has. */
cw_str cw_search_marked(char mark, cw_str word, cw_search_key *room);

/* Words that say nothing about a tool: "the". */
extern const char *const cw_search_stop_words[];
/* Words that say little: common verbs, directions, times. They have many meanings, so that words of
 * nearly the same meaning would lead anywhere. All lists have NULL at the end. */
extern const char *const cw_search_light_words[];
/* Words that stand where the name of a person might: "her", "colleague". */
extern const char *const cw_search_persons[];

#endif
