/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quote.h - text from a file as a double-quoted string that is safe to show.
 *
 * The result reads back as the same text in YAML and in JSON. Characters
 * that a terminal or an editor would interpret or hide (C0, DEL, C1, zero-width and bidirectional
 * controls, line separators, byte order marks) are written as \uXXXX; a byte that is
 * not UTF-8 is written as U+FFFD.
 *
 * Threads: no state.
 */
#ifndef CW_CONFIG_SYNTAX_QUOTE_H
#define CW_CONFIG_SYNTAX_QUOTE_H

#include "base/buf.h"

/* Append all of `text`, with quotes. */
void cw_quote(cw_buf *out, cw_str text);
/* Append it without quotes, for file names and key paths in messages. */
void cw_quote_bare(cw_buf *out, cw_str text);

/* The same with quotes and backslashes as they stand: for JSON, which stays what it means, and for
 * texts that are only looked at. */
void cw_quote_shown(cw_buf *out, cw_str text);

#define CW_EXCERPT_CHARS 40u
/* Every character may become an escape of 6 bytes; quotes, "..." and NUL come on top. */
#define CW_EXCERPT_SIZE (CW_EXCERPT_CHARS * 6u + 6u)

/* Quote at most CW_EXCERPT_CHARS characters into `out` ("..." says that there was more) and return
 * `out`. */
const char *cw_excerpt(cw_str text, char out[CW_EXCERPT_SIZE]);

#endif
