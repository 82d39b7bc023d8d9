/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jwks.c - a set of keys: each JWK becomes a key of OpenSSL, and signatures are checked with them.
 *
 * All loops share a key. A check changes nothing of it, and makes what it needs for itself. */
#include "access/jwt/jwks.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "access/trust_id.h"

typedef struct jwk {
    cw_str kid; /* .p is NULL without one */
    unsigned algs;
    size_t signature_bytes; /* the one length that its signatures have */
    EVP_PKEY *key;
    cw_trust *trust;
} jwk;

struct cw_jwks {
    atomic_uint refs;
    cw_arena arena;
    jwk *keys;
    size_t n;
    cw_jwks_left_out *left_out;
    size_t n_left_out;
};

/* ---- one key ---- */

#define EXPONENT_MAX_BYTES 8u
#define COORDINATE_MAX_BYTES 48u

/* Nothing in these numbers can displease OpenSSL: it has no memory, which it often does not say. */
static cw_code made(const jwk *key)
{
    ERR_clear_error();
    return key->key ? CW_OK : CW_NOMEM;
}

static cw_code leave_out(const char **why, const char *text)
{
    *why = text;
    return CW_DECLINED;
}

/* The bytes of a member. CW_PARSE when it is missing or not base64url. */
static cw_code read_bytes(const cw_json *source, cw_str name, cw_arena *scratch, cw_str *ret)
{
    const cw_json *v = cw_json_get(source, name);
    if (!cw_json_is(v, CW_JSON_STRING))
        return CW_PARSE;
    return cw_base64url_decode(cw_json_text(v), scratch, ret);
}

/* ---- RSA ---- */

static unsigned bits_of(cw_str number)
{
    unsigned bits = (unsigned)(number.n - 1) * 8;
    for (unsigned char top = (unsigned char)number.p[0]; top; top >>= 1)
        bits++;
    return bits;
}

/* RFC 7518, 2: as few bytes as possible. An even number is no modulus and no exponent. */
static bool is_odd_number(cw_str number)
{
    return number.n && number.p[0] && number.p[number.n - 1] & 1;
}

static OSSL_PARAM *rsa_params(const BIGNUM *n, const BIGNUM *e)
{
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    OSSL_PARAM *params = NULL;
    if (build && OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n) &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e))
        params = OSSL_PARAM_BLD_to_param(build);
    OSSL_PARAM_BLD_free(build);
    return params;
}

static EVP_PKEY *key_from(const char *type, OSSL_PARAM *params)
{
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (!ctx || EVP_PKEY_fromdata_init(ctx) != 1 ||
        EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
        key = NULL;
    EVP_PKEY_CTX_free(ctx);
    return key;
}

static EVP_PKEY *rsa_key(cw_str n, cw_str e)
{
    BIGNUM *modulus = BN_bin2bn((const unsigned char *)n.p, (int)n.n, NULL);
    BIGNUM *exponent = BN_bin2bn((const unsigned char *)e.p, (int)e.n, NULL);
    OSSL_PARAM *params = modulus && exponent ? rsa_params(modulus, exponent) : NULL;
    EVP_PKEY *key = params ? key_from("RSA", params) : NULL;
    OSSL_PARAM_free(params);
    BN_free(modulus);
    BN_free(exponent);
    return key;
}

static cw_code make_rsa(const cw_json *source, cw_arena *scratch, jwk *ret, const char **why)
{
    cw_str n, e;
    cw_code rc = read_bytes(source, CW_STR("n"), scratch, &n);
    if (!rc)
        rc = read_bytes(source, CW_STR("e"), scratch, &e);
    if (rc && rc != CW_PARSE)
        return rc;
    if (rc || !is_odd_number(n) || !is_odd_number(e))
        return leave_out(why, "its modulus or exponent is missing or malformed");
    if (bits_of(n) < CW_JWKS_RSA_MIN_BITS || bits_of(n) > CW_JWKS_RSA_MAX_BITS)
        return leave_out(why, "it has less than 2048 or more than 8192 bits");
    if (e.n > EXPONENT_MAX_BYTES || (e.n == 1 && e.p[0] == 1))
        return leave_out(why, "its exponent is 1 or too large");
    ret->algs = CW_JOSE_RS256 | CW_JOSE_PS256;
    ret->signature_bytes = n.n;
    ret->key = rsa_key(n, e);
    return made(ret);
}

/* ---- curves ---- */

typedef struct curve {
    const char *name;
    const char *group; /* OpenSSL's name */
    size_t bytes;      /* of a coordinate */
    cw_jose_alg alg;
} curve;

static const curve curves[] = {
    {"P-256", "prime256v1", 32, CW_JOSE_ES256},
    {"P-384", "secp384r1", COORDINATE_MAX_BYTES, CW_JOSE_ES384},
};

/* Whether OpenSSL found the point wrong, and not its memory short. */
static bool is_bad_point(void)
{
    bool is_bad = false;
    for (unsigned long e; (e = ERR_get_error());) {
        int why = ERR_GET_REASON(e);
        is_bad = is_bad || (ERR_GET_LIB(e) == ERR_LIB_EC &&
                            (why == EC_R_POINT_IS_NOT_ON_CURVE || why == EC_R_INVALID_ENCODING ||
                             why == EC_R_COORDINATES_OUT_OF_RANGE));
    }
    return is_bad;
}

static EVP_PKEY *curve_key(const curve *c, cw_str x, cw_str y)
{
    unsigned char point[1 + 2 * COORDINATE_MAX_BYTES] = {POINT_CONVERSION_UNCOMPRESSED};
    char group[16];
    memcpy(group, c->group, strlen(c->group) + 1); /* the params are not const */
    memcpy(point + 1, x.p, x.n);
    memcpy(point + 1 + x.n, y.p, y.n);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, 1 + x.n + y.n),
        OSSL_PARAM_construct_end(),
    };
    /* A point that is not on the curve is refused here. */
    return key_from("EC", params);
}

