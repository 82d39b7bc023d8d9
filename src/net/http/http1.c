/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http1.c - the head of a request or response: first line and header fields.
 *
 * A byte-wise state machine whose states are entered once a line part, not once
 * a byte: inside a part a tight scan runs to the next byte of interest.
 *
 *     GET /path HTTP/1.1\r\n        METHOD TARGET VERSION VERSION_LF
 *     Host: example.org\r\n         FIELD NAME OWS VALUE VALUE_LF
 *     \r\n                          FIELD END_LF
 *
 * A rejection depends on the bytes alone and never on how they were cut
 * into reads: every scan ends at a limit, not at what happens to have arrived.
 */
#include "net/http/http1.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "net/http/hostcheck.h"
#include "net/http/http1_chars.h"

#define METHOD_MAX 32u
#define EMPTY_LINES_MAX 2u
#define VERSION_LEN 8u

enum {
    START,    /* before the request line, maybe in an empty line */
    START_LF, /* behind the CR of an empty line */
    METHOD,
    TARGET,
    VERSION,
    VERSION_LF,
    FIELD = 8, /* at the beginning of a header line */
    NAME,
    OWS, /* between ':' and the value */
    VALUE,
    VALUE_LF,
    END_LF,
    DONE,
    REFUSED = 0xff,
};

/* Bits of cw_http1_head.seen. */
enum {
    SEEN_EXPECT = 1,
    SEEN_CLOSE = 2,
    SEEN_KEEP_ALIVE = 4,
};

#define LENGTH_DIGITS_MAX 19u /* 10^19 - 1 fits in 64 bits */

/* Method names by cw_http_method; the first is empty. */
static const cw_str methods[] = {
    [CW_HTTP_UNKNOWN] = CW_STR_INIT(""),        [CW_HTTP_GET] = CW_STR_INIT("GET"),
    [CW_HTTP_HEAD] = CW_STR_INIT("HEAD"),       [CW_HTTP_POST] = CW_STR_INIT("POST"),
    [CW_HTTP_PUT] = CW_STR_INIT("PUT"),         [CW_HTTP_DELETE] = CW_STR_INIT("DELETE"),
    [CW_HTTP_PATCH] = CW_STR_INIT("PATCH"),     [CW_HTTP_OPTIONS] = CW_STR_INIT("OPTIONS"),
    [CW_HTTP_CONNECT] = CW_STR_INIT("CONNECT"), [CW_HTTP_TRACE] = CW_STR_INIT("TRACE"),
};

const char *cw_http_method_name(cw_http_method m)
{
    return m == CW_HTTP_UNKNOWN ? "unknown" : methods[m].p;
}

/* Record why the head is refused; returns CW_INVALID. */
static cw_code refuse_head(cw_http1_head *h, unsigned status, const char *reason)
{
    h->state = REFUSED;
    h->status = (uint16_t)status;
    h->reason = reason;
    return CW_INVALID;
}

/* ---- header fields that server and client obey ----
 *
 * Each is taken when its line is complete: framing, Host, Connection, Expect, and those that may
 * occur only once.
 */

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
        return refuse_head(h, 400, "repeated Host");
    if (!cw_host_is_valid(value))
        return refuse_head(h, 400, "invalid Host");
    h->host = index;
    return CW_OK;
}

CW_NOINLINE static cw_code take_length(cw_http1_head *h, cw_str value)
{
    uint64_t length = 0;

    if (h->has_length)
        return refuse_head(h, 400, "repeated Content-Length");
    if (h->chunked)
        return refuse_head(h, 400, "both Content-Length and Transfer-Encoding");
    /* A leading zero is octal to some readers. */
    if (value.n == 0 || value.n > LENGTH_DIGITS_MAX || (value.n > 1 && value.p[0] == '0'))
        return refuse_head(h, 400, "invalid Content-Length");
    for (size_t i = 0; i < value.n; i++) {
        unsigned digit = (unsigned)(unsigned char)value.p[i] - '0';

        if (digit > 9)
            return refuse_head(h, 400, "invalid Content-Length");
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
            return refuse_head(h, 400, "chunked is not the last transfer coding");
        if (!cw_http_is_token(coding))
            return refuse_head(h, 400, "invalid Transfer-Encoding");
        chunked = cw_str_ieq(coding, CW_STR("chunked"));
    }
    return refuse_head(h, 501, "unknown transfer coding");
}

