/* SPDX-License-Identifier: GPL-2.0-or-later */
/* markdown.c - one walk over the HTML.
 *
 * White space, line breaks and emphasis marks are not written when they are met
 * but when the next text is: so an empty <b></b> leaves nothing behind, a space
 * never stands inside a mark, and nothing trails at the end.
 *
 *     <p>one <b> two</b></p><p>three   ->   one **two**, a blank line, three
 */
#include "markdown.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "html.h"
#include "text.h"

#define MAX_NESTING 32 /* of lists and quotes; deeper ones are not indented further */
#define MAX_MARKS 16
#define MAX_LIST_NUMBER 999999

/* Emphasis and links that are open in the HTML. */
typedef struct mark {
    char kind; /* 'b', 'i' or 'a' */
    bool is_written;
    char *href; /* of a link */
} mark;

/* A list or a quote that is open. */
typedef struct nest {
    char kind;    /* 'u', 'o', 'q'; 'l' for an item */
    int number;   /* of the last item of an ordered list */
    size_t width; /* of the prefix before it, to go back to */
} nest;

typedef struct writer {
    text out;
    text prefix;   /* what every new line begins with: "> ", "  " */
    size_t shared; /* how much of it the last line with text has too */
    nest nests[MAX_NESTING];
    mark marks[MAX_MARKS];
    int n_nests, n_marks;
    int breaks; /* wanted before the next text: 1 a new line, 2 a blank line between */
    bool space; /* wanted before the next text */
    bool hard;  /* the break is a <br> */
    bool at_line_start;
    char marker[16]; /* of a list item that has no text yet */
} writer;

/* ---- what is put off ---- */

/* Blank lines belong to what is open on both sides of them, and end without spaces. */
static void add_prefix(writer *w, bool for_blank_line)
{
    size_t n = for_blank_line && w->shared < w->prefix.n ? w->shared : w->prefix.n;
    while (for_blank_line && n && w->prefix.p[n - 1] == ' ')
        n--;
    if (n)
        text_add_bytes(&w->out, w->prefix.p, n);
}

/* The new line that was wanted, with the prefix of lists and quotes; the marker of an item stands
 * in the place of the last part of that prefix. */
static void begin_line(writer *w)
{
    if (w->out.n) {
        if (w->hard && w->breaks == 1)
            text_add_char(&w->out, '\\');
        text_add_char(&w->out, '\n');
        if (w->breaks == 2) {
            add_prefix(w, true);
            text_add_char(&w->out, '\n');
        }
    }
    size_t whole = w->prefix.n;
    if (w->marker[0])
        w->prefix.n -= strlen(w->marker);
    add_prefix(w, false);
    w->prefix.n = whole;
    text_add(&w->out, w->marker);
    w->marker[0] = '\0';
    w->shared = w->prefix.n;
    w->breaks = 0;
    w->hard = false;
    w->space = false;
    w->at_line_start = true;
}

static void write_mark(writer *w, const mark *m, bool is_end)
{
    if (m->kind == 'b')
        text_add(&w->out, "**");
    else if (m->kind == 'i')
        text_add(&w->out, "*");
    else if (!is_end)
        text_add(&w->out, "[");
    else {
        text_add(&w->out, "](");
        text_add(&w->out, m->href ? m->href : "");
        text_add(&w->out, ")");
    }
}

/* Before any text. */
static void settle(writer *w)
{
    if (w->breaks || w->out.n == 0 || w->marker[0])
        begin_line(w);
    if (w->space)
        text_add_char(&w->out, ' ');
    w->space = false;
    for (int i = 0; i < w->n_marks; i++) {
        if (w->marks[i].is_written)
            continue;
        write_mark(w, &w->marks[i], false);
        w->marks[i].is_written = true;
        w->at_line_start = false;
    }
}

/* Marks do not reach over the end of a block: they are closed here and written again later. */
static void close_marks(writer *w, int from)
{
    for (int i = w->n_marks; i-- > from;) {
        if (w->marks[i].is_written)
            write_mark(w, &w->marks[i], true);
        w->marks[i].is_written = false;
    }
}

static void want_break(writer *w, int breaks)
{
    close_marks(w, 0);
    if (w->breaks < breaks)
        w->breaks = breaks;
    w->hard = false;
    w->space = false;
}

/* ---- text ---- */

/* Characters that would mean something to Markdown here. */
static bool needs_escape(const writer *w, unsigned char c, const char *rest)
{
    if (strchr("\\`*_[]<", c))
        return true;
    if (!w->at_line_start)
        return false;
    return (strchr("#>", c)) || (strchr("+-", c) && (rest[0] == ' ' || rest[0] == '\0'));
}

