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

/* As RFC 6749, section 3.3: it stands in a challenge. */
static const char *scope_problem(cw_str scope)
{
    for (size_t i = 0; i < scope.n; i++) {
        char c = scope.p[i];
        if (c < 0x21 || c > 0x7e || c == '"' || c == '\\')
            return "must be printable ASCII without spaces, '\"' and '\\'";
    }
    return NULL;
}

static const char *permission_problem(cw_str permission)
{
    for (size_t i = 0; i < permission.n; i++) {
        if ((unsigned char)permission.p[i] < 0x20 || permission.p[i] == 0x7f)
            return "must not have control characters";
    }
    return NULL;
}

/* A list of at most CW_PLUGIN_MAX_NAMES names. */
static void check_names(const cw_check_place *at, const char *noun, const char *const *names,
                        const char *(*problem_of)(cw_str name))
{
    const char *member = cw_arena_printf(&at->h->arena, "%ss", noun);
    size_t n = 0;
    for (; n < CW_PLUGIN_MAX_NAMES + 1 && names[n]; n++) {
        cw_str name = cw_str_from(names[n]);
        const char *bad = cw_utf8_is_valid(name) ? problem_of(name) : NULL;
        cw_check_name(at, member ? member : noun, names[n]);
        if (bad)
            cw_check_problem(at, cw_check_subject(at->h, noun, names[n], ""), bad);
    }
    if (n > CW_PLUGIN_MAX_NAMES)
        cw_check_problem(at, member ? member : noun, "more than 16");
}

void cw_check_scopes(const cw_check_place *at, const char *const *scopes)
{
    check_names(at, "scope", scopes, scope_problem);
}

void cw_check_permissions(const cw_check_place *at, const char *const *permissions)
{
    check_names(at, "permission", permissions, permission_problem);
}

void cw_check_scope(const cw_check_place *at, cw_str scope)
{
    const char *copy = cw_arena_dup(&at->h->arena, scope.p, scope.n);
    const char *bad = scope.n ? scope_problem(scope) : "must not be empty";
    if (bad)
        cw_check_problem(at, cw_check_subject(at->h, "scope", copy ? copy : "?", ""), bad);
}

void cw_check_level(const cw_check_place *at, const char *member, cw_str level)
{
    if (!cw_str_is(level, "none") && !cw_str_is(level, "optional") && !cw_str_is(level, "required"))
        cw_check_problem(at, member, "must be \"none\", \"optional\" or \"required\"");
}

void cw_check_visibility(const cw_check_place *at, const char *visibility, bool requires_login)
{
    bool hides = visibility && strcmp(visibility, "hide") == 0;
    if (hides && !requires_login)
        cw_check_problem(at, "visibility", "\"hide\" needs scopes or the level \"required\"");
    else if (visibility && !hides && strcmp(visibility, "challenge") != 0)
        cw_check_problem(at, "visibility", "must be \"challenge\" or \"hide\"");
}

bool cw_check_requires_login(cw_str level, bool has_scopes)
{
    if (!level.p)
        return has_scopes;
    return !cw_str_is(level, "none") && !cw_str_is(level, "optional");
}