static const curve *find_curve(const cw_json *source)
{
    const cw_json *name = cw_json_get(source, CW_STR("crv"));
    for (size_t i = 0; i < CW_COUNT(curves) && cw_json_is(name, CW_JSON_STRING); i++) {
        if (cw_str_is(cw_json_text(name), curves[i].name))
            return &curves[i];
    }
    return NULL;
}

static cw_code make_ec(const cw_json *source, cw_arena *scratch, jwk *ret, const char **why)
{
    cw_str x, y;
    const curve *c = find_curve(source);
    if (!c)
        return leave_out(why, "its curve is not supported");
    cw_code rc = read_bytes(source, CW_STR("x"), scratch, &x);
    if (!rc)
        rc = read_bytes(source, CW_STR("y"), scratch, &y);
    if (rc && rc != CW_PARSE)
        return rc;
    if (rc || x.n != c->bytes || y.n != c->bytes)
        return leave_out(why, "its point is missing or malformed");
    ret->algs = c->alg;
    ret->signature_bytes = 2 * c->bytes;
    ret->key = curve_key(c, x, y);
    if (!ret->key && is_bad_point())
        return leave_out(why, "its point is not on the curve");
    return made(ret);
}

static cw_code make_okp(const cw_json *source, cw_arena *scratch, jwk *ret, const char **why)
{
    cw_str x;
    const cw_json *crv = cw_json_get(source, CW_STR("crv"));
    if (!cw_json_is(crv, CW_JSON_STRING) || !cw_str_is(cw_json_text(crv), "Ed25519"))
        return leave_out(why, "its curve is not supported");
    cw_code rc = read_bytes(source, CW_STR("x"), scratch, &x);
    if (rc && rc != CW_PARSE)
        return rc;
    if (rc || x.n != 32)
        return leave_out(why, "its point is missing or malformed");
    ret->algs = CW_JOSE_EDDSA;
    ret->signature_bytes = 64;
    ret->key =
        EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL, (const unsigned char *)x.p, x.n);
    return made(ret);
}

/* ---- all kinds ---- */

static bool is_text(const cw_json *v, const char *text)
{
    return cw_json_is(v, CW_JSON_STRING) && cw_str_is(cw_json_text(v), text);
}

/* `key_ops` and `use` say what a key is for; both may be absent. */
static bool is_for_verifying(const cw_json *source)
{
    const cw_json *use = cw_json_get(source, CW_STR("use"));
    const cw_json *ops = cw_json_get(source, CW_STR("key_ops"));
    if (use && !is_text(use, "sig"))
        return false;
    if (!ops)
        return true;
    const cw_json *op = cw_json_is(ops, CW_JSON_ARRAY) ? cw_json_first(ops) : NULL;
    while (op && !is_text(op, "verify"))
        op = cw_json_next(op);
    return op != NULL;
}

