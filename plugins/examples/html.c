/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "html.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ENTITY_MAX 10

/* ---- tags ---- */

/* Behind the '>' that ends a tag; a value in quotes, which come behind '=', may hold one. */
static const char *end_of_tag(const char *p)
{
    bool is_value = false;
    for (; *p && *p != '>'; p++) {
        if (is_value && (*p == '"' || *p == '\'')) {
            p = strchr(p + 1, *p);
            if (!p)
                return NULL;
            is_value = false;
        } else if (!isspace((unsigned char)*p)) {
            is_value = *p == '=';
        }
    }
    return *p ? p + 1 : NULL;
}

static const char *end_of_comment(const char *p)
{
    if (strncmp(p, "<!--", 4) != 0) {
        const char *end = strchr(p, '>');
        return end ? end + 1 : NULL;
    }
    const char *end = strstr(p, "-->"); /* <!--> is a whole one */
    return end ? end + 3 : NULL;
}

static bool read_tag(const char *p, html_tag *ret)
{
    *ret = (html_tag){0};
    if (p[1] == '!' || p[1] == '?') {
        const char *end = end_of_comment(p);
        ret->attributes = ret->end = end ? end : p + strlen(p);
        return true;
    }
    ret->is_end = p[1] == '/';
    const char *name = p + 1 + ret->is_end;
    if (!isalpha((unsigned char)*name))
        return false;
    size_t n = 0;
    while (isalnum((unsigned char)name[n]) || name[n] == '-')
        n++;
    for (size_t i = 0; i < n && n <= HTML_NAME_MAX; i++)
        ret->name[i] = (char)tolower((unsigned char)name[i]);
    ret->attributes = name + n;
    const char *end = end_of_tag(name + n);
    ret->end = end ? end : name + strlen(name);
    return true;
}

size_t html_find_tag(const char *html, html_tag *ret)
{
    const char *p = html;
    for (p = strchr(p, '<'); p; p = strchr(p + 1, '<')) {
        if (read_tag(p, ret))
            return (size_t)(p - html);
    }
    const char *end = html + strlen(html);
    *ret = (html_tag){.attributes = end, .end = end};
    return (size_t)(end - html);
}

/* ---- elements ---- */

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++) {
        if (strcmp(name, *names) == 0)
            return true;
    }
    return false;
}

bool html_is_hidden(const char *name)
{
    static const char *const hidden[] = {"script", "style", "template", "noscript",
                                         "iframe", "title", "svg",      NULL};
    return is_one_of(name, hidden);
}

bool html_is_block(const char *name)
{
    static const char *const blocks[] = {
        "address", "article", "aside", "blockquote", "caption", "center",   "dd",         "details",
        "div",     "dl",      "dt",    "figure",     "footer",  "form",     "h1",         "h2",
        "h3",      "h4",      "h5",    "h6",         "header",  "hr",       "li",         "main",
        "nav",     "ol",      "p",     "pre",        "section", "fieldset", "figcaption", "summary",
        "table",   "tr",      "ul",    NULL};
    return is_one_of(name, blocks);
}

/* Their contents are no HTML, and end with the first end tag, whatever stands before it. */
static const char *end_of_raw(const html_tag *tag)
{
    size_t n = strlen(tag->name);
    for (const char *p = tag->end; (p = strchr(p, '<')); p++) {
        html_tag end;
        bool is_end = p[1] == '/' && strncasecmp(p + 2, tag->name, n) == 0 &&
                      !isalnum((unsigned char)p[2 + n]) && p[2 + n] != '-';
        if (is_end && read_tag(p, &end))
            return end.end;
    }
    return tag->end + strlen(tag->end);
}

const char *html_skip_element(const html_tag *tag)
{
    static const char *const raw[] = {"script", "style", "iframe", "title", NULL};
    if (is_one_of(tag->name, raw))
        return end_of_raw(tag);
    const char *at = tag->end;
    for (size_t depth = 1; *at && depth > 0;) {
        html_tag next;
        (void)html_find_tag(at, &next);
        if (strcmp(next.name, tag->name) == 0)
            depth += next.is_end ? (size_t)-1 : 1;
        at = next.end;
    }
    return at;
}

/* Text has lines where readers see some. */
static void add_line_end(const html_tag *tag, text *out)
{
    bool is_break = strcmp(tag->name, "br") == 0;
    bool ends_line =
        tag->is_end && html_is_block(tag->name) && out->n && out->p[out->n - 1] != '\n';
    if (is_break || ends_line)
        text_add_char(out, '\n');
}

const char *html_take_element(const html_tag *tag, bool is_inline, text *out)
{
    const char *at = tag->end;
    while (*at) {
        html_tag next;
        size_t before = html_find_tag(at, &next);
        html_decode(at, before, out);
        at += before;
        if (!*at || (is_inline && html_is_block(next.name)))
            break;
        if (next.is_end && strcmp(next.name, tag->name) == 0)
            return next.end;
        bool is_hidden = !next.is_end && html_is_hidden(next.name);
        add_line_end(&next, out);
        at = is_hidden ? html_skip_element(&next) : next.end;
    }
    return at;
}

