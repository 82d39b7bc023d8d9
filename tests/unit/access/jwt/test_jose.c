/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The compact form: one spelling, and nothing of the header believed that it should not be. */
#include "support/oom.h"
#include "support/test.h"
#include "support/token_signer.h"

/* {"alg":"RS256"} and {} */
#define HEADER "eyJhbGciOiJSUzI1NiJ9"
#define PAYLOAD "e30"

static cw_arena arena;

SETUP(setup)
{
    cw_arena_init(&arena, 1u << 20);
    return 0;
}

TEARDOWN(teardown)
{
    cw_arena_done(&arena);
    return 0;
}

static cw_token_reason judge(cw_str token)
{
    cw_jws jws;
    cw_token_reason reason;
    cw_code rc = cw_jws_parse(token, &arena, &jws, &reason);
    assert_int_equal(rc, reason == CW_TOKEN_NONE ? CW_OK : CW_INVALID);
    return reason;
}

/* A token with this header. */
static cw_token_reason judge_header(cw_str header)
{
    cw_str first = token_signer_base64url(header, &arena);
    return judge(token_signer_text(&arena, "%s." PAYLOAD ".AAAA", first.p));
}

TEST(parts_come_out_as_they_went_in)
{
    cw_jws jws;
    cw_token_reason reason;
    cw_str header = CW_STR("{\"alg\":\"ES256\",\"kid\":\"k\\u0031\",\"typ\":\"at+jwt\"}");
    cw_str first = token_signer_base64url(header, &arena);
    cw_str token = token_signer_text(&arena, "%s.AAH_.-_8", first.p);
    assert_int_equal(cw_jws_parse(token, &arena, &jws, &reason), CW_OK);
    assert_int_equal(jws.alg, CW_JOSE_ES256);
    assert_true(cw_str_is(jws.kid, "k1"));
    assert_true(cw_str_is(jws.typ, "at+jwt"));
    assert_true(cw_str_eq(jws.payload, cw_str_make("\0\1\xFF", 3)));
    assert_true(cw_str_eq(jws.signature, cw_str_make("\xFB\xFF", 2)));
    assert_int_equal(jws.signed_part.n, first.n + 5);
    assert_ptr_equal(jws.signed_part.p, token.p);
    assert_int_equal(judge(CW_STR(HEADER "..")), CW_TOKEN_NONE);
}

