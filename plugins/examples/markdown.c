/* SPDX-License-Identifier: GPL-2.0-or-later */
/* markdown.c - one walk over the HTML, which tells the writer what it meets. */
#include "markdown.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "writer.h"

#define LANGUAGE_MAX 31
#define MAX_START 99999

/* ---- elements that are taken as a whole ---- */

/* `language-c` among the classes of the <code> that a <pre> begins with. */
static void read_language(const html_tag *pre, char *out)
{
    static const char prefix[] = "language-";
    html_tag code;
    size_t before = html_find_tag(pre->end, &code), n = 0;
    while (before && isspace((unsigned char)pre->end[before - 1]))
        before--;
    char *classes =
        before == 0 && strcmp(code.name, "code") == 0 ? html_attribute(&code, "class") : NULL;
    const char *found = classes ? strstr(classes, prefix) : NULL;
    for (const char *p = found ? found + strlen(prefix) : ""; n < LANGUAGE_MAX; p++) {
        if (!isalnum((unsigned char)*p) && (*p == '\0' || !strchr("+-#._", *p)))
            break;
        out[n++] = *p;
    }
    out[n] = '\0';
    free(classes);
}

/* One line break at the begin is there for those who read the HTML. */
static void add_code_block(writer *w, const html_tag *tag, text *code)
{
    char language[LANGUAGE_MAX + 1];
    size_t n = 0;
    for (size_t i = 0; i < code->n; i++) {
        if (code->p[i] != '\r')
            code->p[n++] = code->p[i];
    }
    code->n = n;
    if (n && code->p[0] == '\n')
        memmove(code->p, code->p + 1, --code->n);
    read_language(tag, language);
    writer_code_block(w, code, language);
}

static bool is_code(const char *name)
{
    return strcmp(name, "code") == 0 || strcmp(name, "kbd") == 0 || strcmp(name, "samp") == 0 ||
           strcmp(name, "tt") == 0;
}

/* Returns where to go on, or NULL: it is no such element. */
static const char *take_whole(writer *w, const html_tag *tag)
{
    if (tag->is_end)
        return NULL;
    if (html_is_hidden(tag->name))
        return html_skip_element(tag);
    bool is_block = strcmp(tag->name, "pre") == 0;
    if (!is_block && !is_code(tag->name))
        return NULL;
    text inside = {0};
    const char *rest = html_take_element(tag, !is_block, &inside);
    if (is_block)
        add_code_block(w, tag, &inside);
    else
        writer_code(w, &inside);
    w->failed = w->failed || inside.failed;
    text_free(&inside);
    return rest;
}

/* ---- the other tags ---- */

static void on_block(writer *w, const html_tag *tag)
{
    (void)tag;
    /* A paragraph that begins an item goes on in the item's line. */
    writer_break(w, w->has_marker ? 1 : 2);
}

static void on_heading(writer *w, const html_tag *tag)
{
    writer_heading(w, tag->is_end ? 0 : tag->name[1] - '0');
}

static void on_quote(writer *w, const html_tag *tag)
{
    if (tag->is_end)
        writer_close_nest(w, WRITER_QUOTE);
    else
        writer_open_nest(w, WRITER_QUOTE, 0);
}

static void on_bullets(writer *w, const html_tag *tag)
{
    if (tag->is_end)
        writer_close_nest(w, WRITER_BULLETS);
    else
        writer_open_nest(w, WRITER_BULLETS, 0);
}

static void on_numbers(writer *w, const html_tag *tag)
{
    if (tag->is_end) {
        writer_close_nest(w, WRITER_NUMBERS);
        return;
    }
    char *start = html_attribute(tag, "start");
    long first = start ? strtol(start, NULL, 10) : 1;
    writer_open_nest(w, WRITER_NUMBERS, first < 0 || first > MAX_START ? 1 : (int)first);
    free(start);
}