static void add_text(writer *w, const char *p, size_t n)
{
    text plain = {0};
    html_decode(p, n, &plain);
    for (size_t i = 0; i < plain.n; i++) {
        unsigned char c = (unsigned char)plain.p[i];
        if (isspace(c)) {
            w->space = w->out.n && !w->breaks && !w->marker[0];
            continue;
        }
        settle(w);
        if (c != '\0' && needs_escape(w, c, plain.p + i + 1))
            text_add_char(&w->out, '\\');
        text_add_char(&w->out, (char)c);
        w->at_line_start = false;
    }
    w->out.failed = w->out.failed || plain.failed;
    text_free(&plain);
}

/* ---- emphasis and links ---- */

static void open_mark(writer *w, char kind, char *href)
{
    if (w->n_marks == MAX_MARKS) {
        free(href);
        return;
    }
    w->marks[w->n_marks++] = (mark){.kind = kind, .href = href};
}

/* Of badly nested tags the inner one ends with the outer one. */
static void close_mark(writer *w, char kind)
{
    int i = w->n_marks;
    while (i-- > 0 && w->marks[i].kind != kind)
        continue;
    if (i < 0)
        return;
    close_marks(w, i);
    while (w->n_marks > i)
        free(w->marks[--w->n_marks].href);
}

static void add_image(writer *w, const html_tag *tag)
{
    char *source = html_attribute(tag, "src");
    char *alt = html_attribute(tag, "alt");
    if (source) {
        settle(w);
        text_add(&w->out, "![");
        text_add(&w->out, alt ? alt : "");
        text_add(&w->out, "](");
        text_add(&w->out, source);
        text_add(&w->out, ")");
        w->at_line_start = false;
    }
    free(source);
    free(alt);
}

/* ---- code ---- */

