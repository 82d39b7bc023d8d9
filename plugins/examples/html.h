/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html.h - just enough of HTML: tags, attributes, entities. Whatever is no tag is text. */
#ifndef EXAMPLES_HTML_H
#define EXAMPLES_HTML_H

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

#define HTML_NAME_MAX 15

typedef struct html_tag {
    char name[HTML_NAME_MAX + 1]; /* lower case; empty: a comment, or a longer name */
    bool is_end;                  /* </name> */
    const char *attributes;       /* from behind the name ... */
    const char *end;              /* ... to behind the '>' */
} html_tag;

/* The number of bytes before the next tag or comment, which *ret describes; all of them when there
 * is none. */
size_t html_find_tag(const char *html, html_tag *ret);
/* The decoded value of an attribute, to be freed; NULL: not there (or no memory). */
char *html_attribute(const html_tag *tag, const char *name);
/* Append text with its entities decoded; a no-break space becomes a space. */
void html_decode(const char *p, size_t n, text *out);
/* Whether nobody sees the text of an element: script, style, ... */
bool html_is_hidden(const char *name);
/* Skip an element that `tag` begins and append its text, without tags, to `out` (may be NULL).
 * Returns what follows its end tag. */
const char *html_take_element(const html_tag *tag, text *out);

#endif
