/* SPDX-License-Identifier: GPL-2.0-or-later */
/* markdown.h - HTML as editors write it to Markdown.
 *
 * Headings, paragraphs, emphasis, links, images, lists, quotes, code and rules are
 * converted; other tags are dropped and their text kept; scripts, styles and
 * comments are dropped with their text. Never fails on bad HTML.
 */
#ifndef EXAMPLES_MARKDOWN_H
#define EXAMPLES_MARKDOWN_H

/* The Markdown, without white space at its ends; the caller frees it. NULL: no memory. */
char *markdown_from_html(const char *html);

#endif
