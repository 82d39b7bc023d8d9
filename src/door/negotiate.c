/* SPDX-License-Identifier: GPL-2.0-or-later */
/* negotiate.c - content negotiation: gzip, ETag, event streams, language. */
#include "door/negotiate.h"

#include "base/langtag.h"

/* Whether the parameters of a media range or coding contain q=0: not acceptable. */
static bool has_no_weight(cw_str params)
{
    while (params.p) {
        cw_str one = cw_str_trim(cw_str_cut(params, ';', &params));
        if (one.n < 3 || (one.p[0] | 32) != 'q' || one.p[1] != '=')
            continue;
        for (size_t i = 2; i < one.n; i++) {
            if (one.p[i] >= '1' && one.p[i] <= '9')
                return false;
        }
        return true;
    }
    return false;
}

bool cw_negotiate_gzip(const cw_http_req *req)
{
    cw_str left = cw_http_req_header(req, CW_STR("Accept-Encoding"));
    bool takes_any = false;
    while (left.p) {
        cw_str params;
        cw_str coding = cw_str_trim(cw_str_cut(cw_str_cut(left, ',', &left), ';', &params));
        bool takes = !has_no_weight(params);
        if (cw_str_ieq(coding, CW_STR("gzip")) || cw_str_ieq(coding, CW_STR("x-gzip")))
            return takes; /* a name takes precedence over "*" */
        if (cw_str_is(coding, "*"))
            takes_any = takes;
    }
    return takes_any;
}

bool cw_negotiate_has(const cw_http_req *req, cw_str etag)
{
    cw_str left = cw_http_req_header(req, CW_STR("If-None-Match"));
    if (left.p && cw_str_is(cw_str_trim(left), "*"))
        return true;
    /* Our tags have no comma, so one inside another's tag does no harm. */
    while (left.p) {
        cw_str one = cw_str_trim(cw_str_cut(left, ',', &left));
        if (cw_str_starts(one, CW_STR("W/")))
            one = cw_str_make(one.p + 2, one.n - 2);
        if (cw_str_eq(one, etag))
            return true;
    }
    return false;
}

bool cw_negotiate_events(const cw_http_req *req)
{
    static const cw_str ranges[] = {CW_STR_INIT("text/event-stream"), CW_STR_INIT("text/*"),
                                    CW_STR_INIT("*/*")};
    cw_str left = cw_http_req_accept(req);
    /* The text that most clients send. */
    if (!left.p || cw_str_eq(left, CW_STR("application/json, text/event-stream")))
        return true;
    while (left.p) {
        cw_str params;
        cw_str type = cw_str_trim(cw_str_cut(cw_str_cut(left, ',', &left), ';', &params));
        for (size_t i = 0; i < CW_COUNT(ranges); i++) {
            if (cw_str_ieq(type, ranges[i]) && !has_no_weight(params))
                return true;
        }
    }
    return false;
}

bool cw_negotiate_only_events(const cw_http_req *req)
{
    cw_str left = cw_http_req_accept(req);
    bool any = false;
    while (left.p) {
        cw_str params;
        cw_str range = cw_str_trim(cw_str_cut(cw_str_cut(left, ',', &left), ';', &params));
        if (!range.n || has_no_weight(params))
            continue;
        if (!cw_str_ieq(range, CW_STR("text/event-stream")))
            return false;
        any = true;
    }
    return any;
}

/* ---- language ---- */

typedef struct range {
    cw_str tag; /* or "*" */
    unsigned q; /* thousandths */
} range;

/* RFC 9110, 12.4.2: 0 to 1 with at most three digits behind the point. */
static bool read_q(cw_str text, unsigned *ret)
{
    unsigned q = 0, scale = 1000;
    for (size_t i = 0; i < text.n; i++) {
        unsigned digit = (unsigned)(unsigned char)text.p[i] - '0';
        if (i == 1 && text.p[1] == '.')
            continue;
        if (i == 1 || i > 4 || digit > 9)
            return false;
        q += digit * scale;
        scale /= 10;
    }
    *ret = q;
    return text.n > 0 && q <= 1000;
}

static bool read_range(cw_str member, range *ret)
{
    cw_str params;
    *ret = (range){cw_str_trim(cw_str_cut(member, ';', &params)), 1000};
    if (!cw_str_is(ret->tag, "*") && !cw_langtag_is_valid(ret->tag))
        return false;
    while (params.p) {
        cw_str one = cw_str_trim(cw_str_cut(params, ';', &params));
        if (one.n < 2 || (one.p[0] | 0x20) != 'q' || one.p[1] != '=' ||
            !read_q(cw_str_make(one.p + 2, one.n - 2), &ret->q))
            return false;
    }
    return true;
}

/* Whether the narrowest member that names the language refuses it. */
static bool is_refused(const range *ranges, size_t n, const cw_language *language)
{
    const range *narrowest = NULL;
    for (size_t i = 0; i < n; i++) {
        if (cw_langtag_covers(ranges[i].tag, cw_language_tag(language)) &&
            (!narrowest || ranges[i].tag.n > narrowest->tag.n))
            narrowest = &ranges[i];
    }
    return narrowest && narrowest->q == 0;
}

/* The language of a member, or NULL. */
static const cw_language *pick(const cw_translations *t, const range *ranges, size_t n,
                               const range *member)
{
    const cw_language *found = cw_translations_default(t);
    bool is_any = cw_str_is(member->tag, "*");
    if (!is_any)
        found = cw_translations_match(t, member->tag);
    for (size_t i = 0; is_any && found && is_refused(ranges, n, found); i++)
        found = cw_translations_at(t, i);
    return found && !is_refused(ranges, n, found) ? found : NULL;
}

static const cw_language *match_ranges(const cw_translations *t, cw_str accept)
{
    range ranges[CW_NEGOTIATE_RANGES];
    size_t n = 0;
    const cw_language *best = NULL;
    unsigned best_q = 0;
    while (accept.p && n < CW_NEGOTIATE_RANGES) {
        if (read_range(cw_str_cut(accept, ',', &accept), &ranges[n]))
            n++;
    }
    for (size_t i = 0; i < n; i++) {
        const cw_language *found = ranges[i].q > best_q ? pick(t, ranges, n, &ranges[i]) : NULL;
        if (!found)
            continue;
        best = found;
        best_q = ranges[i].q;
    }
    return best ? best : cw_translations_default(t);
}

const cw_language *cw_negotiate_language(cw_str accept, const cw_translations *t,
                                         const cw_caller *caller)
{
    const cw_language *own = NULL;
    if (CW_LIKELY(!t))
        return NULL;
    if (cw_caller_has_language(caller))
        own = cw_translations_match(t, cw_caller_language(caller));
    return own ? own : match_ranges(t, accept);
}