CW_NOINLINE static cw_code take_transfer(cw_http1_head *h, cw_str value)
{
    if (h->chunked)
        return refuse_head(h, 400, "repeated Transfer-Encoding");
    if (h->has_length)
        return refuse_head(h, 400, "both Content-Length and Transfer-Encoding");
    if (h->minor == 0)
        return refuse_head(h, 400, "Transfer-Encoding in HTTP/1.0");
    if (!cw_str_ieq(value, CW_STR("chunked")))
        return refuse_codings(h, value);
    h->chunked = true;
    return CW_OK;
}

CW_NOINLINE static cw_code take_expect(cw_http1_head *h, cw_str value)
{
    if (h->is_answer)
        return CW_OK;
    if (h->seen & SEEN_EXPECT)
        return refuse_head(h, 400, "repeated Expect");
    h->seen |= SEEN_EXPECT;
    /* RFC 9110 10.1.1: an expectation from HTTP/1.0 is ignored. */
    if (h->minor == 0)
        return CW_OK;
    if (!cw_str_ieq(value, CW_STR("100-continue")))
        return refuse_head(h, 417, "unknown expectation");
    h->expect_continue = true;
    return CW_OK;
}

static bool take_connection_option(cw_http1_head *h, cw_str option)
{
    if (option.n == 5 && IS_SHORT(option.p, "close"))
        h->seen |= SEEN_CLOSE;
    else if (option.n == 10 && IS_LONG(option.p, "keep-alive"))
        h->seen |= SEEN_KEEP_ALIVE;
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
            return refuse_head(h, 400, "invalid Connection");
        take_connection_option(h, option);
    }
    return CW_OK;
}

static cw_code take_single(cw_http1_head *h, uint16_t *slot, uint16_t index, const char *reason)
{
    if (*slot != CW_HTTP1_NONE)
        return refuse_head(h, 400, reason);
    *slot = index;
    return CW_OK;
}

/* A complete field. The length decides first, so most fields cost one compare. */
/* Take fields[n_fields], which is complete and of valid syntax, and count it. CW_OK, or refused. */
static cw_code take_field(cw_http1_head *h, const char *p)
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
    case 11:
        h->has_traceparent |= IS_LONG(name, "traceparent");
        return CW_OK;
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

/* ---- scans: the first byte from `pos` on that does not belong, or `end` ---- */

CW_INLINE size_t scan_class(const char *p, size_t pos, size_t end, unsigned mask)
{
    /* Unrolled by hand: names and targets are most of what is scanned here. */
    for (; end - pos >= 4; pos += 4) {
        if (!cw_http_is(p[pos], mask))
            return pos;
        if (!cw_http_is(p[pos + 1], mask))
            return pos + 1;
        if (!cw_http_is(p[pos + 2], mask))
            return pos + 2;
        if (!cw_http_is(p[pos + 3], mask))
            return pos + 3;
    }
    while (pos < end && cw_http_is(p[pos], mask))
        pos++;
    return pos;
}

#define EACH(byte) (0x0101010101010101u * (byte))

/* Index of the first byte of `w`, as it lay in memory, whose top bit is set. */
CW_INLINE size_t first_marked(uint64_t w)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (size_t)__builtin_ctzll(w) / 8;
#else
    return (size_t)__builtin_clzll(w) / 8;
#endif
}

#if defined(__SSE2__)

#define BLOCK 16u

/* Bits of the bytes from `low` to `low` + `span`. */
CW_INLINE __m128i in_range(__m128i bytes, char low, char span)
{
    __m128i from = _mm_sub_epi8(bytes, _mm_set1_epi8(low));
    return _mm_cmpeq_epi8(_mm_min_epu8(from, _mm_set1_epi8(span)), from);
}

/* The bytes of a block at the front that are letters, digits or '-', as names of fields nearly
 * always are; the byte behind them may belong to a name as well. */
CW_INLINE size_t count_name(const char *p)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i letters = in_range(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), 'a', 'z' - 'a');
    __m128i others =
        _mm_or_si128(in_range(bytes, '0', 9), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('-')));
    unsigned ends = ~(unsigned)_mm_movemask_epi8(_mm_or_si128(letters, others));
    return (size_t)__builtin_ctz(ends | 1u << BLOCK);
}

