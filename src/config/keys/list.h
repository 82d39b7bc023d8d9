/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list.h - the parts that all types with several values share: lists, and mappings with names.
 *
 * Ownership: items are in the arena of the checker.
 * Threads:   that of the checker.
 */
#ifndef CW_CONFIG_KEYS_LIST_H
#define CW_CONFIG_KEYS_LIST_H

#include "config/keys/keys.h"

/* The first members of the field of every such type. */
typedef struct cw_key_list {
    const void *items;
    size_t n;
} cw_key_list;

/* Read one value into `item`, which is all zero. In a mapping, `place` has its name. */
typedef cw_code (*cw_key_list_item_fn)(cw_checker *c, const cw_key *key, const cw_place *place,
                                       const cw_json *v, void *item);

/* Read each value of an array, or one value without an array. A wrong number of values is a
 * problem and leaves *ret unchanged. */
CW_MUST_USE cw_code cw_key_list_read(cw_checker *c, const cw_key *key, const cw_place *place,
                                     const cw_json *v, size_t item_size,
                                     cw_key_list_item_fn read_item, cw_key_list *ret);
/* Read each value of an object into an item that begins with a cw_str, its name. null has no
 * values. Anything else, too many values and an invalid name (key->is_valid) are problems. */
CW_MUST_USE cw_code cw_key_list_read_map(cw_checker *c, const cw_key *key, const cw_place *place,
                                         const cw_json *v, size_t item_size,
                                         cw_key_list_item_fn read_item, cw_key_list *ret);

/* Add the JSON Schema of such an object, or of an array; the items are described by `fn`. */
void cw_key_list_describe_map(cw_json_writer *w, const cw_key *key,
                              void (*fn)(cw_json_writer *w, const cw_key *key));
void cw_key_list_describe_array(cw_json_writer *w, const cw_key *key,
                                void (*fn)(cw_json_writer *w, const cw_key *key));

#endif
