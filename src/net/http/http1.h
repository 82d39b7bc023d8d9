/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http1.h - a strict HTTP/1.1 parser: resumable at any byte, no allocation.
 *
 * Why ours: of 47 hostile requests the HTTP libraries of Debian accepted between
 * 18 and 29 (docs/decisions/0002-own-http-parser.md). This one follows RFC 9112
 * and 9110 to the letter and refuses where the letter leaves a choice that two
 * readers could make differently.
 *
 * A message head is collected by the caller in one contiguous range that grows;
 * the parser remembers how far it came and never looks at a byte twice, so a
 * client that sends one byte at a time costs what any other client costs. The
 * range may move between calls (fields are offsets), its beginning may not change.
 *
 *     cw_http1_head h;
 *     cw_http1_head_init(&h, &limits);
 *     switch (cw_http1_parse_head(&h, bytes, n)) {
 *     case CW_AGAIN: ... read more, call again with the longer range
 *     case CW_OK:    ... h.size bytes were the head; the body follows
 *     default:       ... answer h.status with h.reason and close
 *     }
 *
 * Answers of other servers (net/client/client.h) are read by the same code behind their first
 * line, and as strictly.
 *
 * Ownership: borrows the bytes for the call; keeps offsets only.
 * Threads:   no shared state.
 * Limits:    cw_http1_limits; a head is at most 65,535 bytes whatever they say, a method 32.
 */
#ifndef CW_NET_HTTP_HTTP1_H
#define CW_NET_HTTP_HTTP1_H

#include "base/err.h"
#include "base/limits.h"
#include "base/str.h"

typedef enum cw_http_method {
    CW_HTTP_UNKNOWN, /* a token that is no method we know: 501 by the router */
    CW_HTTP_GET,
    CW_HTTP_HEAD,
    CW_HTTP_POST,
    CW_HTTP_PUT,
    CW_HTTP_DELETE,
    CW_HTTP_PATCH,
    CW_HTTP_OPTIONS,
    CW_HTTP_CONNECT,
    CW_HTTP_TRACE,
} cw_http_method;

typedef struct cw_http1_limits {
    uint32_t target; /* bytes of the request target: 414 beyond */
    uint32_t head;   /* bytes of the whole head: 431 beyond */
    uint32_t fields; /* 431 beyond; at most CW_HTTP_MAX_FIELDS */
} cw_http1_limits;

/* One header field that is to be written. */
typedef struct cw_http_header {
    cw_str name;
    cw_str value;
} cw_http_header;

/* One header field as offsets into the head. The value is trimmed. */
typedef struct cw_http1_field {
    uint16_t name, name_len;
    uint16_t value, value_len;
} cw_http1_field;

typedef struct cw_http1_head {
    /* The result; valid after CW_OK. */
    cw_http_method method;
    uint8_t minor; /* HTTP/1.minor: 0 or 1; a higher minor is read as 1 */
    bool chunked;
    bool has_length;
    bool keep_alive;      /* what the client's version and Connection say */
    bool expect_continue; /* 1.1 only */
    bool has_traceparent; /* at least one such field */
    uint16_t method_at, method_len;
    uint16_t target_at, target_len;
    uint16_t host; /* index of the Host field, or CW_HTTP1_NONE (1.0 only) */
    uint16_t origin, content_type, accept, authorization; /* index or CW_HTTP1_NONE */
    uint16_t n_fields;
    uint16_t code; /* answers: 100 to 599 */
    uint32_t size; /* bytes of the head, final empty line included */
    uint64_t content_length;

    /* Why it was refused; valid after any other code. */
    uint16_t status;    /* 400, 414, 417, 431, 501 or 505 */
    const char *reason; /* static text, e.g. "space before ':' in a header field" */

    /* Progress. */
    bool is_answer;
    bool may_switch; /* 101 is welcome */
    uint8_t state;
    uint8_t seen; /* fields met that have no index of their own */
    uint16_t mark, pos;
    cw_http1_limits limits;
    cw_http1_field fields[CW_HTTP_MAX_FIELDS];
} cw_http1_head;

#define CW_HTTP1_NONE 0xffffu