/* Likewise those that are no control characters. */
CW_INLINE size_t count_value(const char *p)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i controls =
        _mm_or_si128(in_range(bytes, 0, 0x1f), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f)));
    return (size_t)__builtin_ctz((unsigned)_mm_movemask_epi8(controls) | 1u << BLOCK);
}

/* Skip blocks of which all bytes belong, and the bytes of the next one that do. */
#define SKIP_BLOCKS(count, p, pos, end)                                                            \
    while ((end) - (pos) >= BLOCK) {                                                               \
        size_t n_block = count((p) + (pos));                                                       \
        (pos) += n_block;                                                                          \
        if (n_block < BLOCK)                                                                       \
            break;                                                                                 \
    }
#else
#define SKIP_BLOCKS(count, p, pos, end) (void)0
#endif

CW_INLINE size_t scan_name(const char *p, size_t pos, size_t end)
{
    SKIP_BLOCKS(count_name, p, pos, end);
    if (CW_LIKELY(pos < end && p[pos] == ':'))
        return pos;
    return scan_class(p, pos, end, CW_HTTP_TCHAR);
}

/* Field values, eight bytes at a time. Subtracting 0x20 sets the top bit of a byte below 0x20,
 * adding 1 that of 0x7f; bytes from 0x80 on are masked out. A carry between bytes can mark too many
 * but never too few, so the marked byte is looked up. */
CW_INLINE size_t scan_value(const char *p, size_t pos, size_t end)
{
    SKIP_BLOCKS(count_value, p, pos, end);
    if (CW_LIKELY(pos < end && p[pos] == '\r'))
        return pos;
    while (end - pos >= 8) {
        uint64_t w;

        memcpy(&w, p + pos, 8);
        w = ((w - EACH(0x20)) | (w + EACH(1))) & ~w & EACH(0x80);
        if (w == 0) {
            pos += 8;
            continue;
        }
        pos += first_marked(w);
        if (!cw_http_is(p[pos], CW_HTTP_VCHAR))
            return pos;
        pos++;
    }
    while (pos < end && cw_http_is(p[pos], CW_HTTP_VCHAR))
        pos++;
    return pos;
}

/* Requirements of a request beside valid lines. */
static cw_code check_request(cw_http1_head *h, const char *p)
{
    /* RFC 9112 3.2.4. Not at the target itself, so that an HTTP/2 preface hears of its version. */
    if (h->target_len == 1 && p[h->target_at] == '*' && h->method != CW_HTTP_OPTIONS)
        return refuse_head(h, 400, "request target '*' with a method other than OPTIONS");
    if (h->minor > 0 && h->host == CW_HTTP1_NONE)
        return refuse_head(h, 400, "missing Host");
    return CW_OK;
}

static cw_code finish(cw_http1_head *h, const char *p, size_t size)
{
    cw_code rc = h->is_answer ? CW_OK : check_request(h, p);
    if (rc)
        return rc;
    h->keep_alive = !(h->seen & SEEN_CLOSE) && (h->minor > 0 || (h->seen & SEEN_KEEP_ALIVE));
    h->size = (uint32_t)size;
    h->state = DONE;
    return CW_OK;
}

/* ---- the request line ---- */

static cw_http_method find_method(cw_str name)
{
    for (unsigned m = CW_HTTP_UNKNOWN + 1; m < CW_COUNT(methods); m++) {
        if (name.p[0] == methods[m].p[0] && cw_str_eq(name, methods[m]))
            return (cw_http_method)m;
    }
    return CW_HTTP_UNKNOWN;
}

/* START: empty lines before the request line. */
static cw_code parse_start(cw_http1_head *h, const char *p)
{
    char c = p[h->pos];

    if (c == '\r') {
        if (h->pos == EMPTY_LINES_MAX * 2)
            return refuse_head(h, 400, "too many empty lines before a request");
        h->pos++;
        h->state = START_LF;
        return CW_OK;
    }
    if (c == 0x16)
        return refuse_head(h, 400, "TLS handshake on a port that speaks plain HTTP");
    if (!cw_http_is(c, CW_HTTP_TCHAR))
        return refuse_head(h, 400, "invalid character before the method");
    h->method_at = h->pos;
    h->state = METHOD;
    return CW_OK;
}

