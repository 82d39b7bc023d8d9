/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_websocket.c - what must hold for any frames that a WebSocket's server may send.
 *
 * The first two bytes choose where the rest is cut, which is read three times:
 * whole, in two parts, and byte by byte. The three accounts must be equal.
 */
#include "fuzz.h"

#include "base/utf8.h"
#include "net/stream/channel_ws.c" /* NOLINT(bugprone-suspicious-include) */

#define INPUT_MAX 65536u
#define MESSAGE_MAX 1000u

static void check_frame(const cw_ws_reader *r, cw_ws_kind kind, cw_str data)
{
    switch (kind) {
    case CW_WS_TEXT:
        CHECK(cw_utf8_is_valid(data));
        CHECK(data.n <= MESSAGE_MAX);
        return;
    case CW_WS_BINARY:
        CHECK(data.n <= MESSAGE_MAX);
        return;
    case CW_WS_CLOSE:
        CHECK(r->peer_status >= 1000 && r->peer_status < 5000 && cw_utf8_is_valid(data));
        CHECK(data.n <= CW_WS_CONTROL_MAX);
        return;
    case CW_WS_PING:
    case CW_WS_PONG:
        CHECK(data.n <= CW_WS_CONTROL_MAX);
        return;
    }
    abort();
}

/* Read `n` bytes that arrive up to `cut`, and then in steps, each part in memory of its own. */
static cw_buf read_cut(const char *p, size_t n, size_t cut, size_t step)
{
    cw_ws_reader r;
    cw_buf account;
    cw_code rc = CW_AGAIN;
    size_t at = 0;
    cw_ws_reader_init(&r, MESSAGE_MAX);
    cw_buf_init(&account, 64u << 20);
    for (size_t till = cut; rc == CW_AGAIN; till = n - till < step ? n : till + step) {
        char *part = malloc(till > at ? till - at : 1);
        size_t used = 0, from = 0;
        CHECK(part);
        memcpy(part, p + at, till - at);
        do {
            cw_str rest = {part + from, till - at - from}, data = {NULL, 0};
            cw_ws_kind kind = CW_WS_TEXT;
            rc = next_frame(&r, rest, &kind, &data, &used);
            CHECK(used <= rest.n);
            if (rc == CW_OK) {
                check_frame(&r, kind, data);
                cw_buf_printf(&account, "%d %u %zu:", kind, r.peer_status, data.n);
                cw_buf_add(&account, data);
            }
            if (rc == CW_OK || rc == CW_AGAIN)
                from += used;
        } while (rc == CW_OK);
        /* What is not done with is bounded. */
        CHECK(rc != CW_AGAIN || till - at - from < MESSAGE_MAX + CW_WS_HEAD_MAX);
        at += from;
        free(part);
        if (till == n)
            break;
    }
    CHECK(rc == CW_AGAIN || (rc == CW_LIMIT && r.status == CW_WS_TOO_LARGE) ||
          (rc == CW_INVALID && r.status));
    cw_buf_printf(&account, "%d %u", rc, r.status);
    CHECK(account.code == CW_OK);
    cw_ws_reader_done(&r);
    return account;
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
