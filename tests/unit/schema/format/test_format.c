/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every format with texts that have it and texts that do not. The official suite has more of them
 * (test_schema_suite.c, where its data is at hand). */
#include "base/attr.h"
#include "schema/format/format.h"
#include "support/test.h"

#define MAX_TEXTS 40

typedef struct sample {
    const char *format;
    const char *good[MAX_TEXTS];
    const char *bad[MAX_TEXTS];
} sample;

static bool has(const cw_schema_format *format, cw_str text)
{
    int64_t steps = INT64_MAX;
    return cw_format_test(format, text, &steps);
}

static void check(const sample *s)
{
    const cw_schema_format *format = cw_format_find(cw_str_from(s->format));
    assert_non_null(format);
    for (size_t i = 0; s->good[i]; i++) {
        if (!has(format, cw_str_from(s->good[i])))
            fail_msg("%s refuses \"%s\"", s->format, s->good[i]);
    }
    for (size_t i = 0; s->bad[i]; i++) {
        if (has(format, cw_str_from(s->bad[i])))
            fail_msg("%s accepts \"%s\"", s->format, s->bad[i]);
    }
}

TEST(an_unknown_name_has_no_check)
{
    assert_null(cw_format_find(CW_STR("color")));
    assert_null(cw_format_find(CW_STR("")));
    assert_null(cw_format_find(CW_STR("Date")));
}

TEST(dates_and_times_follow_rfc_3339)
{
    check(&(sample){"date",
                    {"2026-11-15", "2024-02-29", "2000-02-29", "0000-01-01"},
                    {"", "2026-11-15 ", "2026-1-15", "2026-13-01", "2026-00-01", "2026-04-31",
                     "2026-02-29", "1900-02-29", "2026-11-00", "20261115", "2026/11/15",
                     "+026-11-15", "2026-11-15Z"}});
    check(&(sample){"time",
                    {"00:00:00Z", "23:59:59.999999z", "12:00:00+14:00", "12:00:00-00:00",
                     "23:59:60Z", "00:59:60+01:00"},
                    {"", "12:00:00", "12:00Z", "24:00:00Z", "12:60:00Z", "12:00:61Z", "12:00:60Z",
                     "12:00:00.Z", "12:00:00+1:00", "12:00:00+24:00", "12:00:00+00:60",
                     "12:00:00+00-00", "12-00-00Z", "12:00:00ZZ"}});
    check(&(sample){"date-time",
                    {"2026-11-15T08:00:00Z", "2026-11-15t08:00:00.5+05:30"},
                    {"", "2026-11-15", "2026-11-15 08:00:00Z", "2026-11-15T08:00:00",
                     "2026-02-30T08:00:00Z", "2026-11-15T25:00:00Z"}});
    check(&(sample){"duration",
                    {"P1Y", "P1Y2M", "P1Y2M3D", "P3D", "P2W", "PT5S", "P1DT12H", "PT1H2M3S"},
                    {"", "P", "PT", "P1", "P1S", "P1YT", "P1Y3D", "PT1H3S", "P1W2D", "P1.5D",
                     "-P1D", "P1D ", "p1d", "PT1D", "P2M1Y"}});
}

TEST(addresses_are_read_without_leniency)
{
    check(&(sample){"ipv4",
                    {"0.0.0.0", "255.255.255.255", "127.0.0.1"},
                    {"", "1.2.3", "1.2.3.4.5", "256.0.0.1", "01.2.3.4", "1.2.3.04", "1.2.3.4 ",
                     "1..2.3", "1.2.3.", "a.b.c.d", "0x7f.0.0.1", "1234.0.0.1"}});
    check(&(sample){"ipv6",
                    {"::", "::1", "1::", "1:2:3:4:5:6:7:8", "1::8", "::ffff:192.0.2.1",
                     "1:2:3:4:5:6:192.0.2.1", "ABCD::ef01"},
                    {"", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3",
                     "12345::", "::g", "::1%eth0", "[::1]", "1:2:3:4:5:6:7::8", "::192.0.2.01",
                     "192.0.2.1::", "1:2:3:4:5:6:7:192.0.2.1", ":1:2:3:4:5:6:7", "::/64"}});
}

TEST(host_names_have_labels_of_letters_digits_and_hyphens)
{
    check(&(sample){"hostname",
                    {"localhost", "a.b", "1.example", "a--b.example", "xn--bcher-kva.example"},
                    {"", ".", "a.", ".a", "a..b", "-a", "a-", "a_b", "a b",
                     "b\xc3\xbc"
                     "cher.example",
                     "xn--", "xn--\x80", "xn--X", "xn--example-"}});
    char label[66];
    memset(label, 'a', sizeof label);
    const cw_schema_format *format = cw_format_find(CW_STR("hostname"));
    assert_true(has(format, cw_str_make(label, 63)));
    assert_false(has(format, cw_str_make(label, 64)));
    char name[256];
    for (size_t i = 0; i < sizeof name; i++)
        name[i] = i % 2 ? '.' : 'a';
    assert_true(has(format, cw_str_make(name, 253)));
    assert_false(has(format, cw_str_make(name, 255)));
}

TEST(international_host_names_follow_idna_2008)
{
    check(&(sample){"idn-hostname",
                    {"b\xc3\xbc"
                     "cher.example",
                     "\xec\x8b\xa4\xeb\xa1\x80",
                     "a\xe3\x80\x82"
                     "b",
                     "example.org", "xn--bcher-kva"},
                    {"", "\xe3\x80\x82", "-b\xc3\xbc",
                     "\xcc\x80"
                     "a",
                     "a\xc2\xb7"
                     "b",
                     "0a.\xd7\x90",
                     "\xd7\x90"
                     "0\xd9\xa0",
                     "xn--0ca24w", "\xe2\x80\x8d"}});
    const cw_schema_format *format = cw_format_find(CW_STR("idn-hostname"));
    assert_false(has(format, CW_STR("\xc3\xbc\0x")));
    char label[300];
    for (size_t i = 0; i < sizeof label; i += 2)
        memcpy(label + i, "\xc3\xbc", 2);
    assert_false(has(format, cw_str_make(label, sizeof label)));
}