static cw_code parse_method(cw_http1_head *h, const char *p, size_t end)
{
    size_t stop = h->method_at + METHOD_MAX + 1;
    size_t pos = scan_class(p, h->pos, end < stop ? end : stop, CW_HTTP_TCHAR);

    h->pos = (uint16_t)pos;
    if (pos == stop)
        return refuse_head(h, 501, "method name too long");
    if (pos == end)
        return CW_AGAIN;
    if (p[pos] != ' ')
        return refuse_head(h, 400, "invalid character in the method");
    h->method_len = (uint16_t)(pos - h->method_at);
    h->method = find_method((cw_str){p + h->method_at, h->method_len});
    h->pos = h->target_at = (uint16_t)(pos + 1);
    h->state = TARGET;
    return CW_OK;
}

static cw_code parse_target(cw_http1_head *h, const char *p, size_t end)
{
    size_t stop = (size_t)h->target_at + h->limits.target + 1;
    size_t pos = scan_class(p, h->pos, end < stop ? end : stop, CW_HTTP_URI);

    h->pos = (uint16_t)pos;
    if (pos == stop)
        return refuse_head(h, 414, "request target too long");
    if (pos == end)
        return CW_AGAIN;
    if (p[pos] != ' ')
        return refuse_head(h, 400, "invalid character in the request target");
    if (pos == h->target_at)
        return refuse_head(h, 400, "empty request target");
    h->target_len = (uint16_t)(pos - h->target_at);
    h->pos = h->mark = (uint16_t)(pos + 1);
    h->state = VERSION;
    return CW_OK;
}

/* "HTTP/" DIGIT "." DIGIT CR, each byte checked where it stands. */
static cw_code parse_version(cw_http1_head *h, const char *p, size_t end)
{
    static const char form[] = "HTTP/0.0\r";

    /* The common case, in one comparison. */
    if (h->pos == h->mark && end - h->pos >= 10 && !memcmp(p + h->pos, "HTTP/1.1\r\n", 10)) {
        h->minor = 1;
        h->pos = (uint16_t)(h->pos + 10);
        h->state = FIELD;
        return CW_OK;
    }
    for (; h->pos < end; h->pos++) {
        size_t at = (size_t)h->pos - h->mark;
        char c = p[h->pos];

        if (form[at] == '0' ? c < '0' || c > '9' : c != form[at])
            return refuse_head(h, 400, "invalid HTTP version");
        if (at == VERSION_LEN) {
            h->pos++;
            h->state = VERSION_LF;
            return CW_OK;
        }
    }
    return CW_AGAIN;
}

