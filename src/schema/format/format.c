/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "schema/format/format.h"

#include "base/attr.h"
#include "schema/format/format_int.h"
#include "schema/pattern/pattern.h"

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

/* What a check costs. */
typedef enum cost {
    COST_BYTES, /* one pass over the text */
    COST_NAMES, /* and libidn2 for labels that are not plain ASCII */
    COST_TREE,  /* a tree of the text */
} cost;

#define BYTES_PER_STEP 4u
#define STEPS_PER_NAME_BYTE 8u
#define STEPS_PER_NODE 8u
#define NAME_BYTES 1024u /* more are not looked at */

struct cw_schema_format {
    cw_str name;
    bool (*has)(cw_str text);
    cost cost;
};

static const cw_schema_format formats[] = {
    {CW_STR_INIT("date"), cw_format_date, COST_BYTES},
    {CW_STR_INIT("time"), cw_format_time, COST_BYTES},
    {CW_STR_INIT("date-time"), cw_format_date_time, COST_BYTES},
    {CW_STR_INIT("duration"), cw_format_duration, COST_BYTES},
    {CW_STR_INIT("email"), cw_format_email, COST_NAMES},
    {CW_STR_INIT("idn-email"), cw_format_idn_email, COST_NAMES},
    {CW_STR_INIT("hostname"), cw_format_hostname, COST_NAMES},
    {CW_STR_INIT("idn-hostname"), cw_format_idn_hostname, COST_NAMES},
    {CW_STR_INIT("ipv4"), cw_format_ipv4, COST_BYTES},
    {CW_STR_INIT("ipv6"), cw_format_ipv6, COST_BYTES},
    {CW_STR_INIT("uri"), cw_format_uri, COST_BYTES},
    {CW_STR_INIT("uri-reference"), cw_format_uri_reference, COST_BYTES},
    {CW_STR_INIT("iri"), cw_format_iri, COST_BYTES},
    {CW_STR_INIT("iri-reference"), cw_format_iri_reference, COST_BYTES},
    {CW_STR_INIT("uri-template"), cw_format_uri_template, COST_BYTES},
    {CW_STR_INIT("uuid"), is_uuid, COST_BYTES},
    {CW_STR_INIT("json-pointer"), is_json_pointer, COST_BYTES},
    {CW_STR_INIT("relative-json-pointer"), is_relative_json_pointer, COST_BYTES},
    {CW_STR_INIT("regex"), cw_pattern_is_valid, COST_TREE},
};

const cw_schema_format *cw_format_find(cw_str name)
{
    for (size_t i = 0; i < CW_COUNT(formats); i++) {
        if (cw_str_eq(formats[i].name, name))
            return &formats[i];
    }
    return NULL;
}

static bool has_idn_labels(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] >= 0x80 ||
            (i + 1 < text.n && memcmp(text.p + i, "--", 2) == 0))
            return true;
    }
    return false;
}

static uint64_t steps_of(const cw_schema_format *format, cw_str text)
{
    uint64_t steps = 1 + text.n / BYTES_PER_STEP;
    cw_str start = cw_str_make(text.p, text.n < NAME_BYTES ? text.n : NAME_BYTES);
    if (format->cost == COST_NAMES && has_idn_labels(start))
        steps += start.n * STEPS_PER_NAME_BYTE;
    if (format->cost == COST_TREE && text.n <= CW_PATTERN_MAX)
        steps += text.n * STEPS_PER_NODE;
    return steps;
}

bool cw_format_test(const cw_schema_format *format, cw_str text, int64_t *steps)
{
    *steps -= (int64_t)steps_of(format, text);
    return *steps >= 0 && format->has(text);
}