static void on_item(writer *w, const html_tag *tag)
{
    if (tag->is_end)
        writer_close_nest(w, WRITER_ITEM);
    else
        writer_open_item(w);
}

static void on_rule(writer *w, const html_tag *tag)
{
    (void)tag;
    writer_rule(w);
}

static void on_line_break(writer *w, const html_tag *tag)
{
    (void)tag;
    writer_line_break(w);
}

static void on_cell(writer *w, const html_tag *tag)
{
    (void)tag;
    writer_space(w);
}

static void on_bold(writer *w, const html_tag *tag)
{
    if (tag->is_end)
        writer_close_mark(w, WRITER_BOLD);
    else
        writer_open_mark(w, WRITER_BOLD);
}

static void on_italic(writer *w, const html_tag *tag)
{
    if (tag->is_end)
        writer_close_mark(w, WRITER_ITALIC);
    else
        writer_open_mark(w, WRITER_ITALIC);
}

static char *url_of(const html_tag *tag, const char *attribute)
{
    char *url = html_attribute(tag, attribute);
    return url ? html_clean_url(url) : NULL;
}

static void on_link(writer *w, const html_tag *tag)
{
    char *href = tag->is_end ? NULL : url_of(tag, "href");
    if (href)
        writer_open_link(w, href);
    else
        writer_close_link(w);
}

static void on_image(writer *w, const html_tag *tag)
{
    char *source = url_of(tag, "src");
    char *alt = html_attribute(tag, "alt");
    if (source)
        writer_image(w, source, alt ? alt : "");
    else if (alt)
        writer_text(w, alt);
    free(source);
    free(alt);
}

static const struct {
    const char *name;
    void (*fn)(writer *w, const html_tag *tag);
} handlers[] = {
    {"a", on_link},      {"b", on_bold},     {"blockquote", on_quote}, {"br", on_line_break},
    {"cite", on_italic}, {"dfn", on_italic}, {"em", on_italic},        {"h1", on_heading},
    {"h2", on_heading},  {"h3", on_heading}, {"h4", on_heading},       {"h5", on_heading},
    {"h6", on_heading},  {"hr", on_rule},    {"i", on_italic},         {"img", on_image},
    {"li", on_item},     {"ol", on_numbers}, {"strong", on_bold},      {"td", on_cell},
    {"th", on_cell},     {"ul", on_bullets}, {"var", on_italic},
};

static void on_tag(writer *w, const html_tag *tag)
{
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
        if (strcmp(tag->name, handlers[i].name) == 0) {
            handlers[i].fn(w, tag);
            return;
        }
    }
    if (html_is_block(tag->name))
        on_block(w, tag);
}

static void add_text(writer *w, const char *html, size_t n)
{
    text plain = {0};
    html_decode(html, n, &plain);
    if (plain.p)
        writer_text(w, plain.p);
    w->failed = w->failed || plain.failed;
    text_free(&plain);
}

static void add_html(writer *w, const char *html)
{
    for (const char *at = html; *at;) {
        html_tag tag;
        size_t before = html_find_tag(at, &tag);
        add_text(w, at, before);
        at += before;
        if (!*at)
            break;
        const char *rest = take_whole(w, &tag);
        if (!rest)
            on_tag(w, &tag);
        at = rest ? rest : tag.end;
    }
}

char *markdown_from_html(const char *html)
{
    writer w = {0};
    add_html(&w, html);
    return writer_take(&w);
}

char *markdown_from_article(const char *title, const char *html)
{
    writer head = {0};
    writer_heading(&head, 1);
    writer_text(&head, title);
    char *first = writer_take(&head), *body = markdown_from_html(html);
    text out = {0};
    if (first && body) {
        text_add(&out, first[0] ? first : "#");
        text_add(&out, "\n\n");
        text_add(&out, body);
    }
    free(first);
    free(body);
    if (out.failed)
        text_free(&out);
    return out.p;
}
