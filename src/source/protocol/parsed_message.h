/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parsed_message.h - one message of a stream, copied once and parsed once.
 *
 * The thread that receives the message makes it. It then passes, as a whole, to the loop of its
 * call. Every outcome that is made of it holds a reference.
 *
 *     cw_parsed_message *m = cw_parsed_message_new(bytes);
 *     rc = cw_parsed_message_parse(m, max_memory, &err);      m->root
 *     rc = cw_parsed_message_hold(m, call->arena);            until the arena is reset
 *     cw_parsed_message_unref(m);
 *
 * Ownership: reference counted.
 * Threads:   ref, unref and hold on any thread. The rest belongs to the thread that made the message
 *            until the message is posted to the loop of the call; nothing changes it after that.
 * Limits:    `max_memory` bytes for the document.
 */
#ifndef CW_SOURCE_PROTOCOL_PARSED_MESSAGE_H
#define CW_SOURCE_PROTOCOL_PARSED_MESSAGE_H

#include <stdatomic.h>

#include "base/arena.h"
#include "json/json.h"

typedef struct cw_parsed_message {
    atomic_uint refs; /* the receiving thread may drop its own after the call has ended */
    size_t n;
    char *text;          /* behind this; may be changed before it is parsed */
    const cw_json *root; /* NULL until it is parsed */
    cw_arena arena;      /* of the document */
    /* The begin of the document's memory: a message passes between threads, and memory that another
     * thread frees is expensive. A small document needs no more than this. */
    _Alignas(CW_ARENA_ALIGN) char room[512];
} cw_parsed_message;

/* A copy of the text, with one reference; NULL without memory. */
cw_parsed_message *cw_parsed_message_new(cw_str text);
/* Read the text as one JSON document. As cw_json_read: CW_PARSE, CW_LIMIT, CW_NOMEM. */
CW_MUST_USE cw_code cw_parsed_message_parse(cw_parsed_message *m, size_t max_memory, cw_err *err);
cw_parsed_message *cw_parsed_message_ref(cw_parsed_message *m);
/* NULL is fine. */
void cw_parsed_message_unref(cw_parsed_message *m);
/* Keep a reference until the arena is reset. CW_NOMEM, CW_LIMIT: none is kept. */
CW_MUST_USE cw_code cw_parsed_message_hold(cw_parsed_message *m, cw_arena *arena);

#endif
