/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_response.c - what must hold for any bytes that a server may answer with.
 *
 * The first byte chooses the method of the request, the next two where the rest is
 * cut. The rest is read as the answers of one connection three times: whole, in two
 * parts, and byte by byte, and then the connection ends. The three accounts must be
 * equal.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "net/http/http1.h"

#define INPUT_MAX 65536u
#define BODY_MAX 4096u

static const cw_http1_limits limits = {.target = 0, .head = 2000, .fields = 20};

typedef struct reader {
    cw_http1_head head;
    cw_http1_body body;
    cw_http_method method;
    cw_buf account;
    bool in_body, ended;
} reader;

static void check_head(const cw_http1_head *h, const char *p)
{
    CHECK(h->size <= limits.head && h->n_fields <= limits.fields);
    CHECK(h->minor <= 1 && h->status == 0 && h->is_answer);
    CHECK(h->code >= 100 && h->code <= 599 && h->code != 101);
    CHECK(!(h->chunked && (h->has_length || h->minor == 0)));
    CHECK(memcmp(p + h->size - 4, "\r\n\r\n", 4) == 0);
    for (size_t i = 0; i < h->n_fields; i++) {
        const cw_http1_field *f = &h->fields[i];
        CHECK(f->value + f->value_len < h->size);
        CHECK(cw_http_is_token(cw_str_make(p + f->name, f->name_len)));
        CHECK(cw_http_is_value(cw_http1_value(h, p, i)));
    }
}

static void note_head(reader *r, const char *p)
{
    const cw_http1_head *h = &r->head;
    cw_buf_printf(&r->account, "head %u %u %d %d %d %u %u %llu\n", h->minor, h->code, h->chunked,
                  h->has_length, h->keep_alive, h->content_type, h->size,
                  (unsigned long long)h->content_length);
    for (size_t i = 0; i < h->n_fields; i++)
        cw_buf_printf(&r->account, "%u+%u %u+%u\n", h->fields[i].name, h->fields[i].name_len,
                      h->fields[i].value, h->fields[i].value_len);
    check_head(h, p);
}

static void end(reader *r, const char *reason)
{
    CHECK(reason && *reason);
    cw_buf_printf(&r->account, "refused: %s\n", reason);
    r->ended = true;
}

static size_t take_head(reader *r, const char *p, size_t n)
{
    cw_code rc = cw_http1_parse_response(&r->head, p, n);
    if (rc == CW_AGAIN)
        return 0;
    if (rc != CW_OK) {
        end(r, r->head.reason);
        return 0;
    }
    CHECK(r->head.size <= n);
    note_head(r, p);
    if (cw_http1_response_body_init(&r->body, &r->head, r->method, BODY_MAX))
        end(r, r->body.reason);
    r->in_body = true;
    return r->head.size;
}

static size_t take_body(reader *r, const char *p, size_t n)
{
    cw_str in = {p, n}, piece;
    uint64_t left = cw_http1_body_left(&r->body);
    cw_code rc;
    while ((rc = cw_http1_read_body(&r->body, &in, &piece)) == CW_AGAIN && piece.n) {
        CHECK(piece.p >= p && piece.p + piece.n <= p + n);
        /* What was said to be content is content. */
        CHECK(left == 0 || piece.p != p || piece.n == (left < n ? left : n));
        cw_buf_add(&r->account, piece);
    }
    CHECK(in.p + in.n == p + n);
    CHECK(r->body.received <= BODY_MAX);
    if (rc == CW_DONE) {
        cw_buf_printf(&r->account, "end %llu\n", (unsigned long long)r->body.received);
        r->in_body = false;
        cw_http1_response_init(&r->head, &limits);
    } else if (rc != CW_AGAIN) {
        end(r, r->body.reason);
    }
    return n - in.n;
}

/* Take what can be taken of `n` bytes; returns how much. */
static size_t take(reader *r, const char *p, size_t n)
{
    size_t at = 0;
    while (!r->ended) {
        bool in_body = r->in_body;
        size_t took = in_body ? take_body(r, p + at, n - at) : take_head(r, p + at, n - at);
        at += took;
        if (took == 0 && r->in_body == in_body)
            break;
    }
    return at;
}

/* Read `n` bytes that arrive up to `cut`, and then in steps, each part in memory of its own. */
static cw_buf read_cut(const char *p, size_t n, size_t cut, size_t step, cw_http_method method)
{
    reader r = {.method = method};
    size_t at = 0;
    cw_http1_response_init(&r.head, &limits);
    cw_buf_init(&r.account, 64u << 20);
    for (size_t till = cut; !r.ended; till = n - till < step ? n : till + step) {
        char *part = malloc(till > at ? till - at : 1);
        CHECK(part);
        memcpy(part, p + at, till - at);
        at += take(&r, part, till - at);
        free(part);
        if (till == n)
            break;
    }
    if (!r.ended && r.in_body)
        cw_buf_printf(&r.account, "closed %d\n", cw_http1_end_body(&r.body));
    cw_buf_printf(&r.account, "%zu of %zu\n", at, n);
    CHECK(r.account.code == CW_OK);
    return r.account;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4 || size > INPUT_MAX)
        return 0;
    const char *p = (const char *)data + 3;
    size_t n = size - 3;
    cw_http_method method = data[0] & 1 ? CW_HTTP_HEAD : CW_HTTP_POST;
    size_t cut = ((size_t)data[1] << 8 | data[2]) % n;
    cw_buf whole = read_cut(p, n, n, 1, method);
    cw_buf halves = read_cut(p, n, cut, n, method);
    cw_buf bytes = read_cut(p, n, 0, 1, method);
    CHECK(cw_str_eq(cw_buf_str(&whole), cw_buf_str(&halves)));
    CHECK(cw_str_eq(cw_buf_str(&whole), cw_buf_str(&bytes)));
    cw_buf_done(&whole);
    cw_buf_done(&halves);
    cw_buf_done(&bytes);
    return 0;
}
