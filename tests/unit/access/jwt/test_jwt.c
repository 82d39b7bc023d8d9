/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access tokens: what their claims must say, and every forgery that we could think of (threat-C7,
 * threat-C5). */
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include "access/jwt/jwt.h"
#include "base/buf.h"
#include "support/oom.h"
#include "support/test.h"
#include "support/token_signer.h"

#define ISSUER "https://as.example"
#define RESOURCE "https://mcp.example/mcp"
#define NOW INT64_C(1800000000)
#define AT_HEADER "{\"alg\":\"EdDSA\",\"kid\":\"ed\",\"typ\":\"at+jwt\"}"
#define JWT_HEADER "{\"alg\":\"EdDSA\",\"kid\":\"ed\",\"typ\":\"JWT\"}"
/* The claims that every good token has; a test adds or replaces. */
#define BASE                                                                                       \
    "\"iss\":\"" ISSUER "\",\"aud\":\"" RESOURCE "\",\"sub\":\"alice\",\"client_id\":\"cli\","     \
    "\"iat\":1799999990,\"exp\":1800000300,\"jti\":\"1\""

static const cw_str audiences[] = {CW_STR_INIT(RESOURCE), CW_STR_INIT("urn:causeway")};
static const cw_str pointers[] = {CW_STR_INIT("/realm_access/roles"), CW_STR_INIT("/role")};
static cw_jwt_rules rules;
static token_signer ed, rsa;
static cw_jwks *keys;
static cw_arena arena;
static cw_jwt jwt;
static cw_err err;

SETUP(make_keys)
{
    cw_arena_init(&arena, 4u << 20);
    token_signer_init(&ed, CW_JOSE_EDDSA, "ed");
    token_signer_init(&rsa, CW_JOSE_RS256, "rs");
    const token_signer both[] = {ed, rsa};
    return cw_jwks_parse(token_signer_key_set(both, 2, "", &arena), CW_JOSE_ALL, &keys, NULL);
}

TEARDOWN(drop_keys)
{
    cw_jwks_unref(keys);
    token_signer_done(&ed);
    token_signer_done(&rsa);
    cw_arena_done(&arena);
    return 0;
}

SETUP(reset)
{
    cw_arena_reset(&arena);
    rules = (cw_jwt_rules){.issuer = CW_STR(ISSUER),
                           .audiences = audiences,
                           .n_audiences = CW_COUNT(audiences),
                           .algs = CW_JOSE_ALL,
                           .leeway_s = CW_JWT_LEEWAY_S};
    return 0;
}

static cw_token_reason judge_token(cw_str token)
{
    err.msg[0] = 0;
    cw_code rc = cw_jwt_parse(token, &arena, &jwt, &err);
    if (!rc)
        rc = cw_jwt_check(&jwt, &rules, keys, NOW * 1000, &arena, &err);
    assert_int_equal(rc, jwt.reason == CW_TOKEN_NONE ? CW_OK : CW_INVALID);
    assert_int_equal(err.msg[0] != 0, jwt.reason != CW_TOKEN_NONE);
    return jwt.reason;
}

static cw_token_reason judge_as(const char *header, cw_str claims)
{
    return judge_token(token_signer_token(&ed, cw_str_from(header), claims, &arena));
}

static cw_token_reason judge(const char *claims)
{
    return judge_as(AT_HEADER, cw_str_from(claims));
}

/* The base claims without one, and with something else at the end. */
static cw_str claims_with(const char *without, const char *more)
{
    static const char *const all[] = {
        "\"iss\":\"" ISSUER "\"", "\"aud\":\"" RESOURCE "\"", "\"sub\":\"alice\"",
        "\"client_id\":\"cli\"",  "\"iat\":1799999990",       "\"exp\":1800000300",
        "\"jti\":\"1\"",
    };
    cw_str text = CW_STR("{");
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        if (strncmp(all[i] + 1, without, strlen(without)) != 0 || !without[0])
            text = token_signer_text(&arena, "%.*s%s,", CW_STR_ARG(text), all[i]);
    }
    return token_signer_text(&arena, "%.*s%s}", CW_STR_ARG(text), more);
}

