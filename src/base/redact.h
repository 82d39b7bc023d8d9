/* SPDX-License-Identifier: GPL-2.0-or-later */
/* redact.h - removes known secrets from the text of others.
 *
 * A service that receives a password may repeat it: in an error ("bad token: hunter2"), on its
 * standard error, in an invalid message. Its text reaches callers, logs and files, so our secrets
 * are removed from it first.
 *
 *     cw_secrets all = {0};
 *     rc = cw_secrets_add(&all, password, &arena);
 *     cw_secrets_write(&all, message, &out);     "bad token: [secret]"
 *
 * Not here: other spellings of a secret (escaped, encoded): who knows them adds them too.
 *
 * Ownership: texts are copied into the arena that they are added with.
 * Threads:   immutable once filled.
 * Limits:    CW_SECRETS_MAX texts. One shorter than CW_SECRETS_SHORTEST is in too many words by
 *            chance, and is not looked for.
 */
#ifndef CW_BASE_REDACT_H
#define CW_BASE_REDACT_H

#include "base/arena.h"
#include "base/buf.h"

#define CW_SECRETS_MAX 256u
#define CW_SECRETS_SHORTEST 4u

typedef struct cw_secrets {
    cw_str items[CW_SECRETS_MAX]; /* the longest first: one may be a part of another */
    size_t n;
} cw_secrets;

/* One that is there already, or too short, is left out. CW_LIMIT, CW_NOMEM. */
CW_MUST_USE cw_code cw_secrets_add(cw_secrets *s, cw_str text, cw_arena *arena);

/* `s` may be NULL in all of these: there are none. */
bool cw_secrets_are_in(const cw_secrets *s, cw_str text);
/* Append `text` with "[secret]" in the place of each. */
void cw_secrets_write(const cw_secrets *s, cw_str text, cw_buf *out);
/* How much of a text that was cut can be shown: not the beginning of one at its end. */
size_t cw_secrets_cut(const cw_secrets *s, cw_str text);
/* The first `max` bytes of the text that write appends, in the arena. It is `text` itself if it has
 * no secret; .p is NULL without memory. */
cw_str cw_secrets_hide_begin(const cw_secrets *s, cw_str text, size_t max, cw_arena *arena);

/* Whether something of this name, a header or a member, is likely to hold one. */
bool cw_secrets_is_name(cw_str name);

#endif
