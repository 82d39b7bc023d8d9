/* SPDX-License-Identifier: GPL-2.0-or-later */
/* device.h - logins of programs without a browser (RFC 8628).
 *
 *     device                                    person, in a browser of their own
 *     asks: device code, user code ──────────►  logs in, enters the user code, allows or denies
 *     polls with the device code  ◄──────────   tokens, or access_denied
 *
 * Only clients that the operator registered for it may do so: a person who is sent a user code by
 * someone else must not give a stranger access.
 *
 * The database has the SHA-256 of a device code and a keyed digest of a user code, which is short.
 *
 * Ownership: texts of a result live in the arena.
 * Threads:   that of the database; cw_device_read_code: any.
 * Limits:    CW_DEVICE_MAX requests that wait, each for CW_DEVICE_LIFE_MS; the oldest gives way.
 */
#ifndef CW_ACCESS_OAUTH_DEVICE_H
#define CW_ACCESS_OAUTH_DEVICE_H

#include "access/oauth/exchange.h"

#define CW_DEVICE_PREFIX "cwd_"
#define CW_DEVICE_GRANT_TYPE "urn:ietf:params:oauth:grant-type:device_code"
#define CW_DEVICE_LIFE_MS 600000
#define CW_DEVICE_PAUSE_MS                                                                         \
    5000 /* between two polls; each one too early makes it longer by as much */
#define CW_DEVICE_MAX 4096u
#define CW_DEVICE_USER_CODE 8u /* letters; people see a hyphen in the middle */

/* The answer to a device. */
typedef struct cw_device_codes {
    char device_code[CW_ACCESS_TOKEN_LEN + 1];
    char user_code[CW_DEVICE_USER_CODE + 1]; /* without hyphen */
    cw_oauth_tokens
        refusal; /* its error is set: the login is not allowed, and there are no codes */
} cw_device_codes;

/* A request that waits for a decision. */
typedef struct cw_device {
    cw_oauth_client client;
    cw_str resource, scopes;
    cw_str address;  /* that it came from */
    int64_t created; /* ms since 1970 */
} cw_device;

/* The letters that a person entered, in any case, with or without hyphens and spaces. False: it is no
 * such code. */
bool cw_device_read_code(cw_str text, char out[CW_DEVICE_USER_CODE + 1]);
/* Begin a login: `request` has the client, its address, scope and resource. CW_LIMIT: no user code is
 * free. */
CW_MUST_USE cw_code cw_device_begin(cw_db *db, const cw_oauth_settings *settings,
                                    const cw_oauth_token_request *request, int64_t now,
                                    cw_arena *arena, cw_device_codes *ret, cw_err *err);
/* The request of a user code. CW_NOTFOUND: there is none that waits. */
CW_MUST_USE cw_code cw_device_find(cw_db *db, const cw_oauth_settings *settings, cw_str user_code,
                                   int64_t now, cw_arena *arena, cw_device *ret, cw_err *err);
/* Allow it for an account, with these scopes, or (account 0) deny it. CW_NOTFOUND. */
CW_MUST_USE cw_code cw_device_decide(cw_db *db, const cw_oauth_settings *settings, cw_str user_code,
                                     int64_t account, cw_str scopes, int64_t now, cw_err *err);

#endif
