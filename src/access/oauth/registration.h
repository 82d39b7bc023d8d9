/* SPDX-License-Identifier: GPL-2.0-or-later */
/* registration.h - members that registrations and documents of clients have in common (RFC 7591).
 *
 * Ownership: what is returned lives in the arena.
 * Threads:   no state.
 */
#ifndef CW_ACCESS_OAUTH_REGISTRATION_H
#define CW_ACCESS_OAUTH_REGISTRATION_H

#include "access/oauth/client.h"
#include "access/oauth/redirect.h"
#include "json/json.h"

#define CW_OAUTH_MAX_CLIENT_NAME 64u /* characters */

/* The name that people see: without characters that control or reorder text, and cut. Empty: there is
 * none. .p is NULL without memory. */
cw_str cw_registration_name(const cw_json *metadata, cw_arena *arena);
/* Read redirect_uris. Unusable ones are left out, and the reason of the first one goes to *ret_problem
 * (NULL: all are usable). CW_PARAMS: it is no list of 1 to CW_REDIRECT_LIST texts; CW_NOMEM. */
CW_MUST_USE cw_code cw_registration_redirects(const cw_json *metadata,
                                              const cw_redirect_rules *rules, cw_arena *arena,
                                              cw_oauth_client *ret, const char **ret_problem,
                                              cw_err *err);
/* Whether a member is a list with this text in it. */
bool cw_registration_lists(const cw_json *metadata, cw_str member, cw_str text);

#endif
