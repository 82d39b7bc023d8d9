/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jwt.c - the claims of a JWT, and their checks. */
#include "access/jwt/jwt.h"

#include <math.h>

#include "access/scopes.h"

/* The last second of the year 9999: beyond it no date can be written. */
#define TIME_MAX_S 253402300799.0

/* Refuse with the reason's own sentence, or with one that says more. */
static cw_code refuse(cw_jwt *jwt, cw_token_reason why, cw_err *err)
{
    jwt->reason = why;
    return cw_fail(err, CW_INVALID, "%s", cw_token_reason_text(why));
}

static cw_code out_of_memory(cw_code rc, cw_err *err)
{
    return cw_fail(err, rc, "%s", cw_code_text(rc));
}

static const cw_json *claim(const cw_jwt *jwt, const char *name)
{
    return cw_json_get(jwt->claims, cw_str_from(name));
}

/* ---- who and for whom ---- */

/* A name that may be kept and shown: not empty, no control characters. */
static bool is_name(const cw_json *v, size_t max)
{
    if (!cw_json_is(v, CW_JSON_STRING))
        return false;
    cw_str text = cw_json_text(v);
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c < ' ' || c == 0x7F)
            return false;
    }
    return text.n > 0 && text.n <= max;
}

static bool is_ours(const cw_jwt_rules *rules, const cw_json *audience)
{
    for (size_t i = 0; i < rules->n_audiences; i++) {
        if (cw_str_eq(rules->audiences[i], cw_json_text(audience)))
            return true;
    }
    return false;
}

static cw_code check_audience(cw_jwt *jwt, const cw_jwt_rules *rules, cw_err *err)
{
    const cw_json *aud = claim(jwt, "aud");
    bool found = false;
    if (!aud)
        return refuse(jwt, CW_TOKEN_NO_AUDIENCE, err);
    if (cw_json_is(aud, CW_JSON_STRING))
        return is_ours(rules, aud) ? CW_OK : refuse(jwt, CW_TOKEN_AUDIENCE, err);
    if (!cw_json_is(aud, CW_JSON_ARRAY) || cw_json_count(aud) > CW_JWT_MAX_AUDIENCES)
        return refuse(jwt, CW_TOKEN_AUDIENCE, err);
    for (const cw_json *v = cw_json_first(aud); v; v = cw_json_next(v)) {
        if (!cw_json_is(v, CW_JSON_STRING))
            return refuse(jwt, CW_TOKEN_AUDIENCE, err);
        found = found || is_ours(rules, v);
    }
    return found ? CW_OK : refuse(jwt, CW_TOKEN_AUDIENCE, err);
}

static cw_code check_issuer(cw_jwt *jwt, const cw_jwt_rules *rules, cw_err *err)
{
    if (!jwt->issuer.p)
        return refuse(jwt, CW_TOKEN_NO_ISSUER, err);
    return cw_str_eq(jwt->issuer, rules->issuer) ? CW_OK : refuse(jwt, CW_TOKEN_ISSUER, err);
}

static cw_code read_people(cw_jwt *jwt, cw_err *err)
{
    const cw_json *sub = claim(jwt, "sub");
    const cw_json *client = claim(jwt, "client_id");
    if (!client)
        client = claim(jwt, "azp");
    if (sub && !is_name(sub, CW_JWT_MAX_SUBJECT))
        return refuse(jwt, CW_TOKEN_SUBJECT, err);
    if (client && !is_name(client, CW_JWT_MAX_CLIENT))
        return refuse(jwt, CW_TOKEN_CLIENT, err);
    jwt->subject = sub ? cw_json_text(sub) : (cw_str){NULL, 0};
    jwt->client = client ? cw_json_text(client) : (cw_str){NULL, 0};
    return CW_OK;
}

/* ---- what kind of token ---- */

static bool is_access_typ(cw_str typ)
{
    return typ.p &&
           (cw_str_ieq(typ, CW_STR("at+jwt")) || cw_str_ieq(typ, CW_STR("application/at+jwt")));
}

/* A token without the type of an access token must not be an ID token: that is for the client, for any
 * audience. */
static bool is_like_id_token(const cw_jwt *jwt)
{
    if (claim(jwt, "nonce") || claim(jwt, "at_hash") || claim(jwt, "c_hash"))
        return true;
    return !claim(jwt, "client_id") && !claim(jwt, "azp") && !claim(jwt, "scope") &&
           !claim(jwt, "scp");
}

