/* SPDX-License-Identifier: GPL-2.0-or-later */
/* roff.h - writes manual pages with the macros of mdoc(7).
 *
 *     cw_roff_open(out, "causeway-serve", 1, "start the server");
 *     cw_roff_section(out, "DESCRIPTION");
 *     cw_roff_prose(out, "Start the server.");
 *
 * Every text is escaped: backslashes, hyphens, quotes and dots at the beginning of a line are
 * printed as they are.
 *
 * Ownership: the buffer is the caller's. Its failure is sticky.
 * Threads:   one at a time.
 */
#ifndef CW_MANUAL_ROFF_H
#define CW_MANUAL_ROFF_H

#include "base/buf.h"

/* Begin a page: its title, and the section NAME. */
void cw_roff_open(cw_buf *out, const char *name, int section, const char *about);
void cw_roff_section(cw_buf *out, const char *heading);
void cw_roff_subsection(cw_buf *out, const char *heading);

/* A text as macros and their arguments take it: one word, or several that print as they are. */
void cw_roff_escape(cw_buf *out, cw_str text);
/* Sentences, each on a line of its own. Line breaks of the text are spaces. */
void cw_roff_text(cw_buf *out, cw_str text);
/* The same, in which lines with an indentation are a list: "  word   explanation". */
void cw_roff_prose(cw_buf *out, const char *text);

/* A list of words and their explanations. */
void cw_roff_open_list(cw_buf *out);
void cw_roff_item(cw_buf *out, const char *macro, cw_str word);
void cw_roff_close_list(cw_buf *out);

/* The value of an option, as the argument of a macro; NULL: none. */
void cw_roff_value(cw_buf *out, const char *value);
/* The arguments of a command as its help shows them: "[SOURCE...] [METHOD...]". */
void cw_roff_arguments(cw_buf *out, const char *args);

/* A section with references to other pages, "causeway 1", each NULL-terminated list in order. */
void cw_roff_see_also(cw_buf *out, const char *const *pages);

#endif
