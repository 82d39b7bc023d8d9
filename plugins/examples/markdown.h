/* SPDX-License-Identifier: GPL-2.0-or-later */
/* markdown.h - HTML as editors write it to Markdown.
 *
 * Headings, paragraphs, emphasis, links, images, lists, quotes, code and rules are
 * converted; other tags are dropped and their text kept; scripts, styles and
 * comments are dropped with their text. What Markdown would take for something else
 * is escaped, addresses that run a script are dropped. Never fails on bad HTML, and
 * takes time in proportion to its length.
 */
#ifndef EXAMPLES_MARKDOWN_H
#define EXAMPLES_MARKDOWN_H

/* The Markdown, without white space at its ends; the caller frees it. NULL: no memory. */
char *markdown_from_html(const char *html);
/* The same with the title, which is plain text, as a heading: "# Title", a blank line, the body. */
char *markdown_from_article(const char *title, const char *html);

#endif
