/* SPDX-License-Identifier: GPL-2.0-or-later */
/* uri.c - checks URIs and URI templates of a plugin. */
#include "host/uri.h"

#include "base/hex.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
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
            if (text.n - i < 3 || cw_hex_value(text.p[i + 1]) < 0 ||
                cw_hex_value(text.p[i + 2]) < 0)
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

const char *cw_template_problem(cw_str text)
{
    cw_template_part part;
    cw_str rest = text;
    bool has_variable = false;
    if (!has_scheme(text))
        return "must begin with a scheme, as in \"docs://page/{name}\"";
    while (rest.n) {
        if (!cw_template_next(&rest, &part))
            return "'{' and '}' do not match";
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
        has_variable = true;
    }
    return has_variable ? NULL : "has no {variable}; use CW_RESOURCE and .uri";
}
