/* SPDX-License-Identifier: GPL-2.0-or-later */
/* name_list.h - a list of texts that grows.
 *
 * Ownership: the texts are copies in the list's arena, which the user inits and ends.
 * Threads:   one at a time.
 * Limits:    those of the arena.
 */
#ifndef CW_SERVER_OPTIONS_NAME_LIST_H
#define CW_SERVER_OPTIONS_NAME_LIST_H

#include "base/arena.h"

typedef struct cw_name_list {
    cw_arena arena;
    cw_str *items;
    size_t n, cap;
} cw_name_list;

#define CW_NAME_LIST_MAX_BYTES ((size_t)64 << 20)

/* Add a copy. CW_NOMEM, CW_LIMIT. */
CW_MUST_USE cw_code cw_name_list_add(cw_name_list *all, cw_str name);

#endif
