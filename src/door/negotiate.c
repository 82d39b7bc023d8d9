/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "door/negotiate.h"

#include "door/message.h"

bool cw_negotiate_gzip(const cw_http_req *req)
{
    cw_str left = cw_http_req_header(req, CW_STR("Accept-Encoding"));
    bool takes_any = false;
    while (left.p) {
        cw_str params;
        cw_str coding = cw_str_trim(cw_str_cut(cw_str_cut(left, ',', &left), ';', &params));
        bool takes = !cw_message_is_refused(params);
        if (cw_str_ieq(coding, CW_STR("gzip")) || cw_str_ieq(coding, CW_STR("x-gzip")))
            return takes; /* what is said by name counts more than "*" */
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

bool cw_negotiate_only_events(const cw_http_req *req)
{
    cw_str left = cw_http_req_header(req, CW_STR("Accept"));
    bool any = false;
    while (left.p) {
        cw_str params;
        cw_str range = cw_str_trim(cw_str_cut(cw_str_cut(left, ',', &left), ';', &params));
        if (!range.n || cw_message_is_refused(params))
            continue;
        if (!cw_str_ieq(range, CW_STR("text/event-stream")))
            return false;
        any = true;
    }
    return any;
}
