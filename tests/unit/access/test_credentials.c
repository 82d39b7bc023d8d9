/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sodium.h>
#include <sys/resource.h>

#include "access/credentials.h"
#include "support/patience.h"
#include "support/test.h"

static cw_credentials c;

static bool is_password(const char *hash, cw_str password)
{
    bool is_right = true;
    assert_int_equal(cw_password_verify(hash, password, &is_right), CW_OK);
    return is_right;
}

TEST(a_password_is_its_own_only)
{
    char hash[CW_PASSWORD_HASH], again[CW_PASSWORD_HASH];
    assert_int_equal(cw_password_hash(CW_STR("s3cret"), hash, NULL), CW_OK);
    assert_int_equal(strncmp(hash, "$argon2id$v=19$m=65536,t=2,p=1$", 31), 0);
    assert_null(strstr(hash, "s3cret"));
    assert_true(is_password(hash, CW_STR("s3cret")));
    assert_false(is_password(hash, CW_STR("s3cret ")));
    assert_int_equal(cw_password_hash(CW_STR("s3cret"), again, NULL), CW_OK);
    assert_string_not_equal(hash, again);
}

TEST(no_password_is_nobodys)
{
    assert_false(is_password("", CW_STR("")));
    assert_false(is_password("", CW_STR("x")));
    assert_false(is_password("garbage", CW_STR("x")));
}

/* Hashes of other parameters, salts and lengths than ours are read too. */
TEST(hashes_of_others_are_understood)
{
    char hash[CW_PASSWORD_HASH];
    assert_int_equal(crypto_pwhash_argon2id_str(hash, "s3cret", 6, 1, 8192), 0);
    assert_true(is_password(hash, CW_STR("s3cret")));
    assert_false(is_password(hash, CW_STR("S3cret")));
    static const char *const broken[] = {
        "$argon2id$v=19$m=65536,t=2,p=1$",
        "$argon2id$v=19$m=65536,t=2,p=1$AAAA$AAAA",
        "$argon2id$v=19$m=65536,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA",
        "$argon2id$v=19$m=65536,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$",
        "$argon2id$v=19$m=65536,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAA",
    };
    for (size_t i = 0; i < CW_COUNT(broken); i++)
        assert_false(is_password(broken[i], CW_STR("")));
}

TEST(without_memory_nobody_knows)
{
    if (IS_SANITIZED)
        skip(); /* the runtime of a sanitizer ends the process where it gets no memory itself */
    char hash[CW_PASSWORD_HASH];
    bool is_right = false;
    struct rlimit old, low;
    assert_int_equal(cw_password_hash(CW_STR("s3cret"), hash, NULL), CW_OK);
    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    low = old;
    low.rlim_cur = 1; /* what there is stays */
    assert_int_equal(setrlimit(RLIMIT_AS, &low), 0);
    cw_code right = cw_password_verify(hash, CW_STR("s3cret"), &is_right);
    cw_code none = cw_password_verify("", CW_STR("s3cret"), &is_right);
    assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
    assert_int_equal(right, CW_NOMEM);
    assert_int_equal(none, CW_NOMEM);
    assert_true(is_password(hash, CW_STR("s3cret")));
}

TEST(passwords_have_a_ceiling)
{
    static char text[CW_PASSWORD_MAX + 1];
    char hash[CW_PASSWORD_HASH];
    memset(text, 'a', sizeof text);
    assert_int_equal(cw_password_hash(CW_STR(""), hash, NULL), CW_LIMIT);
    assert_int_equal(cw_password_hash(cw_str_make(text, CW_PASSWORD_MAX), hash, NULL), CW_OK);
    assert_int_equal(cw_password_hash(cw_str_make(text, CW_PASSWORD_MAX + 1), hash, NULL),
                     CW_LIMIT);
}

TEST(tokens_are_long_and_different)
{
    char a[CW_TOKEN_LEN + 1], b[CW_TOKEN_LEN + 1];
    unsigned char x[CW_DIGEST], y[CW_DIGEST];
    assert_int_equal(cw_token_make(a, NULL), CW_OK);
    assert_int_equal(cw_token_make(b, NULL), CW_OK);
    assert_int_equal(strlen(a), CW_TOKEN_LEN);
    assert_int_equal(strncmp(a, "cw_", 3), 0);
    assert_string_not_equal(a, b);
    assert_true(cw_token_digest(cw_str_from(a), x));
    assert_true(cw_token_digest(cw_str_from(b), y));
    assert_false(cw_secret_equal(x, y));
    crypto_hash_sha256(y, (const unsigned char *)a, CW_TOKEN_LEN);
    assert_true(cw_secret_equal(x, y));
}

TEST(what_has_not_the_form_of_a_token_is_none)
{
    char good[CW_TOKEN_LEN + 1];
    unsigned char digest[CW_DIGEST];
    assert_int_equal(cw_token_make(good, NULL), CW_OK);
    assert_false(cw_token_digest(cw_str_make(good, CW_TOKEN_LEN - 1), digest));
    assert_false(cw_token_digest(CW_STR(""), digest));
    for (size_t i = 0; i < CW_TOKEN_LEN; i++) {
        char bad[CW_TOKEN_LEN + 1];
        memcpy(bad, good, sizeof bad);
        bad[i] = i < 3 ? 'x' : '=';
        assert_false(cw_token_digest(cw_str_from(bad), digest));
    }
}

/* "Basic " and the base64 of this. */
static cw_str basic(const char *pair)
{
    static char text[4096];
    size_t n = strlen(pair);
    snprintf(text, sizeof text, "Basic ");
    sodium_bin2base64(text + 6, sizeof text - 6, (const unsigned char *)pair, n,
                      sodium_base64_VARIANT_ORIGINAL);
    return cw_str_from(text);
}

