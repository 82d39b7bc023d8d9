/* SPDX-License-Identifier: GPL-2.0-or-later */
/* squeeze.h - a program of the build: removes comments and white space from scripts and stylesheets.
 *
 * This is no parser. It knows comments, texts, templates and regular expressions, and it relies on the
 * formatter: each statement of a script ends with a semicolon or a brace.
 *
 * Ownership: none. Threads: any. Limits: templates are nested at most 8 deep.
 */
#ifndef CW_EMBED_SQUEEZE_H
#define CW_EMBED_SQUEEZE_H

#include <stddef.h>

/* In place; the new size. 0: a text, template or comment does not end. */
size_t cw_squeeze_script(char *text, size_t n);
size_t cw_squeeze_style(char *text, size_t n);

#endif
