/* SPDX-License-Identifier: GPL-2.0-or-later */
/* index.h - JSON pointers into a document that is large and not ours.
 *
 * cw_json_pointer searches: with very many references into an object of very many
 * members that is quadratic. An index remembers the members and elements of each
 * large container that a pointer has led through, so that each look-up after the
 * first costs the same whatever the size.
 *
 *     cw_json_pointer_index index;
 *     cw_json_pointer_index_init(&index);
 *     v = cw_json_pointer_index_find(&index, doc, CW_STR("/components/schemas/Pet"));
 *     cw_json_pointer_index_done(&index);
 *
 * Ownership: borrows the documents, which must outlive it.
 * Threads:   one thread at a time.
 * Limits:    memory is below twice the tape of what was looked into. Without memory it searches.
 */
#ifndef CW_JSON_INDEX_H
#define CW_JSON_INDEX_H

#include "base/map.h"
#include "json/json.h"

typedef struct cw_json_pointer_index {
    cw_map tables; /* address of a container -> its table */
    cw_arena arena;
} cw_json_pointer_index;

void cw_json_pointer_index_init(cw_json_pointer_index *index);
void cw_json_pointer_index_done(cw_json_pointer_index *index);

/* As cw_json_pointer. */
const cw_json *cw_json_pointer_index_find(cw_json_pointer_index *index, const cw_json *v,
                                          cw_str pointer);

#endif