/* The problem with its other members, or NULL. */
static const char *check_members(const cw_json *source, const jwk *key)
{
    const cw_json *kid = cw_json_get(source, CW_STR("kid"));
    if (kid && (!key->kid.p || key->kid.n > CW_JWS_MAX_KID))
        return "its key id is not a text, or too long";
    if (!is_for_verifying(source))
        return "it is not for checking signatures";
    /* Each reader of the set could sign with it. */
    if (cw_json_get(source, CW_STR("d")))
        return "it carries its private part";
    return NULL;
}

/* Make a key of a member of `keys`; its kid still lies in the document. CW_DECLINED: *why says why it
 * cannot be used. */
static cw_code make_key(const cw_json *source, cw_arena *scratch, jwk *ret, const char **why)
{
    const cw_json *kty = cw_json_get(source, CW_STR("kty"));
    if (is_text(kty, "RSA"))
        return make_rsa(source, scratch, ret, why);
    if (is_text(kty, "EC"))
        return make_ec(source, scratch, ret, why);
    if (is_text(kty, "OKP"))
        return make_okp(source, scratch, ret, why);
    return leave_out(why, "its type is not supported");
}

/* Bind it to what it says itself and to what is allowed. */
static const char *restrict_algs(const cw_json *source, unsigned allowed, jwk *key)
{
    const cw_json *alg = cw_json_get(source, CW_STR("alg"));
    cw_jose_alg own;
    if (alg) {
        if (!cw_json_is(alg, CW_JSON_STRING) || !cw_jose_alg_parse(cw_json_text(alg), &own))
            return "its algorithm is not supported";
        if (!(key->algs & own))
            return "its algorithm does not fit its type";
        key->algs = own;
    }
    key->algs &= allowed;
    return key->algs ? NULL : "its algorithm is not accepted for this issuer";
}

static cw_code read_key(const cw_json *source, unsigned allowed, cw_arena *scratch, jwk *ret,
                        const char **why)
{
    *ret = (jwk){0};
    if (!cw_json_is(source, CW_JSON_OBJECT))
        return leave_out(why, "it is not an object");
    const cw_json *kid = cw_json_get(source, CW_STR("kid"));
    if (cw_json_is(kid, CW_JSON_STRING))
        ret->kid = cw_json_text(kid);
    *why = check_members(source, ret);
    if (*why)
        return CW_DECLINED;
    cw_code rc = make_key(source, scratch, ret, why);
    if (rc)
        return rc;
    *why = restrict_algs(source, allowed, ret);
    if (!*why)
        return CW_OK;
    EVP_PKEY_free(ret->key);
    ret->key = NULL;
    return CW_DECLINED;
}

/* ---- the set ---- */

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
static bool is_known(const cw_jwks *set, const jwk *key)
{
    for (size_t i = 0; i < set->n && key->kid.p; i++) {
        const jwk *other = &set->keys[i];
        if (other->kid.p && cw_str_eq(other->kid, key->kid) && other->algs & key->algs)
            return true;
    }
    return false;
}

/* Equal keys with the same key id and algorithms have the same trust id. CW_NOMEM. */
static cw_code add_trust(const cw_json *source, cw_arena *scratch, jwk *key)
{
    /* The algorithms imply type and curve. */
    const cw_str numbers[] = {CW_STR("n"), CW_STR("e"), CW_STR("x"), CW_STR("y")};
    crypto_hash_sha256_state state;
    unsigned char id[CW_TRUST_ID];
    crypto_hash_sha256_init(&state);
    cw_trust_id_add_number(&state, key->kid.p != NULL);
    cw_trust_id_add(&state, key->kid);
    cw_trust_id_add_number(&state, key->algs);
    for (size_t i = 0; i < CW_COUNT(numbers); i++) {
        cw_str number = CW_STR("");
        cw_code rc = read_bytes(source, numbers[i], scratch, &number);
        if (rc && rc != CW_PARSE)
            return rc;
        cw_trust_id_add(&state, rc ? CW_STR("") : number);
    }
    crypto_hash_sha256_final(&state, id);
    key->trust = cw_trust_new(id);
    return key->trust ? CW_OK : CW_NOMEM;
}

