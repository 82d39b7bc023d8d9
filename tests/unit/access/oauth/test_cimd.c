/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/oauth/cimd.h"
#include "support/test.h"

static const cw_redirect_rules rules = {0};
static cw_arena arena;
static cw_err err;

static int begin(void **state)
{
    (void)state;
    cw_arena_init(&arena, 1u << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    cw_arena_done(&arena);
    return 0;
}

#define ID "https://app.example/client.json"

TEST(AS17_an_id_must_be_a_plain_https_url_with_a_path)
{
    static const char *const rejected[] = {
        "http://app.example/c",
        "https://app.example",
        "https://app.example/",
        "https://app.example/?x",
        "https://a@app.example/c",
        "https://app.example/c#f",
        "https://app.example/a/../c",
        "https://app.example/%2e/",
        "https://app.example\\c",
        "https://app.example/a b",
        "https://0x7f.1/c",
        "https://app.example:/c",
        "https://app.example:99999/c",
        "dcr.x",
        "",
    };
    cw_str host;
    for (size_t i = 0; i < CW_COUNT(rejected); i++)
        assert_non_null(cw_cimd_check_id(cw_str_from(rejected[i]), &host));
    assert_null(cw_cimd_check_id(CW_STR("https://App.example:8443/a/c?x=y"), &host));
    assert_true(cw_str_is(host, "App.example"));
}

static cw_code read_document(const char *body, cw_oauth_client *ret)
{
    err.msg[0] = 0;
    return cw_cimd_read(CW_STR(ID), cw_str_from(body), &rules, &arena, ret, &err);
}

TEST(AS17_documents_of_known_clients_are_accepted)
{
    cw_oauth_client client;
    assert_int_equal(
        read_document("{\"client_id\":\"" ID "\",\"client_name\":\"App\",\"redirect_uris\":"
                      "[\"http://localhost/callback\",\"http://127.0.0.1/callback\"],"
                      "\"grant_types\":[\"authorization_code\",\"refresh_token\",\"other\"],"
                      "\"token_endpoint_auth_method\":\"none\",\"logo_uri\":\"https://x/y\"}",
                      &client),
        CW_OK);
    assert_int_equal(client.kind, CW_OAUTH_DOCUMENT);
    assert_true(client.may_refresh && !client.has_secret);
    assert_int_equal(client.n_redirect_uris, 2);
}

TEST(T23_a_document_that_prefers_another_method_but_lists_none_is_accepted)
{
    cw_oauth_client client;
    assert_int_equal(
        read_document("{\"client_id\":\"" ID "\",\"client_name\":\"App\","
                      "\"redirect_uris\":[\"https://app.example/cb\"],"
                      "\"token_endpoint_auth_method\":\"private_key_jwt\","
                      "\"token_endpoint_auth_methods_supported\":[\"private_key_jwt\",\"none\"],"
                      "\"jwks\":{\"keys\":[{\"kty\":\"EC\",\"x\":\"a\",\"y\":\"b\"}]}}",
                      &client),
        CW_OK);
    assert_false(client.may_refresh);
}

#define MORE(members)                                                                              \
    "{\"client_id\":\"" ID "\",\"client_name\":\"App\",\"redirect_uris\":"                         \
    "[\"https://app.example/cb\"]," members "}"

TEST(AS17_T18_other_documents_are_rejected)
{
    static const char *const rejected[] = {
        "",
        "[]",
        "{}",
        "{\"client_id\":\"https://app.example/client.jso\",\"client_name\":\"App\","
        "\"redirect_uris\":[\"https://app.example/cb\"]}",
        "{\"client_id\":\"" ID "\",\"redirect_uris\":[\"https://app.example/cb\"]}",
        "{\"client_id\":\"" ID "\",\"client_name\":\" \\u202e \",\"redirect_uris\":"
        "[\"https://app.example/cb\"]}",
        "{\"client_id\":\"" ID "\",\"client_name\":\"App\"}",
        "{\"client_id\":\"" ID "\",\"client_name\":\"App\",\"redirect_uris\":[]}",
        "{\"client_id\":\"" ID "\",\"client_name\":\"App\",\"redirect_uris\":"
        "[\"https://app.example/cb\",\"http://evil.example/\"]}",
        "{\"client_id\":\"" ID "\",\"client_id\":\"" ID "\",\"client_name\":\"App\","
        "\"redirect_uris\":[\"https://app.example/cb\"]}",
        MORE("\"client_secret\":\"x\""),
        MORE("\"client_secret_expires_at\":0"),
        MORE("\"token_endpoint_auth_method\":\"client_secret_post\""),
        MORE("\"token_endpoint_auth_method\":\"private_key_jwt\""),
        MORE("\"token_endpoint_auth_method\":7"),
        MORE("\"jwks\":{\"keys\":[{\"kty\":\"EC\",\"d\":\"secret\"}]}"),
    };
    for (size_t i = 0; i < CW_COUNT(rejected); i++) {
        cw_oauth_client client;
        if (read_document(rejected[i], &client) != CW_PARAMS || !err.msg[0])
            fail_msg("%s was accepted", rejected[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(AS17_an_id_must_be_a_plain_https_url_with_a_path, begin,
                                        end),
        cmocka_unit_test_setup_teardown(AS17_documents_of_known_clients_are_accepted, begin, end),
        cmocka_unit_test_setup_teardown(
            T23_a_document_that_prefers_another_method_but_lists_none_is_accepted, begin, end),
        cmocka_unit_test_setup_teardown(AS17_T18_other_documents_are_rejected, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
