/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sanitize.h - the parts of a service's error that a caller may see; the rule is in source/remote/remote.h.
 *
 * Threads: no state.
 */
#ifndef CW_SOURCE_PROTOCOL_SANITIZE_H
#define CW_SOURCE_PROTOCOL_SANITIZE_H

#include "base/arena.h"
#include "base/redact.h"
#include "json/json.h"

#define CW_REMOTE_MESSAGE_MAX 500u
#define CW_REMOTE_DATA_MAX 4096u

/* A message that is fit for callers, `message` itself where nothing had to be changed; .p is NULL
 * when there is no memory. */
cw_str cw_sanitize_message(cw_str message, cw_arena *arena);
/* Data that is fit for callers: `data` itself where nothing had to be changed, else a copy in the
 * arena. NULL: it is too large, nothing is left of it, or no memory. */
const cw_json *cw_sanitize_data(const cw_json *data, cw_arena *arena);
/* Whether none of the secrets (NULL: none) is in a text of the data, or in its spelling. */
bool cw_sanitize_has_no_secret(const cw_secrets *secrets, const cw_json *data);

#endif
