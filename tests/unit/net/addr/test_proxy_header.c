/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/addr/proxy_header.h"

#include "support/test.h"

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define V4 "\xCB\x00\x71\x09\xC0\x00\x02\x01\xDC\x04\x01\xBB"
#define V6_A "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x09"
#define V6_B "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01"
#define MAPPED "\0\0\0\0\0\0\0\0\0\0\xFF\xFF\xCB\x00\x71\x09"
#define BYTES(text) (text), sizeof(text) - 1

/* The client as text; "" if the header names none. */
static const char *client_of(const char *p, size_t n, size_t size)
{
    static char text[CW_ADDRESS_TEXT];
    cw_proxy_header h;
    const char *why = NULL;
    cw_code rc = cw_proxy_header_parse(p, n, &h, &why);
    if (rc)
        fail_msg("%s", why ? why : "incomplete");
    assert_int_equal(h.size, size);
    text[0] = 0;
    if (h.has_client)
        cw_address_format(&h.client, text, sizeof text);
    return text;
}

static void check_invalid(const char *p, size_t n, const char *reason)
{
    cw_proxy_header h;
    const char *why = "accepted";
    cw_code rc = cw_proxy_header_parse(p, n, &h, &why);
    assert_string_equal(why, reason);
    assert_int_equal(rc, CW_INVALID);
}

static void check_incomplete(const char *p, size_t n)
{
    cw_proxy_header h;
    const char *why;
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cw_proxy_header_parse(p, i, &h, &why), CW_AGAIN);
}

TEST(version_1_names_the_client)
{
    static const char tcp4[] = "PROXY TCP4 203.0.113.9 192.0.2.1 56324 443\r\n";
    static const char tcp6[] = "PROXY TCP6 2001:db8::9 2001:db8::1 56324 443\r\nGET /";
    assert_string_equal(client_of(BYTES(tcp4), sizeof tcp4 - 1), "203.0.113.9:56324");
    assert_string_equal(client_of(BYTES(tcp6), sizeof tcp6 - 6), "[2001:db8::9]:56324");
    check_incomplete(tcp4, sizeof tcp4 - 1);
    check_incomplete(tcp6, sizeof tcp6 - 6);
}

TEST(an_address_of_ipv4_has_one_form)
{
    static const char v1[] = "PROXY TCP6 ::ffff:203.0.113.9 ::1 1 2\r\n";
    static const char v2[] = SIGNATURE "\x21\x21\0\x24" MAPPED V6_B "\0\x01\0\x02";
    assert_string_equal(client_of(BYTES(v1), sizeof v1 - 1), "203.0.113.9:1");
    assert_string_equal(client_of(BYTES(v2), sizeof v2 - 1), "203.0.113.9:1");
}

TEST(version_2_names_the_client)
{
    static const char tcp4[] = SIGNATURE "\x21\x11\0\x0C" V4 "\x16\x03\x01";
    static const char tcp6[] = SIGNATURE "\x21\x21\0\x24" V6_A V6_B "\xDC\x04\x01\xBB";
    assert_string_equal(client_of(BYTES(tcp4), sizeof tcp4 - 4), "203.0.113.9:56324");
    assert_string_equal(client_of(BYTES(tcp6), sizeof tcp6 - 1), "[2001:db8::9]:56324");
    check_incomplete(tcp4, sizeof tcp4 - 4);
    check_incomplete(tcp6, sizeof tcp6 - 1);
}

TEST(extensions_are_skipped)
{
    static const char tlvs[] = SIGNATURE "\x21\x11\0\x12" V4 "\x04\x00\x03"
                                         "abc";
    assert_string_equal(client_of(BYTES(tlvs), sizeof tlvs - 1), "203.0.113.9:56324");
}

TEST(headers_without_a_client)
{
    static const char unknown[] = "PROXY UNKNOWN\r\n";
    static const char more[] = "PROXY UNKNOWN ffff::1 anything 1 2\r\n";
    static const char local[] = SIGNATURE "\x20\x00\0\0";
    static const char local_of[] = SIGNATURE "\x20\x11\0\x0C" V4;
    static const char unspecified[] = SIGNATURE "\x21\x00\0\x03xyz";
    assert_string_equal(client_of(BYTES(unknown), sizeof unknown - 1), "");
    assert_string_equal(client_of(BYTES(more), sizeof more - 1), "");
    assert_string_equal(client_of(BYTES(local), sizeof local - 1), "");
    assert_string_equal(client_of(BYTES(local_of), sizeof local_of - 1), "");
    assert_string_equal(client_of(BYTES(unspecified), sizeof unspecified - 1), "");
    char path[16 + 216] = SIGNATURE "\x21\x31\0\xD8/run/client.sock";
    assert_string_equal(client_of(path, sizeof path, sizeof path), "");
}