TEST(mail_addresses_have_a_local_part_and_a_domain)
{
    check(&(sample){"email",
                    {"a@b", "a.b+c@example.org", "\"a b\"@example.org", "\"a\\\"b\"@example.org",
                     "a@[192.0.2.1]", "a@[IPv6:::1]"},
                    {"", "@", "a", "a@", "@b", ".a@b", "a.@b", "a..b@c", "a b@c", "a@b@c", "a@-b",
                     "a@[300.0.0.1]", "a@[IPv6:x]", "\"a@b", "\"a\"b@c", "\"\\\"@b",
                     "\xc3\xbc@example.org", "a@b\xc3\xbc.example", "\"\xc3\xbc\"@b"}});
    check(
        &(sample){"idn-email",
                  {"a@b", "\xc3\xbc@b\xc3\xbc.example", "\"\xc3\xbc\"@b", "a@cafe\xcc\x81.example"},
                  {"", "a", "a@",
                   "a\xef\xbc\xa0"
                   "b"}});
    char mail[80];
    memset(mail, 'a', sizeof mail);
    memcpy(mail + 64, "@b", 2);
    assert_true(has(cw_format_find(CW_STR("email")), cw_str_make(mail, 66)));
    memcpy(mail + 64, "a@b", 3);
    assert_false(has(cw_format_find(CW_STR("email")), cw_str_make(mail, 67)));
}

TEST(references_are_uris_or_iris)
{
    check(&(sample){"uri",
                    {"http://example.org", "http://u:p@example.org:8080/a/b?c=d/e?f#g?h", "urn:a:b",
                     "mailto:a@b", "file:///etc/hosts", "http://[::1]:80/", "http://[v1.a:b]/",
                     "http://a%20b/", "x:"},
                    {"",
                     "/a",
                     "//a/b",
                     "a",
                     "1a:b",
                     "http://a b",
                     "http://a/%zz",
                     "http://a/%2",
                     "http://[::1",
                     "http://[::1]x",
                     "http://[::g]",
                     "http://[v.a]",
                     "http://[v1.]",
                     "http://[v1.%20]",
                     "http://a:b",
                     "http://a@b@c",
                     "http://a/[b]",
                     "a:\\b",
                     "a:b^c",
                     "http://\xc3\xbc/",
                     "a:b#c#d"}});
    check(&(sample){"uri-reference",
                    {"", "/a", "//a/b", "a/b:c", "./a:b", "?q", "#f", "http://example.org"},
                    {"1:b", "\\\\a", "/\xc3\xbc", "#a\\b", "//a:b", "%"}});
    check(&(sample){"iri",
                    {"http://\xc3\xbc.example/\xf0\x90\x8c\x80", "http://a?\xee\x80\x80",
                     "http://a?\xf3\xb0\x80\x80"},
                    {"", "\xc3\xbc", "http://a/\xee\x80\x80", "http://a/\xef\xbf\xbf",
                     "http://a/\xc2\x80", "http://a/\xf3\xa0\x80\x80"}});
    check(&(sample){
        "iri-reference", {"", "\xc3\xbc", "/\xef\xa4\x80", "#\xef\xb7\xb0"}, {"\\", " "}});
}

TEST(templates_have_well_formed_expressions)
{
    check(&(sample){"uri-template",
                    {"", "a", "{a}", "{+a,b}", "{#a:3}", "{a*}", "{a.b}", "{%41}", "a%41",
                     "{?a,b*}", "\xc3\xbc", "{|a}", "\xee\x80\x80"},
                    {"{",      "}",   "{}",    "{a",        "{a}}",  "{a,}",    "{,a}",
                     "{a..b}", "{.}", "{a:0}", "{a:12345}", "{a:x}", "{a:}",    "{a=b}",
                     "{%4}",   "a%4", "a b",   "a\"b",      "a\x7f", "\xc2\x80"}});
}

TEST(pointers_and_uuids_are_checked)
{
    check(&(sample){"json-pointer", {"", "/", "/a/0/~0~1", "//"}, {"a", "/~", "/~2", "#/a"}});
    check(&(sample){"relative-json-pointer",
                    {"0", "1/a", "10#", "0/"},
                    {"", "/a", "01", "-1", "0##", "1#/a", "a", "1a"}});
    check(&(sample){"uuid",
                    {"2eb8aa08-AA98-11ea-b4aa-73b441d16380"},
                    {"", "2eb8aa08-aa98-11ea-b4aa-73b441d1638",
                     "2eb8aa08-aa98-11ea-b4aa-73b441d1638g",
                     "2eb8aa08aa98-11ea-b4aa-73b441d16380-"}});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_name_has_no_check),
        cmocka_unit_test(dates_and_times_follow_rfc_3339),
        cmocka_unit_test(addresses_are_read_without_leniency),
        cmocka_unit_test(host_names_have_labels_of_letters_digits_and_hyphens),
        cmocka_unit_test(international_host_names_follow_idna_2008),
        cmocka_unit_test(mail_addresses_have_a_local_part_and_a_domain),
        cmocka_unit_test(references_are_uris_or_iris),
        cmocka_unit_test(templates_have_well_formed_expressions),
        cmocka_unit_test(pointers_and_uuids_are_checked),
    };
    return cmocka_run_group_tests_name("schema/format", tests, NULL, NULL);
}
