/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http1_response.c - the head of an answer: the status line; header fields are those of requests.
 *
 *     HTTP/1.1 200 OK\r\n           LINE TEXT TEXT_LF
 *
 * "HTTP/1.1 200\r\n", without the space that RFC 9112 4 asks for, is met in the
 * wild and can be read in one way only, so it passes. Everything else that is
 * not of the form is refused.
 */
#include "net/http/http1_chars.h"
#include "net/http/http1_int.h"

enum {
    LINE, /* version and code */
    TEXT, /* the reason phrase, which is not used */
    TEXT_LF,
};

static cw_code end_code(cw_http1_head *h, const char *p)
{
    if (p[5] != '1')
        return cw_http1_refuse(h, 400, "not HTTP/1.0 or HTTP/1.1");
    h->minor = p[7] != '0';
    h->code = (uint16_t)((p[9] - '0') * 100 + (p[10] - '0') * 10 + (p[11] - '0'));
    if (h->code < 100 || h->code > 599)
        return cw_http1_refuse(h, 400, "status code out of range");
    if (h->code == 101 && !h->may_switch)
        return cw_http1_refuse(h, 400, "switch of protocols that nobody asked for");
    h->state = TEXT;
    return CW_OK;
}

/* Each byte is checked where it stands, so that garbage is refused at its first one. */
static cw_code parse_code(cw_http1_head *h, const char *p, size_t end)
{
    static const char form[] = "HTTP/0.0 000";

    for (; h->pos < end && h->pos < sizeof form - 1; h->pos++) {
        char c = p[h->pos], want = form[h->pos];
        if (want == '0' ? c < '0' || c > '9' : c != want)
            return cw_http1_refuse(h, 400, "invalid status line");
    }
    return h->pos == sizeof form - 1 ? end_code(h, p) : CW_AGAIN;
}

static cw_code parse_text(cw_http1_head *h, const char *p, size_t end)
{
    const size_t start = 12;

    if (h->pos == start && h->pos < end && p[start] != ' ' && p[start] != '\r')
        return cw_http1_refuse(h, 400, "invalid status line");
    while (h->pos < end && cw_http_is(p[h->pos], CW_HTTP_VCHAR))
        h->pos++;
    if (h->pos == end)
        return CW_AGAIN;
    if (p[h->pos] != '\r')
        return cw_http1_refuse(h, 400,
                               p[h->pos] == '\n' ? "bare LF in the status line"
                                                 : "control character in the status line");
    h->pos++;
    h->state = TEXT_LF;
    return CW_OK;
}

static cw_code parse_line(cw_http1_head *h, const char *p, size_t end)
{
    cw_code rc = CW_OK;

    if (h->state == LINE)
        rc = parse_code(h, p, end);
    if (rc == CW_OK && h->state == TEXT)
        rc = parse_text(h, p, end);
    if (rc)
        return rc;
    if (h->pos == end)
        return CW_AGAIN;
    if (p[h->pos] != '\n')
        return cw_http1_refuse(h, 400, "bare CR in the status line");
    h->pos++;
    h->state = CW_HTTP1_FIELD;
    return CW_OK;
}

void cw_http1_response_init(cw_http1_head *h, const cw_http1_limits *limits)
{
    cw_http1_head_init(h, limits);
    h->is_answer = true;
}

cw_code cw_http1_parse_response(cw_http1_head *h, const char *p, size_t n)
{
    size_t end = n < h->limits.head ? n : h->limits.head;
    cw_code rc = CW_OK;

    if (h->state == CW_HTTP1_DONE)
        return CW_OK;
    if (h->state == CW_HTTP1_REFUSED)
        return CW_INVALID;
    if (h->state < CW_HTTP1_FIELD)
        rc = parse_line(h, p, end);
    if (rc == CW_OK)
        rc = cw_http1_parse_fields(h, p, end);
    if (rc == CW_AGAIN && end == h->limits.head)
        return cw_http1_refuse(h, 431, "head too large");
    return rc;
}
