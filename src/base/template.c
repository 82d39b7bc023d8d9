/* SPDX-License-Identifier: GPL-2.0-or-later */
/* template.c - cuts URI templates (RFC 6570, level 1) into their parts. */
#include "base/template.h"

static bool has_char(cw_str text, char c)
{
    return text.n && memchr(text.p, c, text.n);
}

bool cw_template_next(cw_str *rest, cw_template_part *ret)
{
    cw_str behind;
    ret->literal = cw_str_cut(*rest, '{', &behind);
    ret->name = (cw_str){NULL, 0};
    if (has_char(ret->literal, '}'))
        return false;
    if (!behind.p) {
        *rest = CW_STR("");
        return true;
    }
    ret->name = cw_str_cut(behind, '}', rest);
    return rest->p && !has_char(ret->name, '{');
}

bool cw_template_has(cw_str text, cw_str name)
{
    cw_template_part part;
    while (text.n && cw_template_next(&text, &part)) {
        if (part.name.p && cw_str_eq(part.name, name))
            return true;
    }
    return false;
}
