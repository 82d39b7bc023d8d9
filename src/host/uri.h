/* SPDX-License-Identifier: GPL-2.0-or-later */
/* uri.h - the addresses of resources: RFC 3986 as far as characters go, RFC 6570 level 1.
 *
 *     docs://page/{name}/text     literal "docs://page/", name "name"; then literal "/text"
 *
 * Ownership: borrows what it is given.
 * Threads:   no state.
 */
#ifndef CW_HOST_URI_H
#define CW_HOST_URI_H

#include "base/buf.h"

/* What is wrong with an address or a template, in words, or NULL. */
const char *cw_uri_problem(cw_str uri);
const char *cw_template_problem(cw_str text);

/* Literal characters and the variable behind them; .p of the name is NULL behind the last one. */
typedef struct cw_template_part {
    cw_str literal;
    cw_str name;
} cw_template_part;

/* Cut the next part off `rest`; false when there is nothing left. `rest` is a template without
 * problems, or the name may hold anything up to the next '}'. */
bool cw_template_next(cw_str *rest, cw_template_part *ret);
bool cw_template_has(cw_str text, cw_str name);

/* Append a variable's value: all but letters, digits and "-._~" as %XX. */
void cw_template_add_value(cw_buf *out, cw_str value);

#endif