static cw_token_reason judge_with(const char *without, const char *more)
{
    return judge_as(AT_HEADER, claims_with(without, more));
}

TEST(a_good_token_is_accepted)
{
    assert_int_equal(judge("{" BASE ",\"scope\":\"content:read profile\"}"), CW_TOKEN_NONE);
    assert_true(cw_str_is(jwt.issuer, ISSUER));
    assert_true(cw_str_is(jwt.subject, "alice"));
    assert_true(cw_str_is(jwt.client, "cli"));
    assert_true(jwt.expires_ms == INT64_C(1800000300000));
    assert_int_equal(jwt.n_scopes, 2);
    assert_true(cw_str_is(jwt.scopes[0], "content:read"));
    assert_true(cw_str_is(jwt.scopes[1], "profile"));
    assert_int_equal(jwt.n_roles, 0);
}

TEST(the_issuer_is_exact)
{
    static const char *const bad[] = {
        "\"\"",
        "\"https://as.example/\"",
        "\"HTTPS://as.example\"",
        "\"https://as.example\\u0000\"",
        "\"http://as.example\"",
        "\"https://as.example.evil\"",
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        cw_str more = token_signer_text(&arena, "\"iss\":%s", bad[i]);
        assert_int_equal(judge_with("iss", more.p), CW_TOKEN_ISSUER);
    }
    assert_int_equal(judge_with("iss", "\"x\":1"), CW_TOKEN_NO_ISSUER);
    assert_int_equal(judge_with("iss", "\"iss\":[\"" ISSUER "\"]"), CW_TOKEN_NO_ISSUER);
    assert_int_equal(judge_with("iss", "\"iss\":null"), CW_TOKEN_NO_ISSUER);
}

TEST(threat_C5_the_audience_has_one_of_ours)
{
    static const char *const good[] = {"\"urn:causeway\"", "[\"x\",\"" RESOURCE "\"]",
                                       "[\"" RESOURCE "\"]"};
    static const char *const bad[] = {
        "\"\"",
        "[]",
        "null",
        "1",
        "{}",
        "\"" RESOURCE "/\"",
        "\"https://mcp.example\"",
        "\"x " RESOURCE "\"",
        "[\"x\"]",
        "[[\"" RESOURCE "\"]]",
        "[\"" RESOURCE "\",1]",
        "\"" RESOURCE "\\u0000\"",
    };
    for (size_t i = 0; i < CW_COUNT(good); i++)
        assert_int_equal(judge_with("aud", token_signer_text(&arena, "\"aud\":%s", good[i]).p),
                         CW_TOKEN_NONE);
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_int_equal(judge_with("aud", token_signer_text(&arena, "\"aud\":%s", bad[i]).p),
                         CW_TOKEN_AUDIENCE);
    assert_int_equal(judge_with("aud", "\"x\":1"), CW_TOKEN_NO_AUDIENCE);
}

/* `n` texts "0", "1", ... as a list, then our audience. */
static cw_str many(size_t n, const char *last)
{
    cw_str text = CW_STR("[");
    for (size_t i = 0; i < n; i++)
        text = token_signer_text(&arena, "%.*s\"%zu\",", CW_STR_ARG(text), i);
    return token_signer_text(&arena, "%.*s\"%s\"]", CW_STR_ARG(text), last);
}

TEST(lists_have_ceilings)
{
    static const struct {
        const char *name;
        size_t max;
        cw_token_reason reason;
    } lists[] = {
        {"aud", CW_JWT_MAX_AUDIENCES, CW_TOKEN_AUDIENCE},
        {"scope", CW_JWT_MAX_SCOPES, CW_TOKEN_SCOPE},
        {"scp", CW_JWT_MAX_SCOPES, CW_TOKEN_SCOPE},
        {"role", CW_JWT_MAX_ROLES, CW_TOKEN_ROLES},
    };
    rules.roles = pointers;
    rules.n_roles = 2;
    for (size_t i = 0; i < CW_COUNT(lists); i++) {
        cw_str fits = many(lists[i].max - 1, RESOURCE), more = many(lists[i].max, RESOURCE);
        assert_int_equal(
            judge_with(lists[i].name,
                       token_signer_text(&arena, "\"%s\":%s", lists[i].name, fits.p).p),
            CW_TOKEN_NONE);
        assert_int_equal(
            judge_with(lists[i].name,
                       token_signer_text(&arena, "\"%s\":%s", lists[i].name, more.p).p),
            lists[i].reason);
    }
}

