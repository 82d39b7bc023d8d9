/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys and signatures; keys are made here. */
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <pthread.h>

#include "access/jwt/jwks.h"
#include "base/buf.h"
#include "support/oom.h"
#include "support/test.h"
#include "support/token_signer.h"

#define KINDS 5u

static const cw_jose_alg kinds[KINDS] = {CW_JOSE_RS256, CW_JOSE_PS256, CW_JOSE_ES256, CW_JOSE_ES384,
                                         CW_JOSE_EDDSA};
static const char *const names[KINDS] = {"rs", "ps", "es2", "es3", "ed"};
static token_signer signers[KINDS];
static cw_arena arena;

/* OpenSSL allocates through these, past the wrappers of oom.h: its caches would be counted. */
void *__real_malloc(size_t n);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);

/* While not 0, this many allocations of OpenSSL until one fails. */
static _Thread_local size_t fail_in;
static _Thread_local bool failed;

static bool fails_now(void)
{
    bool now = fail_in && --fail_in == 0;
    failed = failed || now;
    return now;
}

static void *try_malloc(size_t n, const char *file, int line)
{
    (void)file;
    (void)line;
    return n && !fails_now() ? __real_malloc(n) : NULL;
}

static void *try_realloc(void *p, size_t n, const char *file, int line)
{
    (void)file;
    (void)line;
    return fails_now() ? NULL : __real_realloc(p, n);
}

static void do_free(void *p, const char *file, int line)
{
    (void)file;
    (void)line;
    __real_free(p);
}

SETUP(make_keys)
{
    cw_arena_init(&arena, 16u << 20);
    for (size_t i = 0; i < KINDS; i++)
        token_signer_init(&signers[i], kinds[i], names[i]);
    return 0;
}

TEARDOWN(drop_keys)
{
    for (size_t i = 0; i < KINDS; i++)
        token_signer_done(&signers[i]);
    cw_arena_done(&arena);
    return 0;
}

SETUP(reset)
{
    cw_arena_reset(&arena);
    return 0;
}

static cw_jwks *parse(cw_str text, unsigned allowed)
{
    cw_jwks *set = NULL;
    cw_err err = {0};
    if (cw_jwks_parse(text, allowed, &set, &err))
        fail_msg("%s", err.msg);
    return set;
}

static cw_str header_of(const char *alg, const char *kid)
{
    return kid ? token_signer_text(&arena, "{\"alg\":\"%s\",\"kid\":\"%s\"}", alg, kid)
               : token_signer_text(&arena, "{\"alg\":\"%s\"}", alg);
}

static cw_str token_of(size_t kind, const char *alg, const char *kid)
{
    return token_signer_token(&signers[kind], header_of(alg, kid), CW_STR("{}"), &arena);
}

/* The same with another character in its signature. */
static cw_str spoil(cw_str token)
{
    char *copy = cw_arena_dup(&arena, token.p, token.n);
    char *at = copy + token.n - 20;
    *at = *at == 'A' ? 'B' : 'A';
    return cw_str_make(copy, token.n);
}

static cw_token_reason judge(const cw_jwks *set, cw_str token)
{
    cw_jws jws;
    cw_token_reason reason;
    cw_code rc = cw_jws_parse(token, &arena, &jws, &reason);
    if (!rc)
        rc = cw_jwks_verify(set, &jws, &reason);
    assert_int_equal(rc, reason == CW_TOKEN_NONE ? CW_OK : CW_INVALID);
    assert_int_equal(ERR_peek_error(), 0);
    return reason;
}

/* What one key says when it alone is in a set: NULL when it can be used. */
static const char *why_not(cw_str jwk, unsigned allowed)
{
    size_t n;
    cw_jwks *set = parse(token_signer_text(&arena, "{\"keys\":[%.*s]}", CW_STR_ARG(jwk)), allowed);
    const cw_jwks_left_out *left_out = cw_jwks_left_out_keys(set, &n);
    const char *why = n ? left_out[0].why : NULL;
    assert_int_equal(cw_jwks_count(set) + n, 1);
    cw_jwks_unref(set);
    return why;
}

