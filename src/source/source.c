/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source.c - the references of a source. */
#include "source/source.h"

cw_source *cw_source_ref(cw_source *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void cw_source_unref(cw_source *s)
{
    if (s && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1)
        s->ops->free(s);
}

void cw_source_retire(cw_source *s)
{
    atomic_store(&s->retired, true);
}
