/* SPDX-License-Identifier: GPL-2.0-or-later */
/* squeeze.c - removes comments and white space from scripts and stylesheets. */
#include "embed/squeeze.h"

#include <stdbool.h>
#include <string.h>

#define TEMPLATES_MAX 8

/* Reads at `from` and writes at `to`, which is never beyond it. */
typedef struct squeezer {
    char *text;
    size_t n, from, to;
    int braces[TEMPLATES_MAX]; /* open ones in the expression of each template */
    int n_templates;
} squeezer;

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Of names, numbers and keywords: two of them need a space between. */
static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '#' || (c & 0x80);
}

static char peek(const squeezer *s, size_t ahead)
{
    return s->from + ahead < s->n ? s->text[s->from + ahead] : 0;
}

static char last(const squeezer *s)
{
    return s->to ? s->text[s->to - 1] : ';';
}

static void keep(squeezer *s)
{
    s->text[s->to++] = s->text[s->from++];
}

static bool skip_comment(squeezer *s)
{
    const char *end = peek(s, 1) == '/' ? "\n" : "*/";
    char *found = memmem(s->text + s->from + 2, s->n - s->from - 2, end, strlen(end));
    if (!found)
        return false;
    s->from = (size_t)(found - s->text) + (*end == '*' ? 2 : 0);
    return true;
}

/* A text up to its quote, or a regular expression up to its slash. */
static bool keep_quoted(squeezer *s)
{
    char quote = peek(s, 0);
    bool in_class = false;
    keep(s);
    while (s->from < s->n) {
        char c = peek(s, 0);
        if (c == '\\')
            keep(s);
        else if (quote == '/' && (c == '[' || c == ']'))
            in_class = c == '[';
        keep(s);
        if (c == quote && !in_class)
            return true;
    }
    return false;
}

/* The text of a template up to its end, or up to "${". */
static bool keep_template(squeezer *s)
{
    while (s->from < s->n) {
        char c = peek(s, 0);
        if (c == '\\')
            keep(s);
        keep(s);
        if (c == '`')
            return true;
        if (c == '$' && peek(s, 0) == '{') {
            keep(s);
            if (s->n_templates == TEMPLATES_MAX)
                return false;
            s->braces[s->n_templates++] = 0;
            return true;
        }
    }
    return false;
}

/* A brace in the expression of a template, or one elsewhere. */
static bool keep_brace(squeezer *s)
{
    bool is_open = peek(s, 0) == '{';
    int *braces = s->n_templates ? &s->braces[s->n_templates - 1] : NULL;
    keep(s);
    if (!braces)
        return true;
    if (is_open || (*braces)-- > 0) {
        *braces += is_open;
        return true;
    }
    s->n_templates--;
    return keep_template(s);
}

/* Behind a value a slash divides. */
static bool starts_regex(const squeezer *s)
{
    char before = last(s);
    return !is_word(before) && before != ')' && before != ']' && before != '}' && before != '"';
}

/* A comma before a bracket, and a semicolon before a brace. */
static void drop_last_separator(squeezer *s, char c)
{
    bool is_comma = last(s) == ',' && (c == ')' || c == ']' || c == '}');
    if (s->to && (is_comma || (last(s) == ';' && c == '}')))
        s->to--;
}

static bool step_script(squeezer *s)
{
    char c = peek(s, 0), next = peek(s, 1);
    if (is_space(c)) {
        while (is_space(peek(s, 0)))
            s->from++;
        c = peek(s, 0);
        bool joins = is_word(last(s)) && is_word(c);
        bool is_sign = (c == '+' || c == '-') && last(s) == c;
        if (joins || is_sign)
            s->text[s->to++] = ' ';
        return true;
    }
    if (c == '/' && (next == '/' || next == '*'))
        return skip_comment(s);
    if (c == '"' || c == '\'' || (c == '/' && starts_regex(s)))
        return keep_quoted(s);
    if (c == '{' || c == '}') {
        drop_last_separator(s, c);
        return keep_brace(s);
    }
    drop_last_separator(s, c);
    keep(s);
    return c != '`' || keep_template(s);
}

static bool step_style(squeezer *s)
{
    char c = peek(s, 0);
    if (c == '/' && peek(s, 1) == '*')
        return skip_comment(s);
    if (c == '"')
        return keep_quoted(s);
    if (!is_space(c)) {
        if (c == '}' && last(s) == ';')
            s->to--;
        keep(s);
        return true;
    }
    while (is_space(peek(s, 0)))
        s->from++;
    if (!strchr("{};:,>", last(s)) && !strchr("{};,>", peek(s, 0)))
        s->text[s->to++] = ' ';
    return true;
}

static size_t squeeze(char *text, size_t n, bool (*step)(squeezer *))
{
    squeezer s = {.n = n};
    s.text = text;
    while (s.from < s.n) {
        if (!step(&s))
            return 0;
    }
    return s.n_templates ? 0 : s.to;
}

size_t cw_squeeze_script(char *text, size_t n)
{
    return squeeze(text, n, step_script);
}

size_t cw_squeeze_style(char *text, size_t n)
{
    return squeeze(text, n, step_style);
}
