/* SPDX-License-Identifier: GPL-2.0-or-later */
/* framing.h - where a message ends in a stream of bytes.
 *
 *     LINES            {…}\n{…}\n          a CR before the LF goes too; empty lines mean nothing
 *     CRLF             {…}\r\n{…}\r\n      the same when reading
 *     CONTENT_LENGTH   Content-Length: 2\r\n\r\n{}
 *     LENGTH           00 00 00 02 {}      four bytes, the most significant one first
 *     JSON             {…}{…} [1]          one value after another, white space between them or not
 *
 * A message without a byte is no message, in any of them: it is passed over. A head of
 * CONTENT_LENGTH may have other fields, its lines may end with LF alone.
 *
 * Ownership: a message that was cut points into the bytes it was cut from.
 * Threads:   no state but the cutter's.
 * Limits:    max_message of a cutter; heads of CONTENT_LENGTH have at most 4096 bytes.
 */
#ifndef CW_NET_STREAM_FRAMING_H
#define CW_NET_STREAM_FRAMING_H

#include "base/buf.h"

typedef enum cw_framing {
    CW_FRAMING_LINES,
    CW_FRAMING_CRLF,
    CW_FRAMING_CONTENT_LENGTH,
    CW_FRAMING_LENGTH,
    CW_FRAMING_JSON,
} cw_framing;

/* Remembers how far an unfinished message was looked at, so that each byte is looked at once. All
 * zero but the first two members: the begin of a stream. */
typedef struct cw_framing_reader {
    cw_framing framing;
    size_t max_message;
    size_t looked;
    size_t line, head, body; /* of CONTENT_LENGTH: where a line begins; how long the two are */
    uint32_t depth;
    bool has_body; /* its length is known */
    bool in_string, is_escaped, is_bare;
} cw_framing_reader;

/* Cut the next message from `bytes`, which begin where the last message ended. CW_OK: *ret is the
 * message, *ret_used the bytes that it took. CW_AGAIN: it has not ended; the first *ret_used bytes
 * mean nothing (white space between messages): give those behind them again, and more. CW_LIMIT: it
 * is too large; CW_INVALID: no such framing. Both are the end of a stream. */
CW_MUST_USE cw_code cw_framing_next(cw_framing_reader *c, cw_str bytes, cw_str *ret,
                                    size_t *ret_used);
/* The bytes before and behind a message of `n` bytes (LENGTH: below 2^32); `room` is for the
 * first. */
#define CW_FRAMING_ROOM 48u
void cw_framing_wrap(cw_framing framing, size_t n, char room[CW_FRAMING_ROOM], cw_str *ret_before,
                     cw_str *ret_behind);

#endif
