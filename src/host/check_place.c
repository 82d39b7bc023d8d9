/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check_place.c - a problem with its place, and checks that all declarations share. */
#include "base/utf8.h"
#include "host/check_int.h"

void cw_check_problem(const cw_check_place *at, const char *member, const char *text)
{
    cw_buf *out = &at->h->problems;
    cw_buf_printf(out, "%s: ", at->plugin);
    if (at->subject[0])
        cw_buf_printf(out, "%s: ", at->subject);
    cw_buf_printf(out, "%s%s: %s\n", at->part, member, text);
}

const char *cw_check_shown(cw_hosted *h, const char *text)
{
    cw_str s = cw_str_from(text);
    s.n = cw_utf8_cut(s, 100);
    char *copy = cw_arena_dup(&h->arena, s.p, s.n);
    if (!copy) {
        h->problems.code = CW_NOMEM;
        return "?";
    }
    for (size_t i = 0; i < s.n;) {
        unsigned len = cw_utf8_len(copy + i, s.n - i);
        if (len == 0 || (unsigned char)copy[i] < 0x20 || copy[i] == 0x7f)
            copy[i] = '?';
        i += len ? len : 1;
    }
    return copy;
}

const char *cw_check_subject(cw_hosted *h, const char *kind, const char *name, const char *end)
{
    const char *text = cw_arena_printf(&h->arena, "%s '%s'%s", kind, cw_check_shown(h, name), end);
    if (text)
        return text;
    h->problems.code = CW_NOMEM;
    return kind;
}

void cw_check_text(const cw_check_place *at, const char *member, const char *text)
{
    if (text && !cw_utf8_is_valid(cw_str_from(text)))
        cw_check_problem(at, member, "not UTF-8");
}

void cw_check_name(const cw_check_place *at, const char *member, const char *text)
{
    if (!text || !text[0])
        cw_check_problem(at, member, "must not be empty");
    else
        cw_check_text(at, member, text);
}

const cw_json *cw_check_json(const cw_check_place *at, const char *member, const char *text)
{
    const cw_json *root;
    cw_err err;
    if (!text)
        return NULL;
    cw_code rc = cw_json_read(cw_str_from(text), NULL, &at->h->arena, &root, NULL, &err);
    if (!rc)
        return root;
    if (rc == CW_NOMEM)
        at->h->problems.code = CW_NOMEM;
    else
        cw_check_problem(at, member, err.msg);
    return NULL;
}

const cw_json *cw_check_object(const cw_check_place *at, const char *member, const char *text)
{
    const cw_json *root = cw_check_json(at, member, text);
    if (!root || cw_json_is(root, CW_JSON_OBJECT))
        return root;
    cw_check_problem(at, member, "must be an object");
    return NULL;
}

void cw_check_names(const cw_check_place *at, const char *member, const char *const *names)
{
    size_t n = 0;
    for (; n < CW_PLUGIN_MAX_NAMES + 1 && names[n]; n++)
        cw_check_name(at, member, names[n]);
    if (n > CW_PLUGIN_MAX_NAMES)
        cw_check_problem(at, member, "more than 16");
}

void cw_check_level(const cw_check_place *at, const char *member, cw_str level)
{
    if (!cw_str_is(level, "none") && !cw_str_is(level, "optional") && !cw_str_is(level, "required"))
        cw_check_problem(at, member, "must be \"none\", \"optional\" or \"required\"");
}

void cw_check_visibility(const cw_check_place *at, const char *visibility)
{
    if (visibility && strcmp(visibility, "challenge") != 0 && strcmp(visibility, "hide") != 0)
        cw_check_problem(at, "visibility", "must be \"challenge\" or \"hide\"");
}
