/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/addr/proxies.h"

#include "support/test.h"

#include <arpa/inet.h>

#include "support/oom.h"

static cw_address address(const char *text)
{
    cw_address a = {0};
    if (inet_pton(AF_INET, text, &((struct sockaddr_in *)&a.sa)->sin_addr) == 1) {
        a.sa.ss_family = AF_INET;
        return a;
    }
    assert_int_equal(inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)&a.sa)->sin6_addr), 1);
    a.sa.ss_family = AF_INET6;
    return a;
}

static const cw_str entries[] = {CW_STR_INIT("10.1.0.0/16"), CW_STR_INIT("127.0.0.1"),
                                 CW_STR_INIT("2001:db8::/33")};

static bool has(const cw_proxies *p, const char *text)
{
    cw_address a = address(text);
    return cw_proxies_has(p, &a);
}

TEST(networks_hold_their_addresses)
{
    cw_proxies *p;
    assert_int_equal(cw_proxies_new(entries, CW_COUNT(entries), &p, NULL), CW_OK);
    assert_true(has(p, "10.1.255.255"));
    assert_true(has(p, "::ffff:10.1.0.0"));
    assert_false(has(p, "10.2.0.0"));
    assert_false(has(p, "10.0.255.255"));
    assert_true(has(p, "127.0.0.1"));
    assert_false(has(p, "127.0.0.2"));
    assert_true(has(p, "2001:db8:7fff::1"));
    assert_false(has(p, "2001:db8:8000::1"));
    cw_address un = {.sa = {.ss_family = AF_UNIX}};
    assert_false(cw_proxies_has(p, &un));
    assert_false(cw_proxies_has(NULL, &un));
    cw_proxies_free(p);
    const cw_str names[] = {CW_STR("unix")};
    assert_int_equal(cw_proxies_new(names, 1, &p, NULL), CW_OK);
    assert_true(cw_proxies_has(p, &un));
    assert_false(has(p, "127.0.0.1"));
    cw_proxies_free(p);
}

TEST(everything_else_is_no_network)
{
    static const char *const bad[] = {
        "", "x", "10.0.0.0/33", "10.0.0.0/", "::1/129", "10.0.0", "10.0.0.0/-1", "*", "localhost"};
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        cw_proxies *p;
        cw_str one = cw_str_from(bad[i]);
        assert_int_equal(cw_proxies_new(&one, 1, &p, NULL), CW_PARAMS);
    }
}

TEST(the_client_is_the_last_that_is_no_proxy)
{
    static const struct {
        const char *list, *client; /* NULL: none */
    } cases[] = {
        {"203.0.113.9", "203.0.113.9"},
        {"1.2.3.4, 203.0.113.9", "203.0.113.9"},
        {"1.2.3.4, 203.0.113.9, 10.1.2.3,127.0.0.1", "203.0.113.9"},
        {"203.0.113.9:4711, 10.1.2.3", "203.0.113.9"},
        {"[2001:db9::1]:80", "2001:db9::1"},
        {"2001:db9::1", "2001:db9::1"},
        {"::ffff:203.0.113.9", "203.0.113.9"},
        {"::ffff:cb00:7109, ::ffff:10.1.2.3", "203.0.113.9"},
        {"[::ffff:203.0.113.9]:443", "203.0.113.9"},
        {"64:ff9b::203.0.113.9", "64:ff9b::cb00:7109"},
        {"203.0.113.9:", "203.0.113.9"},
        {"203.0.113.9:1:2", NULL},
        {"::ffff:203.0.113.9:443", NULL},
        {"10.1.2.3", NULL},
        {"", NULL},
        {"1.2.3.4, unknown", NULL},
        {"1.2.3.4,", NULL},
        {"1.2.3.4, , 10.1.2.3", NULL},
    };
    cw_proxies *p;
    assert_int_equal(cw_proxies_new(entries, CW_COUNT(entries), &p, NULL), CW_OK);
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_address a;
        char text[CW_ADDRESS_TEXT];
        bool found = cw_proxies_client(p, cw_str_from(cases[i].list), &a);
        assert_int_equal(found, cases[i].client != NULL);
        if (!found)
            continue;
        cw_address_format_host(&a, text, sizeof text);
        assert_string_equal(text, cases[i].client);
        assert_int_equal(a.sa.ss_family, strchr(cases[i].client, ':') ? AF_INET6 : AF_INET);
    }
    cw_proxies_free(p);
}

static void make_once(void *ctx)
{
    cw_proxies *p = NULL;
    (void)ctx;
    cw_code rc = cw_proxies_new(entries, CW_COUNT(entries), &p, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    if (!rc)
        cw_proxies_free(p);
}

TEST(a_list_survives_a_failed_allocation)
{
    assert_int_equal(oom_each(make_once, NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_hold_their_addresses),
        cmocka_unit_test(everything_else_is_no_network),
        cmocka_unit_test(the_client_is_the_last_that_is_no_proxy),
        cmocka_unit_test(a_list_survives_a_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