TEST(times_are_kept_to_with_leeway)
{
    static const struct {
        const char *without, *more;
        cw_token_reason reason;
    } cases[] = {
        {"exp", "\"x\":1", CW_TOKEN_NO_EXPIRY},
        {"exp", "\"exp\":1799999941", CW_TOKEN_NONE}, /* 59 s ago */
        {"exp", "\"exp\":1799999940", CW_TOKEN_EXPIRED},
        {"exp", "\"exp\":1799999940.9", CW_TOKEN_EXPIRED},
        {"exp", "\"exp\":1799999941.1", CW_TOKEN_NONE},
        {"exp", "\"exp\":0", CW_TOKEN_EXPIRED},
        {"exp", "\"exp\":1.9e9", CW_TOKEN_NONE},
        {"exp", "\"exp\":253402300799", CW_TOKEN_NONE},
        {"exp", "\"exp\":253402300800", CW_TOKEN_TIME},
        {"exp", "\"exp\":9223372036854775807", CW_TOKEN_TIME},
        {"exp", "\"exp\":99999999999999999999999999", CW_TOKEN_TIME},
        {"exp", "\"exp\":1e300", CW_TOKEN_TIME},
        {"exp", "\"exp\":1e400", CW_TOKEN_TIME},
        {"exp", "\"exp\":1e999999999999", CW_TOKEN_TIME},
        {"exp", "\"exp\":-1", CW_TOKEN_TIME},
        {"exp", "\"exp\":\"1800000300\"", CW_TOKEN_TIME},
        {"exp", "\"exp\":null", CW_TOKEN_TIME},
        {"exp", "\"exp\":true", CW_TOKEN_TIME},
        {"exp", "\"exp\":[1800000300]", CW_TOKEN_TIME},
        {"", "\"nbf\":1800000060", CW_TOKEN_NONE},
        {"", "\"nbf\":1800000060.1", CW_TOKEN_NOT_YET},
        {"", "\"nbf\":1800000061", CW_TOKEN_NOT_YET},
        {"", "\"nbf\":\"0\"", CW_TOKEN_TIME},
        {"iat", "\"iat\":1800000060", CW_TOKEN_NONE},
        {"iat", "\"iat\":1800000061", CW_TOKEN_FUTURE},
        {"iat", "\"iat\":\"x\"", CW_TOKEN_TIME},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++)
        assert_int_equal(judge_with(cases[i].without, cases[i].more), cases[i].reason);
    rules.leeway_s = 0;
    assert_int_equal(judge_with("exp", "\"exp\":1800000001"), CW_TOKEN_NONE);
    assert_int_equal(judge_with("exp", "\"exp\":1800000000"), CW_TOKEN_EXPIRED);
    assert_string_equal(err.msg, "it expired 0 s ago");
}

TEST(the_type_is_that_of_an_access_token)
{
    static const struct {
        const char *typ;
        cw_token_reason strict, lenient;
    } cases[] = {
        {",\"typ\":\"at+jwt\"", CW_TOKEN_NONE, CW_TOKEN_NONE},
        {",\"typ\":\"AT+JWT\"", CW_TOKEN_NONE, CW_TOKEN_NONE},
        {",\"typ\":\"application/at+jwt\"", CW_TOKEN_NONE, CW_TOKEN_NONE},
        {",\"typ\":\"JWT\"", CW_TOKEN_TYP, CW_TOKEN_NONE},
        {"", CW_TOKEN_TYP, CW_TOKEN_NONE},
        {",\"typ\":\"\"", CW_TOKEN_TYP, CW_TOKEN_TYP},
        {",\"typ\":\"dpop+jwt\"", CW_TOKEN_TYP, CW_TOKEN_TYP},
        {",\"typ\":\"logout+jwt\"", CW_TOKEN_TYP, CW_TOKEN_TYP},
        {",\"typ\":\"at+jwt \"", CW_TOKEN_TYP, CW_TOKEN_TYP},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_str header = token_signer_text(&arena, "{\"alg\":\"EdDSA\"%s}", cases[i].typ);
        rules.allow_missing_typ = false;
        assert_int_equal(judge_as(header.p, CW_STR("{" BASE "}")), cases[i].strict);
        rules.allow_missing_typ = true;
        assert_int_equal(judge_as(header.p, CW_STR("{" BASE "}")), cases[i].lenient);
    }
}