static cw_code add_key(cw_jwks *set, size_t index, const cw_json *source, unsigned allowed,
                       cw_arena *scratch)
{
    jwk key;
    const char *why = NULL;
    cw_code rc = read_key(source, allowed, scratch, &key, &why);
    if (!rc && is_known(set, &key)) {
        why = "another key has its key id";
        rc = CW_DECLINED;
    }
    if (rc == CW_OK && key.kid.p) {
        key.kid = cw_arena_dup_str(&set->arena, key.kid);
        rc = key.kid.p ? CW_OK : CW_NOMEM;
    }
    if (rc == CW_OK)
        rc = add_trust(source, scratch, &key);
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
    for (size_t i = 0; i < set->n; i++) {
        EVP_PKEY_free(set->keys[i].key);
        cw_trust_unref(set->keys[i].trust);
    }
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

/* ---- signatures ---- */

#define COORDINATE_MAX 48u
/* SEQUENCE { INTEGER, INTEGER }, each with a byte in front that keeps it positive: below 128 bytes,
 * so that every length is one byte. */
#define DER_MAX (2u + 2u * (2u + 1u + COORDINATE_MAX))

static const char *digest_of(cw_jose_alg alg)
{
    switch (alg) {
    case CW_JOSE_RS256:
    case CW_JOSE_PS256:
    case CW_JOSE_ES256:
        return "SHA256";
    case CW_JOSE_ES384:
        return "SHA384";
    case CW_JOSE_EDDSA:
        return NULL; /* it has its own inside */
    }
    return NULL;
}

/* One number of `n` bytes as DER: the fewest bytes, and the first below 0x80. */
static size_t add_integer(unsigned char *out, const unsigned char *number, size_t n)
{
    while (n > 1 && !*number) {
        number++;
        n--;
    }
    size_t pad = *number >> 7;
    out[0] = 0x02;
    out[1] = (unsigned char)(n + pad);
    out[2] = 0;
    memcpy(out + 2 + pad, number, n);
    return 2 + pad + n;
}

/* r || s, whose length was checked, as OpenSSL wants it. */
static size_t to_der(cw_str raw, unsigned char out[DER_MAX])
{
    _Static_assert(DER_MAX - 2 < 128, "lengths of one byte");
    const unsigned char *r = (const unsigned char *)raw.p;
    size_t half = raw.n / 2;
    size_t n = add_integer(out + 2, r, half);
    n += add_integer(out + 2 + n, r + half, half);
    out[0] = 0x30;
    out[1] = (unsigned char)n;
    return 2 + n;
}

static bool set_pss(EVP_PKEY_CTX *ctx)
{
    return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PSS_PADDING) == 1 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx, RSA_PSS_SALTLEN_DIGEST) == 1;
}

/* Forget OpenSSL's errors, of which other users of this thread must see nothing. */
static bool was_nomem(void)
{
    bool was = false;
    for (unsigned long e; (e = ERR_get_error());)
        was = was || ERR_GET_REASON(e) == ERR_R_MALLOC_FAILURE;
    return was;
}

/* Everything that does not depend on the token: it fails only without memory. */
static bool prepare(EVP_MD_CTX *ctx, const jwk *key, cw_jose_alg alg)
{
    EVP_PKEY_CTX *options = NULL;
    return ctx &&
           EVP_DigestVerifyInit_ex(ctx, &options, digest_of(alg), NULL, NULL, key->key, NULL) ==
               1 &&
           (alg != CW_JOSE_PS256 || set_pss(options));
}

static bool check(EVP_MD_CTX *ctx, const cw_jws *jws)
{
    unsigned char der[DER_MAX];
    const unsigned char *signature = (const unsigned char *)jws->signature.p;
    size_t n = jws->signature.n;
    if (jws->alg & (CW_JOSE_ES256 | CW_JOSE_ES384)) {
        n = to_der(jws->signature, der);
        signature = der;
    }
    return EVP_DigestVerify(ctx, signature, n, (const unsigned char *)jws->signed_part.p,
                            jws->signed_part.n) == 1;
}

