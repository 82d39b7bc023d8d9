/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sort.h - the order of texts, for qsort and bsearch.
 *
 *     qsort(names, n, sizeof *names, cw_sort_texts);
 *
 * Threads: no state.
 */
#ifndef CW_BASE_SORT_H
#define CW_BASE_SORT_H

#include "base/str.h"

/* Both point to a cw_str, or to a struct that begins with one. */
CW_INLINE int cw_sort_texts(const void *a, const void *b)
{
    return cw_str_cmp(*(const cw_str *)a, *(const cw_str *)b);
}

#endif