static cw_code parse_version_lf(cw_http1_head *h, const char *p)
{
    if (p[h->pos] != '\n')
        return refuse_head(h, 400, "bare CR in the request line");
    if (p[h->mark + 5] != '1')
        return refuse_head(h, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    h->minor = p[h->mark + 7] != '0';
    h->pos++;
    h->state = FIELD;
    return CW_OK;
}

static cw_code parse_line(cw_http1_head *h, const char *p, size_t end)
{
    while (h->pos < end && h->state < FIELD) {
        cw_code rc = CW_OK;

        switch (h->state) {
        case START:
            rc = parse_start(h, p);
            break;
        case START_LF:
            if (p[h->pos] != '\n')
                return refuse_head(h, 400, "bare CR before a request");
            h->pos++;
            h->state = START;
            break;
        case METHOD:
            rc = parse_method(h, p, end);
            break;
        case TARGET:
            rc = parse_target(h, p, end);
            break;
        case VERSION:
            rc = parse_version(h, p, end);
            break;
        default:
            rc = parse_version_lf(h, p);
            break;
        }
        if (rc)
            return rc;
    }
    return CW_OK;
}

/* ---- header fields ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static cw_code refuse_name(cw_http1_head *h, char c, bool empty)
{
    if (is_blank(c))
        return refuse_head(h, 400,
                           empty ? "folded header line" : "space before ':' in a header field");
    if (c == ':')
        return refuse_head(h, 400, "header field without a name");
    if (c == '\n')
        return refuse_head(h, 400, "bare LF in the header");
    if (c == '\r')
        return refuse_head(h, 400, "header line without ':'");
    return refuse_head(h, 400, "invalid character in a header field name");
}

static cw_code refuse_value(cw_http1_head *h, char c)
{
    return refuse_head(h, 400,
                       c == '\n' ? "bare LF in the header" : "control character in a header field");
}

/* The value ends at `pos`, where its CR stands. The bytes before are a valid value, or the ':', so
 * only blanks are as low as a space. */
static void end_value(cw_http1_field *f, const char *p, size_t pos)
{
    while ((unsigned char)p[pos - 1] <= ' ' && pos > f->value)
        pos--;
    f->value_len = (uint16_t)(pos - f->value);
}

/* All header lines. Position and state are local variables, stored when the bytes run out. */
/* Go on with the header lines of `p`, of which bytes up to `end` may be looked at. CW_AGAIN, CW_OK
 * (size and keep_alive are set), or refused. */
static cw_code parse_fields(cw_http1_head *h, const char *p, size_t end)
{
    size_t pos = h->pos;
    unsigned state = h->state;
    cw_code rc;

    for (;;) {
        cw_http1_field *f = &h->fields[h->n_fields];

        switch (state) {
        case FIELD:
            if (pos == end)
                goto more;
            if (p[pos] == '\r') {
                pos++;
                state = END_LF;
                break;
            }
            if (h->n_fields == h->limits.fields)
                return refuse_head(h, 431, "too many header fields");
            f->name = (uint16_t)pos;
            state = NAME;
            CW_FALLTHROUGH;
        case NAME:
            pos = scan_name(p, pos, end);
            if (pos == end)
                goto more;
            f->name_len = (uint16_t)(pos - f->name);
            if (p[pos] != ':' || f->name_len == 0)
                return refuse_name(h, p[pos], f->name_len == 0);
            pos++;
            state = OWS;
            CW_FALLTHROUGH;
        case OWS:
            while (pos < end && is_blank(p[pos]))
                pos++;
            if (pos == end)
                goto more;
            f->value = (uint16_t)pos;
            state = VALUE;
            CW_FALLTHROUGH;
        case VALUE:
            pos = scan_value(p, pos, end);
            if (pos == end)
                goto more;
            if (p[pos] != '\r')
                return refuse_value(h, p[pos]);
            end_value(f, p, pos++);
            state = VALUE_LF;
            CW_FALLTHROUGH;
        case VALUE_LF:
            if (pos == end)
                goto more;
            if (p[pos++] != '\n')
                return refuse_head(h, 400, "bare CR in a header field");
            rc = take_field(h, p);
            if (rc)
                return rc;
            state = FIELD;
            break;
        default: /* END_LF */
            if (pos == end)
                goto more;
            if (p[pos++] != '\n')
                return refuse_head(h, 400, "bare CR in the header");
            return finish(h, p, pos);
        }
    }
more:
    h->pos = (uint16_t)pos;
    h->state = (uint8_t)state;
    return CW_AGAIN;
}

/* ---- public ---- */

void cw_http1_head_init(cw_http1_head *h, const cw_http1_limits *limits)
{
    /* Not the whole struct: the field table is most of it and is written before it is read. */
    memset(h, 0, offsetof(cw_http1_head, fields));
    h->limits = *limits;
    if (h->limits.head > UINT16_MAX)
        h->limits.head = UINT16_MAX;
    if (h->limits.fields > CW_HTTP_MAX_FIELDS)
        h->limits.fields = CW_HTTP_MAX_FIELDS;
    h->host = h->origin = h->content_type = h->accept = h->authorization = CW_HTTP1_NONE;
}

cw_code cw_http1_parse_head(cw_http1_head *h, const char *p, size_t n)
{
    size_t end = n < h->limits.head ? n : h->limits.head;
    cw_code rc = CW_OK;

    if (h->state == DONE)
        return CW_OK;
    if (h->state == REFUSED)
        return CW_INVALID;
    if (h->state < FIELD)
        rc = parse_line(h, p, end);
    if (rc == CW_OK)
        rc = h->state < FIELD ? CW_AGAIN : parse_fields(h, p, end);
    /* The head has not ended within its limit, so it is too large whatever follows. */
    if (rc == CW_AGAIN && end == h->limits.head)
        return h->state == TARGET ? refuse_head(h, 414, "request target too long")
                                  : refuse_head(h, 431, "request head too large");
    return rc;
}

/* ---- the head of a response ----
 *
 *     HTTP/1.1 200 OK\r\n           STATUS_LINE TEXT TEXT_LF
 *
 * Some servers send "HTTP/1.1 200\r\n", without the space that RFC 9112 section 4 requires. It can
 * be read in one way only, so it passes. Everything else that is not of the form is refused.
 */

enum {
    STATUS_LINE, /* version and code */
    TEXT,        /* the reason phrase, which is not used */
    TEXT_LF,
};

static cw_code end_code(cw_http1_head *h, const char *p)
{
    if (p[5] != '1')
        return refuse_head(h, 400, "not HTTP/1.0 or HTTP/1.1");
    h->minor = p[7] != '0';
    h->code = (uint16_t)((p[9] - '0') * 100 + (p[10] - '0') * 10 + (p[11] - '0'));
    if (h->code < 100 || h->code > 599)
        return refuse_head(h, 400, "status code out of range");
    if (h->code == 101 && !h->may_switch)
        return refuse_head(h, 400, "switch of protocols that was not requested");
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
            return refuse_head(h, 400, "invalid status line");
    }
    return h->pos == sizeof form - 1 ? end_code(h, p) : CW_AGAIN;
}

