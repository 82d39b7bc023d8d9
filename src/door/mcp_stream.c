/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_stream.c - progress, then the answer, as server-sent events.
 *
 * A reader that is too slow gets the newest progress only. The answer may be
 * larger than the stream's queue: it is sent in pieces, each when the one before
 * has left.
 */
#include "door/mcp_int.h"

#define PIECE 16384u
#define PIECE_MIN 256u

static void drop_newest(void *newest)
{
    cw_buf_done(newest);
}

void cw_mcp_stream_open(cw_mcp_stream *s, cw_http_req *req)
{
    if (s->is_open)
        return;
    s->is_open = true;
    s->req = req;
    cw_buf_init(&s->newest, 0);
    /* Without memory for the hold nothing is kept for a slow reader: the ceiling stays 0. */
    if (!cw_arena_hold(cw_http_req_arena(req), &s->newest, drop_newest))
        s->newest.max = SIZE_MAX / 2;
    cw_sse_open(req, NULL, 0);
}

void cw_mcp_stream_send(cw_mcp_stream *s, cw_str data)
{
    if (s->is_full) {
        cw_buf_clear(&s->newest);
        cw_buf_add(&s->newest, data);
        return;
    }
    /* One that is not taken is no loss: the next progress says more. */
    if (cw_sse_send(s->req, CW_STR("message"), CW_STR(""), data) == CW_AGAIN)
        s->is_full = true;
}

/* Send what is left of the last event as far as it goes. */
static void pump(cw_mcp_stream *s)
{
    size_t most = PIECE;
    for (size_t i = 0; i < CW_COUNT(s->rest); i++) {
        cw_str *part = &s->rest[i];
        while (part->n) {
            size_t n = part->n < most ? part->n : most;
            cw_code rc = cw_http_stream_write(s->req, cw_str_make(part->p, n));
            if (rc == CW_LIMIT && !s->is_full && most > PIECE_MIN) {
                most /= 2; /* the queue is small */
                continue;
            }
            if (rc == CW_OK || rc == CW_AGAIN) {
                part->p += n;
                part->n -= n;
            } else if (!s->is_full) {
                cw_http_stream_close(s->req); /* the client sees a stream without an answer */
                return;
            }
            s->is_full = rc != CW_OK;
            if (s->is_full)
                return;
        }
    }
    cw_http_stream_close(s->req);
}

void cw_mcp_stream_end(cw_mcp_stream *s, cw_buf *b)
{
    /* Line breaks in JSON are white space, and in an event they would end a line. */
    for (size_t i = 0; !b->code && i < b->n; i++) {
        char *at = memchr(b->p + i, '\n', b->n - i);
        if (!at)
            break;
        *at = ' ';
        i = (size_t)(at - b->p);
    }
    for (size_t i = 0; !b->code && i < b->n; i++) {
        char *at = memchr(b->p + i, '\r', b->n - i);
        if (!at)
            break;
        *at = ' ';
        i = (size_t)(at - b->p);
    }
    cw_str body = cw_turn_keep(s->req, b);
    if (!body.p)
        body = CW_STR(CW_MCP_FAILURE);
    s->rest[0] = CW_STR("event: message\ndata: ");
    s->rest[1] = body;
    s->rest[2] = CW_STR("\n\n");
    if (!s->is_full)
        pump(s);
}

void cw_mcp_stream_drained(cw_mcp_stream *s)
{
    s->is_full = false;
    if (s->rest[2].n) {
        pump(s);
        return;
    }
    if (!s->newest.n)
        return;
    cw_str newest = cw_buf_str(&s->newest);
    if (cw_sse_send(s->req, CW_STR("message"), CW_STR(""), newest) == CW_AGAIN)
        s->is_full = true;
    cw_buf_clear(&s->newest);
}
