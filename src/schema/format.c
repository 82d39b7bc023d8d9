/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "schema/format.h"

#include "base/attr.h"
#include "schema/format_int.h"
#include "schema/pattern.h"

#define UUID_LEN 36

static bool is_uuid(cw_str s)
{
    if (s.n != UUID_LEN)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? s.p[i] != '-' : !cw_format_is_hex(s.p[i]))
            return false;
    }
    return true;
}

static bool is_json_pointer(cw_str s)
{
    if (s.n > 0 && s.p[0] != '/')
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '~' && (i + 1 == s.n || (s.p[i + 1] != '0' && s.p[i + 1] != '1')))
            return false;
    }
    return true;
}

static bool is_relative_json_pointer(cw_str s)
{
    size_t digits = 0;
    while (digits < s.n && cw_format_is_digit(s.p[digits]))
        digits++;
    if (digits == 0 || (digits > 1 && s.p[0] == '0'))
        return false;
    cw_str rest = {s.p + digits, s.n - digits};
    return cw_str_eq(rest, CW_STR("#")) || is_json_pointer(rest);
}

static const struct {
    cw_str name;
    cw_format_fn fn;
} formats[] = {
    {CW_STR_INIT("date"), cw_format_date},
    {CW_STR_INIT("time"), cw_format_time},
    {CW_STR_INIT("date-time"), cw_format_date_time},
    {CW_STR_INIT("duration"), cw_format_duration},
    {CW_STR_INIT("email"), cw_format_email},
    {CW_STR_INIT("idn-email"), cw_format_idn_email},
    {CW_STR_INIT("hostname"), cw_format_hostname},
    {CW_STR_INIT("idn-hostname"), cw_format_idn_hostname},
    {CW_STR_INIT("ipv4"), cw_format_ipv4},
    {CW_STR_INIT("ipv6"), cw_format_ipv6},
    {CW_STR_INIT("uri"), cw_format_uri},
    {CW_STR_INIT("uri-reference"), cw_format_uri_reference},
    {CW_STR_INIT("iri"), cw_format_iri},
    {CW_STR_INIT("iri-reference"), cw_format_iri_reference},
    {CW_STR_INIT("uri-template"), cw_format_uri_template},
    {CW_STR_INIT("uuid"), is_uuid},
    {CW_STR_INIT("json-pointer"), is_json_pointer},
    {CW_STR_INIT("relative-json-pointer"), is_relative_json_pointer},
    {CW_STR_INIT("regex"), cw_pattern_is_valid},
};

cw_format_fn cw_format_find(cw_str name)
{
    for (size_t i = 0; i < CW_COUNT(formats); i++) {
        if (cw_str_eq(formats[i].name, name))
            return formats[i].fn;
    }
    return NULL;
}