static cw_code check_kind(cw_jwt *jwt, const cw_jwt_rules *rules, cw_err *err)
{
    static const char *const required[] = {"sub", "iat", "jti"};
    cw_str typ = jwt->jws.typ;
    if (!(rules->algs & jwt->jws.alg))
        return refuse(jwt, CW_TOKEN_ALG, err);
    if (claim(jwt, "cnf"))
        return refuse(jwt, CW_TOKEN_BOUND, err);
    if (rules->allow_missing_typ) {
        bool is_access = is_access_typ(typ);
        if (!is_access && typ.p && !cw_str_ieq(typ, CW_STR("JWT")))
            return refuse(jwt, CW_TOKEN_TYP, err);
        return is_access || !is_like_id_token(jwt) ? CW_OK : refuse(jwt, CW_TOKEN_ID_TOKEN, err);
    }
    if (!is_access_typ(typ))
        return refuse(jwt, CW_TOKEN_TYP, err);
    jwt->reason = CW_TOKEN_MISSING_CLAIM;
    for (size_t i = 0; i < CW_COUNT(required); i++) {
        if (!claim(jwt, required[i]))
            return cw_fail(err, CW_INVALID, "it has no \"%s\" (RFC 9068)", required[i]);
    }
    if (!jwt->client.p)
        return cw_fail(err, CW_INVALID, "it has no \"client_id\" (RFC 9068)");
    jwt->reason = CW_TOKEN_NONE;
    return CW_OK;
}

/* ---- when ---- */

typedef enum moment {
    ABSENT,
    PRESENT,
    MALFORMED,
} moment;

/* A fraction counts against the token: `round` is floor for an end and ceil for a beginning. */
static moment read_time(const cw_jwt *jwt, const char *name, double (*round)(double), int64_t *ret)
{
    const cw_json *v = claim(jwt, name);
    double seconds;
    if (!v)
        return ABSENT;
    if (!cw_json_to_double(v, &seconds) || seconds < 0 || seconds > TIME_MAX_S)
        return MALFORMED;
    *ret = (int64_t)round(seconds);
    return PRESENT;
}

static cw_code malformed_time(cw_jwt *jwt, const char *name, cw_err *err)
{
    jwt->reason = CW_TOKEN_TIME;
    return cw_fail(err, CW_INVALID, "its \"%s\" is not a number of seconds since 1970", name);
}

static cw_code check_begin(cw_jwt *jwt, const char *name, int64_t latest, cw_token_reason why,
                           cw_err *err)
{
    int64_t begin = 0;
    moment m = read_time(jwt, name, ceil, &begin);
    if (m == MALFORMED)
        return malformed_time(jwt, name, err);
    return m == ABSENT || begin <= latest ? CW_OK : refuse(jwt, why, err);
}

cw_code cw_jwt_check_times(cw_jwt *jwt, uint32_t leeway_s, int64_t wall_ms, cw_err *err)
{
    int64_t now = wall_ms / 1000, leeway = leeway_s, end = 0;
    moment m = read_time(jwt, "exp", floor, &end);
    if (m == ABSENT)
        return refuse(jwt, CW_TOKEN_NO_EXPIRY, err);
    if (m == MALFORMED)
        return malformed_time(jwt, "exp", err);
    if (now >= end + leeway) {
        jwt->reason = CW_TOKEN_EXPIRED;
        return cw_fail(err, CW_INVALID, "it expired %lld s ago", (long long)(now - end));
    }
    jwt->expires_ms = end * 1000;
    cw_code rc = check_begin(jwt, "nbf", now + leeway, CW_TOKEN_NOT_YET, err);
    return rc ? rc : check_begin(jwt, "iat", now + leeway, CW_TOKEN_FUTURE, err);
}

/* ---- what for ---- */

typedef struct names {
    cw_str *items;
    size_t n, max;
} names;

/* Add it unless it is there already; false when there is no more room. */
static bool add_name(names *list, cw_str name)
{
    for (size_t i = 0; i < list->n; i++) {
        if (cw_str_eq(list->items[i], name))
            return true;
    }
    if (list->n == list->max)
        return false;
    list->items[list->n++] = name;
    return true;
}

/* With spaces between them; some issuers write commas. */
static bool add_scopes(names *list, cw_str text)
{
    for (cw_str rest = text; rest.p;) {
        for (cw_str word = cw_str_cut(rest, ' ', &rest); word.p;) {
            cw_str scope = cw_str_cut(word, ',', &word);
            if (scope.n && (!cw_scope_is_valid(scope) || !add_name(list, scope)))
                return false;
        }
    }
    return true;
}

static bool add_role(names *list, const cw_json *v)
{
    return is_name(v, CW_JWT_MAX_ROLE) && add_name(list, cw_json_text(v));
}

