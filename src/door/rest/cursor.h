/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cursor.h - the cursors of REST lists.
 *
 * Standard Base64 of the decimal offset: page two of fifty is "NTA=". Written with padding, read with or
 * without. Each offset has one spelling and every other is rejected, so that a client's mistake does not
 * silently return page one.
 *
 * Threads: no state.
 */
#ifndef CW_DOOR_REST_CURSOR_H
#define CW_DOOR_REST_CURSOR_H

#include "base/str.h"

#define CW_CURSOR_SIZE 32u /* the longest one, 19 digits as Base64, and its NUL */

/* Write it with a NUL; returns its length. `offset` is at most INT64_MAX. */
size_t cw_cursor_format(uint64_t offset, char out[CW_CURSOR_SIZE]);
/* False for everything that cw_cursor_format does not write, padding aside: other characters, bits
 * behind the last digit, signs, leading zeros, more than INT64_MAX. */
bool cw_cursor_parse(cw_str text, uint64_t *ret);

#endif
