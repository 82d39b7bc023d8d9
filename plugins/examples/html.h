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
 * is none. A tag or comment that has no end reaches to the end of the text, as in browsers. */
size_t html_find_tag(const char *html, html_tag *ret);
/* The decoded value of an attribute, to be freed; NULL: not there (or no memory). */
char *html_attribute(const html_tag *tag, const char *name);
/* Append text with its entities decoded; a no-break space becomes a space. */
void html_decode(const char *p, size_t n, text *out);
/* Whether a text beginning with '&' would be taken for an entity. */
bool html_is_entity(const char *p);
/* The code point of a name such as "amp" (HTML 4); 0: unknown. */
unsigned html_entity(const char *name, size_t n);
/* Make a URL fit for a link, in place: white space and controls are cut off or percent-encoded
 * (the result is at most three times as long: `url` is to be freed, and so is the result). NULL:
 * nobody should follow it (javascript: and the like), or no memory. Frees `url` then. */
char *html_clean_url(char *url);

/* Whether nobody sees the text of an element: script, style, ... */
bool html_is_hidden(const char *name);
/* Whether an element ends the line that it stands in. */
bool html_is_block(const char *name);
/* What follows the element that `tag` begins. */
const char *html_skip_element(const html_tag *tag);
/* The same, and append its text, without tags, to `out`. With `is_inline` it ends before the next
 * block at the latest: somebody forgot the end tag. */
const char *html_take_element(const html_tag *tag, bool is_inline, text *out);

#endif
