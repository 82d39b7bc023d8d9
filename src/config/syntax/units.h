/* SPDX-License-Identifier: GPL-2.0-or-later */
/* units.h - durations and sizes as people write them: "75s", "500ms", "16KB", "4MB".
 *
 * One whole number and one unit, no sign, no space, no leading zero, at most
 * nine digits. A duration is counted in milliseconds (ms, s, m, h); a size in
 * bytes (KB, MB, GB, each 1024 times the one before).
 *
 * Threads: no state.
 */
#ifndef CW_CONFIG_SYNTAX_UNITS_H
#define CW_CONFIG_SYNTAX_UNITS_H

#include "base/str.h"

#define CW_UNITS_TEXT_SIZE 24u

/* The same, as a regular expression for the JSON Schema. */
#define CW_UNITS_DURATION_PATTERN "^(0|[1-9][0-9]{0,8})(ms|s|m|h)$"
#define CW_UNITS_SIZE_PATTERN "^(0|[1-9][0-9]{0,8})(KB|MB|GB)$"

/* False and *ret untouched when the text is nothing of the kind. */
bool cw_units_parse_duration(cw_str text, uint64_t *ret_ms);
bool cw_units_parse_size(cw_str text, uint64_t *ret_bytes);

/* The shortest spelling in the largest unit that divides the value ("0s" for no time; bytes below
 * 1 KB, and those that fit no unit, as a plain number). Returns `out`. */
const char *cw_units_format_duration(uint64_t ms, char out[CW_UNITS_TEXT_SIZE]);
const char *cw_units_format_size(uint64_t bytes, char out[CW_UNITS_TEXT_SIZE]);

#endif
