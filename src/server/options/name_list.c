/* SPDX-License-Identifier: GPL-2.0-or-later */
/* name_list.c - a growing list of names in an arena. */
#include "server/options/name_list.h"

cw_code cw_name_list_add(cw_name_list *all, cw_str name)
{
    if (all->n == all->cap) {
        size_t cap = all->cap ? all->cap * 2 : 64;
        cw_str *items =
            cw_arena_resize(&all->arena, all->items, all->cap * sizeof *items, cap * sizeof *items);
        if (!items)
            return cw_arena_code(&all->arena);
        all->items = items;
        all->cap = cap;
    }
    all->items[all->n] = cw_arena_dup_str(&all->arena, name);
    return all->items[all->n++].p ? CW_OK : cw_arena_code(&all->arena);
}
