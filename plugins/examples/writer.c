/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "writer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"

/* ---- lines ---- */

/* Blank lines belong to what is open on both sides of them, and end without spaces. */
static void add_prefix(writer *w, bool for_blank_line)
{
    size_t n = for_blank_line && w->shared < w->prefix.n ? w->shared : w->prefix.n;
    while (for_blank_line && n && w->prefix.p[n - 1] == ' ')
        n--;
    if (n)
        text_add_bytes(&w->out, w->prefix.p, n);
}

/* The new line that was wanted, with all that stands before its text. */
static void begin_line(writer *w)
{
    if (w->out.n) {
        if (w->is_hard && w->breaks == 1)
            text_add_char(&w->out, '\\');
        text_add_char(&w->out, '\n');
        if (w->breaks == 2) {
            add_prefix(w, true);
            text_add_char(&w->out, '\n');
        }
    }
    if (w->lead.n) {
        text_add_bytes(&w->out, w->lead.p, w->lead.n);
        memcpy(w->lead.p, w->prefix.p, w->lead.n);
    }
    w->shared = w->prefix.n;
    w->breaks = 0;
    w->is_hard = w->has_space = w->has_marker = false;
    w->at_line_start = true;
    w->digits = 0;
    if (w->heading) {
        text_add_times(&w->out, '#', (size_t)w->heading);
        text_add_char(&w->out, ' ');
        w->at_line_start = false;
        w->in_heading = true;
        w->heading = 0;
    }
}

/* ---- marks ---- */

/* Parentheses are escaped even where they are in pairs; an entity would be decoded. */
static void add_url(writer *w, const char *url)
{
    for (; *url; url++) {
        if (strchr("()\\", *url) || (*url == '&' && html_is_entity(url)))
            text_add_char(&w->out, '\\');
        text_add_char(&w->out, *url);
    }
}

static void begin_mark(writer *w, writer_mark mark)
{
    /* A link behind an exclamation mark would be an image. */
    if (mark == WRITER_LINK && w->out.n && w->out.p[w->out.n - 1] == '!') {
        w->out.n--;
        text_add(&w->out, "\\!");
    }
    text_add(&w->out, mark == WRITER_BOLD ? "**" : (mark == WRITER_ITALIC ? "*" : "["));
    w->written[w->n_written++] = mark;
    w->at_line_start = false;
    w->digits = -1;
}

static void end_marks(writer *w, int keep)
{
    while (w->n_written > keep) {
        writer_mark mark = w->written[--w->n_written];
        if (mark != WRITER_LINK) {
            text_add(&w->out, mark == WRITER_BOLD ? "**" : "*");
            continue;
        }
        text_add(&w->out, "](");
        add_url(w, w->href);
        text_add(&w->out, ")");
    }
}

static bool is_written(const writer *w, writer_mark mark)
{
    for (int i = 0; i < w->n_written; i++) {
        if (w->written[i] == mark)
            return true;
    }
    return false;
}

/* Before any text: end marks, begin the line, begin marks. If marks overlap, the later one
 * ends with the earlier one and begins again. */
static void settle(writer *w)
{
    int keep = 0;
    while (keep < w->n_written && w->wanted[w->written[keep]])
        keep++;
    end_marks(w, keep);
    if (w->breaks || w->out.n == 0 || w->has_marker || w->heading)
        begin_line(w);
    if (w->has_space)
        text_add_char(&w->out, ' ');
    w->has_space = false;
    for (int i = 0; i < w->n_order && w->n_written < w->n_order; i++) {
        if (!is_written(w, w->order[i]))
            begin_mark(w, w->order[i]);
    }
}

void writer_open_mark(writer *w, writer_mark mark)
{
    if (w->wanted[mark]++ == 0)
        w->order[w->n_order++] = mark;
}

void writer_close_mark(writer *w, writer_mark mark)
{
    if (w->wanted[mark] == 0 || --w->wanted[mark] > 0)
        return;
    int i = 0;
    while (w->order[i] != mark)
        i++;
    w->n_order--;
    memmove(&w->order[i], &w->order[i + 1], (size_t)(w->n_order - i) * sizeof *w->order);
}

void writer_close_link(writer *w)
{
    if (!w->href)
        return;
    for (int i = 0; i < w->n_written; i++) {
        if (w->written[i] == WRITER_LINK)
            end_marks(w, i);
    }
    writer_close_mark(w, WRITER_LINK);
    free(w->href);
    w->href = NULL;
}

void writer_open_link(writer *w, char *href)
{
    writer_close_link(w);
    w->href = href;
    writer_open_mark(w, WRITER_LINK);
}

