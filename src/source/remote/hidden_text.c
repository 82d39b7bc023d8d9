/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hidden_text.c - text that models read, and that is invisible to operators.
 *
 * The descriptions of a service are shown to models as they are. An operator must be
 * able to see all of it. So a method is left out if a text has characters that are not
 * shown, or that change how others look. Joiners, marks of direction and variation
 * selectors belong to many languages and to emoji. They count only if several stand in
 * a row, which has no meaning but can hide a message.
 */
#include "base/hex.h"
#include "base/utf8.h"
#include "source/remote/remote_int.h"

static bool is_between(uint32_t cp, uint32_t first, uint32_t last)
{
    return cp >= first && cp <= last;
}

static bool is_hidden(uint32_t cp)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x00, 0x08},       {0x0b, 0x0c},     {0x0e, 0x1f},     {0x7f, 0x9f}, /* controls */
        {0x115f, 0x1160},   {0x180e, 0x180e}, {0x200b, 0x200b},               /* no width */
        {0x2028, 0x202e},                                                     /* lines, direction */
        {0x2060, 0x206f},                                                     /* the same, newer */
        {0x3164, 0x3164},   {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff9, 0xfffb},
        {0xe0000, 0xe007f}, /* tags: a whole alphabet that is not shown */
    };
    for (size_t i = 0; i < CW_COUNT(ranges); i++) {
        if (is_between(cp, ranges[i].first, ranges[i].last))
            return true;
    }
    return false;
}

/* Whether a character is not shown, but changes visible ones beside it. */
static bool is_helper(uint32_t cp)
{
    return is_between(cp, 0x200c, 0x200f) || is_between(cp, 0xfe00, 0xfe0f) ||
           is_between(cp, 0xe0100, 0xe01ef) || cp == 0x61c || cp == 0x34f;
}

/* "\u12ab" at the begin; false: something else. */
static bool read_unit(cw_str s, uint32_t *ret)
{
    uint32_t unit = 0;
    if (s.n < 6 || s.p[0] != '\\' || s.p[1] != 'u')
        return false;
    for (size_t i = 2; i < 6; i++) {
        int digit = cw_hex_value(s.p[i]);
        if (digit < 0)
            return false;
        unit = unit << 4 | (uint32_t)digit;
    }
    *ret = unit;
    return true;
}

/* The length and the character of an escape; 0: none. JSON text has the escapes of its source. */
static unsigned escaped(cw_str rest, uint32_t *ret_cp)
{
    uint32_t high, low;
    *ret_cp = ' ';
    if (rest.n < 2 || rest.p[0] != '\\')
        return 0;
    if (rest.p[1] == 'b' || rest.p[1] == 'f')
        *ret_cp = 0;
    if (!read_unit(rest, &high))
        return 2;
    *ret_cp = high;
    if (!is_between(high, 0xd800, 0xdbff) ||
        !read_unit(cw_str_make(rest.p + 6, rest.n - 6), &low) || !is_between(low, 0xdc00, 0xdfff))
        return 6;
    *ret_cp = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    return 12;
}

/* The first such character; false: none. */
static bool find_hidden(cw_str s, bool is_json, uint32_t *ret_cp)
{
    unsigned row = 0;
    for (size_t i = 0; i < s.n;) {
        uint32_t cp = 0;
        unsigned n = is_json ? escaped(cw_str_make(s.p + i, s.n - i), &cp) : 0;
        if (n == 0)
            n = cw_utf8_decode(s.p + i, s.n - i, &cp);
        row = is_helper(cp) ? row + 1 : 0;
        *ret_cp = cp;
        /* An emoji may have a selector and a joiner. */
        if (n == 0 || is_hidden(cp) || row > 2)
            return true;
        i += n;
    }
    return false;
}

static cw_code check(cw_str text, bool is_json, const char *what, cw_err *err)
{
    uint32_t cp;
    if (!find_hidden(text, is_json, &cp))
        return CW_OK;
    if (cp < ' ')
        return cw_fail(err, CW_PARAMS, "%s: has a control character", what);
    return cw_fail(err, CW_PARAMS, "%s: has U+%04X, which is not shown to people", what,
                   (unsigned)cp);
}

static cw_code check_param(const cw_param *param, cw_err *err)
{
    cw_code rc = check(param->name, false, "the name of a parameter", err);
    if (!rc)
        rc = check(param->description, false, "the description of a parameter", err);
    return rc ? rc : check(param->schema, true, "the schema of a parameter", err);
}

cw_code cw_remote_check_hidden(const cw_method *m, cw_err *err)
{
    cw_code rc = check(m->id, false, "the name", err);
    if (!rc)
        rc = check(m->usage, false, "the description", err);
    for (size_t i = 0; i < m->n_params && !rc; i++)
        rc = check_param(&m->params[i], err);
    if (!rc && m->mark)
        rc = check(m->mark->title, false, "the title", err);
    if (!rc && m->mark)
        rc = check(m->mark->annotations, true, "the annotations", err);
    if (!rc && m->mark)
        rc = check(m->mark->more, true, "its _meta", err);
    if (!rc && m->exposed)
        rc = check(cw_json_span(m->exposed->json), true, "its entry in the list", err);
    if (!rc)
        rc = check(m->input, true, "the schema of the arguments", err);
    return rc ? rc : check(m->output, true, "the schema of the result", err);
}
