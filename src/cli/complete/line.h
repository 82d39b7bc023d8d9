/* SPDX-License-Identifier: GPL-2.0-or-later */
/* line.h - the words of a command line that a user is typing in a shell.
 *
 *     causeway role allow editor "access co|      the cursor is at the end
 *
 * becomes the words causeway, role, allow, editor and "access co", with an open double quote. Quotes
 * and backslashes are read as in POSIX shells. Variables and patterns are not expanded.
 *
 * Ownership: the words are in the caller's arena.
 * Threads:   main thread only.
 * Limits:    CW_COMPLETE_LINE_MAX bytes, CW_COMPLETE_WORDS_MAX words.
 */
#ifndef CW_CLI_COMPLETE_LINE_H
#define CW_CLI_COMPLETE_LINE_H

#include "base/arena.h"
#include "base/buf.h"

#define CW_COMPLETE_LINE_MAX 65536u
#define CW_COMPLETE_WORDS_MAX 1024u

typedef struct cw_complete_line {
    const char **words;
    size_t n; /* at least 1: the last word is the one at the cursor, perhaps empty */
    cw_str
        kept; /* bytes of the last word that the shell keeps: its replacement begins behind them */
    char quote; /* that is open at the cursor, ' or "; 0: none */
} cw_complete_line;

/* Split the text before the cursor. `typed` is the end of the text that the shell replaces by a
 * completion: the last word, or its part behind '=' or ':'. CW_LIMIT, CW_NOMEM. */
CW_MUST_USE cw_code cw_complete_split(cw_str text, cw_str typed, cw_arena *arena,
                                      cw_complete_line *ret, cw_err *err);

/* Append a word so that the shell reads it unchanged where the line has this open quote. Returns
 * false, and appends nothing, if that is not possible. */
bool cw_complete_quote(cw_buf *out, cw_str word, char quote);

#endif
