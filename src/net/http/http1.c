/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http1.c - the head of a request: request line and header fields.
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
#include "net/http/http1_chars.h"
#include "net/http/http1_int.h"

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
    FIELD = CW_HTTP1_FIELD, /* at the beginning of a header line */
    NAME,
    OWS, /* between ':' and the value */
    VALUE,
    VALUE_LF,
    END_LF,
    DONE = CW_HTTP1_DONE,
    REFUSED = CW_HTTP1_REFUSED,
};

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

/* Field values, eight bytes at a time. Subtracting 0x20 sets the top bit of a byte below 0x20,
 * adding 1 that of 0x7f; bytes from 0x80 on are masked out. A carry between bytes can mark too many
 * but never too few, so the marked byte is looked up. */
CW_INLINE size_t scan_value(const char *p, size_t pos, size_t end)
{
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
        return cw_http1_refuse(h, 400, "request target '*' with a method other than OPTIONS");
    if (h->minor > 0 && h->host == CW_HTTP1_NONE)
        return cw_http1_refuse(h, 400, "missing Host");
    return CW_OK;
}

static cw_code finish(cw_http1_head *h, const char *p, size_t size)
{
    cw_code rc = h->is_answer ? CW_OK : check_request(h, p);
    if (rc)
        return rc;
    h->keep_alive =
        !(h->seen & CW_HTTP1_SEEN_CLOSE) && (h->minor > 0 || (h->seen & CW_HTTP1_SEEN_KEEP_ALIVE));
    h->size = (uint32_t)size;
    h->state = DONE;
    return CW_OK;
}

/* ---- the request line ---- */

static cw_http_method find_method(cw_str name)
{
    for (unsigned m = CW_HTTP_UNKNOWN + 1; m < CW_HTTP_METHODS; m++) {
        if (name.p[0] == cw_http_methods[m].p[0] && cw_str_eq(name, cw_http_methods[m]))
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
            return cw_http1_refuse(h, 400, "too many empty lines before a request");
        h->pos++;
        h->state = START_LF;
        return CW_OK;
    }
    if (c == 0x16)
        return cw_http1_refuse(h, 400, "TLS handshake on a port that speaks plain HTTP");
    if (!cw_http_is(c, CW_HTTP_TCHAR))
        return cw_http1_refuse(h, 400, "invalid character before the method");
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
        return cw_http1_refuse(h, 501, "method name too long");
    if (pos == end)
        return CW_AGAIN;
    if (p[pos] != ' ')
        return cw_http1_refuse(h, 400, "invalid character in the method");
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
        return cw_http1_refuse(h, 414, "request target too long");
    if (pos == end)
        return CW_AGAIN;
    if (p[pos] != ' ')
        return cw_http1_refuse(h, 400, "invalid character in the request target");
    if (pos == h->target_at)
        return cw_http1_refuse(h, 400, "empty request target");
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
            return cw_http1_refuse(h, 400, "invalid HTTP version");
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
        return cw_http1_refuse(h, 400, "bare CR in the request line");
    if (p[h->mark + 5] != '1')
        return cw_http1_refuse(h, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
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
                return cw_http1_refuse(h, 400, "bare CR before a request");
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
        return cw_http1_refuse(h, 400,
                               empty ? "folded header line" : "space before ':' in a header field");
    if (c == ':')
        return cw_http1_refuse(h, 400, "header field without a name");
    if (c == '\n')
        return cw_http1_refuse(h, 400, "bare LF in the header");
    if (c == '\r')
        return cw_http1_refuse(h, 400, "header line without ':'");
    return cw_http1_refuse(h, 400, "invalid character in a header field name");
}

static cw_code refuse_value(cw_http1_head *h, char c)
{
    return cw_http1_refuse(
        h, 400, c == '\n' ? "bare LF in the header" : "control character in a header field");
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
cw_code cw_http1_parse_fields(cw_http1_head *h, const char *p, size_t end)
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
                return cw_http1_refuse(h, 431, "too many header fields");
            f->name = (uint16_t)pos;
            state = NAME;
            CW_FALLTHROUGH;
        case NAME:
            pos = scan_class(p, pos, end, CW_HTTP_TCHAR);
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
                return cw_http1_refuse(h, 400, "bare CR in a header field");
            rc = cw_http1_take_field(h, p);
            if (rc)
                return rc;
            state = FIELD;
            break;
        default: /* END_LF */
            if (pos == end)
                goto more;
            if (p[pos++] != '\n')
                return cw_http1_refuse(h, 400, "bare CR in the header");
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
        rc = h->state < FIELD ? CW_AGAIN : cw_http1_parse_fields(h, p, end);
    /* The head has not ended within its limit, so it is too large whatever follows. */
    if (rc == CW_AGAIN && end == h->limits.head)
        return h->state == TARGET ? cw_http1_refuse(h, 414, "request target too long")
                                  : cw_http1_refuse(h, 431, "request head too large");
    return rc;
}

cw_str cw_http1_name(const cw_http1_head *h, const char *p, size_t index)
{
    return (cw_str){p + h->fields[index].name, h->fields[index].name_len};
}

cw_str cw_http1_value(const cw_http1_head *h, const char *p, size_t index)
{
    return (cw_str){p + h->fields[index].value, h->fields[index].value_len};
}

size_t cw_http1_find(const cw_http1_head *h, const char *p, cw_str name, size_t from)
{
    for (size_t i = from; i < h->n_fields; i++) {
        if (h->fields[i].name_len == name.n && cw_str_ieq(cw_http1_name(h, p, i), name))
            return i;
    }
    return CW_HTTP1_NONE;
}