static cw_code parse_text(cw_http1_head *h, const char *p, size_t end)
{
    const size_t start = 12;

    if (h->pos == start && h->pos < end && p[start] != ' ' && p[start] != '\r')
        return refuse_head(h, 400, "invalid status line");
    while (h->pos < end && cw_http_is(p[h->pos], CW_HTTP_VCHAR))
        h->pos++;
    if (h->pos == end)
        return CW_AGAIN;
    if (p[h->pos] != '\r')
        return refuse_head(h, 400,
                           p[h->pos] == '\n' ? "bare LF in the status line"
                                             : "control character in the status line");
    h->pos++;
    h->state = TEXT_LF;
    return CW_OK;
}

static cw_code parse_status_line(cw_http1_head *h, const char *p, size_t end)
{
    cw_code rc = CW_OK;

    if (h->state == STATUS_LINE)
        rc = parse_code(h, p, end);
    if (rc == CW_OK && h->state == TEXT)
        rc = parse_text(h, p, end);
    if (rc)
        return rc;
    if (h->pos == end)
        return CW_AGAIN;
    if (p[h->pos] != '\n')
        return refuse_head(h, 400, "bare CR in the status line");
    h->pos++;
    h->state = FIELD;
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

    if (h->state == DONE)
        return CW_OK;
    if (h->state == REFUSED)
        return CW_INVALID;
    if (h->state < FIELD)
        rc = parse_status_line(h, p, end);
    if (rc == CW_OK)
        rc = parse_fields(h, p, end);
    if (rc == CW_AGAIN && end == h->limits.head)
        return refuse_head(h, 431, "head too large");
    return rc;
}

/* ---- the fields of a head ---- */

cw_str cw_http1_value(const cw_http1_head *h, const char *p, size_t index)
{
    return (cw_str){p + h->fields[index].value, h->fields[index].value_len};
}

static bool has_name(const cw_http1_field *f, const char *p, cw_str name)
{
    return f->name_len == name.n && cw_str_ieq(cw_str_make(p + f->name, name.n), name);
}

size_t cw_http1_find(const cw_http1_head *h, const char *p, cw_str name, size_t from)
{
    for (size_t i = from; i < h->n_fields; i++) {
        if (has_name(&h->fields[i], p, name))
            return i;
    }
    return CW_HTTP1_NONE;
}

size_t cw_http1_find_once(const cw_http1_head *h, const char *p, cw_str name, bool *ret_repeats)
{
    size_t found = CW_HTTP1_NONE;
    *ret_repeats = false;
    for (size_t i = 0; i < h->n_fields; i++) {
        if (!has_name(&h->fields[i], p, name))
            continue;
        if (found != CW_HTTP1_NONE) {
            *ret_repeats = true;
            break;
        }
        found = i;
    }
    return found;
}
