/* SPDX-License-Identifier: GPL-2.0-or-later */
/* format.h - the formats of JSON Schema: date-time, uri, email and the others.
 *
 * Automata by hand over bytes; internationalised host names through libidn2.
 *
 * Threads: no state. No allocation but inside libidn2, and for the tree of a regular expression.
 * Limits:  the caller's steps (schema.h). A name of a host is at most 253 characters long.
 */
#ifndef CW_SCHEMA_FORMAT_FORMAT_H
#define CW_SCHEMA_FORMAT_FORMAT_H

#include "base/str.h"

typedef struct cw_schema_format cw_schema_format;

/* The format of a name, or NULL when the name is unknown. All of draft-07 and 2020-12. */
const cw_schema_format *cw_format_find(cw_str name);

/* Whether `text` (valid UTF-8) has the format. *steps is reduced by what the check costs; when it
 * is below 0 afterwards nothing was checked and the outcome means nothing. */
bool cw_format_test(const cw_schema_format *format, cw_str text, int64_t *steps);

#endif
