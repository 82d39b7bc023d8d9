/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/jwt/jwks.h"

#include <stdlib.h>

#include "access/jwt/jwks_int.h"

/* Keys, key ids and reasons of the largest set. */
#define SET_MAX_BYTES (256u * 1024u)
/* The text as a document and its decoded numbers. */
#define SCRATCH_MAX_BYTES (20u * CW_JWKS_MAX_BYTES)

/* A key id that is not text or longer than one may be is cut: it is shown only. */
static cw_code add_left_out(cw_jwks *set, size_t index, cw_str kid, const char *why)
{
    cw_str exposed =
        cw_str_make(kid.p ? kid.p : "", kid.n < CW_JWS_MAX_KID ? kid.n : CW_JWS_MAX_KID);
    exposed = cw_arena_dup_str(&set->arena, exposed);
    if (!exposed.p)
        return CW_NOMEM;
    set->left_out[set->n_left_out++] = (cw_jwks_left_out){index, exposed, why};
    return CW_OK;
}

/* Key ids name keys of different types at most (RFC 7517, 4.5). */
static bool is_known(const cw_jwks *set, const cw_jwk *key)
{
    for (size_t i = 0; i < set->n && key->kid.p; i++) {
        const cw_jwk *other = &set->keys[i];
        if (other->kid.p && cw_str_eq(other->kid, key->kid) && other->algs & key->algs)
            return true;
    }
    return false;
}

static cw_code add_key(cw_jwks *set, size_t index, const cw_json *source, unsigned allowed,
                       cw_arena *scratch)
{
    cw_jwk key;
    const char *why = NULL;
    cw_code rc = cw_jwk_make(source, allowed, scratch, &key, &why);
    if (!rc && is_known(set, &key)) {
        why = "another key has its key id";
        rc = CW_DECLINED;
    }
    if (rc == CW_OK && key.kid.p) {
        key.kid = cw_arena_dup_str(&set->arena, key.kid);
        rc = key.kid.p ? CW_OK : CW_NOMEM;
    }
    if (rc == CW_OK) {
        set->keys[set->n++] = key;
        return CW_OK;
    }
    EVP_PKEY_free(key.key);
    return rc == CW_DECLINED ? add_left_out(set, index, key.kid, why) : rc;
}

static cw_code add_keys(cw_jwks *set, const cw_json *keys, unsigned allowed, cw_arena *scratch,
                        cw_err *err)
{
    size_t n = cw_json_count(keys), index = 0;
    set->keys = cw_arena_calloc(&set->arena, n, sizeof *set->keys);
    set->left_out = cw_arena_calloc(&set->arena, n, sizeof *set->left_out);
    if (!set->keys || !set->left_out)
        return cw_fail_nomem(err);
    for (const cw_json *k = cw_json_first(keys); k; k = cw_json_next(k)) {
        cw_code rc = add_key(set, index++, k, allowed, scratch);
        if (rc)
            return cw_fail(err, rc, "%s", cw_code_text(rc));
    }
    return CW_OK;
}

static cw_code read_set(cw_jwks *set, cw_str text, unsigned allowed, cw_arena *scratch, cw_err *err)
{
    static const cw_json_opts opts = {.max_bytes = CW_JWKS_MAX_BYTES,
                                      .max_depth = CW_JWS_MAX_DEPTH,
                                      .max_members = CW_JWS_MAX_MEMBERS};
    const cw_json *root;
    cw_code rc = cw_json_read(text, &opts, scratch, &root, NULL, err);
    if (rc)
        return rc;
    const cw_json *keys = cw_json_get(root, CW_STR("keys"));
    if (!cw_json_is(keys, CW_JSON_ARRAY))
        return cw_fail(err, CW_PARSE, "not a key set: there is no list \"keys\"");
    if (cw_json_count(keys) > CW_JWKS_MAX_KEYS)
        return cw_fail(err, CW_LIMIT, "more than %u keys", CW_JWKS_MAX_KEYS);
    return add_keys(set, keys, allowed, scratch, err);
}

cw_code cw_jwks_parse(cw_str text, unsigned allowed, cw_jwks **ret, cw_err *err)
{
    CW_CLEANUP(cw_arena_done) cw_arena scratch;
    cw_arena_init(&scratch, SCRATCH_MAX_BYTES);
    cw_jwks *set = calloc(1, sizeof *set);
    if (!set)
        return cw_fail_nomem(err);
    atomic_init(&set->refs, 1);
    cw_arena_init(&set->arena, SET_MAX_BYTES);
    ERR_clear_error();
    cw_code rc = read_set(set, text, allowed, &scratch, err);
    if (rc) {
        cw_jwks_unref(set);
        return rc;
    }
    *ret = set;
    return CW_OK;
}

cw_jwks *cw_jwks_ref(cw_jwks *set)
{
    atomic_fetch_add_explicit(&set->refs, 1, memory_order_relaxed);
    return set;
}

void cw_jwks_unref(cw_jwks *set)
{
    if (!set || atomic_fetch_sub_explicit(&set->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < set->n; i++)
        EVP_PKEY_free(set->keys[i].key);
    cw_arena_done(&set->arena);
    free(set);
}

size_t cw_jwks_count(const cw_jwks *set)
{
    return set->n;
}

const cw_jwks_left_out *cw_jwks_left_out_keys(const cw_jwks *set, size_t *ret_n)
{
    *ret_n = set->n_left_out;
    return set->left_out;
}
