/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_http.c - what must hold for any bytes that a client may send.
 *
 * The first two bytes choose where the rest is cut. The rest is read as a
 * connection's input three times: whole, in two parts, and byte by byte. What was
 * found (heads, fields, refusals, bodies, sizes) is written down each time, and the
 * three accounts must be equal. Accepted heads and targets must keep their promises.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "net/http/hostcheck.h"
#include "net/http/http1.h"
#include "net/http/target.h"

#define INPUT_MAX 65536u
#define BODY_MAX 4096u

/* Small enough for the fuzzer to reach. */
static const cw_http1_limits limits = {.target = 200, .head = 2000, .fields = 20};

typedef struct reader {
    cw_http1_head head;
    cw_http1_body body;
    cw_buf account;
    bool in_body, ended;
} reader;

/* ---- promises ---- */

static void check_field(const cw_http1_head *h, const char *p, size_t i)
{
    const cw_http1_field *f = &h->fields[i];
    cw_str value = cw_http1_value(h, p, i);
    CHECK(f->name + f->name_len < f->value + 1u && f->value + f->value_len < h->size);
    CHECK(cw_http_is_token(cw_str_make(p + f->name, f->name_len)));
    CHECK(cw_http_is_value(value));
    CHECK(value.n == cw_str_trim(value).n);
}

static size_t count_fields(const cw_http1_head *h, const char *p, cw_str name)
{
    size_t n = 0;
    for (size_t i = cw_http1_find(h, p, name, 0); i != CW_HTTP1_NONE;
         i = cw_http1_find(h, p, name, i + 1))
        n++;
    return n;
}

static void check_framing(const cw_http1_head *h, const char *p)
{
    size_t lengths = count_fields(h, p, CW_STR("content-length"));
    size_t codings = count_fields(h, p, CW_STR("transfer-encoding"));
    size_t hosts = count_fields(h, p, CW_STR("host"));
    CHECK(lengths + codings <= 1);
    CHECK(h->has_length == (lengths == 1) && h->chunked == (codings == 1));
    CHECK(h->has_length || h->content_length == 0);
    CHECK(!(h->chunked && h->minor == 0));
    CHECK(hosts == (h->host != CW_HTTP1_NONE));
    CHECK(hosts == 1 || h->minor == 0);
    CHECK(hosts == 0 || cw_host_is_valid(cw_http1_value(h, p, h->host)));
    CHECK(!h->expect_continue || h->minor == 1);
}

static void check_head(const cw_http1_head *h, const char *p)
{
    CHECK(h->size <= limits.head && h->n_fields <= limits.fields);
    CHECK(h->minor <= 1 && h->status == 0);
    CHECK(h->method_len >= 1 && h->method_len <= 32);
    CHECK(h->target_at == h->method_at + h->method_len + 1);
    CHECK(h->target_len >= 1 && h->target_len <= limits.target);
    CHECK(memcmp(p + h->size - 4, "\r\n\r\n", 4) == 0);
    for (size_t i = 0; i < h->n_fields; i++)
        check_field(h, p, i);
    check_framing(h, p);
}

static void check_target(cw_str raw, cw_buf *account)
{
    cw_arena arena;
    cw_target t;
    const char *reason = NULL;
    cw_arena_init(&arena, 1u << 20);
    cw_code rc = cw_target_parse(raw, &arena, &t, &reason);
    cw_buf_printf(account, "target %d %s\n", rc, reason ? reason : "");
    if (rc == CW_OK) {
        CHECK(cw_str_is(t.path, "*") || t.path.p[0] == '/');
        CHECK(t.path.n <= raw.n || t.authority.p);
        CHECK(cw_utf8_is_valid(t.path) && cw_http_is_value(t.path));
        CHECK(!memchr(t.path.p, '\\', t.path.n));
        CHECK(!t.authority.p || cw_host_eq(t.authority, t.authority));
        cw_str name, value;
        while ((rc = cw_query_next(&t.query, &arena, &name, &value)) == CW_OK)
            CHECK(cw_utf8_is_valid(name) && cw_utf8_is_valid(value));
        CHECK(rc == CW_DONE || rc == CW_INVALID);
    }
    cw_arena_done(&arena);
}

