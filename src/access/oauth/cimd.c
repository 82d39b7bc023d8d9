/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cimd.c - ids that are URLs, and the documents behind them. */
#include "access/oauth/cimd.h"

#include "access/oauth/registration.h"

const char *cw_cimd_check_id(cw_str id, cw_str *ret_host)
{
    cw_redirect url;
    const char *problem = cw_redirect_parse_https(id, &url);
    if (problem)
        return problem;
    if (url.rest.n < 2 || url.rest.p[0] != '/' || url.rest.p[1] == '?')
        return "it has no path";
    if (ret_host)
        *ret_host = url.host;
    return NULL;
}

/* A document is public, so a secret in it is none. */
static bool has_secret_member(const cw_json *document)
{
    for (const cw_json *k = cw_json_first(document); k; k = cw_json_next_key(k)) {
        if (cw_str_starts(cw_json_text(k), CW_STR("client_secret")))
            return true;
    }
    return false;
}

static bool has_private_key(const cw_json *document)
{
    static const char *const members[] = {"d", "p", "q", "dp", "dq", "qi", "oth", "k"};
    const cw_json *jwks = cw_json_get(document, CW_STR("jwks"));
    const cw_json *keys = cw_json_get(jwks, CW_STR("keys"));
    if (!cw_json_is(keys, CW_JSON_ARRAY))
        return false;
    for (const cw_json *key = cw_json_first(keys); key; key = cw_json_next(key)) {
        for (size_t i = 0; i < CW_COUNT(members); i++) {
            if (cw_json_get(key, cw_str_from(members[i])))
                return true;
        }
    }
    return false;
}

/* Without the member only "none" is possible: the client shares no secret with this server. */
static bool may_be_public(const cw_json *document)
{
    const cw_json *method = cw_json_get(document, CW_STR("token_endpoint_auth_method"));
    return !method ||
           (cw_json_is(method, CW_JSON_STRING) && cw_str_is(cw_json_text(method), "none")) ||
           cw_registration_lists(document, CW_STR("token_endpoint_auth_methods_supported"),
                                 CW_STR("none"));
}

static const char *check_document(const cw_json *document, cw_str id)
{
    const cw_json *own = cw_json_get(document, CW_STR("client_id"));
    if (!cw_json_is(own, CW_JSON_STRING) || !cw_str_eq(cw_json_text(own), id))
        return "its client_id is not its URL";
    if (has_secret_member(document) || has_private_key(document))
        return "it has a secret in it";
    if (!may_be_public(document))
        return "its token_endpoint_auth_method is not none";
    return NULL;
}

cw_code cw_cimd_read(cw_str id, cw_str body, const cw_redirect_rules *rules, cw_arena *arena,
                     cw_oauth_client *ret, cw_err *err)
{
    const cw_json *document = NULL;
    const char *problem = NULL;
    if (body.n > CW_CIMD_MAX_BYTES)
        return cw_fail(err, CW_PARAMS, "it has more than %u bytes", CW_CIMD_MAX_BYTES);
    cw_code rc = cw_json_read(body, NULL, arena, &document, NULL, err);
    if (rc == CW_NOMEM)
        return rc;
    if (rc || !cw_json_is(document, CW_JSON_OBJECT))
        return cw_fail(err, CW_PARAMS, "it is no JSON object");
    problem = check_document(document, id);
    if (problem)
        return cw_fail(err, CW_PARAMS, "%s", problem);
    *ret = (cw_oauth_client){.kind = CW_OAUTH_DOCUMENT,
                             .id = cw_arena_dup_str(arena, id),
                             .name = cw_registration_name(document, arena),
                             .may_refresh = cw_registration_lists(document, CW_STR("grant_types"),
                                                                  CW_STR("refresh_token"))};
    if (!ret->id.p || !ret->name.p)
        return cw_arena_fail(arena, err);
    if (!ret->name.n)
        return cw_fail(err, CW_PARAMS, "it has no client_name");
    rc = cw_registration_redirects(document, rules, arena, ret, &problem, err);
    if (!rc && problem)
        rc = cw_fail(err, CW_PARAMS, "one of its redirect_uris cannot be used: %s", problem);
    return rc;
}