TEST(all_five_algorithms_verify)
{
    cw_jwks *set = parse(token_signer_key_set(signers, KINDS, "", &arena), CW_JOSE_ALL);
    assert_int_equal(cw_jwks_count(set), KINDS);
    for (size_t i = 0; i < KINDS; i++) {
        const char *alg = token_signer_alg_name(kinds[i]);
        assert_int_equal(judge(set, token_of(i, alg, names[i])), CW_TOKEN_NONE);
        /* The key for RS256 is the first that fits PS256, too. */
        assert_int_equal(judge(set, token_of(i, alg, NULL)),
                         kinds[i] == CW_JOSE_PS256 ? CW_TOKEN_SIGNATURE_NO_KID : CW_TOKEN_NONE);
    }
    assert_int_equal(judge(set, token_of(4, "Ed25519", "ed")), CW_TOKEN_NONE);
    cw_jwks_unref(set);
}

TEST(every_changed_byte_is_noticed)
{
    cw_jwks *set = parse(token_signer_key_set(signers, KINDS, "", &arena), CW_JOSE_ALL);
    for (size_t i = 0; i < KINDS; i++) {
        cw_str token = token_of(i, token_signer_alg_name(kinds[i]), names[i]);
        char *copy = cw_arena_dup(&arena, token.p, token.n);
        for (size_t at = 0; at < token.n; at++) {
            copy[at] = copy[at] == 'A' ? 'B' : 'A';
            assert_int_not_equal(judge(set, cw_str_make(copy, token.n)), CW_TOKEN_NONE);
            copy[at] = token.p[at];
        }
    }
    cw_jwks_unref(set);
}

/* A signature of each other length, and one that is stripped. */
TEST(signatures_have_one_length)
{
    cw_jwks *set = parse(token_signer_key_set(signers, KINDS, "", &arena), CW_JOSE_ALL);
    for (size_t i = 0; i < KINDS; i++) {
        cw_str first =
            token_signer_base64url(header_of(token_signer_alg_name(kinds[i]), names[i]), &arena);
        cw_str text = token_signer_text(&arena, "%s.e30", first.p);
        cw_str right = token_signer_sign(&signers[i], text, &arena);
        char longer[2 + 256] = {0};
        memcpy(longer + 1, right.p, right.n);
        const cw_str wrong[] = {
            {longer, right.n + 1},     {longer + 1, right.n + 1}, {longer, right.n + 2},
            {longer + 1, right.n - 1}, {longer + 1, 1},           {longer, 0},
        };
        for (size_t k = 0; k < CW_COUNT(wrong); k++) {
            cw_str last = token_signer_base64url(wrong[k], &arena);
            cw_str token = token_signer_text(&arena, "%s.%s", text.p, last.p);
            assert_int_equal(judge(set, token), CW_TOKEN_SIGNATURE_LENGTH);
        }
    }
    cw_jwks_unref(set);
}

/* Zeros, ones and the order of the curve in r and s; DER where raw bytes are due. */
TEST(curve_signatures_out_of_range_are_wrong)
{
    static const unsigned char order[32] = {0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00,
                                            0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                                            0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84,
                                            0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51};
    static const unsigned char zero[32], one[32] = {[31] = 1};
    const unsigned char *const values[] = {zero, one, order};
    cw_jwks *set = parse(token_signer_key_set(&signers[2], 1, "", &arena), CW_JOSE_ALL);
    cw_str first = token_signer_base64url(header_of("ES256", "es2"), &arena);
    for (size_t i = 0; i < 9; i++) {
        char both[64];
        memcpy(both, values[i / 3], 32);
        memcpy(both + 32, values[i % 3], 32);
        cw_str last = token_signer_base64url(cw_str_make(both, sizeof both), &arena);
        cw_str token = token_signer_text(&arena, "%s.e30.%s", first.p, last.p);
        assert_int_equal(judge(set, token), CW_TOKEN_SIGNATURE);
    }
    cw_jwks_unref(set);
}

