/* SPDX-License-Identifier: GPL-2.0-or-later */
/* format_int.h - what the files of the formats share; nobody else includes it.
 *
 *     format.c       the table of names
 *     time.c  dates, times, durations (RFC 3339)
 *     host.c  addresses, host names, e-mail addresses
 *     uri_format.c   URIs, IRIs, templates (RFC 3986, 3987, 6570)
 */
#ifndef CW_SCHEMA_FORMAT_FORMAT_INT_H
#define CW_SCHEMA_FORMAT_FORMAT_INT_H

#include "schema/format/format.h"

bool cw_format_date(cw_str s);
bool cw_format_time(cw_str s);
bool cw_format_date_time(cw_str s);
bool cw_format_duration(cw_str s);

bool cw_format_ipv4(cw_str s);
bool cw_format_ipv6(cw_str s);
bool cw_format_hostname(cw_str s);
bool cw_format_idn_hostname(cw_str s);
bool cw_format_email(cw_str s);
bool cw_format_idn_email(cw_str s);

bool cw_format_uri(cw_str s);
bool cw_format_uri_reference(cw_str s);
bool cw_format_iri(cw_str s);
bool cw_format_iri_reference(cw_str s);
bool cw_format_uri_template(cw_str s);

CW_INLINE bool cw_format_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

CW_INLINE bool cw_format_is_hex(char c)
{
    return cw_format_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

CW_INLINE bool cw_format_is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

#endif
