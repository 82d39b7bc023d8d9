/* SPDX-License-Identifier: GPL-2.0-or-later */
/* thesaurus.h - English words that people use for the same things, for the search of tools.
 *
 *     same      words of one meaning: "picture image photo photograph"
 *     near      words of nearly one meaning: who looks for one may mean the other, "invoice bill owe"
 *     topics    things, and words that make one think of them: "flight: plane airport pilot runway"
 *     intents   verbs in the names of tools, and words that ask for them: "archive retire: put away; no longer"
 *
 * It is written for the words of interfaces, offices, shops, networks and daily life. A word may be in
 * several groups. Two words with "_" between them mean something together: "power_cut".
 *
 * Ownership: static.
 * Threads:   any.
 */
#ifndef CW_CATALOGUE_SEARCH_THESAURUS_H
#define CW_CATALOGUE_SEARCH_THESAURUS_H

/* All lists end in NULL. Lines of groups, with "; " between groups and blanks between words. */
extern const char *const cw_thesaurus_same[];
extern const char *const cw_thesaurus_near[];
/* A line is one topic. */
extern const char *const cw_thesaurus_topics[];
/* A line has verbs of one meaning, and "; " between intents (search_intents.h). */
extern const char *const cw_thesaurus_intents[];

#endif
