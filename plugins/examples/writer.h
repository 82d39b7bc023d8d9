/* SPDX-License-Identifier: GPL-2.0-or-later */
/* writer.h - writes Markdown (CommonMark), told piece by piece what is in a document.
 *
 * Line breaks, spaces, list markers and emphasis marks are not written when they
 * are asked for but when the next text comes: so an empty <b></b> leaves nothing
 * behind, a space never stands inside a mark, and nothing trails at the end.
 *
 * Nothing fails: what cannot be allocated makes writer_take return NULL. The work
 * is linear in what is told, and a line begins with at most WRITER_MAX_NESTING
 * levels, so that the text cannot outgrow its source by much more than that.
 */
#ifndef EXAMPLES_WRITER_H
#define EXAMPLES_WRITER_H

#include "text.h"

#define WRITER_MAX_NESTING 32 /* of lists and quotes; deeper ones are not indented further */

typedef enum writer_mark {
    WRITER_BOLD,
    WRITER_ITALIC,
    WRITER_LINK, /* only by writer_open_link */
    WRITER_MARKS,
} writer_mark;

typedef enum writer_nest {
    WRITER_QUOTE,
    WRITER_BULLETS,
    WRITER_NUMBERS,
    WRITER_ITEM, /* only by writer_open_item */
    WRITER_NESTS,
} writer_nest;

/* A list, an item or a quote that is open. */
typedef struct writer_level {
    writer_nest kind;
    int number;    /* WRITER_NUMBERS: of the next item */
    size_t indent; /* of the text of its last item; 0: there was none */
    size_t width;  /* of the prefix before it, to go back to */
} writer_level;

typedef struct writer {
    text out;
    /* What every new line begins with ("> ", "  "), and the same for the next line, where the
     * markers of items that have no text yet stand in the place of spaces. */
    text prefix, lead;
    size_t shared; /* how much of the prefix the last line with text has too */
    writer_level *levels;
    size_t n_levels, room_levels;
    size_t open_levels[WRITER_NESTS];
    size_t wanted[WRITER_MARKS];       /* how often each is open in the source */
    writer_mark order[WRITER_MARKS];   /* those that are wanted, as they were opened */
    writer_mark written[WRITER_MARKS]; /* those that are open in `out` */
    int n_order, n_written;
    char *href;      /* of the link that is open in the source */
    int breaks;      /* wanted before the next text: 1 a new line, 2 a blank line between */
    int heading;     /* its level, before its text */
    int digits;      /* the line is so many digits so far; -1: it is more than that */
    bool is_hard;    /* the break is one that readers see */
    bool has_space;  /* wanted before the next text */
    bool has_marker; /* an item has no text yet: lead is not prefix */
    bool in_heading; /* the line is one */
    bool at_line_start;
    bool failed;
} writer;

/* Zero it first. Returns the text, to be freed, and frees all else; NULL: no memory. */
char *writer_take(writer *w);

/* The next text begins a new line (1), or a new block (2). */
void writer_break(writer *w, int breaks);
/* A line break inside a paragraph; two of them end it. */
void writer_line_break(writer *w);
void writer_space(writer *w);
/* Plain text: white space collapses, what means something to Markdown is escaped. */
void writer_text(writer *w, const char *p);
/* The next text begins a heading of this level; 0: it is over. */
void writer_heading(writer *w, int level);
void writer_rule(writer *w);

void writer_open_mark(writer *w, writer_mark mark);
void writer_close_mark(writer *w, writer_mark mark);
/* Ends a link that is open. Takes `href`, which is a clean one (html_clean_url). */
void writer_open_link(writer *w, char *href);
void writer_close_link(writer *w);
void writer_image(writer *w, const char *source, const char *alt);

void writer_code(writer *w, const text *code);
/* `language` may be empty. */
void writer_code_block(writer *w, const text *code, const char *language);

/* `number` is that of the first item of a numbered list. */
void writer_open_nest(writer *w, writer_nest kind, int number);
/* Close the innermost one of this kind and what is open inside it; there need be none. */
void writer_close_nest(writer *w, writer_nest kind);
void writer_open_item(writer *w);

#endif