TEST(id_tokens_are_no_access_tokens)
{
    static const char *const signs[] = {"\"nonce\":\"n\"", "\"at_hash\":\"x\"", "\"c_hash\":\"x\""};
    rules.allow_missing_typ = true;
    for (size_t i = 0; i < CW_COUNT(signs); i++)
        assert_int_equal(judge_as(JWT_HEADER, claims_with("", signs[i])), CW_TOKEN_ID_TOKEN);
    assert_int_equal(judge_as(JWT_HEADER, claims_with("client_id", "\"x\":1")), CW_TOKEN_ID_TOKEN);
    assert_int_equal(judge_as(JWT_HEADER, claims_with("client_id", "\"scp\":[]")), CW_TOKEN_NONE);
    assert_int_equal(judge_as(JWT_HEADER, claims_with("client_id", "\"azp\":\"a\"")),
                     CW_TOKEN_NONE);
    assert_true(cw_str_is(jwt.client, "a"));
    /* With the type of an access token it is one. */
    assert_int_equal(judge_as(AT_HEADER, claims_with("", "\"nonce\":\"n\"")), CW_TOKEN_NONE);
}

TEST(claims_of_rfc_9068_are_there)
{
    static const char *const required[] = {"sub", "client_id", "iat", "jti"};
    for (size_t i = 0; i < CW_COUNT(required); i++) {
        assert_int_equal(judge_with(required[i], "\"x\":1"), CW_TOKEN_MISSING_CLAIM);
        assert_non_null(strstr(err.msg, required[i]));
    }
    rules.allow_missing_typ = true;
    assert_int_equal(judge_with("sub", "\"x\":1"), CW_TOKEN_NONE);
    assert_null(jwt.subject.p);
}

TEST(bound_tokens_are_refused)
{
    assert_int_equal(judge_with("", "\"cnf\":{\"jkt\":\"x\"}"), CW_TOKEN_BOUND);
    assert_int_equal(judge_with("", "\"cnf\":null"), CW_TOKEN_BOUND);
    rules.allow_missing_typ = true;
    assert_int_equal(judge_as(JWT_HEADER, claims_with("", "\"cnf\":{}")), CW_TOKEN_BOUND);
}

TEST(names_are_texts_of_some_length)
{
    static const char *const bad[] = {"1",         "null",       "\"\"", "[]", "\"a\\u0000b\"",
                                      "\"a\\nb\"", "\"\\u007f\""};
    char name[CW_JWT_MAX_CLIENT + 2] = {0};
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        assert_int_equal(judge_with("sub", token_signer_text(&arena, "\"sub\":%s", bad[i]).p),
                         CW_TOKEN_SUBJECT);
        cw_str client = token_signer_text(&arena, "\"azp\":\"ok\",\"client_id\":%s", bad[i]);
        assert_int_equal(judge_with("client_id", client.p), CW_TOKEN_CLIENT);
    }
    memset(name, 'a', CW_JWT_MAX_CLIENT + 1);
    assert_int_equal(judge_with("sub", token_signer_text(&arena, "\"sub\":\"%.256s\"", name).p),
                     CW_TOKEN_NONE);
    assert_int_equal(judge_with("sub", token_signer_text(&arena, "\"sub\":\"%.257s\"", name).p),
                     CW_TOKEN_SUBJECT);
    assert_int_equal(
        judge_with("client_id", token_signer_text(&arena, "\"azp\":\"%.512s\"", name).p),
        CW_TOKEN_NONE);
    assert_int_equal(judge_with("client_id", token_signer_text(&arena, "\"azp\":\"%s\"", name).p),
                     CW_TOKEN_CLIENT);
}

