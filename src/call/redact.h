/* SPDX-License-Identifier: GPL-2.0-or-later */
/* redact.h - arguments and results for people who watch, without the values that audit.redact names.
 *
 * Ownership: the text lives in the arena.
 * Threads:   the loop of the cw_runtime_loop.
 */
#ifndef CW_CALL_REDACT_H
#define CW_CALL_REDACT_H

#include "call/runtime.h"

/* The value as JSON, cut at `max` bytes. Empty: rules go by names and the value is no object, or
 * memory is missing. */
cw_str cw_call_redact(const cw_runtime_loop *rl, const cw_json *value, size_t max, cw_arena *arena);

#endif