TEST(lengths_have_ceilings)
{
    char line[CW_PROXY_HEADER_V1_MAX + 1];
    memset(line, 'f', sizeof line);
    memcpy(line, "PROXY UNKNOWN ", 14);
    memcpy(line + CW_PROXY_HEADER_V1_MAX - 2, "\r\n", 2);
    assert_string_equal(client_of(line, CW_PROXY_HEADER_V1_MAX, CW_PROXY_HEADER_V1_MAX), "");
    memcpy(line + CW_PROXY_HEADER_V1_MAX - 2, "f\r\n", 3);
    check_invalid(line, CW_PROXY_HEADER_V1_MAX, "a line of more than 107 bytes");
    char binary[CW_PROXY_HEADER_MAX] = SIGNATURE "\x21\x11\x02\x08" V4;
    assert_string_equal(client_of(binary, sizeof binary, sizeof binary), "203.0.113.9:56324");
    binary[15]++;
    check_invalid(binary, 16, "more than 536 bytes");
}

TEST(everything_else_is_invalid_at_once)
{
    static const char *const lines[] = {
        "PROXY TCP4 203.0.113.9 192.0.2.1 56324\r\n",
        "PROXY TCP4 203.0.113.9 192.0.2.1 56324 443 \r\n",
        "PROXY TCP4  203.0.113.9 192.0.2.1 56324 443\r\n",
        "PROXY TCP4 203.0.113.9 192.0.2.1 056324 443\r\n",
        "PROXY TCP4 203.0.113.9 192.0.2.1 01 443\r\n",
        "PROXY TCP4 203.0.113.9 192.0.2.1 65536 443\r\n",
        "PROXY TCP4 203.0.113.9 192.0.2.1 -1 443\r\n",
        "PROXY TCP4 203.0.113 192.0.2.1 1 443\r\n",
        "PROXY TCP4 2001:db8::9 2001:db8::1 1 443\r\n",
        "PROXY TCP6 203.0.113.9 192.0.2.1 1 443\r\n",
        "PROXY TCP4\r\n",
    };
    for (size_t i = 0; i < CW_COUNT(lines); i++)
        check_invalid(lines[i], strlen(lines[i]), "no two addresses and ports");
    check_invalid(BYTES("PROXY TCP4 203.0.113.9\0 192.0.2.1 1 2\r\n"),
                  "no two addresses and ports");
    check_invalid(BYTES("PROXY UDP4 203.0.113.9 192.0.2.1 1 2\r\n"),
                  "a protocol other than TCP4, TCP6 and UNKNOWN");
    check_invalid(BYTES("PROXY \r\n"), "a protocol other than TCP4, TCP6 and UNKNOWN");
    check_invalid(BYTES("G"), "no header");
    check_invalid(BYTES("PROXX"), "no header");
    check_invalid(BYTES("\r\n\r\n\1"), "no header");
    check_invalid(BYTES("\x16\x03\x01"), "no header");
    check_invalid(BYTES(SIGNATURE "\x31"), "an unknown version or command");
    check_invalid(BYTES(SIGNATURE "\x22"), "an unknown version or command");
    check_invalid(BYTES(SIGNATURE "\x21\x11\0\x0B" V4),
                  "an unknown address family, or addresses that are too short");
    check_invalid(BYTES(SIGNATURE "\x21\x41\0\0"),
                  "an unknown address family, or addresses that are too short");
    check_invalid(BYTES(SIGNATURE "\x21\x12\0\x0C" V4), "a transport other than a stream");
    check_invalid(BYTES(SIGNATURE "\x21\x01\0\0"), "a transport other than a stream");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_1_names_the_client),
        cmocka_unit_test(an_address_of_ipv4_has_one_form),
        cmocka_unit_test(version_2_names_the_client),
        cmocka_unit_test(extensions_are_skipped),
        cmocka_unit_test(headers_without_a_client),
        cmocka_unit_test(lengths_have_ceilings),
        cmocka_unit_test(everything_else_is_invalid_at_once),
    };
    return cmocka_run_group_tests_name("proxy_header", tests, NULL, NULL);
}
