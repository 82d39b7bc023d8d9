/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mo.h - reads a .mo file, as msgfmt writes it: texts and their translations.
 *
 * Why our own reader: dgettext takes its language from the process, and does not report a missing
 * locale. A file is checked as a whole when it is opened, so that later lookups cannot fail.
 *
 *     magic, revision, N, at of ids, at of texts, …     both byte orders
 *     ids    N × (length, at) ──► "context\4text\0", sorted
 *     texts  N × (length, at) ──► "translation\0", UTF-8
 *
 * For texts with plural forms the first form is used.
 *
 * Ownership: borrows the bytes of the file.
 * Threads:   immutable.
 * Limits:    those of the code that reads the file; opening takes time proportional to its size.
 */
#ifndef CW_CATALOGUE_I18N_MO_H
#define CW_CATALOGUE_I18N_MO_H

#include "base/err.h"
#include "base/str.h"

typedef struct cw_mo {
    cw_str bytes;
    uint32_t n, ids, texts;
    bool is_swapped; /* written on a machine of the other byte order */
} cw_mo;

/* CW_PARAMS with a reason: not a .mo file, a newer form of it, something leads out of the file,
 * strings share bytes or are not sorted, a charset other than UTF-8. */
CW_MUST_USE cw_code cw_mo_open(cw_str bytes, cw_mo *ret, cw_err *err);
/* The translation of `text`; with .p in `context` that of the text in this context alone, else
 * that without one. .p is NULL when there is none. */
cw_str cw_mo_find(const cw_mo *mo, cw_str context, cw_str text);

#endif