void cw_http1_head_init(cw_http1_head *h, const cw_http1_limits *limits);

/* Continue with the head in `p`, of which `n` bytes have arrived by now. CW_AGAIN, CW_OK, or
 * CW_INVALID with status and reason; after either of the last two, the same again. Empty lines
 * (CRLF) before a request line are skipped as RFC 9112 2.2 asks, at most 2 of them. */
cw_code cw_http1_parse_head(cw_http1_head *h, const char *p, size_t n);

/* The same for the head of an answer: cw_http1_response_init, then cw_http1_parse_response.
 * `target` of the limits does not count. Interim answers (1xx) are heads like any other; 101 is
 * refused unless may_switch is set, by who asked for it. Unlike a server that answers, the caller
 * has no use for `status`. */
void cw_http1_response_init(cw_http1_head *h, const cw_http1_limits *limits);
cw_code cw_http1_parse_response(cw_http1_head *h, const char *p, size_t n);

/* A field's value, given the head's bytes. */
cw_str cw_http1_value(const cw_http1_head *h, const char *p, size_t index);
/* First field of this name (ASCII case ignored) at or after `from`, or CW_HTTP1_NONE. */
size_t cw_http1_find(const cw_http1_head *h, const char *p, cw_str name, size_t from);
/* The first field of this name, and whether there is another one. */
size_t cw_http1_find_once(const cw_http1_head *h, const char *p, cw_str name, bool *ret_repeats);

/* A message body, one piece after another: by length, by chunks, or (answers) up to the close.
 *
 *     cw_http1_body_init(&b, &head, max_body);
 *     while ((rc = cw_http1_read_body(&b, &in, &piece)) == CW_AGAIN && piece.n)
 *         append(piece);
 */
typedef struct cw_http1_body {
    uint64_t left;     /* bytes of the length or of this chunk still to come */
    uint64_t received; /* bytes of content so far */
    uint64_t max;
    uint32_t trailer_bytes;
    uint16_t ext_bytes; /* of this chunk's extensions */
    uint8_t state;
    uint8_t digits;
    uint8_t name_len; /* of the trailer field's name, up to what `name` holds */
    char name[23];    /* its lower-case beginning: the name may come in pieces */
    uint16_t status;  /* why it was refused: 400 or 413 */
    const char *reason;
} cw_http1_body;

/* Prepare to read the body of `h`. Fails with CW_LIMIT (413) when a declared length exceeds `max`.
 */
cw_code cw_http1_body_init(cw_http1_body *b, const cw_http1_head *h, uint64_t max);

/* Prepare to read the body of the answer `h` to a request with `method`: none for HEAD, 1xx, 204
 * and 304, else by chunks or length, else up to the close. */
cw_code cw_http1_response_body_init(cw_http1_body *b, const cw_http1_head *h, cw_http_method method,
                                    uint64_t max);
/* The peer will send no more: CW_DONE where that ends the body, CW_INVALID where something is
 * missing. */
cw_code cw_http1_end_body(const cw_http1_body *b);
/* How many bytes follow that are all content: they may be read straight to where they belong and
 * then be given to cw_http1_read_body there. 0 where it is not known. */
uint64_t cw_http1_body_left(const cw_http1_body *b);

/* Take bytes from the front of *in. CW_AGAIN: `*piece` is content (a part of *in, empty when *in
 * ran out first). CW_DONE: the body has ended, *piece is empty and *in stands behind it. CW_INVALID
 * or CW_LIMIT: refused, with status and reason. Chunk extensions are checked and ignored (at most
 * 256 bytes a chunk), trailers are checked and dropped (at most 8 KiB in all). */
cw_code cw_http1_read_body(cw_http1_body *b, cw_str *in, cw_str *piece);

/* "GET" and so on; the reason phrase of a status ("Not Found"). */
const char *cw_http_method_name(cw_http_method m);
const char *cw_http_status_text(unsigned status);
/* tchar and token of RFC 9110 5.6.2. */
bool cw_http_is_token(cw_str s);
/* Whether `s` may stand in a header value: no control byte but TAB. */
bool cw_http_is_value(cw_str s);

#endif
