/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/uri.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_unreserved(char c)
{
    return is_letter(c) || is_digit(c) || (c != '\0' && strchr("-._~", c));
}

/* Without '%', which needs two digits behind it. */
static bool is_uri_char(char c)
{
    return is_unreserved(c) || (c != '\0' && strchr(":/?#[]@!$&'()*+,;=", c));
}

static const char *find_bad_char(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '%') {
            if (text.n - i < 3 || !is_hex(text.p[i + 1]) || !is_hex(text.p[i + 2]))
                return "'%' needs two hexadecimal digits behind it";
        } else if (!is_uri_char(text.p[i])) {
            return "has a character that must be written as %XX";
        }
    }
    return NULL;
}

/* Whether it begins with "letters:". */
static bool has_scheme(cw_str text)
{
    size_t i = 0;
    if (text.n == 0 || !is_letter(text.p[0]))
        return false;
    while (i < text.n && (is_letter(text.p[i]) || is_digit(text.p[i]) ||
                          (text.p[i] != '\0' && strchr("+-.", text.p[i]))))
        i++;
    return i < text.n && text.p[i] == ':';
}

static bool is_name(cw_str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!is_letter(name.p[i]) && !is_digit(name.p[i]) && name.p[i] != '_')
            return false;
    return name.n > 0;
}

const char *cw_uri_problem(cw_str uri)
{
    if (!has_scheme(uri))
        return "must begin with a scheme, as in \"docs://readme\"";
    return find_bad_char(uri);
}

bool cw_template_next(cw_str *rest, cw_template_part *ret)
{
    cw_str behind;
    if (rest->n == 0)
        return false;
    ret->literal = cw_str_cut(*rest, '{', &behind);
    ret->name = (cw_str){0};
    if (behind.p)
        ret->name = cw_str_cut(behind, '}', &behind);
    *rest = behind.p ? behind : CW_STR("");
    return true;
}

bool cw_template_has(cw_str text, cw_str name)
{
    cw_template_part part;
    while (cw_template_next(&text, &part))
        if (part.name.p && cw_str_eq(part.name, name))
            return true;
    return false;
}

/* Whether each '{' has its '}' before the next one. */
static bool has_pairs(cw_str text)
{
    bool is_open = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if ((c == '{' && is_open) || (c == '}' && !is_open))
            return false;
        if (c == '{' || c == '}')
            is_open = c == '{';
    }
    return !is_open;
}

const char *cw_template_problem(cw_str text)
{
    cw_str rest = text;
    cw_template_part part;
    cw_str first = cw_str_cut(text, '{', &rest);
    if (!has_scheme(first))
        return "must begin with a scheme, as in \"docs://page/{name}\"";
    if (!has_pairs(text))
        return "'{' and '}' do not match";
    if (!rest.p)
        return "has no {variable}; use CW_RESOURCE and .uri";
    rest = text;
    while (cw_template_next(&rest, &part)) {
        const char *bad = find_bad_char(part.literal);
        if (bad)
            return bad;
        if (!part.name.p)
            break;
        if (!is_name(part.name))
            return "only {name} is possible, of letters, digits and '_'";
        if (part.literal.n == 0)
            return "two variables side by side cannot be told apart";
        if (cw_template_has(rest, part.name))
            return "the same variable is there twice";
    }
    return NULL;
}

void cw_template_add_value(cw_buf *out, cw_str value)
{
    for (size_t i = 0; i < value.n; i++) {
        if (is_unreserved(value.p[i]))
            cw_buf_add_char(out, value.p[i]);
        else
            cw_buf_printf(out, "%%%02X", (unsigned)(unsigned char)value.p[i]);
    }
}