/* One more than the longest run of backticks inside. */
static size_t fence_of(const text *code, size_t least)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < code->n; i++) {
        run = code->p[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest + 1 > least ? longest + 1 : least;
}

static void add_code(writer *w, const text *code)
{
    if (code->n == 0)
        return;
    size_t fence = fence_of(code, 1);
    bool pad = code->p[0] == '`' || code->p[code->n - 1] == '`';
    settle(w);
    text_add_times(&w->out, '`', fence);
    text_add(&w->out, pad ? " " : "");
    for (size_t i = 0; i < code->n; i++)
        text_add_char(&w->out, code->p[i] == '\n' ? ' ' : code->p[i]);
    text_add(&w->out, pad ? " " : "");
    text_add_times(&w->out, '`', fence);
    w->at_line_start = false;
}

static void add_block_of_code(writer *w, const text *code)
{
    size_t n = code->n, fence = fence_of(code, 3);
    while (n && code->p[n - 1] == '\n')
        n--;
    want_break(w, 2);
    settle(w);
    text_add_times(&w->out, '`', fence);
    for (size_t i = 0, end; i <= n; i = end + 1) {
        end = i;
        while (end < n && code->p[end] != '\n')
            end++;
        text_add_char(&w->out, '\n');
        add_prefix(w, end == i);
        text_add_bytes(&w->out, code->p + i, end - i);
    }
    text_add_char(&w->out, '\n');
    add_prefix(w, false);
    text_add_times(&w->out, '`', fence);
    want_break(w, 2);
}

/* ---- lists and quotes ---- */

static void open_nest(writer *w, char kind, const char *prefix)
{
    if (w->n_nests == MAX_NESTING)
        return;
    w->nests[w->n_nests++] = (nest){.kind = kind, .width = w->prefix.n};
    text_add(&w->prefix, prefix);
}

/* Close the innermost one of this kind, and what is open inside it. */
static void close_nest(writer *w, char kind)
{
    int i = w->n_nests;
    while (i-- > 0 && w->nests[i].kind != kind)
        continue;
    if (i < 0)
        return;
    w->prefix.n = w->nests[i].width;
    if (w->shared > w->prefix.n)
        w->shared = w->prefix.n;
    w->n_nests = i;
    w->marker[0] = '\0';
}

static void open_item(writer *w)
{
    nest *list = w->n_nests ? &w->nests[w->n_nests - 1] : NULL;
    if (list && list->kind == 'l') { /* the item before was not closed */
        close_nest(w, 'l');
        list = w->n_nests ? &w->nests[w->n_nests - 1] : NULL;
    }
    want_break(w, 1);
    char marker[sizeof w->marker] = "- ";
    if (list && list->kind == 'o' && list->number < MAX_LIST_NUMBER) {
        text number = {0};
        list->number++;
        text_add_number(&number, list->number);
        text_add(&number, ". ");
        if (number.p)
            memcpy(marker, number.p, number.n + 1);
        text_free(&number);
    }
    if (w->n_nests == MAX_NESTING)
        return;
    size_t width = strlen(marker);
    open_nest(w, 'l', "");
    text_add_times(&w->prefix, ' ', width);
    if (!w->prefix.failed)
        memcpy(w->marker, marker, width + 1);
}

static void begin_list(writer *w, char kind)
{
    want_break(w, w->n_nests && w->nests[w->n_nests - 1].kind == 'l' ? 1 : 2);
    open_nest(w, kind, "");
}

static void end_list(writer *w, char kind)
{
    close_nest(w, kind);
    want_break(w, w->n_nests && w->nests[w->n_nests - 1].kind == 'l' ? 1 : 2);
}

/* ---- tags ---- */

static void on_heading(writer *w, const html_tag *tag)
{
    want_break(w, 2);
    if (tag->is_end)
        return;
    settle(w);
    text_add_times(&w->out, '#', (size_t)(tag->name[1] - '0'));
    w->space = true;
    w->at_line_start = false;
}

static void on_quote(writer *w, const html_tag *tag)
{
    want_break(w, 2);
    if (tag->is_end)
        close_nest(w, 'q');
    else
        open_nest(w, 'q', "> ");
}

static void on_item(writer *w, const html_tag *tag)
{
    if (!tag->is_end) {
        open_item(w);
        return;
    }
    want_break(w, 1);
    close_nest(w, 'l');
}

static void on_list(writer *w, const html_tag *tag)
{
    if (tag->is_end)
        end_list(w, tag->name[0]);
    else
        begin_list(w, tag->name[0]);
}

/* A paragraph that begins an item goes on in the item's line. */
static void on_block(writer *w, const html_tag *tag)
{
    (void)tag;
    want_break(w, w->marker[0] ? 1 : 2);
}

static void on_rule(writer *w, const html_tag *tag)
{
    (void)tag;
    want_break(w, 2);
    settle(w);
    text_add(&w->out, "---");
    want_break(w, 2);
}

static void on_line_break(writer *w, const html_tag *tag)
{
    (void)tag;
    if (w->out.n == 0 || w->breaks || w->marker[0])
        return;
    want_break(w, 1);
    w->hard = true;
}

static void on_bold(writer *w, const html_tag *tag)
{
    if (tag->is_end)
        close_mark(w, 'b');
    else
        open_mark(w, 'b', NULL);
}

static void on_italic(writer *w, const html_tag *tag)
{
    if (tag->is_end)
        close_mark(w, 'i');
    else
        open_mark(w, 'i', NULL);
}

static void on_link(writer *w, const html_tag *tag)
{
    char *href = tag->is_end ? NULL : html_attribute(tag, "href");
    if (tag->is_end)
        close_mark(w, 'a');
    else if (href)
        open_mark(w, 'a', href);
}

static void on_image(writer *w, const html_tag *tag)
{
    add_image(w, tag);
}

static void on_cell(writer *w, const html_tag *tag)
{
    (void)tag;
    w->space = w->out.n && !w->breaks;
}

static const struct {
    const char *name;
    void (*fn)(writer *w, const html_tag *tag);
} handlers[] = {
    {"a", on_link},        {"article", on_block}, {"b", on_bold},        {"blockquote", on_quote},
    {"br", on_line_break}, {"div", on_block},     {"em", on_italic},     {"figure", on_block},
    {"footer", on_block},  {"h1", on_heading},    {"h2", on_heading},    {"h3", on_heading},
    {"h4", on_heading},    {"h5", on_heading},    {"h6", on_heading},    {"header", on_block},
    {"hr", on_rule},       {"i", on_italic},      {"img", on_image},     {"li", on_item},
    {"ol", on_list},       {"p", on_block},       {"section", on_block}, {"strong", on_bold},
    {"table", on_block},   {"td", on_cell},       {"th", on_cell},       {"tr", on_block},
    {"ul", on_list},
};

static void on_tag(writer *w, const html_tag *tag)
{
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
        if (strcmp(tag->name, handlers[i].name) == 0) {
            handlers[i].fn(w, tag);
            return;
        }
    }
}

/* An element whose inside is not read as HTML. Returns where to go on, or NULL: it is no such. */
static const char *whole_element(writer *w, const html_tag *tag)
{
    bool is_block = strcmp(tag->name, "pre") == 0;
    bool is_code = is_block || strcmp(tag->name, "code") == 0;
    if (tag->is_end || (!is_code && !html_is_hidden(tag->name)))
        return NULL;
    text inside = {0};
    const char *rest = html_take_element(tag, is_code ? &inside : NULL);
    if (is_block)
        add_block_of_code(w, &inside);
    else if (is_code)
        add_code(w, &inside);
    w->out.failed = w->out.failed || inside.failed;
    text_free(&inside);
    return rest;
}

char *markdown_from_html(const char *html)
{
    writer w = {0};
    text_add(&w.out, "");
    for (const char *at = html; *at;) {
        html_tag tag;
        size_t before = html_find_tag(at, &tag);
        add_text(&w, at, before);
        at += before;
        if (!*at)
            break;
        const char *rest = whole_element(&w, &tag);
        if (!rest)
            on_tag(&w, &tag);
        at = rest ? rest : tag.end;
    }
    close_marks(&w, 0);
    while (w.n_marks > 0)
        free(w.marks[--w.n_marks].href);
    bool failed = w.out.failed || w.prefix.failed;
    text_free(&w.prefix);
    if (failed)
        text_free(&w.out);
    return w.out.p;
}
