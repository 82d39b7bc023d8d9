/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shorten.h - a large value with one part of it cut, so that it fits into some bytes.
 *
 *     {"page":1,"rows":[…5000 of them…]}   in 64 KB:   {"page":1,"rows":[…700 of them…]}
 *
 * The part is a list that loses its last elements, an object that loses its last members, or a string
 * that loses its end. It is the largest one: where one child is most of a container, the cut is made in
 * that child. All other bytes stay as they are.
 *
 * Ownership: appends to buffers of the caller.
 * Threads:   no state.
 * Limits:    time is linear in the value; no recursion.
 */
#ifndef CW_JSON_SHORTEN_H
#define CW_JSON_SHORTEN_H

#include "base/buf.h"
#include "json/json.h"

typedef struct cw_json_shortened {
    cw_json_type type;     /* of the part: ARRAY, OBJECT or STRING */
    uint64_t shown, total; /* elements, members, or bytes of text */
} cw_json_shortened;

/* Append `v`, whose span is larger than `max`, in at most `max` bytes, and the JSON Pointer of the part
 * to `place`. False: no single cut makes it fit; then both buffers have undefined content. Errors are
 * sticky in the buffers. */
bool cw_json_shorten(const cw_json *v, size_t max, cw_buf *out, cw_buf *place,
                     cw_json_shortened *ret);

#endif
