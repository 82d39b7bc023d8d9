/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_redirect.c - whatever the bytes are, these hold:
 *
 *   - a URI that is accepted consists of its parts, and of nothing else
 *   - it has no byte that a browser removes, and no '@' or '\' before its path
 *   - it matches itself; another URI that matches it has the same scheme, host, path and query
 *
 * The first line is one URI, the second another one.
 */
#include "fuzz.h"

#include "access/oauth/redirect.h"

static const cw_redirect_rules rules = {0};

static void check_parts(cw_str uri, const cw_redirect *parts)
{
    char text[CW_REDIRECT_MAX + 16];
    bool is_web = parts->kind != CW_REDIRECT_SCHEME;
    int n = snprintf(text, sizeof text, "%.*s:%s%.*s%s%.*s%.*s", CW_STR_ARG(parts->scheme),
                     is_web ? "//" : "", CW_STR_ARG(parts->host), parts->port.n ? ":" : "",
                     CW_STR_ARG(parts->port), CW_STR_ARG(parts->rest));
    CHECK(n > 0 && cw_str_eq(uri, cw_str_make(text, (size_t)n)));
    CHECK(!is_web || (parts->host.n && !memchr(parts->host.p, '@', parts->host.n)));
    CHECK(!parts->rest.n || !is_web || parts->rest.p[0] == '/' || parts->rest.p[0] == '?');
    for (size_t i = 0; i < uri.n; i++)
        CHECK(uri.p[i] > ' ' && uri.p[i] < 0x7F && uri.p[i] != '\\' && uri.p[i] != '#');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_redirect a, b;
    cw_str other;
    cw_str uri = cw_str_cut(cw_str_make((const char *)data, size), '\n', &other);
    if (!size || cw_redirect_parse(uri, &rules, &a))
        return 0;
    check_parts(uri, &a);
    CHECK(cw_redirect_matches(uri, uri));
    if (!other.p || cw_redirect_parse(other, &rules, &b))
        return 0;
    check_parts(other, &b);
    bool is_same =
        cw_str_eq(a.scheme, b.scheme) && cw_str_eq(a.host, b.host) && cw_str_eq(a.rest, b.rest);
    CHECK(!cw_redirect_matches(uri, other) || is_same);
    CHECK(cw_redirect_matches(uri, other) == cw_redirect_matches(other, uri));
    return 0;
}