TEST(a_key_is_bound_to_its_algorithms)
{
    cw_jwks *set = parse(token_signer_key_set(signers, KINDS, "", &arena), CW_JOSE_ALL);
    /* An RSA key without `alg` is for both paddings, but not one's signature for the other's. */
    assert_int_equal(judge(set, token_of(0, "PS256", "rs")), CW_TOKEN_SIGNATURE);
    for (size_t i = 0; i < KINDS; i++) {
        for (size_t k = 2; k < KINDS; k++) {
            if (i != k)
                assert_int_equal(judge(set, token_of(i, token_signer_alg_name(kinds[k]), names[i])),
                                 CW_TOKEN_KEY_ALG);
        }
    }
    cw_jwks_unref(set);
    set = parse(token_signer_key_set(&signers[1], 1, ",\"alg\":\"RS256\"", &arena), CW_JOSE_ALL);
    assert_int_equal(judge(set, token_of(1, "PS256", "ps")), CW_TOKEN_KEY_ALG);
    assert_int_equal(judge(set, token_of(1, "PS256", NULL)), CW_TOKEN_NO_KEY);
    cw_jwks_unref(set);
    set = parse(token_signer_key_set(&signers[1], 1, "", &arena), CW_JOSE_RS256 | CW_JOSE_ES256);
    assert_int_equal(judge(set, token_of(1, "PS256", "ps")), CW_TOKEN_KEY_ALG);
    cw_jwks_unref(set);
}

TEST(key_ids_are_compared_exactly)
{
    static const char *const others[] = {"", "RS", "rs ", "r", "rs\\u0000", "../rs", "ps", "*"};
    cw_jwks *set = parse(token_signer_key_set(signers, 1, "", &arena), CW_JOSE_ALL);
    for (size_t i = 0; i < CW_COUNT(others); i++)
        assert_int_equal(judge(set, token_of(0, "RS256", others[i])), CW_TOKEN_NO_KEY);
    assert_int_equal(judge(set, token_of(0, "RS256", "r\\u0073")), CW_TOKEN_NONE);
    cw_jwks_unref(set);
    /* A key without an id is not the key of a token that names one. */
    cw_str jwk = token_signer_jwk(&signers[4], "", &arena);
    const char *x = strstr(jwk.p, "\"x\"");
    set =
        parse(token_signer_text(&arena, "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",%s]}", x),
              CW_JOSE_ALL);
    assert_int_equal(cw_jwks_count(set), 1);
    assert_int_equal(judge(set, token_of(4, "EdDSA", "ed")), CW_TOKEN_NO_KEY);
    assert_int_equal(judge(set, token_of(4, "EdDSA", NULL)), CW_TOKEN_NONE);
    cw_jwks_unref(set);
}

TEST(of_two_keys_with_one_id_the_first_counts)
{
    size_t n;
    token_signer twins[3] = {signers[2], signers[4], {CW_JOSE_ES256, "es2", NULL}};
    token_signer_init(&twins[2], CW_JOSE_ES256, "es2");
    twins[1].kid = "es2";
    cw_jwks *set = parse(token_signer_key_set(twins, 3, "", &arena), CW_JOSE_ALL);
    const cw_jwks_left_out *left_out = cw_jwks_left_out_keys(set, &n);
    assert_int_equal(cw_jwks_count(set), 2);
    assert_int_equal(n, 1);
    assert_int_equal(left_out[0].index, 2);
    assert_true(cw_str_is(left_out[0].kid, "es2"));
    assert_string_equal(left_out[0].why, "another key has its key id");
    /* Of another type, it is another key (RFC 7517, 4.5). */
    assert_int_equal(judge(set, token_of(2, "ES256", "es2")), CW_TOKEN_NONE);
    assert_int_equal(judge(set, token_of(4, "EdDSA", "es2")), CW_TOKEN_NONE);
    cw_str header = header_of("ES256", "es2");
    assert_int_equal(judge(set, token_signer_token(&twins[2], header, CW_STR("{}"), &arena)),
                     CW_TOKEN_SIGNATURE);
    token_signer_done(&twins[2]);
    cw_jwks_unref(set);
}

