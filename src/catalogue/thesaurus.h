/* SPDX-License-Identifier: GPL-2.0-or-later */
/* thesaurus.h - English words that people use for the same things, for the search of tools.
 *
 *     same      words of one meaning: "picture image photo photograph"
 *     near      words that belong together: who looks for one may mean the other, "invoice owe bill"
 *     intents   words of a wish that stand for a verb, which is the first one: "delete rid throw away"
 *
 * It is written for the words of interfaces, offices, shops, networks and daily life. A word may be in
 * several groups.
 *
 * Ownership: static.
 * Threads:   any.
 */
#ifndef CW_CATALOGUE_THESAURUS_H
#define CW_CATALOGUE_THESAURUS_H

/* Lines of groups, with "; " between groups and blanks between words, and NULL at the end. */
extern const char *const cw_thesaurus_same[];
extern const char *const cw_thesaurus_near[];
extern const char *const cw_thesaurus_intents[];

#endif