/* ---- attributes ---- */

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && isspace((unsigned char)*p))
        p++;
    return p;
}

static const char *end_of_value(const char *p, const char *end, const char **ret_begin)
{
    char quote = p < end && (*p == '"' || *p == '\'') ? *p : '\0';
    *ret_begin = quote ? ++p : p;
    while (p < end && (quote ? *p != quote : !isspace((unsigned char)*p) && *p != '>'))
        p++;
    return p;
}

static char *decoded(const char *p, const char *end)
{
    text out = {0};
    text_add(&out, "");
    html_decode(p, (size_t)(end - p), &out);
    if (out.failed)
        text_free(&out);
    return out.p;
}

char *html_attribute(const html_tag *tag, const char *name)
{
    size_t wanted = strlen(name);
    const char *p = tag->attributes, *end = tag->end;
    while ((p = skip_space(p, end)) < end && *p != '>') {
        const char *key = p++; /* even a '=' that stands alone */
        if (*key == '/')
            continue;
        while (p < end && !isspace((unsigned char)*p) && !strchr("=>/", *p))
            p++;
        size_t n = (size_t)(p - key);
        const char *after = skip_space(p, end), *value;
        if (after == end || *after != '=')
            continue;
        const char *value_end = end_of_value(skip_space(after + 1, end), end, &value);
        if (n == wanted && strncasecmp(key, name, n) == 0)
            return decoded(value, value_end);
        p = value_end + (value_end < end && (*value_end == '"' || *value_end == '\''));
    }
    return NULL;
}

/* ---- addresses ---- */

/* A click on one of these runs a script of the author. */
static bool is_script(const char *url)
{
    static const char *const schemes[] = {"javascript:", "vbscript:", "data:"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (strncasecmp(url, schemes[i], strlen(schemes[i])) == 0)
            return true;
    }
    return false;
}

/* Browsers take line breaks and tabs out wherever they are, spaces and controls at both ends. */
char *html_clean_url(char *url)
{
    text out = {0};
    size_t n = strlen(url), begin = 0;
    while (n && (unsigned char)url[n - 1] <= ' ')
        n--;
    while (begin < n && (unsigned char)url[begin] <= ' ')
        begin++;
    text_add(&out, "");
    for (size_t i = begin; i < n; i++) {
        unsigned char c = (unsigned char)url[i];
        if (c == '\t' || c == '\n' || c == '\r')
            continue;
        if (c <= ' ' || c == 0x7F || c == '<' || c == '>')
            text_add_format(&out, "%%%02X", c);
        else
            text_add_char(&out, (char)c);
    }
    free(url);
    if (out.failed || is_script(out.p))
        text_free(&out);
    return out.p;
}

/* ---- entities ---- */

/* Numbers between 128 and 159 mean what they meant to Windows. */
static unsigned long from_windows(unsigned long code)
{
    static const unsigned short codes[32] = {
        0x20AC, 0xFFFD, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
        0x2039, 0x0152, 0xFFFD, 0x017D, 0xFFFD, 0xFFFD, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
        0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0xFFFD, 0x017E, 0x0178};
    return codes[code - 0x80];
}

static unsigned long numbered(unsigned long code)
{
    if (code >= 0x80 && code <= 0x9F)
        return from_windows(code);
    if (code < ' ' && !(code && isspace((int)code)))
        return 0xFFFD;
    return code == 0x7F ? 0xFFFD : code;
}

/* `p` is behind the '&', `n` bytes are before the ';'. 0: no entity that we know. */
static unsigned long entity(const char *p, size_t n)
{
    if (n < 2 || p[0] != '#')
        return html_entity(p, n);
    bool is_hex = p[1] == 'x' || p[1] == 'X';
    const char *digits = p + 1 + is_hex;
    if (!isxdigit((unsigned char)*digits))
        return 0;
    char *end;
    unsigned long code = strtoul(digits, &end, is_hex ? 16 : 10);
    return end == p + n ? numbered(code) : 0;
}

bool html_is_entity(const char *p)
{
    size_t n = 1 + (p[1] == '#');
    size_t begin = n;
    while (isalnum((unsigned char)p[n]))
        n++;
    return n > begin && p[n] == ';';
}

void html_decode(const char *p, size_t n, text *out)
{
    const char *end = p + n;
    while (p < end) {
        const char *amp = memchr(p, '&', (size_t)(end - p));
        text_add_bytes(out, p, (size_t)((amp ? amp : end) - p));
        if (!amp)
            return;
        size_t room = (size_t)(end - amp) - 1;
        const char *semicolon = memchr(amp + 1, ';', room < ENTITY_MAX ? room : ENTITY_MAX);
        unsigned long code = semicolon ? entity(amp + 1, (size_t)(semicolon - amp) - 1) : 0;
        if (code)
            text_add_code(out, code == 0xA0 ? ' ' : code);
        else
            text_add_char(out, '&');
        p = code ? semicolon + 1 : amp + 1;
    }
}