TEST(without_a_key_id_one_key_is_tried)
{
    token_signer many[3];
    static const char *const ids[] = {"0", "1", "2"};
    for (size_t i = 0; i < CW_COUNT(many); i++)
        token_signer_init(&many[i], CW_JOSE_EDDSA, ids[i]);
    cw_jwks *set = parse(token_signer_key_set(many, CW_COUNT(many), "", &arena), CW_JOSE_ALL);
    for (size_t i = 0; i < CW_COUNT(many); i++) {
        cw_str token = token_signer_token(&many[i], header_of("EdDSA", NULL), CW_STR("{}"), &arena);
        assert_int_equal(judge(set, token), i == 0 ? CW_TOKEN_NONE : CW_TOKEN_SIGNATURE_NO_KID);
        token_signer_done(&many[i]);
    }
    cw_jwks_unref(set);
}

TEST(a_key_is_found_without_checking_a_signature)
{
    static const struct {
        size_t kind;
        const char *alg, *kid;
        cw_token_reason reason;
    } cases[] = {
        {0, "RS256", "rs", CW_TOKEN_NONE},
        {0, "RS256", NULL, CW_TOKEN_NONE},
        {0, "RS256", "unknown", CW_TOKEN_NO_KEY},
        {0, "EdDSA", "rs", CW_TOKEN_KEY_ALG},
        {0, "EdDSA", NULL, CW_TOKEN_SIGNATURE_LENGTH},
    };
    cw_jwks *set = parse(token_signer_key_set(signers, CW_COUNT(signers), "", &arena), CW_JOSE_ALL);
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_jws jws;
        cw_token_reason reason;
        cw_str token = token_of(cases[i].kind, cases[i].alg, cases[i].kid);
        assert_int_equal(cw_jws_parse(token, &arena, &jws, &reason), CW_OK);
        memset((char *)(uintptr_t)jws.signature.p, 1, jws.signature.n);
        cw_code rc = cw_jwks_has_key(set, &jws, &reason);
        assert_int_equal(rc, cases[i].reason == CW_TOKEN_NONE ? CW_OK : CW_INVALID);
        assert_int_equal(reason, cases[i].reason);
    }
    cw_jwks_unref(set);
}

static cw_trust *trust_in(const cw_jwks *set, size_t kind, const char *alg, const char *kid)
{
    cw_jws jws;
    cw_token_reason reason;
    assert_int_equal(cw_jws_parse(token_of(kind, alg, kid), &arena, &jws, &reason), CW_OK);
    return cw_jwks_trust(set, &jws);
}

TEST(the_trust_of_a_key_ends_with_the_key)
{
    cw_jwks *old = parse(token_signer_key_set(signers, 3, "", &arena), CW_JOSE_ALL);
    cw_jwks *next = parse(token_signer_key_set(signers + 1, 2, "", &arena), CW_JOSE_ALL);
    cw_trust *gone = trust_in(old, 0, "RS256", "rs");
    cw_trust *kept = trust_in(old, 2, "ES256", "es2");
    assert_null(trust_in(old, 3, "ES384", "es3"));
    cw_jwks_succeed(next, old);
    cw_jwks_unref(old);
    assert_true(cw_trust_is_withdrawn(gone));
    assert_false(cw_trust_is_withdrawn(kept));
    cw_trust *same = trust_in(next, 2, "ES256", "es2");
    assert_ptr_equal(same, kept);
    cw_jwks_succeed(NULL, next);
    assert_true(cw_trust_is_withdrawn(kept));
    cw_trust_unref(same);
    cw_trust_unref(kept);
    cw_trust_unref(gone);
    cw_jwks_unref(next);
}

