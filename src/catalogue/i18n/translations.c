/* SPDX-License-Identifier: GPL-2.0-or-later */
/* translations.c - a set of languages, and the best match for a request. */
#include <stdlib.h>

#include "base/langtag.h"
#include "catalogue/i18n/translations_int.h"

cw_translations *cw_translations_ref(cw_translations *t)
{
    if (t)
        atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void cw_translations_unref(cw_translations *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    cw_arena_done(&t->arena);
    free(t);
}

static bool same_language(const cw_language *a, const cw_language *b)
{
    if (!cw_str_eq(a->tag, b->tag) || a->n_files != b->n_files)
        return false;
    for (size_t i = 0; i < a->n_files; i++) {
        if (!cw_str_eq(a->files[i].bytes, b->files[i].bytes))
            return false;
    }
    return true;
}

bool cw_translations_equal(const cw_translations *a, const cw_translations *b)
{
    if (!a || !b)
        return a == b;
    if (a->n != b->n || a->default_value - a->items != b->default_value - b->items)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        if (!same_language(&a->items[i], &b->items[i]))
            return false;
    }
    return true;
}

const cw_language *cw_translations_at(const cw_translations *t, size_t i)
{
    return t && i < t->n ? &t->items[i] : NULL;
}

const cw_language *cw_translations_default(const cw_translations *t)
{
    return t ? t->default_value : NULL;
}

const cw_language *cw_translations_match(const cw_translations *t, cw_str range)
{
    if (!t)
        return NULL;
    for (cw_str wider = range; wider.n; wider = cw_langtag_widen(wider)) {
        for (size_t i = 0; i < t->n; i++) {
            if (cw_str_ieq(t->items[i].tag, wider))
                return &t->items[i];
        }
    }
    for (size_t i = 0; i < t->n; i++) {
        if (cw_langtag_covers(range, t->items[i].tag))
            return &t->items[i];
    }
    return NULL;
}

cw_str cw_language_tag(const cw_language *language)
{
    return language ? language->tag : CW_STR("");
}

static cw_str lookup(const cw_language *language, cw_str context, cw_str text)
{
    cw_str found = {NULL, 0};
    for (size_t i = 0; i < language->n_files && !found.p; i++)
        found = cw_mo_find(&language->files[i], context, text);
    return found;
}

cw_str cw_language_text(const cw_language *language, cw_str method, cw_str text)
{
    if (!language || !language->n_files)
        return text;
    cw_str found = lookup(language, method, text);
    if (!found.p)
        found = lookup(language, (cw_str){NULL, 0}, text);
    return found.p ? found : text;
}
