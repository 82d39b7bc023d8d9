/* SPDX-License-Identifier: GPL-2.0-or-later */
/* template.h - templates of addresses, RFC 6570 level 1, cut into their parts.
 *
 *     docs://page/{name}/text     literal "docs://page/", name "name"; then literal "/text"
 *
 *     while (rest.n && cw_template_next(&rest, &part)) ...
 *
 * Whether names and characters are right is for those to say who know what they stand for
 * (catalogue/exposed.h, host/uri.h).
 *
 * Ownership: parts borrow from the template.
 * Threads:   no state.
 */
#ifndef CW_BASE_TEMPLATE_H
#define CW_BASE_TEMPLATE_H

#include "base/str.h"

/* Literal characters and the variable behind them; .p of the name is NULL behind the last one. */
typedef struct cw_template_part {
    cw_str literal;
    cw_str name; /* may be empty */
} cw_template_part;

/* Cut the next part off `rest`; of nothing that is an empty literal. False when '{' and '}' do not
 * match there. */
bool cw_template_next(cw_str *rest, cw_template_part *ret);
/* Whether a variable has this name. */
bool cw_template_has(cw_str text, cw_str name);

#endif