TEST(a_name_and_a_password_are_read)
{
    assert_true(cw_credentials_parse(basic("alice:a:b"), &c));
    assert_int_equal(c.kind, CW_CREDENTIALS_PASSWORD);
    assert_true(cw_str_is(cw_str_make(c.name, c.n_name), "alice"));
    assert_true(cw_str_is(cw_str_make(c.password, c.n_password), "a:b"));
    assert_true(cw_credentials_parse(CW_STR("bASIC  YTo="), &c));
    assert_int_equal(c.n_password, 0);
    assert_true(cw_credentials_is_basic(CW_STR("basic x")));
    assert_false(cw_credentials_is_basic(CW_STR("Basically x")));
    cw_credentials_wipe(&c);
    assert_int_equal(c.n_name, 0);
}

TEST(what_is_no_pair_is_refused)
{
    static const cw_str bad[] = {
        CW_STR_INIT(""),          CW_STR_INIT("Basic"),       CW_STR_INIT("Basic "),
        CW_STR_INIT("Basic !!!"), CW_STR_INIT("Basic YTpi="), CW_STR_INIT("Basic YTp"),
        CW_STR_INIT("Digest x"),  CW_STR_INIT("Bearer "),     CW_STR_INIT("Bearer abc"),
        CW_STR_INIT("YTpi"),
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_false(cw_credentials_parse(bad[i], &c));
    assert_false(cw_credentials_parse(basic("alice"), &c));
    assert_false(cw_credentials_parse(basic(":x"), &c));
    assert_false(cw_credentials_parse(basic("a\nb:x"), &c));
    assert_false(cw_credentials_parse(basic("\xff:x"), &c));
    assert_false(cw_credentials_parse(basic("anonymous:x"), &c));
}

TEST(both_have_ceilings)
{
    static char pair[CW_DB_MAX_NAME + 1 + CW_PASSWORD_MAX + 2];
    memset(pair, 'a', sizeof pair - 1);
    pair[CW_DB_MAX_NAME] = ':';
    pair[CW_DB_MAX_NAME + 1 + CW_PASSWORD_MAX] = 0;
    assert_true(cw_credentials_parse(basic(pair), &c));
    pair[CW_DB_MAX_NAME + 1 + CW_PASSWORD_MAX] = 'a';
    assert_false(cw_credentials_parse(basic(pair), &c));
    pair[CW_DB_MAX_NAME] = 'a';
    pair[CW_DB_MAX_NAME + 1] = ':';
    pair[CW_DB_MAX_NAME + 9] = 0;
    assert_false(cw_credentials_parse(basic(pair), &c));
}

TEST(a_tag_differs_with_every_byte_and_with_the_length)
{
    char text[300];
    unsigned char x[CW_DIGEST], y[CW_DIGEST];
    memset(text, 'a', sizeof text);
    cw_secret_tag(cw_str_make(text, sizeof text), x);
    cw_secret_tag(cw_str_make(text, sizeof text), y);
    assert_memory_equal(x, y, CW_DIGEST);
    cw_secret_tag(cw_str_make(text, sizeof text - 1), y);
    assert_memory_not_equal(x, y, CW_DIGEST);
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] ^= 1;
        cw_secret_tag(cw_str_make(text, sizeof text), y);
        assert_memory_not_equal(x, y, CW_DIGEST);
        text[i] ^= 1;
    }
}

/* Stored states have it: the same in every process and every build. */
TEST(the_id_of_a_password_is_that_of_its_stored_hash)
{
    static const unsigned char known[CW_DIGEST] = {0x31, 0x01, 0x72, 0x56, 0x25, 0x56, 0xe9, 0x7a,
                                                   0x5c, 0x23, 0xbf, 0xe7, 0x3e, 0xae, 0x78, 0x9f,
                                                   0xa7, 0x7d, 0x35, 0xe0, 0xe7, 0xc8, 0x17, 0xdf,
                                                   0x92, 0x7b, 0xf1, 0xbd, 0x52, 0x47, 0x85, 0x42};
    unsigned char x[CW_DIGEST], y[CW_DIGEST];
    char hash[CW_PASSWORD_HASH], again[CW_PASSWORD_HASH];
    cw_password_id(CW_STR("$argon2id$x"), x);
    assert_memory_equal(x, known, CW_DIGEST);
    assert_int_equal(cw_password_hash(CW_STR("s3cret"), hash, NULL), CW_OK);
    assert_int_equal(cw_password_hash(CW_STR("s3cret"), again, NULL), CW_OK);
    cw_password_id(cw_str_from(hash), x);
    cw_password_id(cw_str_from(again), y);
    assert_memory_not_equal(x, y, CW_DIGEST);
    cw_password_id(cw_str_from(hash), y);
    assert_memory_equal(x, y, CW_DIGEST);
}

int main(void)
{
    if (cw_secret_init(NULL))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_password_is_its_own_only),
        cmocka_unit_test(a_tag_differs_with_every_byte_and_with_the_length),
        cmocka_unit_test(the_id_of_a_password_is_that_of_its_stored_hash),
        cmocka_unit_test(no_password_is_nobodys),
        cmocka_unit_test(hashes_of_others_are_understood),
        cmocka_unit_test(without_memory_nobody_knows),
        cmocka_unit_test(passwords_have_a_ceiling),
        cmocka_unit_test(tokens_are_long_and_different),
        cmocka_unit_test(what_has_not_the_form_of_a_token_is_none),
        cmocka_unit_test(a_name_and_a_password_are_read),
        cmocka_unit_test(what_is_no_pair_is_refused),
        cmocka_unit_test(both_have_ceilings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