static cw_code verify_with(const jwk *key, const cw_jws *jws, cw_token_reason *reason)
{
    /* Before anything is copied: the room for it depends on this length. */
    if (jws->signature.n != key->signature_bytes)
        return cw_token_refuse(reason, CW_TOKEN_SIGNATURE_LENGTH);
    ERR_clear_error();
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool is_ready = prepare(ctx, key, jws->alg);
    bool is_right = is_ready && check(ctx, jws);
    EVP_MD_CTX_free(ctx);
    if (was_nomem() || !is_ready)
        return CW_NOMEM;
    return is_right ? CW_OK : cw_token_refuse(reason, CW_TOKEN_SIGNATURE);
}

/* NULL with *reason: none. */
static const jwk *find_by_id(const cw_jwks *set, const cw_jws *jws, cw_token_reason *reason)
{
    *reason = CW_TOKEN_NO_KEY;
    for (size_t i = 0; i < set->n; i++) {
        const jwk *key = &set->keys[i];
        if (!key->kid.p || !cw_str_eq(key->kid, jws->kid))
            continue;
        if (key->algs & jws->alg)
            return key;
        *reason = CW_TOKEN_KEY_ALG;
    }
    return NULL;
}

/* The first that fits. To try more would let one made-up token cost as much as many. */
static const jwk *find_first(const cw_jwks *set, const cw_jws *jws, cw_token_reason *reason,
                             bool *ret_is_only)
{
    const jwk *first = NULL;
    *reason = CW_TOKEN_NO_KEY;
    *ret_is_only = true;
    for (size_t i = 0; i < set->n; i++) {
        const jwk *key = &set->keys[i];
        if (!(key->algs & jws->alg))
            continue;
        bool is_fit = key->signature_bytes == jws->signature.n;
        if (is_fit && first)
            *ret_is_only = false;
        if (is_fit && !first)
            first = key;
        *reason = CW_TOKEN_SIGNATURE_LENGTH;
    }
    return first;
}

static const jwk *find_key(const cw_jwks *set, const cw_jws *jws, cw_token_reason *reason,
                           bool *ret_is_only)
{
    *ret_is_only = true;
    return jws->kid.p ? find_by_id(set, jws, reason) : find_first(set, jws, reason, ret_is_only);
}

cw_code cw_jwks_has_key(const cw_jwks *set, const cw_jws *jws, cw_token_reason *reason)
{
    bool is_only;
    if (!find_key(set, jws, reason, &is_only))
        return CW_INVALID;
    *reason = CW_TOKEN_NONE;
    return CW_OK;
}

cw_code cw_jwks_verify(const cw_jwks *set, const cw_jws *jws, cw_token_reason *reason)
{
    bool is_only;
    const jwk *key = find_key(set, jws, reason, &is_only);
    if (!key)
        return CW_INVALID;
    *reason = CW_TOKEN_NONE;
    cw_code rc = verify_with(key, jws, reason);
    if (rc == CW_INVALID && *reason == CW_TOKEN_SIGNATURE && !is_only)
        *reason = CW_TOKEN_SIGNATURE_NO_KID;
    return rc;
}

/* ---- trust ---- */

cw_trust *cw_jwks_trust(const cw_jwks *set, const cw_jws *jws)
{
    bool is_only;
    cw_token_reason reason;
    const jwk *key = find_key(set, jws, &reason, &is_only);
    return key ? cw_trust_ref(key->trust) : NULL;
}

/* The first key with this trust, which is the one that verifies tokens; or NULL. */
static jwk *find_trusted(const cw_jwks *set, const unsigned char id[CW_TRUST_ID])
{
    for (size_t i = 0; set && i < set->n; i++) {
        if (cw_trust_has_id(set->keys[i].trust, id))
            return &set->keys[i];
    }
    return NULL;
}

cw_trust *cw_jwks_find_trust(const cw_jwks *set, const unsigned char id[CW_TRUST_ID])
{
    const jwk *key = find_trusted(set, id);
    return key ? cw_trust_ref(key->trust) : NULL;
}

void cw_jwks_succeed(cw_jwks *fresh, const cw_jwks *old)
{
    /* Backwards: of equal keys the first verifies tokens, so its trust must be the one that stays. */
    for (size_t i = old ? old->n : 0; i-- > 0;) {
        jwk *same = find_trusted(fresh, old->keys[i].trust->id);
        cw_trust_withdraw(same ? same->trust : old->keys[i].trust);
        if (!same)
            continue;
        cw_trust_unref(same->trust);
        same->trust = cw_trust_ref(old->keys[i].trust);
    }
}
