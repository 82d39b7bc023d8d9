/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clock.h - the clocks: one for durations, one for dates, one for work.
 *
 * Deadlines and durations use the monotonic clock only, so a jump of the wall
 * clock moves nothing. The wall clock is for dates that people and headers see.
 *
 * Threads: any.
 */
#ifndef CW_BASE_CLOCK_H
#define CW_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* Nanoseconds and milliseconds of CLOCK_MONOTONIC. */
uint64_t cw_clock_ns(void);
uint64_t cw_clock_ms(void);

/* The time from `then` to `now`. Two threads take their times before they wait for the same lock, so
 * `then` may be a little later: that is 0, not the longest time there is. */
static inline uint64_t cw_clock_since(uint64_t now, uint64_t then)
{
    return now > then ? now - then : 0;
}

/* Nanoseconds of processor time that this thread has used. It costs a system call. */
uint64_t cw_clock_thread_ns(void);
/* Milliseconds since 1970, UTC. */
int64_t cw_clock_wall_ms(void);

#define CW_CLOCK_HTTP_LEN 29 /* Sun, 06 Nov 1994 08:49:37 GMT */
#define CW_CLOCK_ISO_LEN 24  /* 1994-11-06T08:49:37.123Z */

/* Write the date with a NUL behind it. Years 0000 to 9999; outside, the nearest end. */
void cw_clock_format_http(int64_t wall_ms, char out[CW_CLOCK_HTTP_LEN + 1]);
void cw_clock_format_iso(int64_t wall_ms, char out[CW_CLOCK_ISO_LEN + 1]);
/* Read a date of the form that cw_clock_format_http writes; false for any other text. */
bool cw_clock_parse_http(cw_str text, int64_t *ret_wall_ms);

#endif