static bool read_scopes(names *list, const cw_json *v)
{
    if (!v)
        return true;
    if (cw_json_is(v, CW_JSON_STRING))
        return add_scopes(list, cw_json_text(v));
    if (!cw_json_is(v, CW_JSON_ARRAY))
        return false;
    for (const cw_json *item = cw_json_first(v); item; item = cw_json_next(item)) {
        if (!cw_json_is(item, CW_JSON_STRING) || !add_scopes(list, cw_json_text(item)))
            return false;
    }
    return true;
}

static bool read_roles(names *list, const cw_json *v)
{
    if (!cw_json_is(v, CW_JSON_ARRAY))
        return !v || add_role(list, v);
    for (const cw_json *item = cw_json_first(v); item; item = cw_json_next(item)) {
        if (!add_role(list, item))
            return false;
    }
    return true;
}

static cw_code read_rights(cw_jwt *jwt, const cw_jwt_rules *rules, cw_arena *arena, cw_err *err)
{
    names scopes = {.max = CW_JWT_MAX_SCOPES}, roles = {.max = CW_JWT_MAX_ROLES};
    scopes.items = cw_arena_calloc(arena, scopes.max, sizeof *scopes.items);
    if (rules->n_roles)
        roles.items = cw_arena_calloc(arena, roles.max, sizeof *roles.items);
    if (!scopes.items || (rules->n_roles && !roles.items))
        return out_of_memory(cw_arena_code(arena), err);
    if (!read_scopes(&scopes, claim(jwt, "scope")) || !read_scopes(&scopes, claim(jwt, "scp")))
        return refuse(jwt, CW_TOKEN_SCOPE, err);
    for (size_t i = 0; i < rules->n_roles; i++) {
        if (!read_roles(&roles, cw_json_pointer(jwt->claims, rules->roles[i])))
            return refuse(jwt, CW_TOKEN_ROLES, err);
    }
    jwt->scopes = scopes.items;
    jwt->n_scopes = scopes.n;
    jwt->roles = roles.items;
    jwt->n_roles = roles.n;
    return CW_OK;
}

/* ---- all together ---- */

cw_code cw_jwt_parse(cw_str token, cw_arena *arena, cw_jwt *ret, cw_err *err)
{
    *ret = (cw_jwt){0};
    cw_code rc = cw_jws_parse(token, arena, &ret->jws, &ret->reason);
    /* `token inspect` prints the claims also if the header is invalid. */
    cw_code claims_rc = CW_OK;
    if (ret->jws.payload.p && (!rc || rc == CW_INVALID))
        claims_rc = cw_jose_read_object(ret->jws.payload, arena, &ret->claims);
    if (rc == CW_INVALID)
        return refuse(ret, ret->reason, err);
    if (!rc && claims_rc == CW_PARSE)
        return refuse(ret, CW_TOKEN_CLAIMS, err);
    if (rc || claims_rc)
        return out_of_memory(rc ? rc : claims_rc, err);
    const cw_json *iss = claim(ret, "iss");
    if (cw_json_is(iss, CW_JSON_STRING))
        ret->issuer = cw_json_text(iss);
    return CW_OK;
}

cw_code cw_jwt_find_key(cw_jwt *jwt, const cw_jwks *keys, cw_err *err)
{
    return cw_jwks_has_key(keys, &jwt->jws, &jwt->reason) ? refuse(jwt, jwt->reason, err) : CW_OK;
}

cw_code cw_jwt_check_signature(cw_jwt *jwt, const cw_jwks *keys, cw_err *err)
{
    cw_code rc = cw_jwks_verify(keys, &jwt->jws, &jwt->reason);
    if (rc == CW_INVALID)
        return refuse(jwt, jwt->reason, err);
    return rc ? out_of_memory(rc, err) : CW_OK;
}

cw_code cw_jwt_check_claims(cw_jwt *jwt, const cw_jwt_rules *rules, int64_t wall_ms,
                            cw_arena *arena, cw_err *err)
{
    cw_code rc = check_issuer(jwt, rules, err);
    if (!rc)
        rc = check_audience(jwt, rules, err);
    if (!rc)
        rc = cw_jwt_check_times(jwt, rules->leeway_s, wall_ms, err);
    if (!rc)
        rc = read_people(jwt, err);
    if (!rc)
        rc = check_kind(jwt, rules, err);
    if (!rc && !rules->names_account && !jwt->subject.p && !jwt->client.p)
        rc = refuse(jwt, CW_TOKEN_NO_SUBJECT, err);
    return rc ? rc : read_rights(jwt, rules, arena, err);
}

cw_code cw_jwt_check(cw_jwt *jwt, const cw_jwt_rules *rules, const cw_jwks *keys, int64_t wall_ms,
                     cw_arena *arena, cw_err *err)
{
    cw_code rc = cw_jwt_check_signature(jwt, keys, err);
    return rc ? rc : cw_jwt_check_claims(jwt, rules, wall_ms, arena, err);
}
