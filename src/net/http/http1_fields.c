/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http1_fields.c - the header fields that server and client themselves obey, each taken when its
 * line is complete: framing, Host, Connection, Expect, and those that may stand there only once. */
#include "net/http/hostcheck.h"
#include "net/http/http1_int.h"

#define LENGTH_DIGITS_MAX 19u /* 10^19 - 1 fits in 64 bits */

cw_code cw_http1_refuse(cw_http1_head *h, unsigned status, const char *reason)
{
    h->state = CW_HTTP1_REFUSED;
    h->status = (uint16_t)status;
    h->reason = reason;
    return CW_INVALID;
}

/* Field names are compared by words, ASCII case ignored: setting bit 5 of a token byte gives a
 * letter or '-' only if it was that letter or '-'. Two words that overlap cover a name. `lit` is in
 * small letters and as long as the token at `p`. */
#define BIT5 0x2020202020202020u

CW_INLINE bool word_is(const char *p, const char *lit)
{
    uint64_t a, b;

    memcpy(&a, p, 8);
    memcpy(&b, lit, 8);
    return (a | BIT5) == b;
}

CW_INLINE bool half_is(const char *p, const char *lit)
{
    uint32_t a, b;

    memcpy(&a, p, 4);
    memcpy(&b, lit, 4);
    return (a | (uint32_t)BIT5) == b;
}

/* 4 to 8 letters. */
#define IS_SHORT(p, lit)                                                                           \
    (half_is((p), (lit)) && half_is((p) + sizeof(lit) - 5, &(lit)[sizeof(lit) - 5]))
/* 8 to 16 letters. */
#define IS_LONG(p, lit)                                                                            \
    (word_is((p), (lit)) && word_is((p) + sizeof(lit) - 9, &(lit)[sizeof(lit) - 9]))

CW_NOINLINE static cw_code take_host(cw_http1_head *h, cw_str value, uint16_t index)
{
    if (h->is_answer)
        return CW_OK; /* means nothing there */
    if (h->host != CW_HTTP1_NONE)
        return cw_http1_refuse(h, 400, "repeated Host");
    if (!cw_host_is_valid(value))
        return cw_http1_refuse(h, 400, "invalid Host");
    h->host = index;
    return CW_OK;
}

CW_NOINLINE static cw_code take_length(cw_http1_head *h, cw_str value)
{
    uint64_t length = 0;

    if (h->has_length)
        return cw_http1_refuse(h, 400, "repeated Content-Length");
    if (h->chunked)
        return cw_http1_refuse(h, 400, "both Content-Length and Transfer-Encoding");
    /* A leading zero is octal to some readers. */
    if (value.n == 0 || value.n > LENGTH_DIGITS_MAX || (value.n > 1 && value.p[0] == '0'))
        return cw_http1_refuse(h, 400, "invalid Content-Length");
    for (size_t i = 0; i < value.n; i++) {
        unsigned digit = (unsigned)(unsigned char)value.p[i] - '0';

        if (digit > 9)
            return cw_http1_refuse(h, 400, "invalid Content-Length");
        length = length * 10 + digit;
    }
    h->has_length = true;
    h->content_length = length;
    return CW_OK;
}

/* Any coding but "chunked" is unknown here (501, RFC 9112 6.1); but when chunked is there and not
 * last, or twice, the length of the body cannot be known (400, 6.3). */
static cw_code refuse_codings(cw_http1_head *h, cw_str list)
{
    bool chunked = false;

    while (list.p) {
        cw_str coding = cw_str_trim(cw_str_cut(list, ',', &list));

        if (chunked)
            return cw_http1_refuse(h, 400, "chunked is not the last transfer coding");
        if (!cw_http_is_token(coding))
            return cw_http1_refuse(h, 400, "invalid Transfer-Encoding");
        chunked = cw_str_ieq(coding, CW_STR("chunked"));
    }
    return cw_http1_refuse(h, 501, "unknown transfer coding");
}