TEST(scopes_come_as_text_or_list)
{
    static const struct {
        const char *more;
        size_t n;
    } good[] = {
        {"\"scope\":\"\"", 0},
        {"\"scope\":\"a\"", 1},
        {"\"scope\":\"a b a\"", 2},
        {"\"scope\":\" a  b \"", 2},
        {"\"scope\":\"a,b, c,,\"", 3},
        {"\"scope\":[\"a\",\"b\"]", 2},
        {"\"scope\":[\"a b\",\"c\"]", 3},
        {"\"scp\":\"a b\"", 2},
        {"\"scp\":[\"a\"]", 1},
        {"\"scope\":\"a\",\"scp\":[\"a\",\"b\"]", 2},
        {"\"x\":1", 0},
    };
    static const char *const bad[] = {
        "\"scope\":1",          "\"scope\":null",
        "\"scope\":{}",         "\"scope\":[1]",
        "\"scope\":[[\"a\"]]",  "\"scope\":\"a\\tb\"",
        "\"scope\":\"a\\\"b\"", "\"scope\":\"\\u00e4\"",
        "\"scp\":false",        "\"scope\":\"a\\u0000\"",
    };
    char longer[130] = {0};
    for (size_t i = 0; i < CW_COUNT(good); i++) {
        assert_int_equal(judge_with("", good[i].more), CW_TOKEN_NONE);
        assert_int_equal(jwt.n_scopes, good[i].n);
    }
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_int_equal(judge_with("", bad[i]), CW_TOKEN_SCOPE);
    memset(longer, 's', 129);
    assert_int_equal(judge_with("", token_signer_text(&arena, "\"scope\":\"%s\"", longer).p),
                     CW_TOKEN_SCOPE);
}

TEST(roles_are_found_by_pointer)
{
    static const char *const bad[] = {"1", "{}", "[1]", "[[\"a\"]]", "\"\"", "[\"a\\n\"]"};
    rules.roles = pointers;
    rules.n_roles = CW_COUNT(pointers);
    assert_int_equal(judge_with("", "\"realm_access\":{\"roles\":[\"editor\",\"admin\"]},"
                                    "\"role\":\"editor\""),
                     CW_TOKEN_NONE);
    assert_int_equal(jwt.n_roles, 2);
    assert_true(cw_str_is(jwt.roles[1], "admin"));
    assert_int_equal(judge_with("", "\"realm_access\":1"), CW_TOKEN_NONE);
    assert_int_equal(jwt.n_roles, 0);
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_int_equal(judge_with("", token_signer_text(&arena, "\"role\":%s", bad[i]).p),
                         CW_TOKEN_ROLES);
}

