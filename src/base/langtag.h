/* SPDX-License-Identifier: GPL-2.0-or-later */
/* langtag.h - language tags such as "de" or "pt-BR" (RFC 5646), as far as we need them.
 *
 * A tag is a language of two or three letters and perhaps more parts of one to
 * eight letters and digits, with '-' between them. The names of gettext's folders,
 * "pt_BR", are taken too where it says so.
 *
 * Threads: no state.
 */
#ifndef CW_BASE_LANGTAG_H
#define CW_BASE_LANGTAG_H

#include "base/str.h"

#define CW_LANGTAG_MAX 35u
#define CW_LANGTAG_PATTERN "^[A-Za-z]{2,3}(-[0-9A-Za-z]{1,8})*$"

/* Whether it is written like one, of at most CW_LANGTAG_MAX bytes. */
bool cw_langtag_is_valid(cw_str tag);
/* Write `name`, with '_' or '-', in the usual form: "PT_br" becomes "pt-BR", "zh-hant" "zh-Hant".
 * Returns its length, 0 when it is no tag. */
size_t cw_langtag_format(cw_str name, char out[CW_LANGTAG_MAX]);
/* Whether `range` is `tag`, or begins it and ends where one of its parts does: "pt" covers "pt-BR".
 * Letters without case. */
bool cw_langtag_covers(cw_str range, cw_str tag);
/* Without its last part: "pt-BR" becomes "pt", "pt" becomes "". */
cw_str cw_langtag_widen(cw_str tag);

#endif
