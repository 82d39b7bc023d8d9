/* SPDX-License-Identifier: GPL-2.0-or-later */
/* order.c - services in the order of the configuration, which decides the owner of a name. */
#include "source/registry/registry_int.h"

/* The place of a service of this name, from `at` on; NULL: none. */
static cw_registry_item **find_place(cw_registry_item **at, cw_str name)
{
    for (; *at; at = &(*at)->next) {
        if (!(*at)->is_gone && cw_str_is(name, (*at)->name))
            return at;
    }
    return NULL;
}

const void *cw_sources_find(const cw_sources *s, cw_str name)
{
    for (const cw_registry_item *item = s ? s->items : NULL; item; item = item->next) {
        if (!item->is_gone && cw_str_is(name, item->name))
            return item->published;
    }
    return NULL;
}

bool cw_sources_order(cw_sources *s)
{
    bool is_changed = false;
    cw_registry_item **at = &s->items;
    while (*at && (*at)->path)
        at = &(*at)->next;
    for (size_t i = 0; i < s->config->sources.n; i++) {
        cw_registry_item **place = find_place(at, s->config->sources.items[i].name);
        if (!place)
            continue;
        cw_registry_item *item = *place;
        if (place != at) {
            *place = item->next;
            item->next = *at;
            *at = item;
            is_changed = true;
        }
        at = &item->next;
    }
    return is_changed;
}
