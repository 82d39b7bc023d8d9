/* SPDX-License-Identifier: GPL-2.0-or-later */
/* uri.h - the addresses of resources: RFC 3986 as far as characters go, RFC 6570 level 1.
 * Templates are cut into their parts by base/template.h.
 *
 * Ownership: borrows what it is given.
 * Threads:   no state.
 */
#ifndef CW_HOST_URI_H
#define CW_HOST_URI_H

#include "base/template.h"

/* A text that names the error in an address or a template, or NULL. */
const char *cw_uri_problem(cw_str uri);
const char *cw_template_problem(cw_str text);

#endif
