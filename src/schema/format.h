/* SPDX-License-Identifier: GPL-2.0-or-later */
/* format.h - the formats of JSON Schema: date-time, uri, email and the others.
 *
 * Automata by hand over bytes; internationalised host names through libidn2.
 *
 * Threads: no state. No allocation but inside libidn2.
 */
#ifndef CW_SCHEMA_FORMAT_H
#define CW_SCHEMA_FORMAT_H

#include "base/str.h"

/* Whether `text` (valid UTF-8) has the format. */
typedef bool (*cw_format_fn)(cw_str text);

/* The check for a format's name, or NULL when the name is unknown. All of draft-07 and 2020-12. */
cw_format_fn cw_format_find(cw_str name);

#endif
