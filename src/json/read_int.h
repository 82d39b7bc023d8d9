/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read_int.h - the state of the reader: tape, frames, keys, and strings with escapes. */
#ifndef CW_JSON_READ_INT_H
#define CW_JSON_READ_INT_H

#include "json/json_int.h"
#include "json/keys.h"

/* One open container. */
typedef struct frame {
    key_set keys;
    uint32_t open;  /* the container's index on the tape */
    uint32_t count; /* members so far */
    char closer;    /* '}', ']', or 0 for the outside */
} frame;

typedef struct reader {
    const char *end; /* of the source */
    cw_json *limit;  /* end of the tape's memory */
    cw_json *tape;
    frame *last; /* end of the frames' memory */
    frame *frames;
    key_pool pool;
    uint32_t max_depth;
    uint32_t max_members;
    uint32_t object_meta;
    bool check_keys;
    cw_str src;
    cw_arena *arena;
    cw_json_pos *pos;
    cw_err *err;
    cw_code code;
} reader;

/* The byte at p, or -1 at the end: one comparison serves for both. */
CW_INLINE int peek(const reader *r, const char *p)
{
    return CW_LIKELY(p < r->end) ? (unsigned char)*p : -1;
}

/* A string that is not plain up to its closing quote. */
typedef struct rich_string {
    cw_str text; /* in the source, or decoded in the arena */
    const char *close;
    uint32_t meta; /* CW_JSON_DECODED or 0 */
} rich_string;

#endif
