/* SPDX-License-Identifier: GPL-2.0-or-later */
/* websocket.h - the client's side of a WebSocket (RFC 6455) as bytes: handshake and frames.
 *
 * Strict where the RFC says MUST: no masked frame from a server, no reserved bit
 * or opcode, lengths in their shortest form, control frames whole and short, text
 * in UTF-8, no extension and no subprotocol, for none is asked for. A binary
 * message is a message like a text, since some services send JSON that way; whether
 * it is JSON is for its reader to judge.
 *
 *     cw_ws_make_key(key, err); cw_ws_write_request(&out, path, host, key, headers, n);
 *     … cw_http1_parse_response (may_switch) … cw_ws_check_response(&head, bytes, key, err)
 *     … while ((rc = cw_ws_next(&r, bytes, &kind, &message, &used)) == CW_OK) …
 *
 * Ownership: a message points into the bytes it was read from, or, when it came in pieces, into
 *            the reader; it lives until the next call.
 * Threads:   no state but the reader's.
 * Limits:    max_message of the reader, for all pieces of a message together.
 */
#ifndef CW_NET_STREAM_WEBSOCKET_H
#define CW_NET_STREAM_WEBSOCKET_H

#include "base/buf.h"
#include "net/http/http1.h"

#define CW_WS_KEY 24u      /* characters */
#define CW_WS_HEAD_MAX 14u /* bytes before what a frame carries */
#define CW_WS_MASK 4u
#define CW_WS_CONTROL_MAX 125u /* bytes that a control frame carries */

typedef enum cw_ws_kind {
    CW_WS_TEXT = 1,
    CW_WS_BINARY = 2,
    CW_WS_CLOSE = 8,
    CW_WS_PING = 9,
    CW_WS_PONG = 10,
} cw_ws_kind;

/* Why a side closes (RFC 6455 7.4.1). */
enum {
    CW_WS_NORMAL = 1000,
    CW_WS_PROTOCOL = 1002,
    CW_WS_NO_STATUS = 1005, /* never on the wire */
    CW_WS_NOT_UTF8 = 1007,
    CW_WS_TOO_LARGE = 1009,
};

/* ---- the handshake ---- */

CW_MUST_USE cw_code cw_ws_make_key(char key[CW_WS_KEY], cw_err *err);
/* `path` and `authority` must be fit for a request (see cw_client_url), as must `headers`. */
void cw_ws_write_request(cw_buf *out, cw_str path, cw_str authority, const char key[CW_WS_KEY],
                         const cw_http_header *headers, size_t n_headers);
/* Whether a head, whose bytes are at `p`, is the answer to this key. CW_INVALID with a reason. */
CW_MUST_USE cw_code cw_ws_check_response(const cw_http1_head *h, const char *p,
                                         const char key[CW_WS_KEY], cw_err *err);

/* ---- frames that come ---- */

typedef struct cw_ws_reader {
    size_t max_message;
    cw_buf parts;         /* of a message that comes in pieces */
    uint8_t kind;         /* of that one; 0: there is none */
    bool is_handed;       /* `parts` were handed out whole */
    uint16_t status;      /* after a failure: what to close with */
    uint16_t peer_status; /* of a CW_WS_CLOSE; CW_WS_NO_STATUS: it says none */
} cw_ws_reader;

void cw_ws_reader_init(cw_ws_reader *r, size_t max_message);
void cw_ws_reader_done(cw_ws_reader *r);
/* Read the next message or control frame from `bytes`, which begin where the last *ret_used ended.
 * CW_OK: *ret is what it carries; of a CW_WS_CLOSE the reason. CW_AGAIN: *ret_used bytes are done
 * with; give those behind them again, and more. CW_INVALID, CW_LIMIT, CW_NOMEM: the end. */
CW_MUST_USE cw_code cw_ws_next(cw_ws_reader *r, cw_str bytes, cw_ws_kind *ret_kind, cw_str *ret,
                               size_t *ret_used);

/* ---- frames that go ---- */

/* The head of a whole message with `n` bytes; returns its length. The mask is its last four. */
size_t cw_ws_write_head(cw_ws_kind kind, size_t n, const char mask[CW_WS_MASK],
                        char out[CW_WS_HEAD_MAX]);
void cw_ws_mask(char *p, size_t n, const char mask[CW_WS_MASK]);

#endif