CW_NOINLINE static cw_code take_transfer(cw_http1_head *h, cw_str value)
{
    if (h->chunked)
        return cw_http1_refuse(h, 400, "repeated Transfer-Encoding");
    if (h->has_length)
        return cw_http1_refuse(h, 400, "both Content-Length and Transfer-Encoding");
    if (h->minor == 0)
        return cw_http1_refuse(h, 400, "Transfer-Encoding in HTTP/1.0");
    if (!cw_str_ieq(value, CW_STR("chunked")))
        return refuse_codings(h, value);
    h->chunked = true;
    return CW_OK;
}

CW_NOINLINE static cw_code take_expect(cw_http1_head *h, cw_str value)
{
    if (h->is_answer)
        return CW_OK;
    if (h->seen & CW_HTTP1_SEEN_EXPECT)
        return cw_http1_refuse(h, 400, "repeated Expect");
    h->seen |= CW_HTTP1_SEEN_EXPECT;
    /* RFC 9110 10.1.1: an expectation from HTTP/1.0 is ignored. */
    if (h->minor == 0)
        return CW_OK;
    if (!cw_str_ieq(value, CW_STR("100-continue")))
        return cw_http1_refuse(h, 417, "unknown expectation");
    h->expect_continue = true;
    return CW_OK;
}

static bool take_connection_option(cw_http1_head *h, cw_str option)
{
    if (option.n == 5 && IS_SHORT(option.p, "close"))
        h->seen |= CW_HTTP1_SEEN_CLOSE;
    else if (option.n == 10 && IS_LONG(option.p, "keep-alive"))
        h->seen |= CW_HTTP1_SEEN_KEEP_ALIVE;
    else
        return false;
    return true;
}

CW_NOINLINE static cw_code take_connection(cw_http1_head *h, cw_str list)
{
    if (take_connection_option(h, list))
        return CW_OK;
    while (list.p) {
        cw_str option = cw_str_trim(cw_str_cut(list, ',', &list));

        /* RFC 9110 5.6.1: empty elements are to be ignored. */
        if (option.n > 0 && !cw_http_is_token(option))
            return cw_http1_refuse(h, 400, "invalid Connection");
        take_connection_option(h, option);
    }
    return CW_OK;
}

static cw_code take_single(cw_http1_head *h, uint16_t *slot, uint16_t index, const char *reason)
{
    if (*slot != CW_HTTP1_NONE)
        return cw_http1_refuse(h, 400, reason);
    *slot = index;
    return CW_OK;
}

/* A complete field. The length decides first, so most fields cost one compare. */
cw_code cw_http1_take_field(cw_http1_head *h, const char *p)
{
    uint16_t index = h->n_fields++;
    const cw_http1_field *f = &h->fields[index];
    const char *name = p + f->name;
    cw_str value = {p + f->value, f->value_len};

    switch (f->name_len) {
    case 4:
        return IS_SHORT(name, "host") ? take_host(h, value, index) : CW_OK;
    case 6:
        if (IS_SHORT(name, "accept")) {
            if (h->accept == CW_HTTP1_NONE)
                h->accept = index;
        } else if (IS_SHORT(name, "origin")) {
            return take_single(h, &h->origin, index, "repeated Origin");
        } else if (IS_SHORT(name, "expect")) {
            return take_expect(h, value);
        }
        return CW_OK;
    case 10:
        return IS_LONG(name, "connection") ? take_connection(h, value) : CW_OK;
    case 12:
        if (IS_LONG(name, "content-type"))
            return take_single(h, &h->content_type, index, "repeated Content-Type");
        return CW_OK;
    case 13:
        if (IS_LONG(name, "authorization"))
            return take_single(h, &h->authorization, index, "repeated Authorization");
        return CW_OK;
    case 14:
        return IS_LONG(name, "content-length") ? take_length(h, value) : CW_OK;
    case 17:
        if (IS_LONG(name, "transfer-encodin") && (name[16] | 0x20) == 'g')
            return take_transfer(h, value);
        return CW_OK;
    default:
        return CW_OK;
    }
}