TEST(a_trust_is_found_in_another_set_by_its_key_its_key_id_and_its_algorithms)
{
    token_signer renamed = signers[2];
    cw_str text = token_signer_key_set(signers, 3, "", &arena);
    renamed.kid = "es3";
    cw_jwks *old = parse(text, CW_JOSE_ALL);
    cw_jwks *sets[] = {
        parse(text, CW_JOSE_ALL),
        parse(text, CW_JOSE_ALL & ~(unsigned)CW_JOSE_PS256),
        parse(token_signer_key_set(&renamed, 1, "", &arena), CW_JOSE_ALL),
    };
    static const bool has_rsa[] = {true, false, false}, has_ec[] = {true, true, false};
    cw_trust *rsa = trust_in(old, 0, "RS256", "rs"), *ec = trust_in(old, 2, "ES256", "es2");
    for (size_t i = 0; i < CW_COUNT(sets); i++) {
        cw_trust *found_rsa = cw_jwks_find_trust(sets[i], rsa->id);
        cw_trust *found_ec = cw_jwks_find_trust(sets[i], ec->id);
        assert_int_equal(found_rsa != NULL, has_rsa[i]);
        assert_int_equal(found_ec != NULL, has_ec[i]);
        cw_trust_unref(found_rsa);
        cw_trust_unref(found_ec);
        cw_jwks_unref(sets[i]);
    }
    cw_trust_unref(rsa);
    cw_trust_unref(ec);
    cw_jwks_unref(old);
}

TEST(another_key_with_the_same_id_does_not_take_over_its_trust)
{
    token_signer other;
    token_signer_init(&other, CW_JOSE_ES256, "es2");
    cw_jwks *old = parse(token_signer_key_set(&signers[2], 1, "", &arena), CW_JOSE_ALL);
    cw_jwks *next = parse(token_signer_key_set(&other, 1, "", &arena), CW_JOSE_ALL);
    cw_trust *gone = trust_in(old, 2, "ES256", "es2");
    cw_jwks_succeed(next, old);
    assert_true(cw_trust_is_withdrawn(gone));
    cw_trust *fresh = trust_in(next, 2, "ES256", "es2");
    assert_ptr_not_equal(fresh, gone);
    assert_false(cw_trust_is_withdrawn(fresh));
    assert_int_equal(ERR_peek_error(), 0);
    cw_trust_unref(fresh);
    cw_trust_unref(gone);
    cw_jwks_unref(old);
    cw_jwks_unref(next);
    token_signer_done(&other);
}

