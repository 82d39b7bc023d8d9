/* SPDX-License-Identifier: GPL-2.0-or-later */
/* webhook_state.h - what is stored of a webhook subscription, and how its messages are signed and its
 * receiver is verified.
 *
 * The state is sealed, since it has the secret of the receiver. It also has what is needed to judge
 * the rights of the caller again: which credentials it had, never the credentials themselves.
 *
 * Ownership: texts live in the arena that is given.
 * Threads:   no state.
 */
#ifndef CW_DOOR_MCP_EVENT_WEBHOOK_STATE_H
#define CW_DOOR_MCP_EVENT_WEBHOOK_STATE_H

#include "access/login/accounts.h"
#include "access/seal.h"
#include "json/json.h"

#define CW_WEBHOOK_ID 65u /* hex digits and a NUL */
#define CW_WEBHOOK_SECRET_MIN 24u
#define CW_WEBHOOK_SECRET_MAX 64u

typedef struct cw_webhook_state {
    cw_str owner; /* id of the caller */
    cw_str url, name;
    cw_str arguments;          /* JSON in its canonical form */
    cw_str secret, old_secret; /* bytes; the old one may be empty */
    cw_str caller;             /* JSON: cw_webhook_caller_write */
    bool is_verified;          /* the receiver has answered a challenge */
} cw_webhook_state;

/* The id of a subscription: a digest of its key. CW_NOMEM. */
CW_MUST_USE cw_code cw_webhook_id(const cw_webhook_state *state, char out[CW_WEBHOOK_ID]);
CW_MUST_USE cw_code cw_webhook_seal(const cw_webhook_state *state, const cw_seal *seal,
                                    cw_arena *arena, cw_str *ret, cw_err *err);
/* CW_PARSE: another server has sealed it, or it was changed; CW_NOMEM. */
CW_MUST_USE cw_code cw_webhook_open(const cw_seal *seal, cw_str sealed, cw_arena *arena,
                                    cw_webhook_state *ret);

/* Which caller it is, and its credentials' digest, as JSON in the arena; .p is NULL without memory. */
cw_str cw_webhook_caller_write(const cw_caller *caller, cw_arena *arena);
/* The caller without permissions: its rights must be read again (access/login/login_watch.h). Nothing of
 * it stays in the arena. CW_PARSE, CW_NOMEM; for a caller with a token of an issuer also CW_NOTFOUND: issuer
 * or key are not accepted any more; CW_AGAIN: the keys of the issuer are not known yet. */
CW_MUST_USE cw_code cw_webhook_caller_read(cw_str text, cw_accounts *accounts, cw_arena *arena,
                                           cw_caller **ret);

/* "whsec_" and base64 of 24 to 64 bytes. False: it is none. */
bool cw_webhook_secret_read(cw_str text, char out[CW_WEBHOOK_SECRET_MAX], size_t *ret_n);

/* Whether the answer of a receiver is {"challenge": the same}; false also without memory. */
bool cw_webhook_is_echo(cw_str answer, cw_str challenge);

#define CW_WEBHOOK_SIGNATURE 48u /* "v1," and base64 of 32 bytes, with a NUL */
/* Sign "ID.SECONDS.BODY" as Standard Webhooks does. False: no memory. */
CW_MUST_USE bool cw_webhook_sign(cw_str secret, cw_str id, int64_t seconds, cw_str body,
                                 char out[CW_WEBHOOK_SIGNATURE]);

#endif
