/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "html.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ENTITY_MAX 10

/* ---- tags ---- */

/* Behind the '>' that ends a tag; quotes may hold one. */
static const char *end_of_tag(const char *p)
{
    char quote = '\0';
    for (; *p; p++) {
        if (quote)
            quote = *p == quote ? '\0' : quote;
        else if (*p == '>')
            return p + 1;
        else if (*p == '"' || *p == '\'')
            quote = *p;
    }
    return p;
}

static const char *end_of_comment(const char *p)
{
    const char *end = strncmp(p, "<!--", 4) == 0 ? strstr(p + 4, "-->") : NULL;
    return end ? end + 3 : end_of_tag(p);
}

static bool read_tag(const char *p, html_tag *ret)
{
    *ret = (html_tag){0};
    if (p[1] == '!' || p[1] == '?') {
        ret->attributes = ret->end = end_of_comment(p);
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
    ret->end = end_of_tag(name + n);
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

bool html_is_hidden(const char *name)
{
    static const char *const hidden[] = {"script", "style", "template", "head", "noscript"};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        if (strcmp(name, hidden[i]) == 0)
            return true;
    }
    return false;
}

const char *html_take_element(const html_tag *tag, text *out)
{
    const char *at = tag->end;
    while (*at) {
        html_tag next;
        size_t before = html_find_tag(at, &next);
        if (out)
            html_decode(at, before, out);
        at += before;
        if (!*at)
            break;
        at = next.end;
        if (next.is_end && strcmp(next.name, tag->name) == 0)
            break;
    }
    return at;
}

/* ---- attributes ---- */

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && (isspace((unsigned char)*p) || *p == '/'))
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

char *html_attribute(const html_tag *tag, const char *name)
{
    size_t wanted = strlen(name);
    const char *p = tag->attributes, *end = tag->end;
    while ((p = skip_space(p, end)) < end && *p != '>') {
        const char *key = p, *value = NULL;
        while (p < end && !isspace((unsigned char)*p) && !strchr("=>/", *p))
            p++;
        size_t n = (size_t)(p - key);
        const char *after = skip_space(p, end);
        const char *value_end = p;
        if (after < end && *after == '=')
            p = value_end = end_of_value(skip_space(after + 1, end), end, &value);
        else if (n == 0)
            p++; /* a stray '=' or the like */
        if (value && n == wanted && strncasecmp(key, name, n) == 0) {
            text out = {0};
            text_add(&out, "");
            html_decode(value, (size_t)(value_end - value), &out);
            return out.p;
        }
        if (value && p < end && (*p == '"' || *p == '\''))
            p++;
    }
    return NULL;
}

/* ---- entities ---- */

static unsigned long named(const char *p, size_t n)
{
    static const struct {
        const char *name;
        unsigned long code;
    } names[] = {{"amp", '&'},      {"lt", '<'},       {"gt", '>'},        {"quot", '"'},
                 {"apos", '\''},    {"nbsp", ' '},     {"hellip", 0x2026}, {"ndash", 0x2013},
                 {"mdash", 0x2014}, {"lsquo", 0x2018}, {"rsquo", 0x2019},  {"ldquo", 0x201C},
                 {"rdquo", 0x201D}, {"copy", 0xA9},    {"reg", 0xAE},      {"euro", 0x20AC},
                 {"auml", 0xE4},    {"ouml", 0xF6},    {"uuml", 0xFC},     {"szlig", 0xDF},
                 {"eacute", 0xE9},  {"egrave", 0xE8},  {"agrave", 0xE0},   {"ccedil", 0xE7},
                 {"times", 0xD7},   {"middot", 0xB7},  {"bull", 0x2022},   {"deg", 0xB0}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].name) == n && memcmp(p, names[i].name, n) == 0)
            return names[i].code;
    }
    return 0;
}

/* `p` is behind the '&', `n` bytes are before the ';'. 0: no entity that we know. */
static unsigned long entity(const char *p, size_t n)
{
    if (n < 2 || p[0] != '#')
        return named(p, n);
    bool is_hex = p[1] == 'x' || p[1] == 'X';
    const char *digits = p + 1 + is_hex;
    if (!isxdigit((unsigned char)*digits))
        return 0;
    char *end;
    unsigned long code = strtoul(digits, &end, is_hex ? 16 : 10);
    if (end != p + n)
        return 0;
    if (code == 0xA0)
        return ' ';
    return code ? code : 0xFFFD;
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
            text_add_code(out, code);
        else
            text_add_char(out, '&');
        p = code ? semicolon + 1 : amp + 1;
    }
}