TEST(purpose_and_algorithm_of_a_key_are_kept_to)
{
    static const struct {
        size_t kind;
        const char *more, *why;
    } cases[] = {
        {0, ",\"use\":\"sig\"", NULL},
        {0, ",\"key_ops\":[\"sign\",\"verify\"]", NULL},
        {0, ",\"alg\":\"PS256\"", NULL},
        {4, ",\"alg\":\"Ed25519\"", NULL},
        {0, ",\"x5c\":[1],\"x5u\":2,\"unknown\":{}", NULL},
        {0, ",\"use\":\"enc\"", "it is not for checking signatures"},
        {0, ",\"use\":null", "it is not for checking signatures"},
        {0, ",\"key_ops\":[\"sign\"]", "it is not for checking signatures"},
        {0, ",\"key_ops\":[]", "it is not for checking signatures"},
        {0, ",\"key_ops\":\"verify\"", "it is not for checking signatures"},
        {0, ",\"alg\":\"RS512\"", "its algorithm is not supported"},
        {0, ",\"alg\":\"HS256\"", "its algorithm is not supported"},
        {0, ",\"alg\":\"none\"", "its algorithm is not supported"},
        {0, ",\"alg\":256", "its algorithm is not supported"},
        {0, ",\"alg\":\"ES256\"", "its algorithm does not fit its type"},
        {2, ",\"alg\":\"ES384\"", "its algorithm does not fit its type"},
        {4, ",\"alg\":\"RS256\"", "its algorithm does not fit its type"},
        {0, ",\"d\":\"AQAB\"", "it carries its private part"},
        {4, ",\"d\":\"AQAB\"", "it carries its private part"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        const char *why =
            why_not(token_signer_jwk(&signers[cases[i].kind], cases[i].more, &arena), CW_JOSE_ALL);
        assert_string_equal(why ? why : "", cases[i].why ? cases[i].why : "");
    }
    assert_string_equal(why_not(token_signer_jwk(&signers[2], "", &arena), CW_JOSE_RS256),
                        "its algorithm is not accepted for this issuer");
}

static cw_str rsa_of_bits(unsigned bits, const char *e)
{
    char number[1100];
    size_t n = (bits + 7) / 8;
    memset(number, 0xFF, sizeof number);
    number[0] = (char)(0xFF >> (n * 8 - bits));
    cw_str text = token_signer_base64url(cw_str_make(number, n), &arena);
    return token_signer_text(&arena, "{\"kty\":\"RSA\",\"n\":\"%s\",\"e\":\"%s\"}", text.p, e);
}

TEST(rsa_keys_have_a_size_and_an_odd_exponent)
{
    static const char *const bad[] = {"", "AA", "AQ", "Ag", "AAEAAQ", "AQABAQABAQABAQ", "A=", "+w"};
    assert_null(why_not(rsa_of_bits(2048, "AQAB"), CW_JOSE_ALL));
    assert_null(why_not(rsa_of_bits(2048, "Aw"), CW_JOSE_ALL));
    assert_null(why_not(rsa_of_bits(8192, "AQAB"), CW_JOSE_ALL));
    assert_non_null(why_not(rsa_of_bits(2047, "AQAB"), CW_JOSE_ALL));
    assert_non_null(why_not(rsa_of_bits(1024, "AQAB"), CW_JOSE_ALL));
    assert_non_null(why_not(rsa_of_bits(8193, "AQAB"), CW_JOSE_ALL));
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_non_null(why_not(rsa_of_bits(2048, bad[i]), CW_JOSE_ALL));
    /* One number has one spelling: no zero bytes in front. */
    char number[257] = {0};
    memset(number + 1, 0xFF, 256);
    cw_str text = token_signer_base64url(cw_str_make(number, sizeof number), &arena);
    cw_str jwk = token_signer_text(&arena, "{\"kty\":\"RSA\",\"n\":\"%s\",\"e\":\"AQAB\"}", text.p);
    assert_non_null(why_not(jwk, CW_JOSE_ALL));
}

TEST(strange_keys_are_left_out)
{
    static const char x25519[] = "{\"kty\":\"OKP\",\"crv\":\"X25519\","
                                 "\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}";
    static const char off_curve[] =
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\","
        "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}";
    static const char beyond_field[] =
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"__________________________________________8\","
        "\"y\":\"__________________________________________8\"}";
    static const char *const strange[] = {
        "1",
        "null",
        "[]",
        "{}",
        "{\"kty\":1}",
        "{\"kty\":\"oct\",\"k\":\"AAAA\"}",
        "{\"kty\":\"RSA\"}",
        "{\"kty\":\"RSA\",\"n\":1,\"e\":2}",
        "{\"kty\":\"EC\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-521\",\"x\":\"AA\",\"y\":\"AA\"}",
        "{\"kty\":\"EC\",\"crv\":\"secp256k1\",\"x\":\"AA\",\"y\":\"AA\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"}",
        off_curve,
        beyond_field,
        "{\"kty\":\"OKP\",\"crv\":\"Ed448\",\"x\":\"AA\"}",
        x25519,
        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AA\"}",
    };
    for (size_t i = 0; i < CW_COUNT(strange); i++)
        assert_non_null(why_not(cw_str_from(strange[i]), CW_JOSE_ALL));
    /* They do not cost the others. */
    cw_jwks *set = parse(token_signer_text(&arena, "{\"keys\":[%s,%s]}", strange[5],
                                           token_signer_jwk(&signers[4], "", &arena).p),
                         CW_JOSE_ALL);
    assert_int_equal(judge(set, token_of(4, "EdDSA", "ed")), CW_TOKEN_NONE);
    cw_jwks_unref(set);
    char *id = cw_arena_alloc(&arena, CW_JWS_MAX_KID + 2);
    memset(id, 'k', CW_JWS_MAX_KID + 1);
    id[CW_JWS_MAX_KID + 1] = 0;
    token_signer longer = {CW_JOSE_EDDSA, id, signers[4].key};
    assert_non_null(why_not(token_signer_jwk(&longer, "", &arena), CW_JOSE_ALL));
    longer.kid = id + 1;
    assert_null(why_not(token_signer_jwk(&longer, "", &arena), CW_JOSE_ALL));
}

