/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys.h - the keys that sign access tokens (RFC 9068), and their rotation.
 *
 *     next      published, so that others know it before it signs
 *     current   signs
 *     old       published until its last token has expired, and an hour longer
 *
 * The database has the private parts sealed with the key of the server. Only a server can make keys: it
 * adds those that are missing when it starts and when it signs. So a rotation needs no secret.
 *
 * Ownership: texts live in the arena.
 * Threads:   that of the database.
 */
#ifndef CW_ACCESS_OAUTH_KEYS_H
#define CW_ACCESS_OAUTH_KEYS_H

#include "access/oauth/settings.h"
#include "store/oauth.h"

#define CW_OAUTH_KEYS_PUBLISHED_MS (24 * 3600 * 1000LL) /* before a key signs */
#define CW_OAUTH_KEYS_KEPT_MS (3600 * 1000LL)           /* after its last token */

/* A change of its own: add the keys that are missing, and check that the current one can be used.
 * CW_CONFIG: it was sealed with another key of the server. */
CW_MUST_USE cw_code cw_oauth_keys_prepare(cw_db *db, const cw_oauth_settings *settings, int64_t now,
                                          cw_err *err);
/* A JWT with these claims (a JSON object), signed with the current key; within a change. */
CW_MUST_USE cw_code cw_oauth_keys_sign(cw_db *db, const cw_oauth_settings *settings, cw_str claims,
                                       int64_t now, cw_arena *arena, cw_str *ret, cw_err *err);
/* The public keys: {"keys":[...]}. Missing ones are added, in a change of its own. */
CW_MUST_USE cw_code cw_oauth_keys_publish(cw_db *db, const cw_oauth_settings *settings, int64_t now,
                                          cw_arena *arena, cw_str *ret, cw_err *err);

typedef struct cw_oauth_keys_rotation {
    int64_t token_ms; /* longest life of a token */
    bool is_now;      /* also if the next key was published a short time ago */
    bool is_lost; /* the private parts are lost: all keys become old, and a server makes new ones */
} cw_oauth_keys_rotation;

/* A change of its own: the next key becomes the current one; *ret_id is its id in the arena, or empty
 * (is_lost). CW_INVALID: there is no next key, or it was published too short a time ago. */
CW_MUST_USE cw_code cw_oauth_keys_rotate(cw_db *db, const cw_oauth_keys_rotation *rotation,
                                         int64_t now, cw_arena *arena, cw_str *ret_id, cw_err *err);

#endif