/* ---- one reading ---- */

static void note_head(reader *r, const char *p)
{
    const cw_http1_head *h = &r->head;
    cw_buf_printf(&r->account, "head %u %d %d %d %d %d %u+%u %u+%u %u %u %u %u %u %u %llu\n",
                  h->minor, h->method, h->chunked, h->has_length, h->keep_alive, h->expect_continue,
                  h->method_at, h->method_len, h->target_at, h->target_len, h->host, h->origin,
                  h->content_type, h->accept, h->authorization, h->size,
                  (unsigned long long)h->content_length);
    for (size_t i = 0; i < h->n_fields; i++)
        cw_buf_printf(&r->account, "%u+%u %u+%u\n", h->fields[i].name, h->fields[i].name_len,
                      h->fields[i].value, h->fields[i].value_len);
    check_head(h, p);
    check_target((cw_str){p + h->target_at, h->target_len}, &r->account);
}

static void refuse(reader *r, unsigned status, const char *reason)
{
    CHECK(status >= 400 && status <= 505 && reason && *reason);
    cw_buf_printf(&r->account, "%u %s\n", status, reason);
    r->ended = true;
}

static size_t take_head(reader *r, const char *p, size_t n)
{
    cw_code rc = cw_http1_parse_head(&r->head, p, n);
    if (rc == CW_AGAIN)
        return 0;
    if (rc != CW_OK) {
        refuse(r, r->head.status, r->head.reason);
        return 0;
    }
    CHECK(r->head.size <= n);
    note_head(r, p);
    if (cw_http1_body_init(&r->body, &r->head, BODY_MAX))
        refuse(r, r->body.status, r->body.reason);
    r->in_body = true;
    return r->head.size;
}

static size_t take_body(reader *r, const char *p, size_t n)
{
    cw_str in = {p, n}, piece;
    cw_code rc;
    while ((rc = cw_http1_read_body(&r->body, &in, &piece)) == CW_AGAIN && piece.n) {
        CHECK(piece.p >= p && piece.p + piece.n <= p + n);
        cw_buf_add(&r->account, piece);
    }
    CHECK(in.p + in.n == p + n);
    CHECK(r->body.received <= BODY_MAX);
    CHECK(rc != CW_AGAIN || in.n == 0);
    if (rc == CW_DONE) {
        cw_buf_printf(&r->account, "end %llu\n", (unsigned long long)r->body.received);
        r->in_body = false;
        cw_http1_head_init(&r->head, &limits);
    } else if (rc != CW_AGAIN) {
        refuse(r, r->body.status, r->body.reason);
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

/* Read `n` bytes that arrive up to `cut`, and then in steps. Each part lies in memory of its own,
 * so that the sanitizer sees a look beyond it. */
static cw_buf read_cut(const char *p, size_t n, size_t cut, size_t step)
{
    reader r = {0};
    size_t at = 0;
    cw_http1_head_init(&r.head, &limits);
    cw_buf_init(&r.account, 64u << 20);
    for (size_t end = cut; !r.ended; end = n - end < step ? n : end + step) {
        char *part = malloc(end > at ? end - at : 1);
        CHECK(part);
        memcpy(part, p + at, end - at);
        at += take(&r, part, end - at);
        free(part);
        if (end == n)
            break;
    }
    cw_buf_printf(&r.account, "%zu of %zu\n", at, n);
    CHECK(r.account.code == CW_OK);
    return r.account;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3 || size > INPUT_MAX)
        return 0;
    const char *p = (const char *)data + 2;
    size_t n = size - 2;
    size_t cut = ((size_t)data[0] << 8 | data[1]) % n;
    cw_buf whole = read_cut(p, n, n, 1);
    cw_buf halves = read_cut(p, n, cut, n);
    cw_buf bytes = read_cut(p, n, 0, 1);
    CHECK(cw_str_eq(cw_buf_str(&whole), cw_buf_str(&halves)));
    CHECK(cw_str_eq(cw_buf_str(&whole), cw_buf_str(&bytes)));
    cw_buf_done(&whole);
    cw_buf_done(&halves);
    cw_buf_done(&bytes);
    return 0;
}