/* ---- breaks and spaces ---- */

/* Marks do not reach over the end of a block: they are ended here and begun again later. */
void writer_break(writer *w, int breaks)
{
    end_marks(w, 0);
    if (w->breaks < breaks)
        w->breaks = breaks;
    w->is_hard = w->has_space = w->in_heading = false;
}

void writer_line_break(writer *w)
{
    if (w->in_heading) {
        writer_space(w);
        return;
    }
    if (w->out.n == 0 || w->has_marker || (w->breaks && !w->is_hard))
        return;
    bool is_second = w->breaks > 0;
    writer_break(w, is_second ? 2 : 1);
    w->is_hard = !is_second;
}

void writer_space(writer *w)
{
    w->has_space = w->out.n && !w->breaks && !w->has_marker && !w->heading;
}

void writer_heading(writer *w, int level)
{
    writer_break(w, w->has_marker ? 1 : 2);
    w->heading = level;
}

void writer_rule(writer *w)
{
    /* "- ---" would be one rule and no item. */
    const char *rule = w->has_marker ? "***" : "---";
    w->heading = 0;
    writer_break(w, w->has_marker ? 1 : 2);
    begin_line(w);
    text_add(&w->out, rule);
    writer_break(w, 2);
}

/* ---- text ---- */

/* Characters that mean something at the begin of a line. `next` is what follows; at the end of a
 * piece of text anything may. */
static bool begins_block(const writer *w, char c, const char *next)
{
    bool is_word = next[0] == '\0' || isspace((unsigned char)next[0]);
    if (w->digits > 0 && (c == '.' || c == ')'))
        return is_word;
    if (!w->at_line_start)
        return false;
    if (c == '#' || c == '>' || c == '=' || (c == ':' && next[0] == '-'))
        return true;
    return (c == '+' && is_word) || (c == '-' && (is_word || next[0] == '-'));
}

static bool needs_escape(const writer *w, const char *p, bool after_space)
{
    char c = *p;
    if (strchr("\\`*_[]<", c))
        return true;
    if (c == '&')
        return html_is_entity(p);
    if (c == '~')
        return p[1] == '~' || p[1] == '\0';
    if (c == '#' && w->in_heading && after_space)
        return true; /* at the end it would end the heading */
    return begins_block(w, c, p + 1);
}

void writer_text(writer *w, const char *p)
{
    for (; *p; p++) {
        if (isspace((unsigned char)*p)) {
            writer_space(w);
            continue;
        }
        bool after_space = w->has_space || w->heading;
        settle(w);
        if (needs_escape(w, p, after_space))
            text_add_char(&w->out, '\\');
        text_add_char(&w->out, *p);
        w->digits = w->digits >= 0 && isdigit((unsigned char)*p) ? w->digits + 1 : -1;
        w->at_line_start = false;
    }
}

void writer_image(writer *w, const char *source, const char *alt)
{
    settle(w);
    text_add(&w->out, "![");
    w->at_line_start = false;
    w->digits = -1;
    writer_text(w, alt);
    w->has_space = false;
    text_add(&w->out, "](");
    add_url(w, source);
    text_add(&w->out, ")");
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

void writer_code(writer *w, const text *code)
{
    if (code->n == 0)
        return;
    size_t fence = fence_of(code, 1);
    bool pad = code->p[0] == '`' || code->p[code->n - 1] == '`';
    settle(w);
    text_add_times(&w->out, '`', fence);
    text_add(&w->out, pad ? " " : "");
    for (size_t i = 0; i < code->n; i++)
        text_add_char(&w->out, isspace((unsigned char)code->p[i]) ? ' ' : code->p[i]);
    text_add(&w->out, pad ? " " : "");
    text_add_times(&w->out, '`', fence);
    w->at_line_start = false;
    w->digits = -1;
}

void writer_code_block(writer *w, const text *code, const char *language)
{
    size_t n = code->n, fence = fence_of(code, 3);
    while (n && code->p[n - 1] == '\n')
        n--;
    if (n == 0)
        return;
    w->heading = 0;
    writer_break(w, w->has_marker ? 1 : 2);
    begin_line(w);
    text_add_times(&w->out, '`', fence);
    text_add(&w->out, language);
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
    writer_break(w, 2);
}

char *writer_take(writer *w)
{
    end_marks(w, 0);
    text_add(&w->out, "");
    bool failed = w->failed || w->out.failed || w->prefix.failed || w->lead.failed;
    if (failed)
        text_free(&w->out);
    text_free(&w->prefix);
    text_free(&w->lead);
    free(w->levels);
    free(w->href);
    return w->out.p;
}
