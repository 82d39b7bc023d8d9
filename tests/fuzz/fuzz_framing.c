/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_framing.c - what must hold for any bytes that a service may send over a channel.
 *
 * The first byte chooses the framing, the next two where the rest is cut. The rest
 * is read three times: whole, in two parts, and byte by byte. The three accounts
 * must be equal, and a message that was cut must come out again when it is wrapped.
 */
#include "fuzz.h"

#include "net/stream/framing.h"

#define INPUT_MAX 65536u
#define MESSAGE_MAX 100u

static void check_wrapped(cw_framing framing, cw_str message)
{
    char room[CW_FRAMING_ROOM], bytes[CW_FRAMING_ROOM + MESSAGE_MAX + 8];
    cw_str before, behind, got;
    cw_framing_reader c = {.framing = framing, .max_message = MESSAGE_MAX};
    size_t used, n = 0;
    /* A CR at a line's end may belong to the line's end. */
    if (framing == CW_FRAMING_LINES && message.p[message.n - 1] == '\r')
        return;
    cw_framing_wrap(framing, message.n, room, &before, &behind);
    const cw_str parts[] = {before, message, behind};
    for (size_t i = 0; i < 3; i++) {
        if (parts[i].n)
            memcpy(bytes + n, parts[i].p, parts[i].n);
        n += parts[i].n;
    }
    CHECK(cw_framing_next(&c, cw_str_make(bytes, n), &got, &used) == CW_OK);
    CHECK(cw_str_eq(got, message));
}

/* Read `n` bytes that arrive up to `cut`, and then in steps, each part in memory of its own. */
static cw_buf read_cut(cw_framing framing, const char *p, size_t n, size_t cut, size_t step)
{
    cw_framing_reader c = {.framing = framing, .max_message = MESSAGE_MAX};
    cw_buf account;
    cw_code rc = CW_AGAIN;
    size_t at = 0;
    cw_buf_init(&account, 64u << 20);
    for (size_t till = cut; rc == CW_AGAIN; till = n - till < step ? n : till + step) {
        char *part = malloc(till > at ? till - at : 1);
        size_t used = 0, from = 0;
        CHECK(part);
        memcpy(part, p + at, till - at);
        do {
            cw_str rest = {part + from, till - at - from}, message;
            rc = cw_framing_next(&c, rest, &message, &used);
            if (rc == CW_OK) {
                CHECK(message.n > 0 && message.n <= MESSAGE_MAX);
                CHECK(message.p >= rest.p && message.p + message.n <= rest.p + used);
                cw_buf_printf(&account, "%zu:", message.n);
                cw_buf_add(&account, message);
                check_wrapped(framing, message);
            }
            CHECK(used <= rest.n);
            if (rc == CW_OK || rc == CW_AGAIN)
                from += used;
        } while (rc == CW_OK);
        /* What is not done with is bounded. */
        CHECK(rc != CW_AGAIN || till - at - from <= MESSAGE_MAX + 4096);
        at += from;
        free(part);
        if (till == n)
            break;
    }
    CHECK(rc == CW_AGAIN || rc == CW_LIMIT || rc == CW_INVALID);
    cw_buf_printf(&account, "%d", rc);
    CHECK(account.code == CW_OK);
    return account;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4 || size > INPUT_MAX)
        return 0;
    const char *p = (const char *)data + 3;
    size_t n = size - 3;
    cw_framing framing = (cw_framing)(data[0] % (CW_FRAMING_JSON + 1));
    size_t cut = ((size_t)data[1] << 8 | data[2]) % n;
    cw_buf whole = read_cut(framing, p, n, n, 1);
    cw_buf halves = read_cut(framing, p, n, cut, n);
    cw_buf bytes = read_cut(framing, p, n, 0, 1);
    CHECK(cw_str_eq(cw_buf_str(&whole), cw_buf_str(&halves)));
    CHECK(cw_str_eq(cw_buf_str(&whole), cw_buf_str(&bytes)));
    cw_buf_done(&whole);
    cw_buf_done(&halves);
    cw_buf_done(&bytes);
    return 0;
}
