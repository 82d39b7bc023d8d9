/* SPDX-License-Identifier: GPL-2.0-or-later */
/* registration.c - name and redirect URIs in the metadata of a client. */
#include "access/oauth/registration.h"

#include "base/utf8.h"

cw_str cw_registration_name(const cw_json *metadata, cw_arena *arena)
{
    const cw_json *member = cw_json_get(metadata, CW_STR("client_name"));
    cw_str given =
        cw_str_trim(cw_json_is(member, CW_JSON_STRING) ? cw_json_text(member) : CW_STR(""));
    char *name = cw_arena_alloc(arena, given.n);
    size_t n = 0, characters = 0;
    if (!name)
        return (cw_str){NULL, 0};
    for (size_t i = 0; i < given.n && characters < CW_OAUTH_MAX_CLIENT_NAME;) {
        uint32_t cp;
        unsigned len = cw_utf8_decode(given.p + i, given.n - i, &cp);
        if (!len)
            break;
        if (!cw_utf8_is_control(cp)) {
            memcpy(name + n, given.p + i, len);
            n += len;
            characters++;
        }
        i += len;
    }
    return cw_str_trim(cw_str_make(name, n));
}

cw_code cw_registration_redirects(const cw_json *metadata, const cw_redirect_rules *rules,
                                  cw_arena *arena, cw_oauth_client *ret, const char **ret_problem,
                                  cw_err *err)
{
    const cw_json *list = cw_json_get(metadata, CW_STR("redirect_uris"));
    if (!cw_json_is(list, CW_JSON_ARRAY) || !cw_json_count(list) ||
        cw_json_count(list) > CW_REDIRECT_LIST)
        return cw_fail(err, CW_PARAMS, "redirect_uris must be a list of 1 to %u URIs",
                       CW_REDIRECT_LIST);
    cw_str *uris = cw_arena_calloc(arena, cw_json_count(list), sizeof *uris);
    if (!uris)
        return cw_arena_fail(arena, err);
    ret->redirect_uris = uris;
    ret->n_redirect_uris = 0;
    *ret_problem = NULL;
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v)) {
        cw_redirect parts;
        if (!cw_json_is(v, CW_JSON_STRING))
            return cw_fail(err, CW_PARAMS, "redirect_uris must be a list of texts");
        const char *problem = cw_redirect_parse(cw_json_text(v), rules, &parts);
        if (!problem)
            uris[ret->n_redirect_uris++] = cw_json_text(v);
        else if (!*ret_problem)
            *ret_problem = problem;
    }
    return CW_OK;
}

bool cw_registration_lists(const cw_json *metadata, cw_str member, cw_str text)
{
    const cw_json *list = cw_json_get(metadata, member);
    if (!cw_json_is(list, CW_JSON_ARRAY))
        return false;
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v)) {
        if (cw_json_is(v, CW_JSON_STRING) && cw_str_eq(cw_json_text(v), text))
            return true;
    }
    return false;
}