TEST(claims_are_strict_json)
{
    static const cw_str bad[] = {
        CW_STR_INIT(""),
        CW_STR_INIT("[]"),
        CW_STR_INIT("\"x\""),
        CW_STR_INIT("{" BASE "} x"),
        CW_STR_INIT("{" BASE "}\0"),
        CW_STR_INIT("{" BASE ",\"sub\":\"admin\"}"),
        CW_STR_INIT("{" BASE ",\"\\u0073ub\":\"admin\"}"),
        CW_STR_INIT("{" BASE ",\"x\":\"\xC0\x80\"}"),
        CW_STR_INIT("{" BASE ",\"x\":[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]}"),
        /* A token inside a token that does not say so. */
        CW_STR_INIT("eyJhbGciOiJFZERTQSJ9.e30.AAAA"),
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_int_equal(judge_as(AT_HEADER, bad[i]), CW_TOKEN_CLAIMS);
    /* Names are exact: these are other claims. */
    assert_int_equal(judge_with("exp", "\"Exp\":1800000300"), CW_TOKEN_NO_EXPIRY);
    assert_int_equal(judge_with("exp", "\"exp\\u0000\":1800000300"), CW_TOKEN_NO_EXPIRY);
    assert_int_equal(judge_with("i\xC5\xBFs", "\"i\xC5\xBFs\":\"evil\""), CW_TOKEN_NONE);
}

TEST(algorithms_of_the_issuer_are_all_there_are)
{
    rules.algs = CW_JOSE_RS256 | CW_JOSE_ES256;
    assert_int_equal(judge("{" BASE "}"), CW_TOKEN_ALG);
}

/* The public key as its owner publishes it, taken for the secret of an HMAC: threat-C7. */
TEST(a_public_key_is_no_shared_secret)
{
    unsigned char mac[32], *der = NULL;
    unsigned n = sizeof mac;
    BIO *memory = BIO_new(BIO_s_mem());
    char *pem;
    PEM_write_bio_PUBKEY(memory, rsa.key);
    long n_pem = BIO_get_mem_data(memory, &pem);
    int n_der = i2d_PUBKEY(rsa.key, &der);
    cw_str jwk = token_signer_jwk(&rsa, "", &arena);
    const cw_str secrets[] = {{pem, (size_t)n_pem}, {(char *)der, (size_t)n_der}, jwk, CW_STR("")};
    cw_str first = token_signer_base64url(
        CW_STR("{\"alg\":\"HS256\",\"kid\":\"rs\",\"typ\":\"at+jwt\"}"), &arena);
    cw_str text = token_signer_text(&arena, "%s.%s", first.p,
                                    token_signer_base64url(CW_STR("{" BASE "}"), &arena).p);
    for (size_t i = 0; i < CW_COUNT(secrets); i++) {
        HMAC(EVP_sha256(), secrets[i].p, (int)secrets[i].n, (const unsigned char *)text.p, text.n,
             mac, &n);
        cw_str last = token_signer_base64url(cw_str_make((const char *)mac, n), &arena);
        assert_int_equal(judge_token(token_signer_text(&arena, "%s.%s", text.p, last.p)),
                         CW_TOKEN_ALG_SYMMETRIC);
    }
    OPENSSL_free(der);
    BIO_free(memory);
}

/* Keys that a token brings along are not looked at. */
TEST(a_token_brings_no_key)
{
    token_signer evil;
    token_signer_init(&evil, CW_JOSE_EDDSA, "ed");
    cw_str jwk = token_signer_jwk(&evil, "", &arena);
    static const char *const ids[] = {",\"kid\":\"ed\"", "", ",\"kid\":\"other\""};
    static const cw_token_reason reasons[] = {CW_TOKEN_SIGNATURE, CW_TOKEN_SIGNATURE,
                                              CW_TOKEN_NO_KEY};
    for (size_t i = 0; i < CW_COUNT(ids); i++) {
        cw_str header =
            token_signer_text(&arena,
                              "{\"alg\":\"EdDSA\",\"typ\":\"at+jwt\",\"jwk\":%s,"
                              "\"jku\":\"https://evil.example\",\"x5u\":\"https://evil\"%s}",
                              jwk.p, ids[i]);
        cw_str token = token_signer_token(&evil, header, CW_STR("{" BASE "}"), &arena);
        assert_int_equal(judge_token(token), reasons[i]);
    }
    token_signer_done(&evil);
}

TEST(signatures_are_not_optional)
{
    cw_str token = token_signer_token(&ed, CW_STR(AT_HEADER), CW_STR("{" BASE "}"), &arena);
    size_t n = token.n;
    while (token.p[n - 1] != '.')
        n--;
    assert_int_equal(judge_token(cw_str_make(token.p, n)), CW_TOKEN_SIGNATURE_LENGTH);
    assert_int_equal(judge_token(cw_str_make(token.p, n - 1)), CW_TOKEN_NOT_COMPACT);
    assert_int_equal(judge_token(token_signer_text(&arena, "%s.", token.p)), CW_TOKEN_NOT_COMPACT);
    cw_str none = token_signer_base64url(CW_STR("{\"alg\":\"none\",\"typ\":\"at+jwt\"}"), &arena);
    cw_str claims = token_signer_base64url(CW_STR("{" BASE "}"), &arena);
    assert_int_equal(judge_token(token_signer_text(&arena, "%s.%s.", none.p, claims.p)),
                     CW_TOKEN_ALG_NONE);
    /* The claims of one token with the signature of another. */
    cw_str other = token_signer_base64url(CW_STR("{" BASE ",\"scope\":\"admin\"}"), &arena);
    cw_str first = token_signer_base64url(CW_STR(AT_HEADER), &arena);
    assert_int_equal(
        judge_token(token_signer_text(&arena, "%s.%s.%s", first.p, other.p, token.p + n)),
        CW_TOKEN_SIGNATURE);
}

/* Whoever explains a refused token wants to see what is in it. */
TEST(claims_are_there_when_the_header_is_wrong)
{
    assert_int_equal(judge_as("{\"alg\":\"HS256\"}", CW_STR("{" BASE "}")), CW_TOKEN_ALG_SYMMETRIC);
    assert_non_null(jwt.jws.header);
    assert_non_null(cw_json_get(jwt.claims, CW_STR("sub")));
    assert_int_equal(judge_token(CW_STR("a.b")), CW_TOKEN_NOT_COMPACT);
    assert_null(jwt.jws.header);
    assert_null(jwt.claims);
}

TEST(the_largest_token_fits_its_memory)
{
    cw_arena own;
    cw_buf claims;
    cw_buf_init(&claims, CW_JWS_MAX_BYTES);
    cw_buf_add(&claims, CW_STR("{" BASE ",\"x\":["));
    while (claims.n < 11000)
        cw_buf_add(&claims, CW_STR("[],"));
    cw_buf_add(&claims, CW_STR("1]}"));
    cw_str token = token_signer_token(&ed, CW_STR(AT_HEADER), cw_buf_str(&claims), &arena);
    assert_true(token.n < CW_JWS_MAX_BYTES && token.n > CW_JWS_MAX_BYTES - 2000);
    cw_arena_init(&own, CW_JWT_MEMORY);
    assert_int_equal(cw_jwt_parse(token, &own, &jwt, &err), CW_OK);
    assert_int_equal(cw_jwt_check(&jwt, &rules, keys, NOW * 1000, &own, &err), CW_OK);
    cw_arena_done(&own);
    cw_buf_done(&claims);
}

static void check_once(void *ctx)
{
    const cw_str *token = ctx;
    cw_arena own;
    cw_jwt got;
    cw_arena_init(&own, CW_JWT_MEMORY);
    cw_code rc = cw_jwt_parse(*token, &own, &got, NULL);
    if (!rc)
        rc = cw_jwt_check(&got, &rules, keys, NOW * 1000, &own, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    assert_int_equal(got.reason, CW_TOKEN_NONE);
    cw_arena_done(&own);
}

TEST(failed_allocations_are_no_refusals)
{
    rules.roles = pointers;
    rules.n_roles = 2;
    cw_str token = token_signer_token(&ed, CW_STR(AT_HEADER), CW_STR("{" BASE "}"), &arena);
    assert_true(oom_each(check_once, &token) >= 3);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, reset)
    const struct CMUnitTest tests[] = {
        T(a_good_token_is_accepted),
        T(the_issuer_is_exact),
        T(threat_C5_the_audience_has_one_of_ours),
        T(lists_have_ceilings),
        T(times_are_kept_to_with_leeway),
        T(the_type_is_that_of_an_access_token),
        T(id_tokens_are_no_access_tokens),
        T(claims_of_rfc_9068_are_there),
        T(bound_tokens_are_refused),
        T(names_are_texts_of_some_length),
        T(scopes_come_as_text_or_list),
        T(roles_are_found_by_pointer),
        T(claims_are_strict_json),
        T(algorithms_of_the_issuer_are_all_there_are),
        T(a_public_key_is_no_shared_secret),
        T(a_token_brings_no_key),
        T(signatures_are_not_optional),
        T(claims_are_there_when_the_header_is_wrong),
        T(the_largest_token_fits_its_memory),
        T(failed_allocations_are_no_refusals),
    };
    return cmocka_run_group_tests(tests, make_keys, drop_keys);
}