TEST(there_are_three_parts)
{
    static const char *const bad[] = {
        "",
        ".",
        "..",
        "...",
        HEADER,
        HEADER ".",
        HEADER "." PAYLOAD,
        "." PAYLOAD ".AAAA",
        HEADER "." PAYLOAD ".AAAA.",
        HEADER "." PAYLOAD ".AAAA.AAAA",
        "." HEADER "." PAYLOAD ".AAAA",
        "{\"payload\":\"e30\",\"signatures\":[]}",
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_int_equal(judge(cw_str_from(bad[i])), CW_TOKEN_NOT_COMPACT);
    assert_int_equal(judge(CW_STR("a.b.c.d.e")), CW_TOKEN_ENCRYPTED);
}

TEST(base64url_has_one_spelling)
{
    static const cw_str bad[] = {
        CW_STR_INIT(HEADER "==." PAYLOAD ".AAAA"),
        CW_STR_INIT(HEADER "." PAYLOAD ".AA=="),
        CW_STR_INIT(HEADER "." PAYLOAD ".A"),
        CW_STR_INIT(HEADER "." PAYLOAD ".AAAAA"),
        CW_STR_INIT(HEADER "." PAYLOAD ".AB"),
        CW_STR_INIT(HEADER "." PAYLOAD ".AAB"),
        CW_STR_INIT(HEADER "." PAYLOAD ".AA+A"),
        CW_STR_INIT(HEADER "." PAYLOAD ".AA/A"),
        CW_STR_INIT(HEADER "." PAYLOAD ".AA A"),
        CW_STR_INIT(HEADER "." PAYLOAD ".AAAA\n"),
        CW_STR_INIT(" " HEADER "." PAYLOAD ".AAAA"),
        CW_STR_INIT(HEADER "." PAYLOAD ".AAAA\0"),
        CW_STR_INIT(HEADER "." PAYLOAD ".AA\0A"),
        CW_STR_INIT(HEADER ".e3\x30\0.AAAA"),
        CW_STR_INIT(HEADER ".e31.AAAA"),
        CW_STR_INIT(HEADER "." PAYLOAD ".\xC3\xA4zz"),
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_int_equal(judge(bad[i]), CW_TOKEN_BASE64);
}

/* Each of the 64 characters, and none of the other 192. */
TEST(base64url_has_one_alphabet)
{
    char token[] = HEADER "." PAYLOAD ".AAAA";
    unsigned taken = 0;
    for (unsigned c = 0; c < 256; c++) {
        token[sizeof token - 3] = (char)c;
        taken += c != '.' && judge(cw_str_make(token, sizeof token - 1)) == CW_TOKEN_NONE;
    }
    assert_int_equal(taken, 64);
}

TEST(headers_are_strict_json)
{
    static const cw_str bad[] = {
        CW_STR_INIT("[]"),
        CW_STR_INIT("\"RS256\""),
        CW_STR_INIT("{\"alg\":\"RS256\""),
        CW_STR_INIT("{\"alg\":\"RS256\"}x"),
        CW_STR_INIT("{\"alg\":\"RS256\"}\0"),
        CW_STR_INIT("\xEF\xBB\xBF{\"alg\":\"RS256\"}"),
        CW_STR_INIT("{\"alg\":\"none\",\"alg\":\"RS256\"}"),
        CW_STR_INIT("{\"alg\":\"RS256\",\"\\u0061lg\":\"none\"}"),
        CW_STR_INIT("{\"alg\":\"RS256\",\"kid\":\"\xFF\"}"),
        CW_STR_INIT("{\"alg\":\"RS256\",\"a\":[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]}"),
        CW_STR_INIT("{\"alg\":\"RS256\",\"cty\":1}"),
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_int_equal(judge_header(bad[i]), CW_TOKEN_HEADER);
    assert_int_equal(judge_header(CW_STR(" {\n\t\"alg\" : \"RS256\" } ")), CW_TOKEN_NONE);
}

TEST(algorithms_are_those_that_are_named)
{
    static const struct {
        const char *header;
        cw_token_reason reason;
    } cases[] = {
        {"{}", CW_TOKEN_NO_ALG},
        {"{\"alg\":null}", CW_TOKEN_NO_ALG},
        {"{\"alg\":[\"RS256\"]}", CW_TOKEN_NO_ALG},
        {"{\"Alg\":\"RS256\"}", CW_TOKEN_NO_ALG},
        {"{\"alg\":\"none\"}", CW_TOKEN_ALG_NONE},
        {"{\"alg\":\"None\"}", CW_TOKEN_ALG_NONE},
        {"{\"alg\":\"nOnE\"}", CW_TOKEN_ALG_NONE},
        {"{\"alg\":\"HS256\"}", CW_TOKEN_ALG_SYMMETRIC},
        {"{\"alg\":\"HS512\"}", CW_TOKEN_ALG_SYMMETRIC},
        {"{\"alg\":\"\"}", CW_TOKEN_ALG},
        {"{\"alg\":\"rs256\"}", CW_TOKEN_ALG},
        {"{\"alg\":\"RS256 \"}", CW_TOKEN_ALG},
        {"{\"alg\":\"RS256\\u0000\"}", CW_TOKEN_ALG},
        {"{\"alg\":\"RS512\"}", CW_TOKEN_ALG},
        {"{\"alg\":\"ES256K\"}", CW_TOKEN_ALG},
        {"{\"alg\":\"Ed448\"}", CW_TOKEN_ALG},
        {"{\"alg\":\"EdDSA\"}", CW_TOKEN_NONE},
        {"{\"alg\":\"Ed25519\"}", CW_TOKEN_NONE},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++)
        assert_int_equal(judge_header(cw_str_from(cases[i].header)), cases[i].reason);
}

TEST(extensions_and_tokens_inside_are_refused)
{
    static const char *const crit[] = {"[]", "[\"b64\"]", "null", "[\"exp\"]"};
    for (size_t i = 0; i < CW_COUNT(crit); i++) {
        cw_str header =
            token_signer_text(&arena, "{\"alg\":\"RS256\",\"b64\":true,\"crit\":%s}", crit[i]);
        assert_int_equal(judge_header(header), CW_TOKEN_CRIT);
    }
    assert_int_equal(judge_header(CW_STR("{\"alg\":\"RS256\",\"cty\":\"jwt\"}")), CW_TOKEN_NESTED);
    assert_int_equal(judge_header(CW_STR("{\"alg\":\"RS256\",\"typ\":1}")), CW_TOKEN_TYP);
}

TEST(key_ids_are_short_texts)
{
    char id[CW_JWS_MAX_KID + 2] = {0};
    assert_int_equal(judge_header(CW_STR("{\"alg\":\"RS256\",\"kid\":1}")), CW_TOKEN_KID);
    assert_int_equal(judge_header(CW_STR("{\"alg\":\"RS256\",\"kid\":null}")), CW_TOKEN_KID);
    memset(id, 'k', CW_JWS_MAX_KID);
    assert_int_equal(
        judge_header(token_signer_text(&arena, "{\"alg\":\"RS256\",\"kid\":\"%s\"}", id)),
        CW_TOKEN_NONE);
    id[CW_JWS_MAX_KID] = 'k';
    assert_int_equal(
        judge_header(token_signer_text(&arena, "{\"alg\":\"RS256\",\"kid\":\"%s\"}", id)),
        CW_TOKEN_KID);
}

/* `n` bytes: a header, a payload of nothing, and as many A as are left. */
static cw_str token_of_length(size_t n)
{
    char *token = cw_arena_alloc(&arena, n);
    memset(token, 'A', n);
    memcpy(token, HEADER "..", sizeof(HEADER "..") - 1);
    return cw_str_make(token, n);
}

TEST(size_has_ceilings)
{
    char space[CW_JWS_MAX_HEADER + 1];
    assert_int_equal(judge(token_of_length(CW_JWS_MAX_BYTES)), CW_TOKEN_NONE);
    assert_int_equal(judge(token_of_length(CW_JWS_MAX_BYTES + 1)), CW_TOKEN_TOO_LONG);
    memset(space, ' ', sizeof space);
    memcpy(space, "{\"alg\":\"RS256\"}", 15);
    assert_int_equal(judge_header(cw_str_make(space, CW_JWS_MAX_HEADER)), CW_TOKEN_NONE);
    assert_int_equal(judge_header(cw_str_make(space, CW_JWS_MAX_HEADER + 1)), CW_TOKEN_HEADER);
}

TEST(every_reason_has_a_name_and_a_sentence)
{
    for (int i = 0; i <= CW_TOKEN_ROLES; i++) {
        assert_true(cw_token_reason_name((cw_token_reason)i)[0]);
        assert_true(cw_token_reason_text((cw_token_reason)i)[0]);
    }
    assert_string_equal(cw_token_reason_name(CW_TOKEN_EXPIRED), "expired");
}

static void parse_once(void *ctx)
{
    const cw_str *token = ctx;
    cw_arena own;
    cw_jws jws;
    cw_token_reason reason;
    cw_arena_init(&own, 1u << 20);
    cw_code rc = cw_jws_parse(*token, &own, &jws, &reason);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_arena_done(&own);
}

TEST(failed_allocations_are_no_refusals)
{
    cw_jws jws;
    cw_token_reason reason;
    cw_arena small;
    cw_str token = token_of_length(8000);
    assert_true(oom_each(parse_once, &token) >= 2);
    cw_arena_init(&small, 4096);
    assert_int_equal(cw_jws_parse(token, &small, &jws, &reason), CW_LIMIT);
    assert_int_equal(reason, CW_TOKEN_NONE);
    cw_arena_done(&small);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(parts_come_out_as_they_went_in),
        T(there_are_three_parts),
        T(base64url_has_one_spelling),
        T(base64url_has_one_alphabet),
        T(headers_are_strict_json),
        T(algorithms_are_those_that_are_named),
        T(extensions_and_tokens_inside_are_refused),
        T(key_ids_are_short_texts),
        T(size_has_ceilings),
        T(every_reason_has_a_name_and_a_sentence),
        T(failed_allocations_are_no_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
