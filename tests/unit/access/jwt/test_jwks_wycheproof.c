/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JWS vectors of Project Wycheproof, from $CAUSEWAY_TEST_DATA/wycheproof. No forgery may be
 * accepted; what is valid and refused all the same is listed here with its reason. */
#include "access/jwt/jwks.h"
#include "base/file.h"
#include "support/test.h"
#include "support/token_signer.h"

#define LEAST_TESTS 400u

/* Valid by the vectors, refused by us. */
static const struct {
    unsigned first, last;
    cw_token_reason reason;
    const char *why;
} refused[] = {
    {1, 1, CW_TOKEN_ALG_SYMMETRIC, "HS256: shared keys are not supported"},
    {264, 267, CW_TOKEN_ALG, "RS384 is not supported"},
    {268, 271, CW_TOKEN_ALG, "RS512 is not supported"},
    {320, 323, CW_TOKEN_ALG, "PS384 is not supported"},
    {325, 328, CW_TOKEN_ALG, "PS512 is not supported"},
    {346, 346, CW_TOKEN_ALG, "PS384 is not supported (and the key says PS256)"},
    {347, 347, CW_TOKEN_ALG, "ES512 is not supported"},
    {348, 348, CW_TOKEN_ALG_SYMMETRIC, "HS256: shared keys are not supported"},
    {350, 350, CW_TOKEN_ALG, "PS384 is not supported (and the key says PS256)"},
    {351, 351, CW_TOKEN_ALG, "ES512 is not supported"},
    {352, 352, CW_TOKEN_ALG_SYMMETRIC, "HS256: shared keys are not supported"},
    {357, 359, CW_TOKEN_ALG_SYMMETRIC, "HS256: shared keys are not supported"},
    {372, 373, CW_TOKEN_BASE64, "a '?' in the middle of base64url"},
    {376, 377, CW_TOKEN_ALG_SYMMETRIC, "HS256: shared keys are not supported"},
};

typedef struct counts {
    unsigned ran, accepted, explained, wrong;
} counts;

static bool is_explained(unsigned id, cw_token_reason reason)
{
    for (size_t i = 0; i < CW_COUNT(refused); i++) {
        if (id >= refused[i].first && id <= refused[i].last)
            return refused[i].reason == reason;
    }
    return false;
}

static cw_token_reason judge(const cw_jwks *set, const cw_json *jws_text, cw_arena *arena)
{
    cw_jws jws;
    cw_token_reason reason;
    cw_code rc = cw_jws_parse(cw_json_text(jws_text), arena, &jws, &reason);
    if (!rc)
        rc = cw_jwks_verify(set, &jws, &reason);
    assert_int_equal(rc, reason == CW_TOKEN_NONE ? CW_OK : CW_INVALID);
    return reason;
}

static void run_group(const cw_json *group, cw_arena *arena, counts *c)
{
    const cw_json *key = cw_json_get(group, CW_STR("public"));
    /* Groups of shared keys have no public one. */
    key = key ? key : cw_json_get(group, CW_STR("private"));
    cw_str span = cw_json_span(key);
    cw_jwks *set;
    cw_str text = token_signer_text(arena, "{\"keys\":[%.*s]}", CW_STR_ARG(span));
    assert_int_equal(cw_jwks_parse(text, CW_JOSE_ALL, &set, NULL), CW_OK);
    const cw_json *t = cw_json_first(cw_json_get(group, CW_STR("tests")));
    for (; t; t = cw_json_next(t)) {
        int64_t id = 0;
        assert_true(cw_json_to_i64(cw_json_get(t, CW_STR("tcId")), &id));
        bool valid = cw_str_is(cw_json_text(cw_json_get(t, CW_STR("result"))), "valid");
        cw_token_reason reason = judge(set, cw_json_get(t, CW_STR("jws")), arena);
        bool explained = valid && is_explained((unsigned)id, reason);
        bool right = valid == (reason == CW_TOKEN_NONE);
        c->ran++;
        c->accepted += reason == CW_TOKEN_NONE;
        c->explained += explained;
        c->wrong += !right && !explained;
        if (!right && !explained)
            print_message("  %lld is %s: %s\n", (long long)id, valid ? "valid" : "a forgery",
                          cw_token_reason_text(reason));
    }
    cw_jwks_unref(set);
}

TEST(no_forgery_is_accepted_and_every_refusal_explained)
{
    const char *data = getenv("CAUSEWAY_TEST_DATA");
    char path[4096];
    cw_buf file;
    cw_arena arena;
    const cw_json *root;
    counts c = {0};
    snprintf(path, sizeof path, "%s/wycheproof/json_web_signature_test.json", data ? data : ".");
    cw_buf_init(&file, 16u << 20);
    if (!data || cw_file_read(path, CW_FILE_PLAIN, &file, NULL)) {
        cw_buf_done(&file);
        print_message("[          ] no Wycheproof vectors: set CAUSEWAY_TEST_DATA\n");
        skip();
    }
    cw_arena_init(&arena, 64u << 20);
    assert_int_equal(cw_json_read(cw_buf_str(&file), NULL, &arena, &root, NULL, NULL), CW_OK);
    const cw_json *group = cw_json_first(cw_json_get(root, CW_STR("testGroups")));
    for (; group; group = cw_json_next(group))
        run_group(group, &arena, &c);
    print_message("[          ] %u vectors: %u accepted, %u refused for a listed reason\n", c.ran,
                  c.accepted, c.explained);
    assert_true(c.ran >= LEAST_TESTS);
    assert_int_equal(c.wrong, 0);
    assert_true(c.accepted > 10);
    cw_arena_done(&arena);
    cw_buf_done(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_forgery_is_accepted_and_every_refusal_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