TEST(what_is_no_key_set_is_refused)
{
    static const char *const bad[] = {
        "", "{", "[]", "{}", "{\"keys\":{}}", "{\"keys\":null}", "{\"keys\":[],\"keys\":[]}"};
    cw_jwks *set;
    cw_err err;
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_int_equal(cw_jwks_parse(cw_str_from(bad[i]), CW_JOSE_ALL, &set, &err), CW_PARSE);
    set = parse(CW_STR("{\"keys\":[]}"), CW_JOSE_ALL);
    assert_int_equal(judge(set, token_of(4, "EdDSA", NULL)), CW_TOKEN_NO_KEY);
    cw_jwks_unref(set);
    cw_jwks_unref(NULL);
}

static cw_code parse_many(size_t keys, size_t pad)
{
    cw_buf text;
    cw_jwks *set = NULL;
    cw_err err;
    cw_buf_init(&text, 1u << 20);
    cw_buf_add(&text, CW_STR("{\"keys\":["));
    for (size_t i = 0; i < keys; i++)
        cw_buf_printf(&text, "%s{\"kid\":\"%zu\"}", i ? "," : "", i);
    cw_buf_add(&text, CW_STR("]}"));
    while (text.n < pad)
        cw_buf_add_char(&text, ' ');
    cw_code rc = cw_jwks_parse(cw_buf_str(&text), CW_JOSE_ALL, &set, &err);
    cw_jwks_unref(set);
    cw_buf_done(&text);
    return rc;
}

TEST(a_set_has_ceilings)
{
    assert_int_equal(parse_many(CW_JWKS_MAX_KEYS, 0), CW_OK);
    assert_int_equal(parse_many(CW_JWKS_MAX_KEYS + 1, 0), CW_LIMIT);
    assert_int_equal(parse_many(1, CW_JWKS_MAX_BYTES), CW_OK);
    assert_int_equal(parse_many(1, CW_JWKS_MAX_BYTES + 1), CW_LIMIT);
}

TEST(sets_are_counted)
{
    cw_jwks *a = parse(CW_STR("{\"keys\":[]}"), CW_JOSE_ALL);
    cw_jwks *b = parse(CW_STR("{\"keys\":[]}"), CW_JOSE_ALL);
    assert_ptr_equal(cw_jwks_ref(a), a);
    cw_jwks_unref(a);
    assert_int_equal(cw_jwks_count(a), 0);
    cw_jwks_unref(a);
    cw_jwks_unref(b);
}

/* ---- threads ---- */

#define THREADS 4u
#define ROUNDS 40u

typedef struct shared {
    cw_jwks *set;
    cw_str good[KINDS], bad[KINDS];
} shared;

static void *verify_many(void *arg)
{
    const shared *s = arg;
    cw_arena own;
    size_t wrong = 0;
    cw_arena_init(&own, 1u << 20);
    for (size_t i = 0; i < ROUNDS * KINDS; i++) {
        cw_jws jws;
        cw_token_reason reason;
        cw_str token = i / KINDS % 2 ? s->bad[i % KINDS] : s->good[i % KINDS];
        cw_code expected = i / KINDS % 2 ? CW_INVALID : CW_OK;
        cw_code rc = cw_jws_parse(token, &own, &jws, &reason);
        if (!rc)
            rc = cw_jwks_verify(s->set, &jws, &reason);
        wrong += rc != expected;
        cw_arena_reset(&own);
    }
    cw_arena_done(&own);
    return wrong ? arg : NULL;
}

TEST(one_set_serves_all_threads)
{
    shared s = {parse(token_signer_key_set(signers, KINDS, "", &arena), CW_JOSE_ALL), {{0}}, {{0}}};
    pthread_t threads[THREADS];
    for (size_t i = 0; i < KINDS; i++) {
        s.good[i] = token_of(i, token_signer_alg_name(kinds[i]), names[i]);
        s.bad[i] = spoil(s.good[i]);
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, verify_many, &s), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    cw_jwks_unref(s.set);
}

/* ---- memory ---- */

static cw_str oom_text, oom_tokens[KINDS];

