/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/config_fixture.h"

TEST(a_listener_with_tls_needs_a_certificate)
{
    assert_problems("listen:\n  - a:1\n  - {address: \"a:2\", tls: true}\n",
                    "f:3:5: listen[1]: a listener with tls needs tls.certificate and tls.key");
    assert_problems("listen: {address: \"a:2\", tls: true}\n",
                    "f:1:9: listen: a listener with tls needs tls.certificate and tls.key");
}

TEST(certificate_and_key_belong_together)
{
    assert_problems("tls:\n  certificate: c.pem\n",
                    "f:2:16: tls.key: missing; a certificate needs its key");
    assert_problems("tls:\n  key: k.pem\n",
                    "f:2:8: tls.certificate: missing; a key needs its certificate");
    assert_problems("tls:\n  key: k.pem\n  certificate: null\n",
                    "f:3:16: tls.certificate: missing; a key needs its certificate");
    cw_config_unref(config_of("tls: {key: k, certificate: c}\n"));
}

TEST(an_address_is_listed_once)
{
    assert_problems("listen: [\"a:1\", \"b:1\", {address: \"a:1\"}, \"b:1\"]\n",
                    "f:1:24: listen[2]: the same address as listen[0]\n"
                    "f:1:42: listen[3]: the same address as listen[1]");
    assert_problems("listen: [unix:/a, unix:/a]\n",
                    "f:1:19: listen[1]: the same address as listen[0]");
    /* Port 0 is another port each time. */
    cw_config_unref(config_of("listen: [\"a:0\", \"a:0\", \"a:1\", \"a:2\"]\n"));
}

TEST(a_target_fits_its_header)
{
    assert_problems("limits: {target_size: 20000}\n",
                    "f:1:23: limits.target_size: 20000 is more than limits.header_size, 16384");
    assert_problems("limits: {header_size: 4KB}\n",
                    "f:1:23: limits.header_size: 4096 is less than limits.target_size, 8192");
    assert_problems("limits: {header_size: 4KB, target_size: 5000}\n",
                    "f:1:41: limits.target_size: 5000 is more than limits.header_size, 4096");
    cw_config_unref(config_of("limits: {header_size: 8KB}\n"));
}

#define ISSUER(name, more)                                                                         \
    "    - {issuer: https://" name ", client_id: us, client_secret_file: /f" more "}\n"

TEST(an_opaque_token_belongs_to_one_issuer)
{
    static const char begin[] = "public_url: https://x\naccess:\n  issuers:\n";
    static const char problem[] =
        "f:5:7: access.issuers[1]: issuers[0] has a client_id too: give "
        "each a token_prefix, so that a token is shown to one of them only";
    static const char *const bad[] = {
        ISSUER("a", "") ISSUER("b", ""),
        ISSUER("a", "") ISSUER("b", ", token_prefix: x"),
        ISSUER("a", ", token_prefix: xy") ISSUER("b", ", token_prefix: x"),
    };
    char text[600];
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        snprintf(text, sizeof text, "%s%s", begin, bad[i]);
        assert_problems(text, problem);
    }
    snprintf(text, sizeof text, "%s%s", begin,
             ISSUER("a", ", token_prefix: x") ISSUER("b", ", token_prefix: y"));
    cw_config_unref(config_of(text));
    snprintf(text, sizeof text, "%s    - {issuer: https://a, token_prefix: x}\n", begin);
    assert_problems(text, "f:4:7: access.issuers[0]: token_prefix needs client_id");
}

TEST(algorithms_of_an_issuer_are_those_that_are_implemented)
{
    cw_config *c = config_of("public_url: https://x\naccess:\n  issuers:\n"
                             "    - {issuer: https://a, algorithms: [ES384, EdDSA]}\n");
    assert_int_equal(c->access.issuers.items[0].algorithms.n, 2);
    cw_config_unref(c);
    assert_problems(
        "public_url: https://x\naccess:\n  issuers:\n"
        "    - {issuer: https://a, algorithms: [RS256, HS256]}\n",
        "f:4:47: access.issuers[0].algorithms[1]: expected RS256, PS256, ES256, ES384 or "
        "EdDSA, got \"HS256\"");
}

TEST(connections_per_address_fit_the_connections)
{
    assert_problems(
        "limits: {connections: 10, connections_per_address: 11}\n",
        "f:1:52: limits.connections_per_address: 11 is more than limits.connections, 10");
    cw_config_unref(config_of("limits: {connections: 10, connections_per_address: 10}\n"));
}

TEST(sources_have_names_of_their_own)
{
    assert_problems("sources:\n"
                    "  - {name: a, url: \"http://a\"}\n"
                    "  - {name: b, url: \"http://a\"}\n"
                    "  - {name: a, url: \"http://b\"}\n",
                    "f:4:5: sources[2]: the same name as sources[0]");
}

TEST(a_method_is_listed_once)
{
    assert_problems("sources:\n"
                    "  - {name: a, url: \"http://a\", methods: [m, n]}\n"
                    "  - name: b\n"
                    "    url: http://a\n"
                    "    methods: [m, n, {method: m}]\n",
                    "f:5:21: sources[1].methods[2]: the same method as methods[0]");
    assert_problems("sources: {name: a, url: \"http://a\", methods: [m, m]}\n",
                    "f:1:50: sources.methods[1]: the same method as methods[0]");
}

/* A value that is wrong by itself has its default; rules about that would mislead. */
TEST(rules_wait_until_single_values_are_right)
{
    assert_problems("limits: {header_size: x, target_size: 20000}\n",
                    "f:1:23: limits.header_size: expected a size such as \"16KB\" or 4096 "
                    "(bytes), got \"x\"");
}

TEST(all_rules_report_at_once)
{
    assert_problems("listen: [\"a:1\", \"a:1\"]\ntls: {key: k}\nlimits: {header_size: 1KB}\n",
                    "f:1:17: listen[1]: the same address as listen[0]\n"
                    "f:2:12: tls.certificate: missing; a key needs its certificate\n"
                    "f:3:23: limits.header_size: 1024 is less than limits.target_size, 8192");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_listener_with_tls_needs_a_certificate),
        cmocka_unit_test(certificate_and_key_belong_together),
        cmocka_unit_test(an_address_is_listed_once),
        cmocka_unit_test(a_target_fits_its_header),
        cmocka_unit_test(an_opaque_token_belongs_to_one_issuer),
        cmocka_unit_test(algorithms_of_an_issuer_are_those_that_are_implemented),
        cmocka_unit_test(connections_per_address_fit_the_connections),
        cmocka_unit_test(sources_have_names_of_their_own),
        cmocka_unit_test(a_method_is_listed_once),
        cmocka_unit_test(rules_wait_until_single_values_are_right),
        cmocka_unit_test(all_rules_report_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