static void parse_and_verify(void *ctx)
{
    cw_jwks *set = NULL;
    cw_arena own;
    cw_jws jws;
    cw_token_reason reason;
    (void)ctx;
    cw_arena_init(&own, 1u << 20);
    cw_code rc = cw_jwks_parse(oom_text, CW_JOSE_ALL, &set, NULL);
    for (size_t i = 0; i < KINDS && !rc; i++) {
        rc = cw_jws_parse(oom_tokens[i], &own, &jws, &reason);
        if (!rc)
            rc = cw_jwks_verify(set, &jws, &reason);
    }
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_jwks_unref(set);
    cw_arena_done(&own);
}

static void prepare_oom(void)
{
    oom_text = token_signer_key_set(signers, KINDS, "", &arena);
    for (size_t i = 0; i < KINDS; i++)
        oom_tokens[i] = token_of(i, token_signer_alg_name(kinds[i]), names[i]);
}

TEST(our_own_failed_allocations_are_survived)
{
    prepare_oom();
    oom_reset();
    assert_true(oom_each(parse_and_verify, NULL) >= 4);
}

/* All tokens with the n-th allocation of OpenSSL failing. Returns how many were accepted. */
static unsigned run_openssl_failing(size_t n, const cw_str tokens[KINDS])
{
    cw_jwks *set = NULL;
    cw_jws jws;
    cw_token_reason reason;
    unsigned accepted = 0;
    fail_in = n;
    failed = false;
    cw_code rc = cw_jwks_parse(oom_text, CW_JOSE_ALL, &set, NULL);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    for (size_t i = 0; i < KINDS && !rc; i++) {
        assert_int_equal(cw_jws_parse(tokens[i], &arena, &jws, &reason), CW_OK);
        cw_code verdict = cw_jwks_verify(set, &jws, &reason);
        assert_true(verdict == CW_OK || verdict == CW_NOMEM || verdict == CW_INVALID);
        accepted += verdict == CW_OK;
    }
    fail_in = 0;
    cw_jwks_unref(set);
    return accepted;
}

TEST(openssl_without_memory_accepts_nothing_wrong)
{
    cw_str bad[KINDS];
    prepare_oom();
    for (size_t i = 0; i < KINDS; i++) {
        bad[i] = spoil(oom_tokens[i]);
    }
    assert_int_equal(run_openssl_failing(0, oom_tokens), KINDS);
    size_t n = 0;
    do
        assert_int_equal(run_openssl_failing(++n, bad), 0);
    while (failed);
    assert_true(n > 50);
    do
        (void)run_openssl_failing(n, oom_tokens);
    while (--n);
    assert_int_equal(run_openssl_failing(0, oom_tokens), KINDS);
}

int main(void)
{
    CRYPTO_set_mem_functions(try_malloc, try_realloc, do_free);
#define T(name) cmocka_unit_test_setup(name, reset)
    const struct CMUnitTest tests[] = {
        T(all_five_algorithms_verify),
        T(every_changed_byte_is_noticed),
        T(signatures_have_one_length),
        T(curve_signatures_out_of_range_are_wrong),
        T(a_key_is_bound_to_its_algorithms),
        T(key_ids_are_compared_exactly),
        T(of_two_keys_with_one_id_the_first_counts),
        T(without_a_key_id_one_key_is_tried),
        cmocka_unit_test(a_key_is_found_without_checking_a_signature),
        T(the_trust_of_a_key_ends_with_the_key),
        T(a_trust_is_found_in_another_set_by_its_key_its_key_id_and_its_algorithms),
        T(another_key_with_the_same_id_does_not_take_over_its_trust),
        T(purpose_and_algorithm_of_a_key_are_kept_to),
        T(rsa_keys_have_a_size_and_an_odd_exponent),
        T(strange_keys_are_left_out),
        T(what_is_no_key_set_is_refused),
        T(a_set_has_ceilings),
        T(sets_are_counted),
        T(one_set_serves_all_threads),
        T(our_own_failed_allocations_are_survived),
        T(openssl_without_memory_accepts_nothing_wrong),
    };
    return cmocka_run_group_tests(tests, make_keys, drop_keys);
}
